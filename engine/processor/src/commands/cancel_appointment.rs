//! Cancels an appointment of the location.

use location::{Refusal, Reply};
use records::Appointment;

use super::prelude::*;

#[derive(Clone)]
pub struct CancelAppointment {
    pub appointment: AppointmentId,
    pub reason: Option<String>,
    /// `true` for an intent, which the booking rules bind. Requests of staff are not bound.
    pub by_rules: bool,
    /// The channel of the caller's API key.
    pub channel: Option<String>,
}

impl Request for CancelAppointment {
    /// `true` if the appointment was cancelled before.
    type Reply = bool;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let id = self.appointment.0;
        let record = unit.get_ref::<Record<Appointment>>(0, id)?;
        if record.is_some_and(|record| record.location() != at.setup.id.0) {
            return Err(PreconditionError::NotFound { resource: Resource::Appointments, id }.into());
        }
        let command = Command::Cancel { appointment: self.appointment, reason: self.reason.clone() };
        let decision = at.decide(cx, &command)?;
        let Reply::Cancelled { already } = decision.reply else {
            return Err(Reject::Damaged("a cancellation with an unexpected reply"));
        };
        let too_late = || at.machine.change_too_late(cx.now, self.appointment, true, self.channel.as_deref());
        if self.by_rules
            && !already
            && let Some(notice) = too_late()
        {
            return Err(Reject::Refused(Refusal::ChangeTooLate { notice }));
        }
        Ok((decision, already))
    }
}
