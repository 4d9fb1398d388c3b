//! Records that the patient confirms a visit.

use location::Reply;
use records::{Appointment, Writeback};

use super::prelude::*;

#[derive(Clone)]
pub struct ConfirmVisit {
    pub appointment: AppointmentId,
}

/// The place where a confirmation is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// It is stored everywhere.
    Done,
    /// It is being written to the EHR.
    Pending,
    /// It is stored only here, because the EHR takes no confirmations.
    Local,
}

impl Request for ConfirmVisit {
    type Reply = Confirmation;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Confirmation> {
        let id = self.appointment.0;
        let found = unit.get::<Record<Appointment>>(0, id)?.filter(|record| record.location() == at.setup.id.0);
        let before = found.ok_or(PreconditionError::NotFound { resource: Resource::Appointments, id })?;
        let capabilities = &at.settings().capabilities;
        let (integrated, writes) = (capabilities.integrated, capabilities.integrated && capabilities.confirms);
        let is_known = before.patient_confirmed_here.is_some() && (before.confirmed || !writes);
        if is_known && !before.cancelled {
            let pending = before.write.as_ref().is_some_and(|write| write.writeback().0 == Writeback::Pending);
            let repeated = match (integrated, writes) {
                (true, false) => Confirmation::Local,
                (true, true) if pending => Confirmation::Pending,
                _ => Confirmation::Done,
            };
            return Ok((Decision::nothing(), repeated));
        }
        let decision = at.decide(cx, &Command::Confirm { appointment: self.appointment })?;
        let Reply::Saved { queued } = decision.reply else {
            return Err(Reject::Damaged("a confirmation with an unexpected reply"));
        };
        let mut after = before.clone();
        after.patient_confirmed = true;
        after.patient_confirmed_at.get_or_insert(cx.now);
        after.patient_confirmed_here.get_or_insert(cx.now);
        if queued || !integrated {
            after.confirmed = true;
            after.confirmed_at.get_or_insert(cx.now);
        }
        after.updated_at = cx.now;
        if queued {
            unit.keep_merge_base(&before)?;
        }
        unit.put(&after)?;
        let confirmation = match (queued, integrated) {
            (true, _) => Confirmation::Pending,
            (false, true) => Confirmation::Local,
            (false, false) => Confirmation::Done,
        };
        Ok((decision, confirmation))
    }
}
