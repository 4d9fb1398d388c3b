//! Changes or removes a record that the scheduling rules do not depend on.

use records::schema;

use super::{
    prelude::*,
    references::all_met,
    save::{ordering_key_of, queued},
};

#[derive(Clone)]
pub struct ChangeRecord<T> {
    pub id: u64,
    /// `None` removes the record.
    pub body: Option<T>,
}

impl<T: Body> Request for ChangeRecord<T> {
    type Reply = Saved<Record<T>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let before = at.record::<T>(self.id, unit)?;
        let Some(body) = &self.body else {
            let after = Record { deleted_at: Some(cx.now), ..before.clone() };
            return at.put_changed(cx, Operation::Delete, before, after, unit);
        };
        all_met(at.unusable(body, unit)?)?;
        let after = Record { body: body.clone(), ..before.clone() };
        at.put_changed(cx, Operation::Update, before, after, unit)
    }
}

impl Processor {
    pub fn record<T: Body>(&self, id: u64, unit: &mut UnitOfWork<'_>) -> Result<Record<T>, Reject> {
        let found = unit.get::<Record<T>>(self.scope::<T>(), id)?;
        let found = found.filter(|entry| entry.deleted_at.is_none());
        Ok(found.ok_or(PreconditionError::NotFound { resource: T::RESOURCE, id })?)
    }

    /// Stores a changed record and queues its write to the EHR. Does nothing if the record is unchanged.
    pub fn put_changed<T: Body>(
        &self,
        cx: DecisionContext,
        operation: Operation,
        before: Record<T>,
        mut after: Record<T>,
        unit: &mut UnitOfWork<'_>,
    ) -> Prepared<Saved<Record<T>>> {
        if after == before {
            return Ok((Decision::nothing(), Saved::new(before)));
        }
        after.updated_at = cx.now;
        let ordering_key = ordering_key_of(schema::patient_of(&after.body), T::RESOURCE, after.id.into());
        let decision = self.decide_save(cx, T::RESOURCE, after.id.into(), operation, ordering_key, false)?;
        if queued(&decision) {
            after.write = Some(RecordWrite::pending());
            unit.keep_merge_base(&before)?;
        }
        unit.put(&after)?;
        Ok((decision, Saved::new(after)))
    }
}
