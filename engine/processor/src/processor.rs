//! A location in memory: its machine, its setup, and its position in the store. `turn` changes it, `actor` owns it.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, OnceLock},
};

use location::{
    AppointmentTypeId, Command, Decision, DecisionContext, InstitutionId, Location, LocationId, MachineSettings,
    OperatoryId, Reply, Resource, State, Timestamp, command::Closed,
};
use parking_lot::Mutex;
use query::index::Index;
use records::{self, Body, Description, Record, document::Document};
use runtime::Doorbell;
use serde::de::DeserializeOwned;
use setup::{Current, Institution, LocationSetup, Setup};
use store::{Batch, Store, counters::Ids, due, journal, keys, secrets::Secrets};
use tokio::sync::OwnedRwLockReadGuard;

use crate::{
    LoadError, Pool, Reject, call_changes,
    call_queue::CallQueue,
    change_counter::ChangeCounter,
    ehr_site::EhrSite,
    journal_record::JournalRecord,
    long_work::LongWork,
    machine_settings,
    note_keys::{description_key, last_turn_key},
};

/// A snapshot is due after this many records, or after as many as there are appointments in memory, if more. Loading
/// thus reads one snapshot and a tail of about the same size.
const SNAPSHOT_AFTER: u64 = 500;

/// Dependencies shared by the locations of an engine.
pub struct Deps {
    pub setup: Arc<Current>,
    pub store: Arc<dyn Store>,
    pub ids: Arc<Ids>,
    pub pool: Pool,
    pub secrets: Secrets,
    pub index: Arc<Index>,
    pub change_counter: ChangeCounter,
    /// Wakes the followers of the log of changes.
    pub change_doorbell: Arc<Doorbell<LocationId>>,
    /// Passes changes by calls to their follower (`call_changes`).
    pub call_queue: Arc<CallQueue>,
    pub long_work: LongWork,
    /// `None` if one process serves all institutions.
    pub is_local: Option<IsLocal>,
    /// `None` if each commit logs its before images.
    pub image_permits: Option<ImagePermits>,
}

/// Predicate that returns `true` if an institution is currently placed on this node.
pub type IsLocal = Arc<dyn Fn(InstitutionId) -> bool + Send + Sync>;

/// Permission to leave the before images of a commit out of the log of changes. Held until the commit has ended.
pub type ImagePermit = OwnedRwLockReadGuard<()>;

/// Returns a permit for a commit of an institution, or `None` if a follower needs its before images.
pub type ImagePermits = Arc<dyn Fn(InstitutionId) -> Option<ImagePermit> + Send + Sync>;

/// A location in memory. Its state is ahead of the store only by `deferred`.
pub struct Processor {
    pub deps: Arc<Deps>,
    pub setup: Arc<LocationSetup>,
    pub institution: Arc<Institution>,
    pub machine: Location,
    /// Capabilities reported by the EHR.
    pub description: Option<Description>,
    /// Time of the last turn, if known.
    pub last_turn: Option<Timestamp>,
    /// Number of the first record that is not stored.
    pub(crate) next_seq: u64,
    /// Records that are written with the next commit: the start and progress of a read cycle that found nothing new.
    pub(crate) deferred: Vec<Vec<u8>>,
    /// The number of the last record that may have a caller and not be followed by the audit trail, or 0.
    pub(crate) last_call: u64,
    pub(crate) since_snapshot: u64,
    /// Number of records before another attempt at a snapshot, after a failed one.
    pub(crate) snapshot_not_before: u64,
    /// The store marks the location as active, so that a restart loads it.
    pub(crate) marked: bool,
    /// The wake time stored when the location was last unloaded.
    pub(crate) asleep: Option<i64>,
    /// The store was restored from a backup, which the location has not handled yet.
    pub(crate) restored: bool,
    /// The store has the EHR of the location's records.
    pub(crate) has_site: bool,
    /// Operatories closed to patients, cached until operatories change.
    pub(crate) closed: OnceLock<BTreeSet<OperatoryId>>,
    /// Cached foreign ids of providers, operatories and appointment types. A record never changes its foreign id.
    pub(crate) foreign_ids: Mutex<HashMap<(Resource, u64), String>>,
    /// Patients that are stored as patients of this location, which they never leave. Kept during a read cycle.
    pub(crate) patients_here: Mutex<HashSet<u32>>,
}

