//! Keeps a slot for a client while they make up their mind (specification 4.8).

use location::{
    command::{Command, Cx, Hold},
    decision::{Decision, Reply},
    time::Timestamp,
};

use crate::{error::Reject, processor::Processor, request::Request, unit_of_work::UnitOfWork};

/// What it may not hold is the location's to say: `closed` is filled in there.
#[derive(Clone)]
pub struct HoldSlot(pub Hold);

impl Request for HoldSlot {
    /// Until when it is kept.
    type Reply = Timestamp;

    fn prepare(&self, at: &Processor, cx: Cx, _: &mut UnitOfWork<'_>) -> Result<(Decision, Self::Reply), Reject> {
        let closed = at.closed_to_patients(self.0.appointment_type)?;
        let decision = at.decide(cx, &Command::Hold(Hold { closed, ..self.0.clone() }))?;
        match decision.reply {
            Reply::Held { until } => Ok((decision, until)),
            _ => Err(Reject::Damaged("a hold that was not answered as one")),
        }
    }
}
