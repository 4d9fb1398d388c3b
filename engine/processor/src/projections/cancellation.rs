//! Cancellations of visits that are gone from their location before the EHR has answered. Staff may have moved such a
//! visit to another location of the data source.
//!
//! If the other location has read the visit, the cancellation waits for the EHR. If not, the cancellation counts as
//! done, and the tombstone of the visit marks it as unanswered. It has failed if the EHR shows the visit again.

use location::{
    AppointmentId, Event, Operation, Resource, WriteId, WriteIntent,
    event::{CancelledBy, InsertFailure},
};
use query::stream::{EndedWrite, WriteResult};
use records::{Appointment, Record, RecordWrite, Writeback, document::Link};

use super::{Projection, set_cancellation};
use crate::Reject;

/// The reason of a cancellation that counted as done, although the EHR has the appointment.
const STILL_IN_EHR: &str = "the EHR still has the appointment";

/// The reason why other writes of a visit are withdrawn when its cancellation has failed.
const NOT_HERE: &str = "staff moved the appointment to another location";

impl Projection<'_, '_> {
    /// Keeps the cancellations of moved visits in the queue until the EHR has answered them. After a refusal, the visit
    /// ends here and stays at its new location. The cancellation of a visit that is being replaced fails at once.
    pub(crate) fn follow_cancellations(&mut self, events: &mut Vec<Event>) -> Result<(), Reject> {
        let unanswered: Vec<AppointmentId> = events.iter().filter_map(unanswered).collect();
        for id in unanswered {
            if !self.is_elsewhere(id.0)? {
                continue;
            }
            if self.is_being_replaced(id) {
                *events = not_carried_out(id, std::mem::take(events)).collect();
            } else {
                events.retain(|event| unanswered_end(event) != Some(id));
            }
        }
        let refused: Vec<AppointmentId> = events.iter().filter_map(refused).collect();
        for id in refused {
            if self.is_elsewhere(id.0)? {
                self.end_here(id, events);
            }
        }
        Ok(())
    }

    /// Returns `true` if a replacement is queued. Its new appointment is cancelled only if the visit ends here.
    fn is_being_replaced(&self, id: AppointmentId) -> bool {
        let mut writes = self.processor.machine.state.queue.for_appointment(id);
        writes.any(|(_, write)| write.work == WriteIntent::Replace(id))
    }

    /// Removes a visit from the state, and withdraws the other changes of its appointment.
    fn end_here(&self, id: AppointmentId, events: &mut Vec<Event>) {
        let ended: Vec<WriteId> = events.iter().filter_map(Event::write_ended).collect();
        let stays = |work| matches!(work, WriteIntent::Replace(_) | WriteIntent::CancelReplaced { .. });
        for (write, pending) in self.processor.machine.state.queue.for_appointment(id) {
            if !ended.contains(&write) && !stays(pending.work) {
                let (work, how) = (pending.work, InsertFailure::Withdrawn);
                events.push(Event::WriteFailed { write, work, how, reason: NOT_HERE.to_owned() });
            }
        }
        let gone = Event::AppointmentGone { appointment: id };
        if !events.contains(&gone) {
            events.push(gone);
        }
    }

    /// Stores the answer to a cancellation in the record of a visit that belongs to another location. `refusal` is the
    /// reason of a failure.
    pub(super) fn cancellation_answered_elsewhere(
        &mut self,
        id: AppointmentId,
        refusal: Option<&str>,
    ) -> Result<(), Reject> {
        if !self.is_elsewhere(id.0)? {
            return Ok(());
        }
        let Some(before) = self.unit.get::<Record<Appointment>>(0, id.0)? else { return Ok(()) };
        let (state, write) = match refusal {
            None => (Writeback::Confirmed, RecordWrite::succeeded()),
            // The EHR may have cancelled the visit already, or staff may have moved it again.
            Some(_) if before.cancelled => {
                return self.replace_link(Resource::Appointments, Link::gone_unanswered(id.0), Link::is_gone);
            }
            Some(reason) => (Writeback::Failed, RecordWrite::failed(reason)),
        };
        let mut after = before.clone();
        set_cancellation(&mut after, state);
        after.write = Some(write);
        after.updated_at = self.cx.now;
        if after.content_changed(Some(&before)) {
            self.unit.put(&after)?;
        }
        Ok(())
    }
}

/// Stores in the record of a visit that its cancellation is in the queue. Another location may have read meanwhile that
/// the visit is gone.
pub(crate) fn cancellation_pending(record: &mut Record<Appointment>) {
    set_cancellation(record, Writeback::Pending);
    record.write = Some(RecordWrite::pending());
}

/// Stores in the record of a visit that its cancellation has failed, because the EHR shows it again. Returns the entry
/// for the log of changes.
pub(crate) fn cancellation_failed(record: &mut Record<Appointment>) -> EndedWrite {
    set_cancellation(record, Writeback::Failed);
    record.write = Some(RecordWrite::failed(STILL_IN_EHR));
    EndedWrite {
        resource: Resource::Appointments,
        id: record.id,
        operation: Operation::Update,
        result: WriteResult::Failed,
        reason: Some(STILL_IN_EHR.to_owned()),
    }
}

/// Returns the events that end a visit, with its unanswered cancellation as failed: another location has the
/// appointment.
pub(crate) fn not_carried_out(id: AppointmentId, ends: Vec<Event>) -> impl Iterator<Item = Event> {
    let reason = || STILL_IN_EHR.to_owned();
    ends.into_iter().flat_map(move |event| match event {
        Event::WriteDone { write, work, written: None } if work == WriteIntent::Cancel(id) => {
            vec![Event::WriteFailed { write, work, how: InsertFailure::Failed, reason: reason() }]
        }
        Event::CancelConfirmed { appointment } if appointment == id => vec![
            Event::CancelReverted { appointment, reason: reason() },
            Event::Cancelled { appointment, by: CancelledBy::Ehr, reason: None },
        ],
        event => vec![event],
    })
}

/// Returns the appointment of a cancellation that ends without an answer of the EHR, because the visit is gone.
fn unanswered(event: &Event) -> Option<AppointmentId> {
    match event {
        Event::WriteDone { work: WriteIntent::Cancel(id), written: None, .. } => Some(*id),
        _ => None,
    }
}

/// Returns the appointment of an event that is part of the end of such a cancellation.
fn unanswered_end(event: &Event) -> Option<AppointmentId> {
    match event {
        Event::CancelConfirmed { appointment } | Event::AppointmentGone { appointment } => Some(*appointment),
        event => unanswered(event),
    }
}

fn refused(event: &Event) -> Option<AppointmentId> {
    match event {
        Event::CancelReverted { appointment, .. } => Some(*appointment),
        _ => None,
    }
}
