//! Holds a slot for a client before the booking (specification 4.8).

use location::{Reply, command::Hold};

use super::{book_slot::Offer, prelude::*};

#[derive(Clone)]
pub struct HoldSlot {
    pub offer: Offer,
    /// Digest of the client's API key.
    pub holder: u64,
}

impl Request for HoldSlot {
    /// The expiry of the hold.
    type Reply = Timestamp;

    fn prepare(&self, at: &Processor, cx: DecisionContext, _: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let offer = self.offer.slot(at.closed_to_patients(self.offer.appointment_type)?);
        let decision = at.decide(cx, &Command::Hold(Hold { offer, holder: Some(self.holder) }))?;
        match decision.reply {
            Reply::Held { until } => Ok((decision, until)),
            _ => Err(Reject::Damaged("a hold with an unexpected reply")),
        }
    }
}
