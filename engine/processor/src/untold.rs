//! Changes made by calls, until they are known to be in the audit trail.
//!
//! The journal record of a change contains its caller, which is therefore as durable as the change. The caller adds
//! some bytes to a value that is written anyway. Each record also contains the number of the first record that was not
//! known to be audited at that time. The writer of the trail confirms entries that are on its disk.
//!
//! A location that was in memory when the process ended reads these records again when it is loaded. Changes that may
//! be missing in the trail are handed to its writer.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    mem,
};

use location::{
    event::Event,
    ids::LocationId,
    resource::{Operation, Resource},
    time::Timestamp,
};
use parking_lot::{Mutex, MutexGuard};
use runtime::origin::{Caller, DecisionId};
use store::{Direction, KeyRange, Store, keys};
use tokio::sync::Notify;

use crate::{error::LoadError, journal_record::JournalRecord};

/// Journal records read per scan.
const AT_ONCE: usize = 1_000;

/// A decision caused by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnauditedChange {
    pub decision: DecisionId,
    pub at: Timestamp,
    pub caller: Caller,
    pub touched: Vec<AuditedRecord>,
}

/// A change that no handler audits.
#[derive(Debug)]
pub struct OrphanedChange {
    pub untold: UnauditedChange,
    /// An earlier process may have audited the change.
    pub may_be_audited: bool,
}

/// A changed object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditedRecord {
    pub what: &'static str,
    pub record: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Record(Resource, u64),
    WriteRequest(u64),
    Location,
}

/// Returns the objects that the events change. Holds are left out, because they contain no records.
pub(crate) fn touched(events: &[Event]) -> Vec<AuditedRecord> {
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
        Some(AuditedRecord { what, record })
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

/// Unaudited changes of all locations in memory.
#[derive(Default)]
pub struct AuditOutbox {
    waiting: Mutex<WaitingChanges>,
    news: Notify,
}

#[derive(Default)]
struct WaitingChanges {
    all: BTreeMap<DecisionId, UnauditedChange>,
    /// Changes that no handler audits, for the writer of the trail.
    left: Vec<OrphanedChange>,
}

impl AuditOutbox {
    fn lock(&self) -> MutexGuard<'_, WaitingChanges> {
        self.waiting.lock()
    }

    /// Adds a durable change. The handler of the call reports when it is audited.
    pub(crate) fn add(&self, untold: UnauditedChange) {
        self.lock().all.insert(untold.decision, untold);
    }

    /// Returns the number of a location's first unaudited decision.
    pub(crate) fn first(&self, location: LocationId) -> Option<u64> {
        self.lock().all.range((location, 0)..=(location, u64::MAX)).next().map(|((_, number), _)| *number)
    }

    /// Returns the number of unaudited changes.
    pub fn waiting(&self) -> usize {
        self.lock().all.len()
    }

    /// Removes changes that are in the trail.
    pub fn mark_audited(&self, decisions: &[DecisionId]) {
        let mut waiting = self.lock();
        decisions.iter().for_each(|decision| drop(waiting.all.remove(decision)));
    }

    /// Returns the changes of these decisions that are not audited yet.
    pub fn unaudited(&self, decisions: &[DecisionId]) -> Vec<UnauditedChange> {
        let waiting = self.lock();
        decisions.iter().filter_map(|decision| waiting.all.get(decision).cloned()).collect()
    }

    /// Hands over changes whose handler ended without reporting them.
    pub fn leave(&self, decisions: &[DecisionId]) {
        if decisions.is_empty() {
            return;
        }
        let left = self.unaudited(decisions).into_iter().map(|untold| OrphanedChange { untold, may_be_audited: false });
        self.lock().left.extend(left);
        self.news.notify_one();
    }

    /// Adds changes found in a journal. Known ones already have a handler.
    fn found(&self, found: Vec<UnauditedChange>) {
        if found.is_empty() {
            return;
        }
        let mut waiting = self.lock();
        for untold in found {
            if let Entry::Vacant(place) = waiting.all.entry(untold.decision) {
                place.insert(untold.clone());
                waiting.left.push(OrphanedChange { untold, may_be_audited: true });
            }
        }
        drop(waiting);
        self.news.notify_one();
    }

    /// Waits for changes that no handler audits.
    pub async fn left(&self) -> Vec<OrphanedChange> {
        loop {
            let left = mem::take(&mut self.lock().left);
            if !left.is_empty() {
                return left;
            }
            self.news.notified().await;
        }
    }

    /// Reads the unaudited changes of a location that was in memory when a process ended. `last` is the number of its
    /// last record. The location is usable even if these records cannot be read.
    pub(crate) fn read_again(&self, store: &dyn Store, location: LocationId, last: u64) {
        if let Err(error) = self.try_read_again(store, location, last) {
            tracing::error!(%location, %error, "the audit trail may lack changes of an earlier process: their records could not be read");
        }
    }

    fn try_read_again(&self, store: &dyn Store, location: LocationId, last: u64) -> Result<(), LoadError> {
        let Some(bytes) = store.get(&keys::journal(location.0, last))? else { return Ok(()) };
        let untold = |number, JournalRecord { at, events, by, .. }| {
            Some(UnauditedChange { decision: (location, number), at, caller: by?, touched: touched(&events) })
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
