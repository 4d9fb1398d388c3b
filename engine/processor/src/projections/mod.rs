//! Changes of documents by events. Called for every event of a turn, in order.

pub(crate) mod patient_locations;
mod replacement;
mod reschedule;
pub(crate) mod tombstone;
pub(crate) mod working_hours;
pub(crate) mod write_outcome;
mod write_retried;

use location::{
    AppointmentId, DecisionContext, Event, Placement, Resource, WriteId, WriteIntent,
    event::{CancelledBy, InsertFailure},
};
use records::{self, Appointment, Body, Record, RecordWrite, Writeback};
use store::keys;

use crate::note_keys;
use crate::{Processor, Reject, UnitOfWork, commands::book_slot::Claim, pass::ReadPass, processor::decode};

pub(crate) fn event(
    processor: &Processor,
    cx: DecisionContext,
    event: &Event,
    unit: &mut UnitOfWork<'_>,
) -> Result<(), Reject> {
    if let Some((resource, id)) = event.reached()
        && processor.machine.state.pulls.passes.contains_key(&resource)
    {
        // A running pass may have gone past the record already.
        let mut pass = ReadPass::current(processor, resource);
        pass.shows(unit, id)?;
        pass.keep(unit)?;
    }
    processor.settle_reschedule(cx, event, unit)?;
    match event {
        Event::Moved { appointment, to, .. } | Event::MoveReverted { appointment, to, .. } => {
            place(processor, cx, *appointment, *to, unit)?;
        }
        Event::AppointmentPulled { record, keep: false } => place(processor, cx, record.id, record.placement, unit)?,
        Event::Cancelled { appointment, by, reason } => {
            change(processor, cx, *appointment, unit, |record| {
                record.cancelled = true;
                record.cancelled_at.get_or_insert(cx.now);
                record.cancel_reason.clone_from(reason);
                match by {
                    CancelledBy::Client => set_cancellation(record, Writeback::Pending),
                    CancelledBy::Ehr => no_longer_in_ehr(record),
                }
            })?;
        }
        Event::CancelReverted { appointment, .. } => {
            change(processor, cx, *appointment, unit, |record| {
                record.cancelled = false;
                record.cancelled_at = None;
                record.cancel_reason = None;
                set_cancellation(record, Writeback::Failed);
            })?;
        }
        Event::CancelConfirmed { appointment } if processor.settings().capabilities.integrated => {
            change(processor, cx, *appointment, unit, |record| {
                set_cancellation(record, Writeback::Confirmed);
                // Its unsent replacement was withdrawn.
                record.reschedule.iter_mut().for_each(|it| it.end(NOT_IN_EHR));
            })?;
        }
        Event::WriteQueued { work, .. } => {
            if let Some(appointment) = work.appointment().filter(|_| !matches!(work, WriteIntent::CreateAppointment(_)))
            {
                change(processor, cx, appointment, unit, |record| record.write = Some(RecordWrite::pending()))?;
            }
        }
        Event::Replacement(step) => processor.replacement(cx, step, unit)?,
        Event::InsertDone { appointment, written } => {
            processor.link(Resource::Appointments, appointment.0, written, unit)?;
            change(processor, cx, *appointment, unit, |record| {
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
            change(processor, cx, *appointment, unit, |record| {
                if let Some(booking) = &mut record.booking {
                    booking.writeback = Writeback::Failed;
                    booking.failure_reason = Some(reason.clone());
                }
                no_longer_in_ehr(record);
            })?;
        }
        Event::WriteDone { write, work, written } => {
            finished(processor, cx, *write, *work, None, unit)?;
            if let Some(written) = written {
                processor.written(cx, *write, *work, written, unit)?;
            }
            let is_needless = written.is_none() && matches!(work, WriteIntent::Replace(_));
            change_ended(processor, cx, (*write, *work), is_needless, RecordWrite::succeeded(), unit)?;
        }
        Event::WriteFailed { write, work, how, reason } => {
            finished(processor, cx, *write, *work, Some((*how, reason)), unit)?;
            processor.not_written(cx, *write, *work, (*how, reason), unit)?;
            change_ended(processor, cx, (*write, *work), false, RecordWrite::failed(reason), unit)?;
        }
        Event::WriteRetried { write, of, work, .. } => processor.retried(cx, *write, *of, *work, unit)?,
        Event::WriteDropped { write } => processor.dropped(*write, unit)?,
        Event::HourReverted { to, reason: _ } => processor.hour_reverted(cx, to, unit)?,
        Event::KeyExpired { key } => unclaim(processor, key, unit)?,
        Event::CycleFinished { .. } => {
            let cycle = processor.machine.state.pulls.cycle.as_ref();
            if cycle.is_some_and(|cycle| !cycle.incomplete && cycle.appointments_only.is_none()) {
                unit.put_raw(note_keys::last_sync_key(processor.setup.id), note_keys::last_sync_value(cx.now));
            }
        }
        Event::RecordGone { resource, id } => {
            processor.forget_shown(*resource, *id, unit)?;
            processor.gone(cx, *resource, *id, unit)?;
        }
        Event::AppointmentGone { appointment } => {
            processor.forget_shown(Resource::Appointments, appointment.0, unit)?
        }
        Event::PastAppointmentGone { appointment } => {
            change(processor, cx, *appointment, unit, |record| {
                Appointment::mark_deleted(record, cx.now);
            })?;
            processor.forget_shown(Resource::Appointments, appointment.0, unit)?;
        }
        Event::Booked { patient, .. } => processor.seen_here(cx, patient.0, unit)?,
        // These events change only the machine: their documents came with the request, or there are none.
        Event::RecordSaved { .. }
        | Event::AppointmentChanged { .. }
        | Event::HourSet(_)
        | Event::HourRemoved { .. }
        | Event::Held { .. }
        | Event::HoldEnded { .. }
        | Event::KeyUsed { .. }
        | Event::CancelConfirmed { .. }
        | Event::CallStarted { .. }
        | Event::WriteDeferred { .. }
        | Event::WriteUnknown { .. }
        | Event::BreakerFailure { .. }
        | Event::BreakerOpened { .. }
        | Event::BreakerClosed
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
        | Event::Swept { .. }
        | Event::SweepEnded { .. }
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
        | Event::ReadRequested { .. }
        | Event::Restored { .. }
        | Event::WriteRestored { .. }
        | Event::ClockSetBack { .. }
        | Event::CallsOutlast { .. }
        | Event::GateTurned { .. }
        | Event::PauseTurned { .. }
        | Event::Pruned { .. } => {}
    }
    Ok(())
}

/// Releases the claim of an expired key, unless another location has claimed the key since.
fn unclaim(processor: &Processor, key: &str, unit: &mut UnitOfWork<'_>) -> Result<(), Reject> {
    let Ok(digest) = <[u8; 32]>::try_from(hex::decode(key).unwrap_or_default()) else { return Ok(()) };
    let claim_key = keys::claim(processor.institution.id.0, &digest);
    let claim: Option<Claim> = unit.guarded(claim_key.clone())?.map(|bytes| decode(&bytes)).transpose()?;
    if claim.is_some_and(|claim| claim.location == processor.setup.id) {
        unit.delete(claim_key);
    }
    Ok(())
}

fn change(
    processor: &Processor,
    cx: DecisionContext,
    id: AppointmentId,
    unit: &mut UnitOfWork<'_>,
    change: impl FnOnce(&mut Record<Appointment>),
) -> Result<Option<Record<Appointment>>, Reject> {
    processor.change_here(id.0, unit, |record| {
        change(record);
        record.updated_at = cx.now;
    })
}

/// Records the state of a client's change of an appointment: `ended`, unless another of its writes is queued. A
/// needless replacement ends in the same turn as the write that placed the appointment.
fn change_ended(
    processor: &Processor,
    cx: DecisionContext,
    (write, work): (WriteId, WriteIntent),
    is_needless: bool,
    ended: RecordWrite,
    unit: &mut UnitOfWork<'_>,
) -> Result<(), Reject> {
    let Some(appointment) = work.appointment() else { return Ok(()) };
    let insert = matches!(work, WriteIntent::CreateAppointment(_));
    let is_over = |other: WriteIntent| is_needless && other.places();
    let mut writes = processor.machine.state.queue.of(appointment);
    let last = writes.all(|(other, pending)| other == write || is_over(pending.work));
    let state = match last {
        true if insert => None,
        true => Some(ended),
        false => Some(RecordWrite::pending()),
    };
    if unit.get_ref::<Record<Appointment>>(0, appointment.0)?.is_none_or(|record| record.write == state) {
        return Ok(());
    }
    change(processor, cx, appointment, unit, |record| record.write = state)?;
    Ok(())
}

fn set_cancellation(record: &mut Record<Appointment>, state: Writeback) {
    if let Some(booking) = &mut record.booking {
        booking.cancellation = Some(state);
    }
}

/// Reason of a change that has no aim any more.
const NOT_IN_EHR: &str = "the appointment is not in the EHR";

/// Settles an appointment that has no writes left and is not in the EHR. A requested cancellation has succeeded;
/// another pending change has failed.
fn no_longer_in_ehr(record: &mut Record<Appointment>) {
    record.reschedule.iter_mut().for_each(|it| it.end(NOT_IN_EHR));
    let cancelling = record.booking.as_ref().is_some_and(|booking| booking.cancellation == Some(Writeback::Pending));
    if cancelling {
        set_cancellation(record, Writeback::Confirmed);
        record.write = record.write.take().map(|_| RecordWrite::succeeded());
    } else if record.write == Some(RecordWrite::pending()) {
        record.write = Some(RecordWrite::failed(NOT_IN_EHR));
    }
}

fn place(
    processor: &Processor,
    cx: DecisionContext,
    id: AppointmentId,
    to: Placement,
    unit: &mut UnitOfWork<'_>,
) -> Result<(), Reject> {
    if unit.get_ref::<Record<Appointment>>(0, id.0)?.is_none_or(|before| before.placement == to) {
        return Ok(());
    }
    change(processor, cx, id, unit, |record| record.placement = to)?;
    Ok(())
}

/// Stores a finished write, for operators and for a record that appears in the EHR later.
fn finished(
    processor: &Processor,
    cx: DecisionContext,
    id: WriteId,
    work: WriteIntent,
    failure: Option<(InsertFailure, &String)>,
    unit: &mut UnitOfWork<'_>,
) -> Result<(), Reject> {
    let Some(write) = processor.machine.state.queue.get(id) else { return Ok(()) };
    let ended = records::FinishedWrite {
        id: id.0,
        location_id: processor.setup.id.0,
        work,
        key: write.key.clone(),
        // A write with unknown outcome counts as attempted, so that a retry looks it up first.
        attempts: write.attempts.max(u32::from(write.unknown)),
        done: failure.is_none(),
        timed_out: failure.is_some_and(|(how, _)| how == InsertFailure::TimedOut),
        reason: failure.map(|(_, reason)| reason.clone()),
        queued_at: write.queued_at,
        finished_at: cx.now,
        lane: Some(write.ordering_key),
        retried_as: None,
        dropped: false,
        withdrawn: failure.is_some_and(|(how, _)| how == InsertFailure::Withdrawn),
        origin: write.origin.clone(),
    };
    if ended.needs_operator() {
        unit.put_raw(note_keys::failed_write_key(ended.location_id, ended.id), Vec::new());
    }
    unit.put(&ended)
}
