//! One turn of a location: decide, commit, evolve, act. Everything here is synchronous and takes the moment as an argument; the actor adds
//! waiting, the simulation adds lies.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use location::{
    Location,
    command::{Closed, Command, Cx, Hold, PulledAppointment},
    decision::{Call, Decision},
    event::Event,
    ids::{AppointmentId, AppointmentTypeId, LocationId, OperatoryId},
    pull::Resource,
    settings::Settings,
    state::State,
    time::Timestamp,
};
use records::{self, document::Document, ehr::Description};
use serde::{Deserialize, Serialize};
use setup::{Institution, LocationSetup, Setup, settings};
use store::{Batch, Store, StoreError, counters::Ids, due, journal, keys, secrets::Secrets};
use webhooks::{
    outbox::{Enqueued, Outbox},
    shapes::{Shapes, Unshaped},
};

use crate::{
    change_counter::ChangeCounter,
    note_keys::{description_key, last_turn_key},
};
use crate::{
    id_pool::Pool,
    notify::{self, sync_status},
    projections::{self, working_hours},
    request::{Answer, Request},
    unit_of_work::{Home, UnitOfWork, decode},
};

/// A snapshot is due after this many records, or as many as there are appointments in memory if those are more: loading reads one
/// snapshot and a tail of about its weight.
const SNAPSHOT_AFTER: u64 = 500;
/// Records of the journal kept for audit behind the snapshot, and deleted at a time beyond them.
const JOURNAL_KEPT: u64 = 1_000_000;
const TRIMMED_AT_ONCE: usize = 2_000;

/// What the locations of an engine share.
pub struct Deps {
    pub setup: Arc<Setup>,
    pub store: Arc<dyn Store>,
    pub ids: Arc<Ids>,
    pub pool: Pool,
    pub outbox: Outbox,
    pub shapes: Arc<dyn Shapes>,
    pub secrets: Secrets,
    pub change_counter: ChangeCounter,
}