impl Processor {
    pub fn load(deps: Arc<Deps>, location: LocationId) -> Result<Processor, LoadError> {
        let all = deps.setup.load_full();
        let setup = all.locations.get(&location).ok_or(LoadError::Unknown)?.clone();
        let institution = all.institutions.get(&setup.institution).ok_or(LoadError::Unknown)?.clone();
        let site = EhrSite::stored(&*deps.store, location)?;
        if let Some(why) = site.as_ref().and_then(|site| site.conflict(&setup)) {
            return Err(LoadError::OtherSource(why));
        }
        let damaged = |why: serde_json::Error| LoadError::Record { location, why: why.to_string() };
        let description = deps.store.get(&description_key(location))?;
        let description = description.map(|bytes| serde_json::from_slice(&bytes)).transpose().map_err(damaged)?;
        let marked = deps.store.get(&keys::active(location.0))?.is_some();
        let asleep = deps.store.get(&keys::asleep(location.0))?.and_then(|bytes| bytes.try_into().ok());
        let asleep = asleep.map(i64::from_be_bytes);
        let restored = deps.store.get(&keys::restored(location.0))?.is_some();

        let loaded = journal::load(&*deps.store, location.0)?;
        let settings = Arc::new(machine_settings::for_location(&all, &setup, description.as_ref()));
        let state = match &loaded.snapshot {
            Some((_, bytes)) => serde_json::from_slice(bytes).map_err(damaged)?,
            None => State::default(),
        };
        let mut machine = Location::load(settings, state);
        let (mut last_turn, mut last_call) = (None, 0);
        // Callers before the snapshot are not in the tail. An unmarked location had none that were not followed.
        if let Some((number, _)) = loaded.snapshot.as_ref().filter(|_| marked)
            && call_changes::position(&*deps.store, location)?.unwrap_or(0) < *number
        {
            last_call = *number;
        }
        for (number, bytes) in &loaded.tail {
            let record = JournalRecord::read(location, bytes)?;
            last_turn = Some(record.at);
            if record.by.is_some() {
                last_call = *number;
            }
            for event in record.events.iter() {
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
            deferred: Vec::new(),
            last_call,
            since_snapshot,
            snapshot_not_before: 0,
            marked,
            asleep,
            restored,
            has_site: site.is_some(),
            closed: OnceLock::new(),
            foreign_ids: Mutex::default(),
            patients_here: Mutex::default(),
        })
    }

    /// Applies the deferred records of another instance of the location. Both states are then equal.
    pub fn replay_deferred(&mut self, from: &Processor) -> Result<(), LoadError> {
        for bytes in &from.deferred {
            let record = JournalRecord::read(self.setup.id, bytes)?;
            record.events.iter().for_each(|event| self.machine.evolve(record.at, event));
        }
        Ok(())
    }

    pub fn settings(&self) -> &MachineSettings {
        &self.machine.settings
    }

    /// Returns the decision of the machine. A refusal is an error.
    pub fn decide(&self, cx: DecisionContext, command: &Command) -> Result<Decision, Reject> {
        let decision = self.machine.decide(cx, command);
        match decision.reply {
            Reply::Refused(refusal) => Err(Reject::Refused(refusal)),
            _ => Ok(decision),
        }
    }

    /// Returns the operatories and appointment type that only the practice may book (`bookable_online`).
    pub fn closed_to_patients(&self, appointment_type: Option<AppointmentTypeId>) -> Result<Closed, Reject> {
        let kind = appointment_type
            .map(|id| self.read::<Record<records::AppointmentType>>(self.institution.id.0, id.0.into()))
            .transpose()?
            .flatten();
        let operatories = self.closed_operatories()?.clone();
        Ok(Closed { operatories, appointment_type: kind.is_some_and(|kind| !kind.bookable_online) })
    }

    /// Returns the operatories closed to patients. Read once until operatories change, which is rare.
    pub fn closed_operatories(&self) -> Result<&BTreeSet<OperatoryId>, Reject> {
        if let Some(known) = self.closed.get() {
            return Ok(known);
        }
        let mut closed = BTreeSet::new();
        for id in self.machine.state.operatories.keys() {
            let record = self.read::<Record<records::Operatory>>(self.setup.id.0, id.0)?;
            if record.is_some_and(|operatory| !operatory.bookable_online) {
                closed.insert(*id);
            }
        }
        Ok(self.closed.get_or_init(|| closed))
    }

