//! Removes an appointment type created here.

use location::{command::DecisionContext, decision::Decision, resource::Operation};
use records::{AppointmentType, record::Record};

use crate::{error::Reject, processor::Processor, reply::Saved, request::Request, unit_of_work::UnitOfWork};

#[derive(Clone)]
pub struct RemoveAppointmentType(pub u32);

impl Request for RemoveAppointmentType {
    type Reply = Saved<Record<AppointmentType>>;

    fn prepare(
        &self,
        at: &Processor,
        cx: DecisionContext,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(Decision, Self::Reply), Reject> {
        let mut kind = at.own_type(self.0, unit)?;
        kind.delete(cx.now);
        at.put_type(cx, Operation::Delete, kind, unit)
    }
}
