//! The audit trail in the simulation. The follower of changes by calls runs between other events, and the process may
//! end before, within and after the entries of a batch. At the end, the trail is compared with the committed changes.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

use engine::AuditBatch;
use location::{
    event::Event,
    ids::{InstitutionId, LocationId},
    time::Timestamp,
};
use processor::call_changes::{self, ChangedRecord};
use runtime::origin::{Caller, Origin, OriginChange};
use setup::LocationSetup;
use store::Store;

use super::{disk::DiskFault, sim::Sim};

/// The journal record of a change, and the place of an entry among those of the change.
type EntryId = (LocationId, u64, usize);

/// A record changed by a call.
#[derive(Clone, Debug, PartialEq)]
struct AuditEntry {
    at: Option<Timestamp>,
    institution: Option<InstitutionId>,
    caller: Option<Arc<Caller>>,
    record: ChangedRecord,
}

/// The trail and its expected content.
#[derive(Default)]
pub struct Audit {
    /// The durable entries, which outlive the process.
    trail: Vec<(EntryId, AuditEntry)>,
    /// The entries of committed changes, in the order of each journal.
    expected: BTreeMap<LocationId, Vec<AuditEntry>>,
    /// Number of crashes after an entry and before its position.
    repeatable: BTreeMap<EntryId, usize>,
    /// Locations that another process has changed. It would load them again itself.
    changed_elsewhere: BTreeSet<LocationId>,
    calls: u64,
    /// Violates the order of the steps. Used to test that the simulation detects it.
    pub stores_positions_first: bool,
}

/// The batch in the memory of the follower.
pub struct AuditWork {
    batch: AuditBatch,
    entries: Vec<(EntryId, AuditEntry)>,
    /// Number of durable entries.
    appended: usize,
}

impl AuditWork {
    fn new(batch: AuditBatch) -> AuditWork {
        let mut entries = Vec::new();
        for change in &batch.changes {
            let (location, number) = change.decision;
            for (place, record) in change.records.iter().enumerate() {
                let caller = change.caller.clone();
                let entry = AuditEntry { at: change.at, institution: change.institution, caller, record: *record };
                entries.push(((location, number, place), entry));
            }
        }
        AuditWork { batch, entries, appended: 0 }
    }
}

impl Audit {
    /// Returns a call with a new request id.
    pub fn call(&mut self, name: &str, operator: bool) -> Origin {
        self.calls += 1;
        let request_id = format!("call-{}", self.calls);
        let (name, route) = (name.to_owned(), "POST /simulated".to_owned());
        let caller = Caller { request_id: request_id.clone(), name, operator, client: None, route, tool: None };
        Origin::from(request_id.as_str()).changing(Some(OriginChange::new(caller)))
    }

    /// Expects the entries of a committed turn.
    pub fn expect(&mut self, here: &LocationSetup, at: Timestamp, by: Option<&Origin>, events: &[Event]) {
        let Some(change) = by.and_then(Origin::change) else { return };
        let (location, at, institution, caller) = (here.id, Some(at), Some(here.institution), &change.caller);
        let records = events.iter().filter_map(|event| changed_record(location, event));
        let entries = records.map(|record| AuditEntry { at, institution, caller: Some(caller.clone()), record });
        self.expected.entry(location).or_default().extend(entries);
    }

    /// Records a change of another process, which ends before its follower reads it.
    pub fn note_elsewhere(&mut self, location: LocationId) {
        self.changed_elsewhere.insert(location);
    }

    /// Records the end of a process. Entries without a position are repeated by the next one.
    pub fn note_crash(&mut self, work: &AuditWork) {
        for (id, _) in &work.entries[..work.appended] {
            *self.repeatable.entry(*id).or_default() += 1;
        }
    }

    /// Returns the number of repeated entries.
    pub fn repeated(&self) -> usize {
        let distinct: BTreeSet<&EntryId> = self.trail.iter().map(|(id, _)| id).collect();
        self.trail.len() - distinct.len()
    }
}

impl Sim {
    /// Runs a step of the follower, unless the process ends before it.
    pub fn follow_calls(&mut self) {
        let is_idle = self.process.audit.is_none() && self.process.deps.call_queue.waiting() == 0;
        if is_idle || !self.process.up {
            return;
        }
        if !self.without_faults && self.random.chance(20) {
            return self.kill_process("while it writes the audit trail");
        }
        self.audit_step();
    }

    /// Ends the process, and has the next one follow all changes.
    pub fn follow_calls_to_the_end(&mut self) {
        self.kill_process("and another one follows the calls");
        self.restart();
        for location in mem::take(&mut self.audit.changed_elsewhere) {
            self.attend(location);
        }
        while self.audit_step() {}
    }