    /// Returns the batch that stores a new description of the EHR.
    pub fn describing(&self, description: &Description) -> Result<Batch, Reject> {
        let bytes = serde_json::to_vec(description).map_err(|_| Reject::Damaged("a description"))?;
        let mut batch = Batch::new();
        batch.put(description_key(self.setup.id), bytes);
        Ok(batch)
    }

    /// Applies a stored description to the machine's settings.
    pub fn described(&mut self, description: Description) {
        self.description = Some(description);
        self.settle(&self.deps.setup.load_full());
    }

    /// Applies the setup in force. A location that was removed or has another data source keeps its setup until it is
    /// unloaded.
    pub(crate) fn apply_setup(&mut self) {
        let all = self.deps.setup.load_full();
        let site = self.ehr_site();
        if let Some(setup) = all.locations.get(&self.setup.id).filter(|setup| EhrSite::from_setup(setup) == site)
            && let Some(institution) = all.institutions.get(&setup.institution)
        {
            (self.setup, self.institution) = (setup.clone(), institution.clone());
            self.foreign_ids.get_mut().clear();
        }
        self.settle(&all);
    }

    fn settle(&mut self, all: &Setup) {
        self.machine.settings = Arc::new(machine_settings::for_location(all, &self.setup, self.description.as_ref()));
    }

    pub fn snapshot_due(&self) -> bool {
        let after = SNAPSHOT_AFTER.max(self.machine.state.appointments.len() as u64);
        self.is_recorded() && self.since_snapshot >= after.max(self.snapshot_not_before)
    }

    /// Returns `true` if the store has the state in memory.
    pub fn is_recorded(&self) -> bool {
        self.deferred.is_empty()
    }

    /// Returns the batch that stores the state, which must be recorded.
    pub fn snapshot(&self) -> Result<Batch, Reject> {
        let mut batch = Batch::new();
        if self.since_snapshot > 0 {
            let state = serde_json::to_vec(&self.machine.state).map_err(|_| Reject::Damaged("the state"))?;
            let last = self.next_seq - 1;
            journal::write_snapshot(&mut batch, self.setup.id.0, last, &state);
            // Without changes by calls, the audit trail need not read the journal.
            if self.last_call == 0 {
                call_changes::put_position(&mut batch, self.setup.id, last);
            }
        }
        Ok(batch)
    }

    pub fn snapshot_taken(&mut self) {
        (self.since_snapshot, self.snapshot_not_before) = (0, 0);
    }

    /// Postpones the next snapshot after a failed one. The journal is complete without it.
    pub fn snapshot_missed(&mut self) {
        self.snapshot_not_before = self.since_snapshot + SNAPSHOT_AFTER;
    }

    /// Marks the location as active in the store with its first commit. Unloading replaces the mark with the next wake
    /// time. A start finds both without reading every location, and a busy location does not write its wake time with
    /// each commit.
    pub(crate) fn mark(&self, batch: &mut Batch) {
        let id = self.setup.id.0;
        if !self.marked {
            batch.put(keys::active(id), Vec::new());
        }
        if let Some(at) = self.asleep {
            due::set_wake(batch, id, Some(at), None);
            batch.delete(keys::asleep(id));
        }
    }

    /// Reads a document outside a turn.
    pub fn read<T: Document>(&self, scope: u32, id: u64) -> Result<Option<T>, Reject> {
        let value = self.deps.store.get(&keys::record(T::BYTE, scope, id))?;
        value.map(|bytes| decode(&bytes)).transpose()
    }

    /// Reads the EHR's version of a record that is being changed here.
    pub fn read_merge_base<T: Document>(&self, scope: u32, id: u64) -> Result<Option<T>, Reject> {
        let value = self.deps.store.get(&keys::before(T::BYTE, scope, id))?;
        value.map(|bytes| decode(&bytes)).transpose()
    }

    pub fn appointment(&self, id: u64) -> Result<Option<Record<records::Appointment>>, Reject> {
        self.read(0, id)
    }

    /// Returns the key scope of a resource's records at this location.
    pub fn scope<T: Body>(&self) -> u32 {
        T::SCOPE.number(self.institution.id.0, self.source(), self.setup.id.0)
    }

    pub(crate) fn ehr_site(&self) -> EhrSite {
        EhrSite::from_setup(&self.setup)
    }

    /// Returns the data source of foreign ids, or `None` for a location without EHR.
    pub fn source(&self) -> Option<u32> {
        self.setup.source
    }
}

pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Reject> {
    serde_json::from_slice(bytes).map_err(|_| Reject::Damaged("a document that cannot be read"))
}
