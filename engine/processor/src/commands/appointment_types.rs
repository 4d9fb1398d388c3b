//! Appointment types created here. They define how long a visit takes and who may book it; the EHR does not get them.

use location::{command::DecisionContext, order::OrderingKey, pull::Resource, resource::Operation};
use records::{AppointmentType, record::Record};

use crate::{
    error::{Prepared, Reject},
    processor::Processor,
    reply::Saved,
    unit_of_work::UnitOfWork,
    unmet::Unmet,
};

impl Processor {
    /// Returns a type created here. Types of the EHR are changed there.
    pub fn own_type(&self, id: u32, unit: &mut UnitOfWork<'_>) -> Result<Record<AppointmentType>, Reject> {
        let (resource, id) = (Resource::AppointmentTypes, u64::from(id));
        let found =
            unit.get::<Record<AppointmentType>>(self.institution.id.0, id)?.filter(|kind| kind.deleted_at.is_none());
        let kind = found.ok_or(Unmet::NotFound { resource, id })?;
        if kind.source_id.is_some() { Err(Unmet::NotUsable { resource, id }.into()) } else { Ok(kind) }
    }

    pub fn put_type(
        &self,
        cx: DecisionContext,
        operation: Operation,
        kind: Record<AppointmentType>,
        unit: &mut UnitOfWork<'_>,
    ) -> Prepared<Saved<Record<AppointmentType>>> {
        let (resource, id) = (Resource::AppointmentTypes, u64::from(kind.id));
        let decision = self.decide_save(cx, resource, id, operation, OrderingKey::Record { resource, id }, true)?;
        unit.put(&kind)?;
        Ok((decision, Saved::new(kind)))
    }
}
