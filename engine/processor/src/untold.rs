//! What calls have changed, until it is known to be in the audit trail.
//!
//! The journal record of a change names its caller: who did it is durable with what was done, at the price of some bytes in a value that is
//! written anyway. Each record also says from which one on nobody knew, when it was written, whether the trail had them. Who keeps the trail
//! says so once it has an entry on its disk. A location that was in memory when the process ended reads these records again when it comes
//! back, and what may be missing in the trail is handed to whoever keeps it.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use location::{
    event::Event,
    ids::LocationId,
    resource::{Operation, Resource},
    time::Timestamp,
};
use runtime::origin::{Caller, DecisionId};
use store::{Direction, KeyRange, Store, keys};
use tokio::sync::Notify;

use crate::{error::LoadError, journal_record::JournalRecord};

/// Records of a location that are read again at one time.
const AT_ONCE: usize = 1_000;

/// A decision of a location that a call caused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untold {
    pub decision: DecisionId,
    pub at: Timestamp,
    pub caller: Caller,
    pub touched: Vec<Touched>,
}

/// One that nobody else tells.
#[derive(Debug)]
pub struct Left {
    pub untold: Untold,
    /// An earlier process may have told it.
    pub may_be_told: bool,
}

/// One thing that was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    pub what: &'static str,
    pub record: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Record(Resource, u64),
    WriteRequest(u64),
    Location,
}

/// What the location's records, or its work, are other by than before. Holds are not: nobody's records are in them.
pub(crate) fn touched(events: &[Event]) -> Vec<Touched> {
    let of = |event: &Event| {
        let appointment = |what, id: u64| (what, What::Record(Resource::Appointments, id));
        let (what, record) = match event {
            Event::Booked { appointment: id, .. } => appointment("create", id.0),
            Event::Moved { appointment: id, .. } | Event::AppointmentChanged { appointment: id, .. } => {
                appointment("update", id.0)
            }
            Event::Cancelled { appointment: id, .. } => appointment("cancel", id.0),
            Event::RecordSaved { resource, id, operation } => (word(*operation), What::Record(*resource, *id)),
            Event::HourSet(hour) => ("write", What::Record(Resource::WorkingHours, hour.id.0.into())),
            Event::HourRemoved { hour } => ("delete", What::Record(Resource::WorkingHours, hour.0.into())),
            Event::WriteRetried { of, .. } => ("retry", What::WriteRequest(of.0)),
            Event::WriteDropped { write } => ("drop", What::WriteRequest(write.0)),
            Event::PauseTurned { .. } => ("pause or resume", What::Location),
            Event::SyncRequested => ("start read cycle", What::Location),
            Event::DeletionsAccepted { .. } => ("accept deletions", What::Location),
            _ => return None,
        };
        Some(Touched { what, record })
    };
    events.iter().filter_map(of).collect()
}

fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Create => "create",
        Operation::Update => "update",
        Operation::Delete => "delete",
    }
}

/// Those of all locations in memory.
#[derive(Default)]
pub struct AuditOutbox {
    waiting: Mutex<Waiting>,
    news: Notify,
}

#[derive(Default)]
struct Waiting {
    all: BTreeMap<DecisionId, Untold>,
    /// Those that whoever keeps the trail has to see to: nobody else will.
    left: Vec<Left>,
}

impl AuditOutbox {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is durable; whoever handles the call says when it is told.
    pub(crate) fn add(&self, untold: Untold) {
        self.lock().all.insert(untold.decision, untold);
    }

    /// The first one of a location.
    pub(crate) fn first(&self, location: LocationId) -> Option<u64> {
        self.lock().all.range((location, 0)..=(location, u64::MAX)).next().map(|((_, number), _)| *number)
    }

    /// How many.
    pub fn waiting(&self) -> usize {
        self.lock().all.len()
    }

    /// They are in the trail.
    pub fn told(&self, decisions: &[DecisionId]) {
        let mut waiting = self.lock();
        decisions.iter().for_each(|decision| drop(waiting.all.remove(decision)));
    }

    /// Of these decisions, those that are not told yet.
    pub fn of(&self, decisions: &[DecisionId]) -> Vec<Untold> {
        let waiting = self.lock();
        decisions.iter().filter_map(|decision| waiting.all.get(decision).cloned()).collect()
    }

    /// Whoever handled the call does not say what became of it.
    pub fn leave(&self, decisions: &[DecisionId]) {
        if decisions.is_empty() {
            return;
        }
        let left = self.of(decisions).into_iter().map(|untold| Left { untold, may_be_told: false });
        self.lock().left.extend(left);
        self.news.notify_one();
    }

    /// These were found in a journal. What is known already is somebody's.
    fn found(&self, found: Vec<Untold>) {
        if found.is_empty() {
            return;
        }
        let mut waiting = self.lock();
        for untold in found {
            if let Entry::Vacant(place) = waiting.all.entry(untold.decision) {
                place.insert(untold.clone());
                waiting.left.push(Left { untold, may_be_told: true });
            }
        }
        drop(waiting);
        self.news.notify_one();
    }

    /// Waits for those that are left.
    pub async fn left(&self) -> Vec<Left> {
        loop {
            let left = mem::take(&mut self.lock().left);
            if !left.is_empty() {
                return left;
            }
            self.news.notified().await;
        }
    }

    /// A location comes into memory that was there when a process ended; `last` is the number of its last record. It serves also where these
    /// records cannot be read.
    pub(crate) fn read_again(&self, store: &dyn Store, location: LocationId, last: u64) {
        if let Err(error) = self.try_read_again(store, location, last) {
            tracing::error!(%location, %error, "the audit trail may lack changes of an earlier process: their records could not be read");
        }
    }

    fn try_read_again(&self, store: &dyn Store, location: LocationId, last: u64) -> Result<(), LoadError> {
        let Some(bytes) = store.get(&keys::journal(location.0, last))? else { return Ok(()) };
        let untold = |number, JournalRecord { at, events, by, .. }| {
            Some(Untold { decision: (location, number), at, caller: by?, touched: touched(&events) })
        };
        let record = JournalRecord::read(location, &bytes)?;
        let mut from = record.untold.unwrap_or(last);
        while from < last {
            let range = KeyRange::new(keys::journal(location.0, from), keys::journal(location.0, last));
            let records = store.scan(range, Direction::Forward, AT_ONCE)?;
            from = last;
            let mut found = Vec::new();
            for (key, bytes) in &records {
                let Some((_, number)) = keys::parse_journal(key) else { continue };
                found.extend(untold(number, JournalRecord::read(location, bytes)?));
                if records.len() == AT_ONCE {
                    from = number + 1;
                }
            }
            self.found(found);
        }
        self.found(untold(last, record).into_iter().collect());
        Ok(())
    }
}
