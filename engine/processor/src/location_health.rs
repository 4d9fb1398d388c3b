//! Per-location status and errors after a turn, for metrics and the fleet view. They summarize the state in memory,
//! which followers of the log do not have. Without a problem or an error, nothing is formatted or copied.

use std::collections::BTreeSet;

use location::{Event, Location, Timestamp, WriteId, event::InsertFailure, gate::Gate};
use records::{Description, SyncState, sync_state::shut};
use runtime::{ErrorSource, Origin, RecentError, metrics::LocationHealth};

pub(crate) fn summarize(machine: &Location, description: Option<&Description>, now: Timestamp) -> LocationHealth {
    let (state, (read_problem, write_problem)) = (&machine.state, SyncState::reasons(machine, description, now));
    let queued = state.queue.len() as u64;
    let parked = if state.is_writing_suspended() || state.breaker.blocked.is_some() { queued } else { 0 };
    let last_read = state.pulls.last_success.filter(|_| machine.settings.capabilities.integrated);
    let schedule_as_of = machine.schedule_as_of(now).filter(|_| machine.settings.capabilities.integrated);
    let skipped = state.pulls.skipped.values().map(|skips| skips.len() as u64).sum();
    let unread_resource = read_problem.as_deref().and_then(|reason| SyncState::unread_resource(machine, reason));
    LocationHealth {
        queued,
        parked,
        oldest_write: state.queue.oldest(),
        last_read,
        schedule_as_of,
        read_problem,
        write_problem,
        unread_resource,
        skipped,
        unloadable_since: None,
    }
}

/// Returns the errors of a turn. Must be called before the state drops the writes of its events.
pub(crate) fn errors(machine: &Location, events: &[Event], now: Timestamp) -> Vec<RecentError> {
    let mut errors = Vec::new();
    // An operator dropped the write on purpose.
    if events.iter().any(|event| matches!(event, Event::WriteDropped { .. })) {
        return errors;
    }
    let mut note = |part, reason: &str, request| errors.push(RecentError::new(part, reason, request, now));
    let write = |id: &WriteId| {
        let write = machine.state.queue.get(*id)?;
        Some((ErrorSource::Write(*id, write.work), write.origin.as_deref().map(Origin::from)))
    };
    for event in events {
        match event {
            Event::DescribeFailed { reason } => note(ErrorSource::Adapter, reason, None),
            Event::PullFailed { resource, reason, .. } => note(ErrorSource::Pull(*resource), reason, None),
            Event::PageApplied { resource, skipped, .. } => {
                let reasons: BTreeSet<&str> = skipped.iter().map(|it| it.reason.as_str()).collect();
                reasons
                    .iter()
                    .for_each(|why| note(ErrorSource::Pull(*resource), &format!("left a record out: {why}"), None));
            }
            Event::GuardTripped { resource, known, deletions, .. } => {
                let why = format!("stopped: the EHR shows {deletions} of {known} records deleted");
                note(ErrorSource::Pull(*resource), &why, None);
            }
            // A write that was withdrawn before it was sent is no error, nor is one that a lookup does not find yet.
            Event::WriteFailed { how: InsertFailure::Withdrawn, .. } | Event::WriteDeferred { not_found: true, .. } => {
            }
            Event::WriteDeferred { write: id, reason, .. }
            | Event::WriteUnknown { write: id, reason, .. }
            | Event::WriteFailed { write: id, reason, .. } => {
                write(id).into_iter().for_each(|(part, request)| note(part, reason, request));
            }
            Event::GateTurned { gate: Gate::Shut(why) } => note(ErrorSource::Gate, shut(*why), None),
            _ => {}
        }
    }
    errors
}
