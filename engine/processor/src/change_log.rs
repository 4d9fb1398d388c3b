//! Entries of a turn in the log of changes, in addition to its changed records: ended writes, and changes of the read
//! and write status. Followers turn them into messages; no code of this crate knows the followers.

use location::{Event, Operation, Resource, Timestamp, WriteIntent, event::InsertFailure};
use query::stream::{EndedWrite, StatusChange, WriteResult};
use records::SyncSummary;

use crate::Processor;

/// Returns the write that an event ends, unless it was withdrawn.
pub(crate) fn ended_write(event: &Event) -> Option<EndedWrite> {
    let done = |(resource, id, operation)| {
        Some(EndedWrite { resource, id, operation, result: WriteResult::Complete, reason: None })
    };
    let failed = |(resource, id, operation), how: InsertFailure, reason: &str| {
        let result = match how {
            InsertFailure::Failed => WriteResult::Failed,
            InsertFailure::TimedOut => WriteResult::TimedOut,
            InsertFailure::Withdrawn => return None,
        };
        Some(EndedWrite { resource, id, operation, result, reason: Some(reason.to_owned()) })
    };
    let insert = |appointment: u64| (Resource::Appointments, appointment, Operation::Create);
    match event {
        Event::InsertDone { appointment, .. } => done(insert(appointment.0)),
        Event::InsertFailed { appointment, how, reason } => failed(insert(appointment.0), *how, reason),
        // The visit was changed with the replacement already.
        Event::WriteDone { work: WriteIntent::CancelReplaced { .. }, .. } => None,
        Event::WriteDone { work, .. } => done(written(*work)?),
        Event::WriteFailed { work, how, reason, .. } => failed(written(*work)?, *how, reason),
        _ => None,
    }
}

/// Returns the record of a write, or `None` for inserts of appointments, which have separate events.
fn written(work: WriteIntent) -> Option<(Resource, u64, Operation)> {
    match work {
        WriteIntent::CreatePatient(patient) => Some((Resource::Patients, u64::from(patient.0), Operation::Create)),
        WriteIntent::CreateAppointment(_) => None,
        WriteIntent::Reschedule(id)
        | WriteIntent::Replace(id)
        | WriteIntent::CancelReplaced { appointment: id, .. }
        | WriteIntent::Cancel(id)
        | WriteIntent::Confirm(id)
        | WriteIntent::CheckIn(id)
        | WriteIntent::Note(id) => Some((Resource::Appointments, id.0, Operation::Update)),
        WriteIntent::Record { resource, id, operation } => Some((resource, id, operation)),
    }
}

impl Processor {
    /// Returns the change of the read or write status since the previous turn.
    pub(crate) fn status_change(&self, now: Timestamp, events: &[Event]) -> Option<StatusChange> {
        let description = self.description.as_ref();
        let before = SyncSummary::flags(&self.machine, description, self.last_turn.unwrap_or(now));
        let unchanged = SyncSummary::flags(&self.machine, description, now);
        let matter = events.iter().any(|event| self.matters(event, unchanged));
        let evolved = matter.then(|| self.machine.status_after(now, events));
        if before == evolved.as_ref().map_or(unchanged, |machine| SyncSummary::flags(machine, description, now)) {
            return None;
        }
        let machine = evolved.as_ref().unwrap_or(&self.machine);
        let after = SyncSummary::from_location(machine, description, now);
        Some(StatusChange { read_ok_before: before.0, write_ok_before: before.1, after })
    }

    /// Returns `true` if an event may change the status. Some events can only end a problem, so they matter only if
    /// there is one. The end of a write is no sign that reading works. It ends a problem with writing only if the
    /// write is the oldest one.
    fn matters(&self, event: &Event, (read_ok, write_ok): (bool, bool)) -> bool {
        let state = &self.machine.state;
        match event {
            Event::PullFailed { .. }
            | Event::PullSuspended { .. }
            | Event::GuardTripped { .. }
            | Event::BreakerOpened { .. }
            | Event::GateTurned { .. }
            | Event::PauseTurned { .. } => true,
            Event::PageApplied { .. } => state.pulls.progress.is_empty(),
            Event::CycleFinished { .. } | Event::BreakerClosed | Event::SyncRequested => !read_ok || !write_ok,
            Event::WriteDone { write, .. } | Event::WriteFailed { write, .. } => {
                !write_ok && state.queue.iter().next().is_some_and(|(oldest, _)| oldest == *write)
            }
            _ => false,
        }
    }
}
