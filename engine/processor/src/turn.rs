//! One turn of a location: decide, commit, evolve, act. All functions are synchronous and take the time as an argument.
//! The actor adds waiting, and the simulation adds faults.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use location::{
    AppointmentId, Call, Command, Decision, DecisionContext, Event, Resource, Timestamp, command::PulledAppointment,
    replacement::Replacement,
};
use parking_lot::Mutex;
use records::Record;
use runtime::{Origin, OriginChange};
use store::{Batch, due, journal, keys};

use crate::{
    Processor, Reject, Request, TurnContext, UnitOfWork,
    call_changes::{self, CallChange, ChangedRecord},
    change_log::ended_write,
    ehr_site,
    facts::FactContext,
    journal_record::JournalRecord,
    note_keys::last_turn_key,
    processor::ImagePermit,
    projections::{Projection, cancellation, working_hours},
};

/// Maximum number of deferred records: the start and the pages of a read cycle without changes.
const MAX_DEFERRED: usize = 64;

/// A decision ready to be committed.
pub struct PendingCommit {
    pub batch: Batch,
    at: Timestamp,
    events: Vec<Event>,
    calls: Vec<Call>,
    /// The batch contains a journal record.
    recorded: bool,
    /// The journal record, if it is deferred.
    deferred: Option<Vec<u8>>,
    /// The batch changes a provider.
    providers: bool,
    /// The call that caused the turn, and the records that it changes.
    call: Option<(Arc<OriginChange>, Vec<ChangedRecord>)>,
    /// Released when the commit has ended. `None` if the batch contains the before images.
    _image_permit: Option<ImagePermit>,
}

impl PendingCommit {
    /// Returns `true` if there is nothing to commit.
    pub fn is_free(&self) -> bool {
        !self.recorded
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns the pull call of the turn, of which there is at most one.
    pub(crate) fn pull(&self) -> Option<(Resource, u64, &Option<String>, Timestamp)> {
        self.calls.iter().find_map(|call| match call {
            Call::Pull { resource, call, cursor, until } => Some((*resource, *call, cursor, *until)),
            Call::Write { .. } => None,
        })
    }

    /// Returns `true` if the pull call of the turn asks for the prefetched page.
    pub fn asks_for_prefetched(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::PullStarted { asked_at: Some(_), .. }))
    }
}

impl Processor {
    /// Decides and collects the commit without changing anything. `origin` is the request that caused the turn.
    pub fn prepare<R: Request>(
        &self,
        cx: DecisionContext,
        origin: Option<&Origin>,
        request: &R,
    ) -> Result<(PendingCommit, R::Reply), Reject> {
        let (setup, now) = (&self.setup, cx.now);
        let (institution, location) = (setup.institution.0, setup.id.0);
        let home = TurnContext { institution, source: setup.source, location, now };
        let mut unit = UnitOfWork::new(&*self.deps.store, &self.deps.pool, &self.deps.index, home);
        let (decision, reply) = request.prepare(self, cx, &mut unit)?;
        Ok((self.pending(cx, origin, decision, unit)?, reply))
    }

    /// Collects everything that is committed with a decision.
    fn pending(
        &self,
        cx: DecisionContext,
        origin: Option<&Origin>,
        decision: Decision,
        mut unit: UnitOfWork<'_>,
    ) -> Result<PendingCommit, Reject> {
        let Decision { mut events, mut calls, .. } = decision;
        let merged = self.merge_duplicates(cx, &mut events, &mut unit)?;
        Projection { processor: self, cx, unit: &mut unit }.follow_cancellations(&mut events)?;
        let request = origin.map(|origin| &**origin);
        events.iter_mut().for_each(|event| caused_by(event, request));
        let change = origin.and_then(Origin::change).cloned();
        let call = change.map(|change| (change, call_changes::changed_records(self.setup.id, &events)));
        let call = call.filter(|(_, records)| !records.is_empty());
        let (started, sent) = self.machine.ahead(cx, &events);
        events.extend(started);
        calls.extend(sent);
        let (mut batch, mut providers) = (Batch::new(), false);
        let (mut deferred, mut image_permit) = (None, None);
        if !events.is_empty() {
            let mut projection = Projection { processor: self, cx, unit: &mut unit };
            events.iter().try_for_each(|event| projection.event(event))?;
            let by = call.as_ref().map(|(change, _)| Cow::Borrowed(&*change.caller));
            let institution = by.is_some().then_some(self.setup.institution);
            let record = JournalRecord { at: cx.now, events: Cow::Borrowed(&events), by, institution };
            let record =
                serde_json::to_vec(&record).map_err(|_| Reject::Damaged("a journal record that cannot be written"))?;
            unit.ended.extend(events.iter().filter_map(ended_write));
            unit.status = self.status_change(cx.now, &events);
            let stores_site = self.stores_site(&events);
            if origin.is_none() && !stores_site && self.may_defer(&events) && unit.is_unchanged() {
                deferred = Some(record);
            } else {
                self.append_deferred(&mut batch);
                journal::append(&mut batch, self.setup.id.0, self.next_number(), record);
                self.mark(&mut batch);
                if stores_site {
                    self.ehr_site().put(&mut batch, self.setup.id);
                }
                providers = unit.changes(Resource::Providers);
                unit.facts = FactContext::new(&events, origin, merged);
                image_permit = self.deps.image_permits.as_ref().and_then(|permit| permit(self.setup.institution));
                unit.has_images = image_permit.is_none();
                unit.into_batch(&mut batch, self.next_number(), request)?;
            }
        }
        let recorded = !events.is_empty() && deferred.is_none();
        let at = cx.now;
        Ok(PendingCommit { batch, at, events, calls, recorded, deferred, providers, call, _image_permit: image_permit })
    }

