//! Holds a slot for a client before the booking (specification 4.8).

use location::{command::Hold, decision::Reply};

use super::prelude::*;

/// The requested hold. The location fills in `closed`.
#[derive(Clone)]
pub struct HoldSlot(pub Hold);

impl Request for HoldSlot {
    /// The expiry of the hold.
    type Reply = Timestamp;

    fn prepare(&self, at: &Processor, cx: DecisionContext, _: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let closed = at.closed_to_patients(self.0.appointment_type)?;
        let decision = at.decide(cx, &Command::Hold(Hold { closed, ..self.0.clone() }))?;
        match decision.reply {
            Reply::Held { until } => Ok((decision, until)),
            _ => Err(Reject::Damaged("a hold with an unexpected reply")),
        }
    }
}
