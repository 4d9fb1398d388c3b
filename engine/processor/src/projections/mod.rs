//! Changes of documents by events. Called for every event of a turn, in order.

pub(crate) mod cancellation;
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
use records::{self, Appointment, Body, Record, RecordWrite, Writeback, document::Link};
use store::keys;

use crate::note_keys;
use crate::{Processor, Reject, UnitOfWork, commands::book_slot::Claim, pass::ReadPass, processor::decode};

/// The changes of documents by the events of a turn.
pub(crate) struct Projection<'a, 'p> {
    pub(crate) processor: &'a Processor,
    pub(crate) cx: DecisionContext,
    pub(crate) unit: &'a mut UnitOfWork<'p>,
}

impl Projection<'_, '_> {
    /// Applies an event. Must be called for every event of a turn, in order.
    pub(crate) fn event(&mut self, event: &Event) -> Result<(), Reject> {
        let (processor, now) = (self.processor, self.cx.now);
        if let Some((resource, id)) = event.reached()
            && processor.machine.state.pulls.passes.contains_key(&resource)
        {
            // A running pass may have gone past the record already.
            let mut pass = ReadPass::current(processor, resource);
            pass.shows(self.unit, id)?;
            pass.keep(self.unit)?;
        }
        self.settle_reschedule(event)?;
        match event {
            Event::Moved { appointment, to, .. } | Event::MoveReverted { appointment, to, .. } => {
                self.place(*appointment, *to)?;
            }
            Event::AppointmentPulled { record, keep: false } => self.place(record.id, record.placement)?,
            Event::Cancelled { appointment, by, reason } => {
                self.change(*appointment, |record| {
                    record.cancelled = true;
                    record.cancelled_at.get_or_insert(now);
                    record.cancel_reason.clone_from(reason);
                    match by {
                        CancelledBy::Client => set_cancellation(record, Writeback::Pending),
                        CancelledBy::Ehr => no_longer_in_ehr(record),
                    }
                })?;
            }
            Event::CancelReverted { appointment, reason } => {
                self.cancellation_answered_elsewhere(*appointment, Some(reason))?;
                self.change(*appointment, |record| {
                    record.cancelled = false;
                    record.cancelled_at = None;
                    record.cancel_reason = None;
                    set_cancellation(record, Writeback::Failed);
                })?;
            }
            Event::CancelConfirmed { appointment } if processor.settings().capabilities.integrated => {
                self.change(*appointment, |record| {
                    set_cancellation(record, Writeback::Confirmed);
                    // Its unsent replacement was withdrawn.
                    record.reschedule.iter_mut().for_each(|it| it.end(NOT_IN_EHR));
                })?;
            }
            Event::WriteQueued { work, .. } => {
                if let Some(appointment) =
                    work.appointment().filter(|_| !matches!(work, WriteIntent::CreateAppointment(_)))
                {
                    self.change(appointment, |record| record.write = Some(RecordWrite::pending()))?;
                }
            }
            Event::Replacement(step) => self.replacement(step)?,
            Event::InsertDone { appointment, written } => {
                self.link(Resource::Appointments, appointment.0, written)?;
                self.change(*appointment, |record| {
                    record.foreign_id = Some(written.foreign_id.clone());
                    record.version.clone_from(&written.version);
                    record.last_sync_time = Some(now);
                    if let Some(booking) = &mut record.booking {
                        booking.writeback = Writeback::Confirmed;
                        booking.failure_reason = None;
                    }
                })?;
            }
            Event::InsertFailed { appointment, reason, .. } => {
                self.change(*appointment, |record| {
                    if let Some(booking) = &mut record.booking {
                        booking.writeback = Writeback::Failed;
                        booking.failure_reason = Some(reason.clone());
                    }
                    no_longer_in_ehr(record);
                })?;
            }
            Event::WriteDone { write, work, written } => {
                self.finished(*write, *work, None)?;
                match (written, work) {
                    (Some(written), _) => self.written(*write, *work, written)?,
                    (None, WriteIntent::Cancel(appointment)) => {
                        self.put_tombstone(Resource::Appointments, Link::gone_unanswered(appointment.0))?;
                    }
                    (None, _) => {}
                }
                let is_needless = written.is_none() && matches!(work, WriteIntent::Replace(_));
                self.change_ended((*write, *work), is_needless, RecordWrite::succeeded())?;
            }
            Event::WriteFailed { write, work, how, reason } => {
                self.finished(*write, *work, Some((*how, reason)))?;
                self.not_written(*write, *work, (*how, reason))?;
                self.change_ended((*write, *work), false, RecordWrite::failed(reason))?;
            }
            Event::WriteRetried { write, of, work, .. } => self.retried(*write, *of, *work)?,
            Event::WriteDropped { write } => self.dropped(*write)?,
            Event::HourReverted { to, reason: _ } => self.hour_reverted(to)?,
            Event::KeyExpired { key } => self.unclaim(key)?,
            Event::CycleFinished { .. } => {
                let cycle = processor.machine.state.pulls.cycle.as_ref();
                if cycle.is_some_and(|cycle| !cycle.incomplete && cycle.appointments_only.is_none()) {
                    self.unit.put_raw(note_keys::last_sync_key(processor.setup.id), note_keys::last_sync_value(now));
                }
            }
            Event::RecordGone { resource, id } => {
                self.put_tombstone(*resource, Link::gone(*id))?;
                self.delete_record(*resource, *id)?;
            }
            Event::AppointmentGone { appointment } => {
                self.put_tombstone(Resource::Appointments, Link::gone(appointment.0))?;
            }
            Event::PastAppointmentGone { appointment } => {
                self.change(*appointment, |record| {
                    Appointment::mark_deleted(record, now);
                })?;
                self.put_tombstone(Resource::Appointments, Link::gone(appointment.0))?;
            }
            Event::Booked { patient, .. } => processor.seen_here(self.cx, patient.0, self.unit)?,
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
    fn unclaim(&mut self, key: &str) -> Result<(), Reject> {
        let Ok(digest) = <[u8; 32]>::try_from(hex::decode(key).unwrap_or_default()) else { return Ok(()) };
        let claim_key = keys::claim(self.processor.institution.id.0, &digest);
        let claim: Option<Claim> = self.unit.guarded(claim_key.clone())?.map(|bytes| decode(&bytes)).transpose()?;
        if claim.is_some_and(|claim| claim.location == self.processor.setup.id) {
            self.unit.delete(claim_key);
        }
        Ok(())
    }

    /// Changes the document of an appointment that belongs to this location, and its time of change.
    fn change(&mut self, id: AppointmentId, change: impl FnOnce(&mut Record<Appointment>)) -> Result<(), Reject> {
        let now = self.cx.now;
        self.change_if_local(id.0, |record| {
            change(record);
            record.updated_at = now;
        })
    }

    /// Records the state of a client's change of an appointment: `ended`, unless another of its writes is queued. A
    /// needless replacement ends in the same turn as the write that placed the appointment.
    fn change_ended(
        &mut self,
        (write, work): (WriteId, WriteIntent),
        is_needless: bool,
        ended: RecordWrite,
    ) -> Result<(), Reject> {
        let Some(appointment) = work.appointment() else { return Ok(()) };
        let insert = matches!(work, WriteIntent::CreateAppointment(_));
        let is_over = |other: WriteIntent| is_needless && other.places();
        let mut writes = self.processor.machine.state.queue.for_appointment(appointment);
        let last = writes.all(|(other, pending)| other == write || is_over(pending.work));
        let state = match last {
            true if insert => None,
            true => Some(ended),
            false => Some(RecordWrite::pending()),
        };
        if self.unit.get_ref::<Record<Appointment>>(0, appointment.0)?.is_none_or(|record| record.write == state) {
            return Ok(());
        }
        self.change(appointment, |record| record.write = state)
    }

    fn place(&mut self, id: AppointmentId, to: Placement) -> Result<(), Reject> {
        if self.unit.get_ref::<Record<Appointment>>(0, id.0)?.is_none_or(|before| before.placement == to) {
            return Ok(());
        }
        self.change(id, |record| record.placement = to)
    }

    /// Stores a finished write, for operators and for a record that appears in the EHR later.
    fn finished(
        &mut self,
        id: WriteId,
        work: WriteIntent,
        failure: Option<(InsertFailure, &String)>,
    ) -> Result<(), Reject> {
        let Some(write) = self.processor.machine.state.queue.get(id) else { return Ok(()) };
        let ended = records::FinishedWrite {
            id: id.0,
            location_id: self.processor.setup.id.0,
            work,
            key: write.key.clone(),
            // A write with unknown outcome counts as attempted, so that a retry looks it up first.
            attempts: write.attempts.max(u32::from(write.unknown)),
            done: failure.is_none(),
            timed_out: failure.is_some_and(|(how, _)| how == InsertFailure::TimedOut),
            reason: failure.map(|(_, reason)| reason.clone()),
            queued_at: write.queued_at,
            finished_at: self.cx.now,
            lane: Some(write.ordering_key),
            retried_as: None,
            dropped: false,
            withdrawn: failure.is_some_and(|(how, _)| how == InsertFailure::Withdrawn),
            origin: write.origin.clone(),
        };
        if ended.needs_operator() {
            self.unit.put_raw(note_keys::failed_write_key(ended.location_id, ended.id), Vec::new());
        }
        self.unit.put(&ended)
    }
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
