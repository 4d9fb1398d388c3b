//! One turn of a location: decide, commit, evolve, act. Everything here is synchronous and takes the moment as an argument; the actor adds
//! waiting, the simulation adds lies.

use std::sync::{Arc, OnceLock};

use location::{
    command::{Command, Cx, PulledAppointment},
    decision::{Call, Decision},
    event::Event,
    ids::AppointmentId,
    pull::Resource,
    time::Timestamp,
};
use records::record::Record;
use runtime::origin::{Change, Origin};
use store::{Batch, due, journal, keys};
use webhooks::outbox::Enqueued;

use crate::{
    error::Reject,
    journal_record::JournalRecord,
    note_keys::last_turn_key,
    notify::{self, Room, sync_status},
    processor::Processor,
    projections::{self, working_hours},
    request::Request,
    unit_of_work::{Home, UnitOfWork},
    untold::{self, Untold},
};

/// A decision ready to be committed.
pub struct PendingCommit {
    pub batch: Batch,
    at: Timestamp,
    events: Vec<Event>,
    calls: Vec<Call>,
    enqueued: Enqueued,
    /// Messages its commit has no room for.
    left_out: usize,
    /// It stands in the journal.
    recorded: bool,
    /// It is to be in the audit trail.
    untold: Option<(Arc<Change>, Untold)>,
}

impl PendingCommit {
    /// Nothing to commit: the reply stands as it is.
    pub fn is_free(&self) -> bool {
        !self.recorded
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The page it asks for, of which there is at most one.
    pub(crate) fn pull(&self) -> Option<(Resource, u64, &Option<String>, Timestamp)> {
        self.calls.iter().find_map(|call| match call {
            Call::Pull { resource, call, cursor, until } => Some((*resource, *call, cursor, *until)),
            Call::Write { .. } => None,
        })
    }
}

impl Processor {
    /// Decides, and gathers all that is to be committed with it. Changes nothing. `origin` is the request it is done for.
    pub fn prepare<R: Request>(
        &self,
        cx: Cx,
        origin: Option<&Origin>,
        request: &R,
    ) -> Result<(PendingCommit, R::Reply), Reject> {
        let mut prepared = self.attempt(cx, origin, request, None, Room::beside_others())?;
        if prepared.0.left_out > 0 && request.records() > 0 {
            prepared = self.part_of_page(cx, origin, request, prepared)?;
        }
        if prepared.0.left_out > 0 {
            prepared = self.attempt(cx, origin, request, None, Room::alone())?;
        }
        if prepared.0.left_out > 0 {
            let (location, messages) = (self.setup.id, prepared.0.left_out);
            tracing::error!(%location, messages, "webhook messages dropped: too many for one commit");
        }
        Ok(prepared)
    }

    /// So many records of a page, or of its deletions, as one commit can tell of. The page is asked for again, and by then they are no news.
    /// All of it where that does not help.
    fn part_of_page<R: Request>(
        &self,
        cx: Cx,
        origin: Option<&Origin>,
        request: &R,
        whole: (PendingCommit, R::Reply),
    ) -> Result<(PendingCommit, R::Reply), Reject> {
        let (mut fits, mut too_many) = (0, request.records() + 1);
        let told = whole.0.enqueued.deliveries();
        let mut guess = request.records() * told / (told + whole.0.left_out);
        while too_many - fits > 1 {
            let most = guess.clamp(fits + 1, too_many - 1);
            let part = self.attempt(cx, origin, request, Some(most), Room::beside_others())?;
            match part.0.left_out {
                0 if part.0.enqueued.deliveries() > 0 => return Ok(part),
                0 => fits = most,
                _ => too_many = most,
            }
            guess = usize::midpoint(fits, too_many);
        }
        Ok(whole)
    }

    fn attempt<R: Request>(
        &self,
        cx: Cx,
        origin: Option<&Origin>,
        request: &R,
        part: Option<usize>,
        room: Room,
    ) -> Result<(PendingCommit, R::Reply), Reject> {
        let home = Home { source: self.setup.source, location: self.setup.id.0, now: cx.now };
        let mut unit = UnitOfWork::new(&*self.deps.store, &self.deps.pool, &self.deps.index, home);
        let (decision, reply) = match part {
            None => request.prepare(self, cx, &mut unit)?,
            Some(most) => request.prepare_part(self, cx, &mut unit, most)?,
        };
        Ok((self.pending(cx, origin, decision, unit, request.wakes(), room)?, reply))
    }

    /// The decision with all that is to be committed with it.
    fn pending(
        &self,
        cx: Cx,
        origin: Option<&Origin>,
        decision: Decision,
        mut unit: UnitOfWork<'_>,
        woken: bool,
        room: Room,
    ) -> Result<PendingCommit, Reject> {
        let Decision { mut events, mut calls, .. } = decision;
        self.find_twins(cx, &mut events, &mut unit)?;
        let request = origin.map(|origin| &**origin);
        events.iter_mut().for_each(|event| caused_by(event, request));
        let untold = origin.and_then(Origin::change).and_then(|change| self.untold(cx, change, &events));
        let (started, sent) = self.machine.ahead(cx, &events);
        events.extend(started);
        calls.extend(sent);
        let (mut batch, mut enqueued, mut left_out) = (Batch::new(), Enqueued::default(), 0);
        let recorded = !events.is_empty() || (woken && self.tells_late(cx.now)?);
        if recorded {
            for event in &events {
                projections::event(self, cx, event, &mut unit)?;
            }
            let by = untold.as_ref().map(|(_, untold)| untold.caller.clone());
            let record =
                JournalRecord { at: cx.now, events: events.clone(), by, untold: self.deps.untold.first(self.setup.id) };
            let record =
                serde_json::to_vec(&record).map_err(|_| Reject::Damaged("a journal record that cannot be written"))?;
            journal::append(&mut batch, self.setup.id.0, self.next_seq, record);
            self.mark(&mut batch);
            (enqueued, left_out) = notify::told(self, cx, request, &events, &unit, &mut batch, room)?;
            unit.into_batch(&mut batch);
        }
        Ok(PendingCommit { batch, at: cx.now, events, calls, enqueued, left_out, recorded, untold })
    }