    /// Returns `true` if the events only record the progress of a read cycle. Their record can wait for the next
    /// commit: a process that loses it reads the pages again, or starts the cycle again.
    fn may_defer(&self, events: &[Event]) -> bool {
        let is_progress = |event: &Event| match event {
            Event::CycleStarted | Event::PullStarted { .. } => true,
            Event::PageApplied { sweeping, needs_full_pass, .. } => !sweeping && !needs_full_pass,
            _ => false,
        };
        // A lost record is a request that the quota does not count any more.
        let most = MAX_DEFERRED.min(self.settings().quota.burst as usize / 2);
        self.marked && self.deferred.len() < most && events.iter().all(is_progress)
    }

    /// Returns `true` if a commit of these events stores the EHR of the location's records, because the store lacks it.
    fn stores_site(&self, events: &[Event]) -> bool {
        !self.has_site && ehr_site::has_records(&self.machine.state, events)
    }

    /// Adds the deferred records to a batch, before the record of its turn.
    pub(crate) fn append_deferred(&self, batch: &mut Batch) {
        for (number, record) in (self.next_seq..).zip(&self.deferred) {
            journal::append(batch, self.setup.id.0, number, record.clone());
        }
    }

    /// Returns the number of the next record, after the deferred ones.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_seq + self.deferred.len() as u64
    }

    /// Returns the next time at which the machine is due. Returns `None` if only a command can cause work.
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.machine.wake_at()
    }

    /// Merges appointments and working hours that a pull showed before the answer to their write. If the EHR does not
    /// keep the write key, such a record counts as a separate one until the answer names it. Returns the merged
    /// appointments.
    fn merge_duplicates(
        &self,
        cx: DecisionContext,
        events: &mut Vec<Event>,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<BTreeSet<u64>, Reject> {
        let mut merged = BTreeSet::new();
        let Some(source) = self.source() else { return Ok(merged) };
        for index in 0..events.len() {
            if let Some((hour, written)) = working_hours::created(&events[index]) {
                let mut projection = Projection { processor: self, cx, unit: &mut *unit };
                projection.merge_duplicate_hours(events, hour, &written)?;
            }
            // A duplicate of a cancelled appointment is cancelled with it.
            let (appointment, written, late) = match &events[index] {
                Event::InsertDone { appointment, written } => (appointment, written, false),
                Event::Replacement(Replacement::Done { appointment, written, .. }) => (appointment, written, false),
                Event::Replacement(Replacement::Late { appointment, written, .. }) => (appointment, written, true),
                _ => continue,
            };
            let (id, written) = (*appointment, written.clone());
            let shown = unit.link(source, Resource::Appointments, &written.foreign_id)?.filter(|link| link.id != id.0);
            let Some(shown) = shown else { continue };
            let mut after = self.machine.clone();
            events.iter().for_each(|event| after.evolve(cx.now, event));
            let Some(local) = after.state.appointments.get(&id) else { continue };
            // Without a document, the record was already deleted when its id was first seen.
            let duplicate = unit.get::<Record<records::Appointment>>(0, shown.id)?;
            // It is gone from this location, and the other one keeps its record.
            let is_elsewhere = self.was_read_elsewhere(&written.foreign_id, id.0, unit)?;
            let record = PulledAppointment {
                id,
                patient: local.patient,
                appointment_type: local.appointment_type,
                placement: duplicate.as_ref().map_or(local.placement, |duplicate| duplicate.placement),
                unavailable: duplicate.as_ref().is_some_and(|duplicate| duplicate.unavailable),
                cancelled: late || is_elsewhere || duplicate.is_none_or(|duplicate| duplicate.cancelled),
                written,
                replacement: None,
            };
            let command = Command::DuplicateFound { duplicate: AppointmentId(shown.id), record };
            let ends = after.decide(cx, &command).events;
            if is_elsewhere {
                events.extend(cancellation::not_carried_out(id, ends));
            } else {
                events.extend(ends);
                merged.insert(shown.id);
            }
        }
        Ok(merged)
    }

    /// Applies a durable or deferred turn to the state in memory, and returns its calls.
    pub fn finish(&mut self, turn: PendingCommit) -> Vec<Call> {
        let number = self.next_number();
        self.has_site |= turn.recorded && self.stores_site(&turn.events);
        for event in &turn.events {
            self.machine.evolve(turn.at, event);
            let operatories = Resource::Operatories;
            if matches!(event, Event::PageApplied { resource, .. } | Event::RecordSaved { resource, .. } if *resource == operatories)
            {
                self.closed = OnceLock::new();
            }
            if let Event::CycleFinished { .. } = event {
                self.patients_here = Mutex::default();
            }
        }
        if let Some((change, records)) = &turn.call {
            change.committed(records.iter().map(|record| (record.kind, record.id)));
            self.last_call = number;
        }
        if let Some(record) = turn.deferred {
            self.deferred.push(record);
            self.last_turn = Some(turn.at);
            self.deps.change_counter.changed(self.institution.id);
        }
        if turn.recorded {
            self.since_snapshot += number + 1 - self.next_seq;
            self.next_seq = number + 1;
            self.deferred.clear();
            match turn.call {
                Some((change, records)) => self.deps.call_queue.push(CallChange {
                    decision: (self.setup.id, number),
                    at: Some(turn.at),
                    institution: Some(self.setup.institution),
                    caller: Some(change.caller.clone()),
                    records,
                }),
                // The position moves with each snapshot too, so that a follower never has to read a long journal.
                None if self.last_call > 0 && self.snapshot_due() => self.deps.call_queue.ring([self.setup.id]),
                None => {}
            }
            self.marked = true;
            self.asleep = None;
            self.last_turn = Some(turn.at);
            self.deps.change_counter.changed(self.institution.id);
            self.deps.change_doorbell.ring([self.setup.id]);
        }
        if turn.providers {
            self.deps.change_counter.providers_changed(self.institution.id);
        }
        turn.calls
    }

    /// Returns the last commit before the location leaves memory.
    pub fn leave(&self) -> Result<Batch, Reject> {
        // The journal tail behind the last snapshot is short, so snapshots that are not due can be left out each time a
        // location becomes idle.
        let mut batch = Batch::new();
        if self.snapshot_due() {
            batch = self.snapshot()?;
        } else {
            self.append_deferred(&mut batch);
        }
        if self.stores_site(&[]) {
            self.ehr_site().put(&mut batch, self.setup.id);
        }
        let id = self.setup.id.0;
        // A location whose changes may be missing in the audit trail is loaded by the next start, which wakes the
        // follower.
        if self.marked && self.is_followed() {
            batch.delete(keys::active(id));
        }
        // The next turn finds changes of the status that are due to time alone. Without a turn since the location was
        // loaded, the store has the time already.
        if let Some(at) = self.last_turn.filter(|_| self.marked) {
            batch.put(last_turn_key(self.setup.id), at.0.to_be_bytes().to_vec());
        }
        let wake = self.wake_at().map(|at| at.0);
        if wake != self.asleep {
            due::set_wake(&mut batch, id, self.asleep, wake);
            match wake {
                Some(at) => batch.put(keys::asleep(id), at.to_be_bytes().to_vec()),
                None => batch.delete(keys::asleep(id)),
            };
        }
        Ok(batch)
    }

    /// Returns `true` if the changes by calls are followed. Returns `false` if the store cannot be read.
    pub(crate) fn is_followed(&self) -> bool {
        let position = || call_changes::position(&*self.deps.store, self.setup.id);
        self.last_call == 0 || position().is_ok_and(|number| number >= Some(self.last_call))
    }
}

/// Stores the request that caused a write, because the write may run long after the request was answered.
fn caused_by(event: &mut Event, by: Option<&str>) {
    if let Event::WriteQueued { origin, .. } | Event::WriteRetried { origin, .. } = event {
        *origin = by.map(str::to_owned);
    }
}
