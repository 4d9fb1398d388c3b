//! Creates, changes and removes providers and operatories of a location without EHR. These records exist here only.

use std::{any::Any, sync::Arc};

use location::{OperatoryId, command::PulledOperatory};
use records::{Operatory, Scope};

use super::{prelude::*, references::all_met};

/// Maximum number of operatories created at a location. Its state contains each of them.
const MAX_OPERATORIES: usize = 1_000;

#[derive(Clone)]
pub enum WriteOwnRecord<T> {
    Create(T),
    /// A change, applied to the record as it is when the request is prepared.
    Change(u64, Arc<dyn Fn(&mut T) + Send + Sync>),
    /// Appointments keep their reference to the removed record.
    Remove(u64),
}

impl<T: Body> Request for WriteOwnRecord<T> {
    type Reply = Saved<Record<T>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        at.must_have_no_ehr()?;
        match self {
            WriteOwnRecord::Create(body) => {
                let id = narrow(unit.allot(T::RESOURCE)?)?;
                let location_id = (T::SCOPE == Scope::Location).then_some(at.setup.id.0);
                let record = Record { location_id, ..Record::new(id, at.institution.id.0, cx.now, body.clone()) };
                at.put_own(cx, Operation::Create, None, record, unit)
            }
            WriteOwnRecord::Change(id, change) => {
                let before = at.own_record::<T>(*id, unit)?;
                let mut after = before.clone();
                change(&mut after.body);
                if after == before {
                    return Ok((Decision::nothing(), Saved::new(before)));
                }
                if T::is_deleted(&after) {
                    at.check_has_no_hours(T::RESOURCE, *id)?;
                }
                after.updated_at = cx.now;
                at.put_own(cx, Operation::Update, Some(&before), after, unit)
            }
            WriteOwnRecord::Remove(id) => {
                let before = at.own_record::<T>(*id, unit)?;
                at.check_has_no_hours(T::RESOURCE, *id)?;
                let mut after = before.clone();
                after.delete(cx.now);
                at.put_own(cx, Operation::Delete, Some(&before), after, unit)
            }
        }
    }
}

impl Processor {
    /// Returns an existing record created here. Records of the EHR are changed there.
    pub(super) fn own_record<T: Body>(&self, id: u64, unit: &mut UnitOfWork<'_>) -> Result<Record<T>, Reject> {
        let record = self.record::<T>(id, unit)?;
        match record.source_id {
            Some(_) => Err(PreconditionError::NotUsable { resource: T::RESOURCE, id }.into()),
            None => Ok(record),
        }
    }

    fn must_have_no_ehr(&self) -> Result<(), Reject> {
        match self.source() {
            None => Ok(()),
            Some(_) => Err(PreconditionError::OfEhr.into()),
        }
    }

    fn put_own<T: Body>(
        &self,
        cx: DecisionContext,
        operation: Operation,
        before: Option<&Record<T>>,
        record: Record<T>,
        unit: &mut UnitOfWork<'_>,
    ) -> Prepared<Saved<Record<T>>> {
        let (resource, id) = (T::RESOURCE, record.id.into());
        let decision = match (&record.body as &dyn Any).downcast_ref::<Operatory>() {
            Some(body) => {
                // Types that were named before may have been removed since.
                let named = before.and_then(|before| (&before.body as &dyn Any).downcast_ref::<Operatory>());
                let mut new = body.appointment_type_ids.clone();
                new.retain(|id| named.is_none_or(|before| !before.appointment_type_ids.contains(id)));
                all_met(self.unknown_types(&new, unit)?)?;
                self.check_operatory_limit(OperatoryId(id))?;
                let operatory = PulledOperatory { id: OperatoryId(id), active: body.active };
                self.decide(cx, &Command::SetOperatory { operatory, operation })?
            }
            None => self.decide_save(cx, resource, id, operation, OrderingKey::Record { resource, id }, true)?,
        };
        unit.put(&record)?;
        Ok((decision, Saved::new(record)))
    }

    fn check_operatory_limit(&self, id: OperatoryId) -> Result<(), Reject> {
        let known = &self.machine.state.operatories;
        if known.contains_key(&id) || known.len() < MAX_OPERATORIES {
            return Ok(());
        }
        Err(PreconditionError::InvalidValue(format!(
            "A location has at most {MAX_OPERATORIES} operatories, removed ones included."
        ))
        .into())
    }

    /// Refuses to remove a provider with working hours here, who would still be offered.
    fn check_has_no_hours(&self, resource: Resource, id: u64) -> Result<(), Reject> {
        let is_provider = |provider: u32| resource == Resource::Providers && u64::from(provider) == id;
        match self.machine.state.hours.values().any(|hour| is_provider(hour.provider.0)) {
            true => Err(PreconditionError::StillWorks { location: self.setup.id.0 }.into()),
            false => Ok(()),
        }
    }
}