#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// Fetch some and prepare again.
    #[error("no ids of this resource at hand")]
    NeedIds(Resource),
    #[error("damaged: {0}")]
    Damaged(&'static str),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Unshaped> for TurnError {
    fn from(unshaped: Unshaped) -> TurnError {
        match unshaped {
            Unshaped::Store(error) => TurnError::Store(error),
            Unshaped::Damaged => TurnError::Damaged("a record that subscribers are to be shown"),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Journal(#[from] journal::JournalError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a record of location {location} cannot be understood: {why}")]
    Record { location: LocationId, why: String },
    #[error("no such location")]
    Unknown,
}

impl LoadError {
    /// Reading again will not help.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Journal(journal::JournalError::Damaged { .. }) | Self::Record { .. } => true,
            Self::Journal(journal::JournalError::Store(error)) | Self::Store(error) => {
                matches!(error, StoreError::Damaged { .. })
            }
            Self::Unknown => false,
        }
    }
}

/// One record of the journal.
#[derive(Serialize, Deserialize)]
struct Record {
    at: Timestamp,
    events: Vec<Event>,
}

/// A location in memory, never ahead of the disk.
pub struct Processor {
    pub deps: Arc<Deps>,
    pub setup: Arc<LocationSetup>,
    pub institution: Arc<Institution>,
    pub machine: Location,
    /// What the EHR said it can do.
    pub description: Option<Description>,
    /// When its last turn was, as far as that matters to anybody.
    pub last_turn: Option<Timestamp>,
    next_seq: u64,
    since_snapshot: u64,
    /// Records before the next one is tried, after one that came to nothing.
    snapshot_not_before: u64,
    /// It stands in the store as being in memory, so that a restart wakes it.
    marked: bool,
    /// The wake time it left memory with last.
    asleep: Option<i64>,
    /// Operatories that patients may not book themselves, as of the last page of operatories.
    closed: OnceLock<BTreeSet<OperatoryId>>,
}

/// A decision ready to be committed.
pub struct PendingCommit {
    pub batch: Batch,
    at: Timestamp,
    answer: Answer,
    events: Vec<Event>,
    calls: Vec<Call>,
    enqueued: Enqueued,
    /// Messages its commit has no room for.
    left_out: usize,
    /// It stands in the journal.
    recorded: bool,
}

impl PendingCommit {
    /// Nothing to commit: the answer stands as it is.
    pub fn is_free(&self) -> bool {
        !self.recorded
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The page it asks for, of which there is at most one.
    pub(super) fn pull(&self) -> Option<(Resource, u64, &Option<String>, Timestamp)> {
        self.calls.iter().find_map(|call| match call {
            Call::Pull { resource, call, cursor, until } => Some((*resource, *call, cursor, *until)),
            Call::Write { .. } => None,
        })
    }
}

impl Processor {
    pub fn load(deps: Arc<Deps>, location: LocationId) -> Result<Processor, LoadError> {
        let setup = deps.setup.locations.get(&location).ok_or(LoadError::Unknown)?.clone();
        let institution = deps.setup.institutions.get(&setup.institution).ok_or(LoadError::Unknown)?.clone();
        let damaged = |why: serde_json::Error| LoadError::Record { location, why: why.to_string() };
        let description = deps.store.get(&description_key(location))?;
        let description = description.map(|bytes| serde_json::from_slice(&bytes)).transpose().map_err(damaged)?;
        let marked = deps.store.get(&keys::active(location.0))?.is_some();
        let asleep = deps.store.get(&keys::asleep(location.0))?.and_then(|bytes| bytes.try_into().ok());
        let asleep = asleep.map(i64::from_be_bytes);

        let loaded = journal::load(&*deps.store, location.0)?;
        let settings = Arc::new(settings::of(&deps.setup, &setup, description.as_ref()));
        let state = match &loaded.snapshot {
            Some((_, bytes)) => serde_json::from_slice(bytes).map_err(damaged)?,
            None => State::default(),
        };
        let mut machine = Location::load(settings, state);
        let mut last_turn = None;
        for (_, bytes) in &loaded.tail {
            let record: Record = serde_json::from_slice(bytes).map_err(damaged)?;
            last_turn = Some(record.at);
            for event in &record.events {
                machine.evolve(record.at, event);
            }
        }
        if last_turn.is_none() {
            let left = deps.store.get(&last_turn_key(location))?.and_then(|bytes| bytes.try_into().ok());
            last_turn = left.map(|bytes| Timestamp(i64::from_be_bytes(bytes)));
        }
        let since_snapshot = loaded.tail.len() as u64;
        Ok(Processor {
            deps,
            setup,
            institution,
            machine,
            description,
            last_turn,
            next_seq: loaded.next_seq,
            since_snapshot,
            snapshot_not_before: 0,
            marked,
            asleep,
            closed: OnceLock::new(),
        })
    }

    pub fn settings(&self) -> &Settings {
        &self.machine.settings
    }

    /// Decides, and gathers all that is to be committed with it. Changes nothing.
    pub fn prepare(&self, cx: Cx, request: &Request) -> Result<PendingCommit, TurnError> {
        let turn = self.prepare_part(cx, request, None)?;
        let turn = match request {
            Request::Page { outcome: Ok(page), .. } if turn.left_out > 0 => {
                self.part_of_page(cx, request, page.records.len(), turn)?
            }
            _ => turn,
        };
        if turn.left_out > 0 {
            let (location, messages) = (self.setup.id, turn.left_out);
            tracing::error!(%location, messages, "webhook messages left out: too many for one commit");
        }
        Ok(turn)
    }

    /// So many records of a page as one commit can tell of. The page is asked for again, and by then they are no news. All of it where that
    /// does not help: one record has too many listeners, or what is too much is deletions.
    fn part_of_page(
        &self,
        cx: Cx,
        request: &Request,
        records: usize,
        whole: PendingCommit,
    ) -> Result<PendingCommit, TurnError> {
        let (mut fits, mut too_many) = (0, records + 1);
        let told = whole.enqueued.deliveries();
        let mut guess = records * told / (told + whole.left_out);
        while too_many - fits > 1 {
            let most = guess.clamp(fits + 1, too_many - 1);
            let part = self.prepare_part(cx, request, Some(most))?;
            match part.left_out {
                0 if part.enqueued.deliveries() > 0 => return Ok(part),
                0 => fits = most,
                _ => too_many = most,
            }
            guess = usize::midpoint(fits, too_many);
        }
        Ok(whole)
    }

    fn prepare_part(&self, cx: Cx, request: &Request, part: Option<usize>) -> Result<PendingCommit, TurnError> {
        let home = Home { source: self.setup.source, location: self.setup.id.0, now: cx.now };
        let mut unit = UnitOfWork::new(&*self.deps.store, &self.deps.pool, &self.deps.secrets, home);
        let (decision, answer) = match request {
            Request::Book(book) => self.prepare_booking(cx, book, &mut unit)?,
            Request::Save(save) => self.prepare_save(cx, save, &mut unit)?,
            Request::Page { resource, call, outcome } => {
                self.prepare_page(cx, (*resource, *call), outcome, part, &mut unit)?
            }
            Request::Hold(hold) => self.prepare_hold(cx, hold)?,
            Request::Command(command) => {
                let believed = self.believed(command, &mut unit)?;
                self.prepare_command(cx, believed.as_ref().unwrap_or(command))
            }
            Request::RetryWrite(write) => self.prepare_retry(cx, *write, &mut unit)?,
            Request::DropWrite(write) => self.prepare_drop(cx, *write, &mut unit)?,
        };
        let Decision { mut events, calls, .. } = decision;
        self.supersede(cx, &mut events, &mut unit)?;
        let (mut batch, mut enqueued, mut left_out) = (Batch::new(), Enqueued::default(), 0);
        let recorded = !events.is_empty() || self.tells_late(cx.now, request)?;
        if recorded {
            for event in &events {
                projections::event(self, cx, event, &mut unit)?;
            }
            let record = serde_json::to_vec(&Record { at: cx.now, events: events.clone() })
                .map_err(|_| TurnError::Damaged("a journal record that cannot be written"))?;
            journal::append(&mut batch, self.setup.id.0, self.next_seq, record);
            self.mark(&mut batch);
            (enqueued, left_out) = notify::told(self, cx, &events, &unit, &mut batch)?;
            unit.into_batch(&mut batch)?;
        }
        Ok(PendingCommit { batch, at: cx.now, answer, events, calls, enqueued, left_out, recorded })
    }

    /// Whether it was woken for what subscribers could not be told earlier: also where nothing happens any more.
    fn tells_late(&self, now: Timestamp, request: &Request) -> Result<bool, TurnError> {
        let woken = matches!(request, Request::Command(Command::Wake));
        Ok(woken && sync_status::due(self)?.is_some_and(|at| at <= now))
    }

    /// When something will be due: for the machine, or for those who listen. None: nothing ever, unless a command comes.
    pub fn wake_at(&self) -> Option<Timestamp> {
        let told = sync_status::due(self).unwrap_or_else(|error| {
            tracing::error!(location = %self.setup.id, %error, "what was said of the sync cannot be read");
            None
        });
        self.machine.wake_at().into_iter().chain(told).min()
    }

    /// A pull may show what we wrote before we know that we did. Where the EHR does not keep our key it then counts as an appointment
    /// of its own, until the write's answer names it.
    fn supersede(&self, cx: Cx, events: &mut Vec<Event>, unit: &mut UnitOfWork<'_>) -> Result<(), TurnError> {
        let Some(source) = self.source() else { return Ok(()) };
        for index in 0..events.len() {
            if let Some((hour, written)) = working_hours::created(&events[index]) {
                self.supersede_hour(cx, events, hour, &written, unit)?;
            }
            let Event::InsertDone { appointment, written } = &events[index] else { continue };
            let (id, written) = (*appointment, written.clone());
            let shown = unit.link(source, Resource::Appointments, &written.foreign_id)?.filter(|link| link.id != id.0);
            let Some(shown) = shown else { continue };
            let mut after = self.machine.clone();
            events.iter().for_each(|event| after.evolve(cx.now, event));
            let Some(ours) = after.state.appointments.get(&id) else { continue };
            // Without a document: it was gone when we first heard of it.
            let twin = unit.get::<records::Appointment>(0, shown.id)?;
            let record = PulledAppointment {
                id,
                patient: ours.patient,
                appointment_type: ours.appointment_type,
                placement: twin.as_ref().map_or(ours.placement, |twin| twin.placement),
                unavailable: twin.as_ref().is_some_and(|twin| twin.unavailable),
                cancelled: twin.is_none_or(|twin| twin.cancelled),
                written,
            };
            let command = Command::Superseded { twin: AppointmentId(shown.id), record };
            events.extend(after.decide(cx, &command).events);
        }
        Ok(())
    }

    pub(super) fn prepare_command(&self, cx: Cx, command: &Command) -> (Decision, Answer) {
        let decision = self.machine.decide(cx, command);
        let answer = Answer::from(decision.reply.clone());
        (decision, answer)
    }

    fn prepare_hold(&self, cx: Cx, hold: &Hold) -> Result<(Decision, Answer), TurnError> {
        let closed = self.closed_to_patients(hold.appointment_type)?;
        Ok(self.prepare_command(cx, &Command::Hold(Hold { closed, ..hold.clone() })))
    }

    /// What the practice books itself (`bookable_online`).
    pub fn closed_to_patients(&self, appointment_type: Option<AppointmentTypeId>) -> Result<Closed, TurnError> {
        let kind = appointment_type
            .map(|id| self.read::<records::AppointmentType>(self.institution.id.0, id.0.into()))
            .transpose()?
            .flatten();
        let operatories = self.closed_operatories()?.clone();
        Ok(Closed { operatories, appointment_type: kind.is_some_and(|kind| !kind.bookable_online) })
    }

    /// Only pages of the EHR change operatories, so they are read once for all that come between two of them.
    pub fn closed_operatories(&self) -> Result<&BTreeSet<OperatoryId>, TurnError> {
        if let Some(known) = self.closed.get() {
            return Ok(known);
        }
        let mut closed = BTreeSet::new();
        for id in self.machine.state.operatories.keys() {
            let record = self.read::<records::Operatory>(self.setup.id.0, id.0)?;
            if record.is_some_and(|operatory| !operatory.bookable_online) {
                closed.insert(*id);
            }
        }
        Ok(self.closed.get_or_init(|| closed))
    }

    /// The batch is durable: memory follows.
    pub fn finish(&mut self, turn: PendingCommit) -> (Answer, Vec<Call>) {
        for event in &turn.events {
            self.machine.evolve(turn.at, event);
            if matches!(event, Event::PageApplied { resource: Resource::Operatories, .. }) {
                self.closed = OnceLock::new();
            }
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
        (turn.answer, turn.calls)
    }

    /// New facts about the EHR, to be committed.
    pub fn describing(&self, description: &Description) -> Result<Batch, TurnError> {
        let bytes = serde_json::to_vec(description).map_err(|_| TurnError::Damaged("a description"))?;
        let mut batch = Batch::new();
        batch.put(description_key(self.setup.id), bytes);
        Ok(batch)
    }

    /// They are durable: what the machine may do follows from them.
    pub fn described(&mut self, description: Description) {
        self.description = Some(description);
        self.machine.settings = Arc::new(settings::of(&self.deps.setup, &self.setup, self.description.as_ref()));
    }

    /// The state as of the last record, when it is time to keep it.
    pub fn snapshot_due(&self) -> bool {
        let after = SNAPSHOT_AFTER.max(self.machine.state.appointments.len() as u64);
        self.since_snapshot >= after.max(self.snapshot_not_before)
    }

    pub fn snapshot(&self) -> Result<Batch, TurnError> {
        let mut batch = Batch::new();
        if self.since_snapshot > 0 {
            let state = serde_json::to_vec(&self.machine.state).map_err(|_| TurnError::Damaged("the state"))?;
            journal::write_snapshot(&mut batch, self.setup.id.0, self.next_seq - 1, &state);
            // What this deletes lies behind the snapshot before this one: whatever becomes of the batch, loading finds its records.
            journal::trim(&*self.deps.store, &mut batch, self.setup.id.0, JOURNAL_KEPT, TRIMMED_AT_ONCE)
                .map_err(|_| TurnError::Damaged("the journal"))?;
        }
        Ok(batch)
    }

    pub fn snapshot_taken(&mut self) {
        (self.since_snapshot, self.snapshot_not_before) = (0, 0);
    }

    /// It came to nothing: after some more records, not after each. The journal is complete without it.
    pub fn snapshot_missed(&mut self) {
        self.snapshot_not_before = self.since_snapshot + SNAPSHOT_AFTER;
    }

    /// A location in memory stands in the store as such, from its first commit; when it leaves, its next wake time takes that place. So
    /// a start finds both without looking at every location, and a busy location does not write its wake time with each commit.
    fn mark(&self, batch: &mut Batch) {
        let id = self.setup.id.0;
        if !self.marked {
            batch.put(keys::active(id), Vec::new());
        }
        if let Some(at) = self.asleep {
            due::set_wake(batch, id, Some(at), None);
            batch.delete(keys::asleep(id));
        }
    }

    /// The last commit before the location leaves memory.
    pub fn leave(&self) -> Result<Batch, TurnError> {
        let mut batch = self.snapshot()?;
        let id = self.setup.id.0;
        if self.marked {
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

    /// A document of this location's turn, for reads outside a turn.
    pub fn read<T: Document>(&self, scope: u32, id: u64) -> Result<Option<T>, TurnError> {
        let value = self.deps.store.get(&keys::record(T::KIND.byte(), scope, id))?;
        value.map(|bytes| decode(&bytes)).transpose()
    }

    /// What the EHR has of a record that is being changed here.
    pub fn read_merge_base<T: Document>(&self, scope: u32, id: u64) -> Result<Option<T>, TurnError> {
        let value = self.deps.store.get(&keys::before(T::KIND.byte(), scope, id))?;
        value.map(|bytes| decode(&bytes)).transpose()
    }

    pub fn appointment(&self, id: u64) -> Result<Option<records::Appointment>, TurnError> {
        self.read(0, id)
    }

    /// What the location refers foreign ids to; a location without EHR has none.
    pub fn source(&self) -> Option<u32> {
        self.setup.source
    }
}
