//! What each event changes in the documents. Called for every event of a turn, in order.

use location::{
    command::{Cx, Placement},
    event::{Event, InsertFailure, Work},
    ids::{AppointmentId, WriteId},
    pull::Resource,
};
use records::{self, Appointment, Writeback};
use store::keys;

use super::{
    book::Claim,
    docs::{Docs, decode},
    turn::{Shell, TurnError},
};
use crate::note_keys;

pub fn event(shell: &Shell, cx: Cx, event: &Event, docs: &mut Docs<'_>) -> Result<(), TurnError> {
    match event {
        Event::Moved { appointment, to, .. } | Event::MoveReverted { appointment, to, .. } => {
            place(shell, cx, *appointment, *to, docs)?;
        }
        Event::AppointmentPulled { record, keep: false } => place(shell, cx, record.id, record.placement, docs)?,
        Event::Cancelled { appointment, reason, .. } => {
            change(shell, cx, *appointment, docs, |record| {
                record.cancelled = true;
                record.cancelled_at.get_or_insert(cx.now);
                record.cancel_reason.clone_from(reason);
            })?;
        }
        Event::CancelReverted { appointment, .. } => {
            change(shell, cx, *appointment, docs, |record| {
                record.cancelled = false;
                record.cancelled_at = None;
                record.cancel_reason = None;
            })?;
        }
        Event::InsertDone { appointment, written } => {
            shell.link(Resource::Appointments, appointment.0, written, docs)?;
            change(shell, cx, *appointment, docs, |record| {
                record.foreign_id = Some(written.foreign_id.clone());
                record.version.clone_from(&written.version);
                record.last_sync_time = Some(cx.now);
                if let Some(booking) = &mut record.booking {
                    booking.writeback = Writeback::Confirmed;
                    booking.failure_reason = None;
                }
            })?;
        }
        Event::InsertFailed { appointment, reason, .. } => {
            change(shell, cx, *appointment, docs, |record| {
                if let Some(booking) = &mut record.booking {
                    booking.writeback = Writeback::Failed;
                    booking.failure_reason = Some(reason.clone());
                }
            })?;
        }
        Event::WriteDone { write, work, written } => {
            finished(shell, cx, *write, *work, None, docs)?;
            if let Some(written) = written {
                shell.written(cx, *write, *work, written, docs)?;
            }
        }
        Event::WriteFailed { write, work, how, reason } => {
            finished(shell, cx, *write, *work, Some((*how, reason)), docs)?;
            shell.not_written(cx, *write, *work, (*how, reason), docs)?;
        }
        Event::WriteRetried { write, of, work, .. } => shell.retried(cx, *write, *of, *work, docs)?,
        Event::WriteDropped { write } => shell.dropped(*write, docs)?,
        Event::HourReverted { to, reason: _ } => shell.hour_reverted(cx, to, docs)?,
        Event::KeyExpired { key } => unclaim(shell, key, docs)?,
        Event::CycleFinished { .. } => {
            if shell.machine.state.pulls.cycle.as_ref().is_some_and(|cycle| !cycle.incomplete) {
                docs.put_raw(note_keys::last_sync_key(shell.setup.id), note_keys::last_sync_value(cx.now));
            }
        }
        Event::RecordGone { resource, id } => {
            shell.forget_shown(*resource, *id, docs)?;
            shell.gone(cx, *resource, *id, docs)?;
        }
        Event::AppointmentGone { appointment } => shell.forget_shown(Resource::Appointments, appointment.0, docs)?,
        Event::PastAppointmentGone { appointment } => {
            change(shell, cx, *appointment, docs, |record| {
                record.cancelled = true;
                record.cancelled_at.get_or_insert(cx.now);
            })?;
            shell.forget_shown(Resource::Appointments, appointment.0, docs)?;
        }
        Event::Booked { patient, .. } => shell.seen_here(cx, patient.0, docs)?,
        // These change the machine only: their documents came with the request, or there are none.
        Event::RecordSaved { .. }
        | Event::AppointmentChanged { .. }
        | Event::HourSet(_)
        | Event::HourRemoved { .. }
        | Event::Held { .. }
        | Event::HoldEnded { .. }
        | Event::CancelConfirmed { .. }
        | Event::WriteQueued { .. }
        | Event::CallStarted { .. }
        | Event::WriteDeferred { .. }
        | Event::WriteUnknown { .. }
        | Event::PathFailed { .. }
        | Event::PathBlocked { .. }
        | Event::PathCleared
        | Event::RequestsSent { .. }
        | Event::DescribeFailed { .. }
        | Event::DescribeWorked
        | Event::CycleStarted
        | Event::ReadAnew { .. }
        | Event::PullStarted { .. }
        | Event::PullFailed { .. }
        | Event::PullPutOff { .. }
        | Event::PullSuspended { .. }
        | Event::PageApplied { .. }
        | Event::AppointmentPulled { .. }
        | Event::HourPulled(_)
        | Event::HourShown(_)
        | Event::HourGone { .. }
        | Event::OperatoryPulled(_)
        | Event::OperatoryGone { .. }
        | Event::ConflictFound { .. }
        | Event::GuardTripped { .. }
        | Event::DeletionsAccepted { .. }
        | Event::SyncRequested
        | Event::ClockSetBack { .. }
        | Event::GateTurned { .. }
        | Event::Pruned { .. } => {}
    }
    Ok(())
}

/// Gives up an expired key's claim, unless another location has claimed the key since.
fn unclaim(shell: &Shell, key: &str, docs: &mut Docs<'_>) -> Result<(), TurnError> {
    let Ok(digest) = <[u8; 32]>::try_from(hex::decode(key).unwrap_or_default()) else { return Ok(()) };
    let claim_key = keys::claim(shell.institution.id.0, &digest);
    let claim: Option<Claim> = docs.guarded(claim_key.clone())?.map(|bytes| decode(&bytes)).transpose()?;
    if claim.is_some_and(|claim| claim.location == shell.setup.id) {
        docs.delete(claim_key);
    }
    Ok(())
}

fn change(
    shell: &Shell,
    cx: Cx,
    id: AppointmentId,
    docs: &mut Docs<'_>,
    change: impl FnOnce(&mut Appointment),
) -> Result<Option<Appointment>, TurnError> {
    shell.change_here(id.0, docs, |record| {
        change(record);
        record.updated_at = cx.now;
    })
}

fn place(shell: &Shell, cx: Cx, id: AppointmentId, to: Placement, docs: &mut Docs<'_>) -> Result<(), TurnError> {
    if docs.get::<Appointment>(0, id.0)?.is_none_or(|before| before.placement == to) {
        return Ok(());
    }
    change(shell, cx, id, docs, |record| record.placement = to)?;
    Ok(())
}

/// The trace of a finished write, for operators and for a record that turns up in the EHR later.
fn finished(
    shell: &Shell,
    cx: Cx,
    id: WriteId,
    work: Work,
    failure: Option<(InsertFailure, &String)>,
    docs: &mut Docs<'_>,
) -> Result<(), TurnError> {
    let Some(write) = shell.machine.state.queue.get(id) else { return Ok(()) };
    docs.put(&records::Write {
        id: id.0,
        location_id: shell.setup.id.0,
        work,
        key: write.key.clone(),
        attempts: write.attempts,
        done: failure.is_none(),
        timed_out: failure.is_some_and(|(how, _)| how == InsertFailure::TimedOut),
        reason: failure.map(|(_, reason)| reason.clone()),
        queued_at: write.queued_at,
        finished_at: cx.now,
        lane: Some(write.lane),
        retried_as: None,
        dropped: false,
    })
}