    /// Reads a batch, appends some of its entries, or stores its positions. Returns `false` if there is nothing to do.
    fn audit_step(&mut self) -> bool {
        let Some(mut work) = self.process.audit.take() else {
            let queue = &self.process.deps.call_queue;
            let queued = queue.take([]);
            if queued.is_empty() {
                return false;
            }
            let batch = AuditBatch::read(&*self.store, queued);
            queue.note_followed(&batch.followed);
            self.process.audit = Some(AuditWork::new(batch));
            return true;
        };
        let left = work.entries.len() - work.appended;
        let positions = work.batch.next_positions();
        if !positions.is_empty() && (left == 0 || self.audit.stores_positions_first) {
            self.store_positions(&mut work, &positions);
        } else if left > 0 {
            let count = (1 + self.random.below(left)).min(left);
            self.log_line(|| format!("the audit trail gets {count} of {left} entries"));
            let entries = work.entries[work.appended..work.appended + count].iter().cloned();
            self.audit.trail.extend(entries);
            work.appended += count;
        }
        if work.batch.next_positions().is_empty() && work.appended == work.entries.len() {
            self.process.deps.call_queue.ring(work.batch.left);
        } else {
            self.process.audit = Some(work);
        }
        true
    }

    fn store_positions(&mut self, work: &mut AuditWork, positions: &[(LocationId, u64)]) {
        if !self.without_faults && self.store.health().accepts_writes() && self.random.chance(50) {
            self.store.fail_next_commit(DiskFault::LoseAnswer);
        }
        let advanced = call_changes::advance_positions(&*self.store, positions);
        // After an error, the next step tries again.
        let result = advanced.map_err(Into::into).and_then(|batch| self.store.commit_now(batch));
        if let Err(error) = work.batch.note_commit(result) {
            self.log_line(|| format!("the positions of the audit trail: {error}"));
        }
    }
}

/// Checks that each record changed by a call has one entry, or more if crashes came between the entry and its position,
/// and that the entries of a location are in the order of its journal.
pub fn check(sim: &Sim) {
    let (mut entries, mut last) = (BTreeMap::<EntryId, (&AuditEntry, usize)>::new(), BTreeMap::new());
    for (id, entry) in &sim.audit.trail {
        if let Some((first, count)) = entries.get_mut(id) {
            assert_eq!(*first, entry, "audit: a repeated entry has the same content");
            *count += 1;
            continue;
        }
        entries.insert(*id, (entry, 1));
        let before = last.insert(id.0, *id);
        assert!(before.is_none_or(|before| before < *id), "audit: entry {id:?} follows {before:?}");
    }
    let mut found: BTreeMap<LocationId, Vec<&AuditEntry>> = BTreeMap::new();
    for (id, (entry, count)) in &entries {
        let crashes = sim.audit.repeatable.get(id).copied().unwrap_or(0);
        assert!(*count <= 1 + crashes, "audit: entry {id:?} occurs {count} times after {crashes} crashes");
        found.entry(id.0).or_default().push(entry);
    }
    for location in sim.plan.setup.locations.keys() {
        let expected = sim.audit.expected.get(location).into_iter().flatten();
        let expected: Vec<&AuditEntry> = expected.collect();
        let found = found.remove(location).unwrap_or_default();
        let differs = expected.iter().zip(&found).position(|(expected, found)| expected != found);
        let place = differs.unwrap_or(expected.len().min(found.len()));
        assert!(
            expected == found,
            "audit: one entry per change: entry {place} of location {location} is {:?} instead of {:?}",
            found.get(place),
            expected.get(place)
        );
    }
}

/// Returns the record that an event changes, as the trail must name it.
fn changed_record(location: LocationId, event: &Event) -> Option<ChangedRecord> {
    let (action, kind, id) = match event {
        Event::Booked { appointment, .. } => ("create", "appointment", appointment.0),
        Event::Moved { appointment, .. } | Event::AppointmentChanged { appointment, .. } => {
            ("update", "appointment", appointment.0)
        }
        Event::Cancelled { appointment, .. } => ("cancel", "appointment", appointment.0),
        Event::WriteRetried { of, .. } => ("retry", "write request", of.0),
        Event::WriteDropped { write } => ("drop", "write request", write.0),
        Event::SyncRequested => ("start read cycle", "location", location.0.into()),
        Event::DeletionsAccepted { .. } => ("accept deletions", "location", location.0.into()),
        _ => return None,
    };
    Some(ChangedRecord { action, kind, id })
}