    /// What is to be told of a call's turn.
    fn untold(&self, cx: Cx, change: &Arc<Change>, events: &[Event]) -> Option<(Arc<Change>, Untold)> {
        let touched = untold::touched(events);
        if touched.is_empty() {
            return None;
        }
        let decision = (self.setup.id, self.next_seq);
        Some((change.clone(), Untold { decision, at: cx.now, caller: change.caller.clone(), touched }))
    }

    /// Whether there is something that subscribers could not be told earlier: also where nothing happens any more.
    fn tells_late(&self, now: Timestamp) -> Result<bool, Reject> {
        Ok(sync_status::due(self)?.is_some_and(|at| at <= now))
    }

    /// When something will be due: for the machine, or for those who listen. None: nothing ever, unless a command comes.
    pub fn wake_at(&self) -> Option<Timestamp> {
        let told = sync_status::due(self).unwrap_or_else(|error| {
            tracing::error!(location = %self.setup.id, %error, "the last notified sync state cannot be decoded");
            None
        });
        self.machine.wake_at().into_iter().chain(told).min()
    }

    /// A pull may show what we wrote before we know that we did. Where the EHR does not keep our key it then counts as an appointment
    /// of its own, until the write's answer names it.
    fn find_twins(&self, cx: Cx, events: &mut Vec<Event>, unit: &mut UnitOfWork<'_>) -> Result<(), Reject> {
        let Some(source) = self.source() else { return Ok(()) };
        for index in 0..events.len() {
            if let Some((hour, written)) = working_hours::created(&events[index]) {
                self.find_hour_twin(cx, events, hour, &written, unit)?;
            }
            let Event::InsertDone { appointment, written } = &events[index] else { continue };
            let (id, written) = (*appointment, written.clone());
            let shown = unit.link(source, Resource::Appointments, &written.foreign_id)?.filter(|link| link.id != id.0);
            let Some(shown) = shown else { continue };
            let mut after = self.machine.clone();
            events.iter().for_each(|event| after.evolve(cx.now, event));
            let Some(ours) = after.state.appointments.get(&id) else { continue };
            // Without a document: it was gone when we first heard of it.
            let twin = unit.get::<Record<records::Appointment>>(0, shown.id)?;
            let record = PulledAppointment {
                id,
                patient: ours.patient,
                appointment_type: ours.appointment_type,
                placement: twin.as_ref().map_or(ours.placement, |twin| twin.placement),
                unavailable: twin.as_ref().is_some_and(|twin| twin.unavailable),
                cancelled: twin.is_none_or(|twin| twin.cancelled),
                written,
            };
            let command = Command::TwinFound { twin: AppointmentId(shown.id), record };
            events.extend(after.decide(cx, &command).events);
        }
        Ok(())
    }

    /// The batch is durable: memory follows.
    pub fn finish(&mut self, turn: PendingCommit) -> Vec<Call> {
        for event in &turn.events {
            self.machine.evolve(turn.at, event);
            let operatories = Resource::Operatories;
            if matches!(event, Event::PageApplied { resource, .. } | Event::RecordSaved { resource, .. } if *resource == operatories)
            {
                self.closed = OnceLock::new();
            }
        }
        if let Some((change, untold)) = turn.untold {
            change.committed(untold.decision);
            self.deps.untold.add(untold);
        }
        if turn.recorded {
            self.next_seq += 1;
            self.since_snapshot += 1;
            self.marked = true;
            self.asleep = None;
            self.last_turn = Some(turn.at);
            self.deps.change_counter.changed(self.institution.id);
        }
        self.deps.outbox.committed(turn.enqueued);
        turn.calls
    }

    /// The last commit before the location leaves memory.
    pub fn leave(&self) -> Result<Batch, Reject> {
        // The tail behind the last snapshot is short: what is not due need not be written each time a location falls idle.
        let mut batch = if self.snapshot_due() { self.snapshot()? } else { Batch::new() };
        let id = self.setup.id.0;
        // Whose changes may be missing in the audit trail is brought in by the next start, and reads them again.
        if self.marked && self.deps.untold.first(self.setup.id).is_none() {
            batch.delete(keys::active(id));
        }
        // Who listens hears what only time has changed until the next turn.
        if let Some(at) = self.last_turn.filter(|_| self.deps.outbox.has_subscribers(self.institution.id)) {
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
}

/// What waits for its turn names the request that caused it when that has long been answered.
fn caused_by(event: &mut Event, by: Option<&str>) {
    if let Event::WriteQueued { origin, .. } | Event::WriteRetried { origin, .. } = event {
        *origin = by.map(str::to_owned);
    }
}
