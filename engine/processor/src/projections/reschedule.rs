//! The state of a patient's change of time in the document of an appointment. It is pending until the EHR has the last
//! requested time, or has refused it. In an EHR that cannot move appointments, the new appointment confirms it; the
//! cancellation of the old one is a separate write.

use location::{AppointmentId, Event, Timestamp, WriteId, WriteIntent};
use records::{Appointment, Record, Reschedule, Writeback};

use super::Projection;
use crate::{Processor, Reject};

/// A change of a pending reschedule.
enum Step<'e> {
    Confirmed,
    /// The visit is at the old time.
    Failed {
        from: Timestamp,
        reason: &'e str,
    },
    /// Another change moved the visit to this time.
    MovedOn(Timestamp),
}

impl Projection<'_, '_> {
    /// Applies an event to a pending reschedule. Runs before the event changes the placement.
    pub(super) fn settle_reschedule(&mut self, event: &Event) -> Result<(), Reject> {
        let id = match event {
            Event::Moved { appointment, .. }
            | Event::MoveReverted { appointment, .. }
            | Event::InsertDone { appointment, .. }
            | Event::WriteDone {
                work: WriteIntent::Reschedule(appointment) | WriteIntent::Replace(appointment), ..
            } => *appointment,
            _ => return Ok(()),
        };
        let pending = |record: &&Record<Appointment>| record.reschedule.as_ref().is_some_and(|it| it.is_pending());
        let record = self.unit.get_ref::<Record<Appointment>>(0, id.0)?;
        let Some(placement) = record.filter(pending).map(|it| it.placement) else { return Ok(()) };
        let step = match event {
            Event::Moved { to, .. } => Step::MovedOn(to.span.start),
            Event::MoveReverted { to, .. } if *to == placement => Step::Confirmed,
            Event::MoveReverted { to, reason, .. } => Step::Failed { from: to.span.start, reason },
            // A replacement that was not needed: the EHR has the last requested time.
            Event::WriteDone { work: WriteIntent::Replace(_), written: None, .. } => Step::Confirmed,
            Event::InsertDone { .. } if !moves_later(self.processor, id, None) => Step::Confirmed,
            Event::WriteDone { write, .. } if !moves_later(self.processor, id, Some(*write)) => Step::Confirmed,
            _ => return Ok(()),
        };
        self.change(id, |record| {
            let Some(reschedule) = &mut record.reschedule else { return };
            match step {
                Step::Confirmed => reschedule.status = Writeback::Confirmed,
                Step::MovedOn(to) => reschedule.to = to,
                Step::Failed { from, reason } => {
                    (reschedule.status, reschedule.from) = (Writeback::Failed, from);
                    reschedule.failure_reason = Some(reason.to_owned());
                }
            }
        })
    }
}

/// Returns `true` if another write will send the placement: one that is queued, or a repetition of `ended`. A write
/// before a cancellation is not repeated.
fn moves_later(processor: &Processor, id: AppointmentId, ended: Option<WriteId>) -> bool {
    let queue = &processor.machine.state.queue;
    let others =
        || queue.for_appointment(id).filter(move |(write, _)| Some(*write) != ended).map(|(_, write)| write.work);
    let is_superseded = ended.and_then(|write| queue.get(write)).is_some_and(|write| write.superseded);
    let is_repeated = is_superseded && !others().any(|work| matches!(work, WriteIntent::Cancel(_)));
    others().any(|work| matches!(work, WriteIntent::Reschedule(_) | WriteIntent::Replace(_))) || is_repeated
}

/// Resumes a reschedule that failed with the insert which carries it, because the insert is sent again.
pub(super) fn resume(record: &mut Record<Appointment>) {
    let start = record.placement.span.start;
    let is_carried = |it: &&mut Reschedule| it.status == Writeback::Failed && it.to == start;
    if let Some(reschedule) = record.body.reschedule.as_mut().filter(is_carried) {
        (reschedule.status, reschedule.failure_reason) = (Writeback::Pending, None);
    }
}
