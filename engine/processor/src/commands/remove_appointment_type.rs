//! Removes an appointment type created here.

use location::{command::DecisionContext, resource::Operation};
use records::{AppointmentType, record::Record};

use crate::{error::Prepared, processor::Processor, reply::Saved, request::Request, unit_of_work::UnitOfWork};

#[derive(Clone)]
pub struct RemoveAppointmentType(pub u32);

impl Request for RemoveAppointmentType {
    type Reply = Saved<Record<AppointmentType>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let mut kind = at.own_type(self.0, unit)?;
        kind.delete(cx.now);
        at.put_type(cx, Operation::Delete, kind, unit)
    }
}
