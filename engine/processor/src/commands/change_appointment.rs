//! Changes an appointment (specification 4.10, PATCH /appointments).

use location::{OperatoryId, Placement, intent::ChangedDetails};
use records::Appointment;

use super::{prelude::*, references::all_met};

#[derive(Clone)]
pub struct ChangeAppointment {
    pub id: AppointmentId,
    pub change: AppointmentChange,
}

/// Changes of an appointment. Absent fields stay unchanged (specification 4.10, PATCH /appointments).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AppointmentChange {
    pub confirmed: Option<bool>,
    pub checkin_at: Option<Timestamp>,
    pub start: Option<Timestamp>,
    pub end: Option<Timestamp>,
    pub operatory_id: Option<u64>,
    pub note: Option<String>,
    pub join_blocks: bool,
}

impl Request for ChangeAppointment {
    type Reply = Saved<Record<Appointment>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let change = &self.change;
        let found = unit.get::<Record<Appointment>>(0, self.id.0)?.filter(|record| record.location() == at.setup.id.0);
        let before = found.ok_or(PreconditionError::NotFound { resource: Resource::Appointments, id: self.id.0 })?;
        let to = change.place(before.placement);
        let mut wrong = Vec::new();
        if to.span.end <= to.span.start {
            wrong.push(PreconditionError::InvalidValue("appt.end_time must be after start_time.".to_owned()));
        }
        if let Some(operatory) = change.operatory_id
            && !at.known_operatory(operatory, unit)?
        {
            wrong.push(PreconditionError::NotFound { resource: Resource::Operatories, id: operatory });
        }
        all_met(wrong)?;
        let what = ChangedDetails {
            confirmation: change.confirmed.is_some_and(|confirmed| confirmed != before.confirmed),
            check_in: change.checkin_at.is_some_and(|at| Some(at) != before.checkin_at),
            note: change.note.is_some() && change.note != before.note,
        };
        let to = (to != before.placement).then_some(to);
        let command = Command::Change { appointment: self.id, to, join_blocks: change.join_blocks, what };
        let decision = at.decide(cx, &command)?;
        let mut after = before.clone();
        if what != ChangedDetails::default() {
            if what.confirmation {
                after.confirmed = change.confirmed.unwrap_or(before.confirmed);
                after.confirmed_at = after.confirmed.then_some(cx.now);
            }
            if what.check_in {
                after.checkin_at = change.checkin_at;
            }
            if what.note {
                after.note.clone_from(&change.note);
            }
            after.updated_at = cx.now;
            if at.source().is_some() {
                unit.keep_merge_base(&before)?;
            }
            unit.put(&after)?;
        }
        // The projection of the move event changes the stored placement.
        after.placement = to.unwrap_or(after.placement);
        Ok((decision, Saved::new(after)))
    }
}

impl AppointmentChange {
    fn place(&self, now: Placement) -> Placement {
        let start = self.start.unwrap_or(now.span.start);
        // Without a new end, an appointment keeps its length.
        let end = self.end.unwrap_or(start.plus(now.span.length()));
        let operatory = self.operatory_id.map(OperatoryId).or(now.operatory);
        Placement { operatory, span: Span { start, end }, ..now }
    }
}
