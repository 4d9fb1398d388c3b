//! Cancels an appointment of the location.

use location::decision::Reply;

use super::prelude::*;

#[derive(Clone)]
pub struct CancelAppointment {
    pub appointment: AppointmentId,
    pub reason: Option<String>,
}

impl Request for CancelAppointment {
    /// `true` if the appointment was cancelled before.
    type Reply = bool;

    fn prepare(&self, at: &Processor, cx: DecisionContext, _: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let command = Command::Cancel { appointment: self.appointment, reason: self.reason.clone() };
        let decision = at.decide(cx, &command)?;
        match decision.reply {
            Reply::Cancelled { already } => Ok((decision, already)),
            _ => Err(Reject::Damaged("a cancellation with an unexpected reply")),
        }
    }
}
