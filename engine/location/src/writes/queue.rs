//! The write-back queue: unfinished writes, indexed by ordering key, appointment, record, due time and deadline.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    AppointmentId, Millis, Operation, OrderingKey, PatientId, Placement, Resource, Timestamp, WorkingHour, WriteId,
    WriteIntent, writes::intent::CallKind,
};

/// An unfinished write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    pub work: WriteIntent,
    /// The key that serializes writes. Those with the same key are sent one at a time: the patient first, then by id.
    #[serde(rename = "lane")]
    pub ordering_key: OrderingKey,
    /// Idempotency key sent with each attempt, so that the EHR or a look-up can detect a repeat.
    pub key: String,
    pub queued_at: Timestamp,
    /// `true` if the clock was set back, or another process took over, since the write was queued. Earlier times are
    /// then unreliable.
    #[serde(default)]
    pub clock_changed: bool,
    /// Time by which the write must be in the EHR; after it the write fails.
    pub deadline: Timestamp,
    pub attempts: u32,
    pub state: WriteState,
    /// The outcome is unknown: look the write up before sending it again.
    pub unknown: bool,
    /// The write was restored from a backup while it waited, and has not been looked up since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restored: bool,
    /// Number of times that the write was sent without an answer and then not found.
    #[serde(default)]
    pub not_found: u32,
    /// Placement of the appointment when the write was last sent.
    pub sent: Option<Placement>,
    /// The working hours as they were last sent.
    #[serde(default)]
    pub sent_hour: Option<Box<WorkingHour>>,
    /// While the write was in flight, a page showed another placement or other hours, so the order of the two changes
    /// is unknown.
    #[serde(rename = "overtaken")]
    pub superseded: bool,
    /// The reason why the write waits, in words for operators.
    pub reason: Option<String>,
    /// The id of the request that caused the write, for logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// The state of an unfinished write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WriteState {
    /// The write waits for its next attempt.
    Waiting { not_before: Timestamp },
    /// A call is in flight.
    Calling { kind: CallKind, until: Timestamp },
}

impl Write {
    /// Returns `true` if the write is neither in the EHR nor in flight, so that it can be withdrawn, changed or timed
    /// out locally.
    pub fn withdrawable(&self) -> bool {
        matches!(self.state, WriteState::Waiting { .. }) && !self.unknown
    }
}

/// The unfinished writes of a location.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Queue {
    writes: BTreeMap<WriteId, Write>,
    /// Derived: the writes of each ordering key, by id. Only the front of a key may be in flight.
    ordered: BTreeMap<OrderingKey, Vec<WriteId>>,
    /// Derived: the writes of each appointment, in order.
    appointments: BTreeMap<AppointmentId, Vec<WriteId>>,
    /// Derived: the writes of each other record, in order.
    records: BTreeMap<(Resource, u64), Vec<WriteId>>,
    /// Derived: waiting fronts, by the time of their next attempt.
    ready: BTreeSet<(Timestamp, WriteId)>,
    /// Derived: withdrawable writes, by deadline.
    deadlines: BTreeSet<(Timestamp, WriteId)>,
    /// Derived: writes that wait for a look-up, by deadline.
    unknown: BTreeSet<(Timestamp, WriteId)>,
    /// Derived: calls in flight, by deadline.
    calling: BTreeSet<(Timestamp, WriteId)>,
    next: u64,
}

/// The stored part of a queue; the rest is derived.
#[derive(Serialize, Deserialize)]
struct Stored {
    writes: Vec<(WriteId, Write)>,
    next: u64,
}

impl From<Queue> for Stored {
    fn from(queue: Queue) -> Stored {
        Stored { writes: queue.writes.into_iter().collect(), next: queue.next }
    }
}

impl From<Stored> for Queue {
    fn from(stored: Stored) -> Queue {
        let mut queue = Queue { next: stored.next, ..Queue::default() };
        for (id, write) in stored.writes {
            queue.insert(id, write);
        }
        queue
    }
}

impl Queue {
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    pub fn get(&self, id: WriteId) -> Option<&Write> {
        self.writes.get(&id)
    }

    /// Iterates over all unfinished writes by id.
    pub fn iter(&self) -> impl Iterator<Item = (WriteId, &Write)> {
        self.writes.iter().map(|(id, write)| (*id, write))
    }

    /// Returns the id of the next write, or of a later one if the same decision queues `ahead` writes before it.
    pub fn next_id(&self, ahead: u64) -> WriteId {
        WriteId(self.next + ahead)
    }

    /// Returns the number of calls in flight.
    pub fn in_flight(&self) -> usize {
        self.calling.len()
    }

    /// Returns the fronts that may be sent at `now`, earliest first.
    pub fn ready(&self, now: Timestamp) -> impl Iterator<Item = (WriteId, &Write)> {
        self.ready.iter().take_while(move |(at, _)| *at <= now).map(|(_, id)| (*id, &self.writes[id]))
    }

    /// Returns the time at which the next front may be sent.
    pub fn next_ready(&self) -> Option<Timestamp> {
        self.ready.first().map(|(at, _)| *at)
    }

    /// Returns the calls whose deadline passed by `now`.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = (WriteId, &Write)> {
        self.calling.iter().take_while(move |(at, _)| *at <= now).map(|(_, id)| (*id, &self.writes[id]))
    }

    /// Returns the first deadline of the calls in flight.
    pub fn next_overdue(&self) -> Option<Timestamp> {
        self.calling.first().map(|(at, _)| *at)
    }

    /// Returns the withdrawable writes whose deadline passed by `now`, earliest first. A write of unknown outcome is
    /// looked up before it may time out.
    pub fn expired(&self, now: Timestamp) -> impl Iterator<Item = (WriteId, &Write)> {
        self.deadlines.iter().take_while(move |(at, _)| *at <= now).map(|(_, id)| (*id, &self.writes[id]))
    }

    /// Returns the first deadline of the withdrawable writes.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Returns the write with the first deadline of those that wait for a look-up.
    pub fn first_unknown(&self) -> Option<(WriteId, &Write)> {
        self.unknown.first().map(|(_, id)| (*id, &self.writes[id]))
    }

    /// Returns the time at which the oldest unfinished write was queued; ids are allotted in order of time.
    pub fn oldest(&self) -> Option<Timestamp> {
        self.writes.first_key_value().map(|(_, write)| write.queued_at)
    }

    /// Returns the unfinished writes of a patient, in order.
    pub fn for_patient(&self, patient: PatientId) -> impl Iterator<Item = (WriteId, &Write)> {
        self.ordered.get(&OrderingKey::Patient(patient)).into_iter().flatten().map(|id| (*id, &self.writes[id]))
    }

    /// Returns the unfinished writes of a record, in order.
    pub fn for_record(&self, resource: Resource, id: u64) -> impl Iterator<Item = (WriteId, &Write)> {
        self.records.get(&(resource, id)).into_iter().flatten().map(|id| (*id, &self.writes[id]))
    }

    /// Returns the appointments with an unfinished insert.
    pub fn inserts(&self) -> impl Iterator<Item = AppointmentId> {
        let inserts = self.writes.values().filter(|write| matches!(write.work, WriteIntent::CreateAppointment(_)));
        inserts.filter_map(|write| write.work.appointment())
    }

    /// Returns `true` if a write creates a record of the resource.
    pub fn creates(&self, resource: Resource) -> bool {
        self.writes.values().any(|write| match write.work {
            WriteIntent::CreateAppointment(_) | WriteIntent::Replace(_) => resource == Resource::Appointments,
            WriteIntent::CreatePatient(_) => resource == Resource::Patients,
            WriteIntent::Record { resource: of, operation, .. } => operation == Operation::Create && of == resource,
            _ => false,
        })
    }

    /// Returns the records of a resource that the EHR may have created although their foreign ids are not known yet.
    pub fn inserts_on_their_way(&self, resource: Resource) -> impl Iterator<Item = u64> {
        let sent = self.writes.values().filter(|write| !write.withdrawable());
        sent.filter_map(move |write| match write.work {
            WriteIntent::CreateAppointment(id) | WriteIntent::Replace(id) if resource == Resource::Appointments => {
                Some(id.0)
            }
            WriteIntent::Record { resource: of, id, operation: Operation::Create }
                if of == resource && of == Resource::WorkingHours =>
            {
                Some(id)
            }
            _ => None,
        })
    }

    /// Returns the unfinished writes of an appointment, in order. All of them have one ordering key, even if the EHR
    /// has changed the patient.
    pub fn for_appointment(&self, appointment: AppointmentId) -> impl Iterator<Item = (WriteId, &Write)> {
        self.appointments.get(&appointment).into_iter().flatten().map(|id| (*id, &self.writes[id]))
    }

    pub fn push(&mut self, id: WriteId, write: Write) {
        self.next = self.next.max(id.0 + 1);
        self.insert(id, write);
    }

    /// Skips `count` ids before the next write.
    pub fn skip_ids(&mut self, count: u64) {
        self.next = self.next.saturating_add(count);
    }

    fn insert(&mut self, id: WriteId, write: Write) {
        let ordering_key = write.ordering_key;
        self.change_ordered(ordering_key, |queue| {
            queue.ordered.entry(ordering_key).or_default().push(id);
            if let Some(appointment) = write.work.appointment() {
                queue.appointments.entry(appointment).or_default().push(id);
            }
            if let Some(record) = write.work.record() {
                queue.records.entry(record).or_default().push(id);
            }
            queue.writes.insert(id, write);
            queue.index(id);
            debug_assert!(queue.ordered[&ordering_key].is_sorted(), "ids are sorted within an ordering key");
        });
    }

    /// Changes a write and updates the indices.
    pub fn update(&mut self, id: WriteId, change: impl FnOnce(&mut Write)) {
        let Some(ordering_key) = self.writes.get(&id).map(|write| write.ordering_key) else { return };
        self.change_ordered(ordering_key, |queue| {
            queue.unindex(id);
            queue.writes.get_mut(&id).map(change);
            queue.index(id);
        });
    }

    /// Moves due times back by `by` after a backward step of the clock to `at`. Deadlines of writes are unchanged.
    pub fn set_back(&mut self, at: Timestamp, by: Millis) {
        for id in self.writes.keys().copied().collect::<Vec<_>>() {
            self.update(id, |write| {
                write.queued_at = write.queued_at.min(at);
                write.clock_changed = true;
                match &mut write.state {
                    WriteState::Waiting { not_before: due } | WriteState::Calling { until: due, .. } => {
                        *due = due.minus(by);
                    }
                }
            });
        }
    }

    /// Sets `clock_changed` on all writes, and keeps calls in flight pending until `at` at least.
    pub fn outlast(&mut self, at: Timestamp) {
        for id in self.writes.keys().copied().collect::<Vec<_>>() {
            self.update(id, |write| {
                write.clock_changed = true;
                if let WriteState::Calling { until, .. } = &mut write.state {
                    *until = at.max(*until);
                }
            });
        }
    }

    pub fn remove(&mut self, id: WriteId) -> Option<Write> {
        let ordering_key = self.writes.get(&id)?.ordering_key;
        self.change_ordered(ordering_key, |queue| {
            queue.unindex(id);
            let write = queue.writes.remove(&id)?;
            if let Some(appointment) = write.work.appointment() {
                leave(&mut queue.appointments, appointment, id);
            }
            if let Some(record) = write.work.record() {
                leave(&mut queue.records, record, id);
            }
            leave(&mut queue.ordered, ordering_key, id);
            Some(write)
        })
    }

    /// Returns the write to send next: the one in flight, else the one that creates the patient of the key, else one
    /// that cancels a replaced appointment, else the oldest. A visit is in the EHR twice for as short as possible.
    fn front(&self, ordering_key: OrderingKey) -> Option<WriteId> {
        let ids = self.ordered.get(&ordering_key)?;
        let first = |wanted: fn(&Write) -> bool| ids.iter().find(|id| self.writes.get(id).is_some_and(wanted));
        let calling = first(|write| matches!(write.state, WriteState::Calling { .. }));
        let patient = || first(|write| matches!(write.work, WriteIntent::CreatePatient(_)));
        let replaced = || first(|write| matches!(write.work, WriteIntent::CancelReplaced { .. }));
        calling.or_else(patient).or_else(replaced).or(ids.first()).copied()
    }

    /// Returns the front of an ordering key and its due time, unless the front is in flight.
    fn ready_front(&self, ordering_key: OrderingKey) -> Option<(Timestamp, WriteId)> {
        let front = self.front(ordering_key)?;
        match self.writes.get(&front)?.state {
            WriteState::Waiting { not_before } => Some((not_before, front)),
            WriteState::Calling { .. } => None,
        }
    }

    fn change_ordered<T>(&mut self, ordering_key: OrderingKey, change: impl FnOnce(&mut Queue) -> T) -> T {
        if let Some(front) = self.ready_front(ordering_key) {
            self.ready.remove(&front);
        }
        let changed = change(self);
        self.ready.extend(self.ready_front(ordering_key));
        changed
    }

    fn index(&mut self, id: WriteId) {
        let Some(write) = self.writes.get(&id) else { return };
        match write.state {
            WriteState::Calling { until, .. } => self.calling.insert((until, id)),
            WriteState::Waiting { .. } if write.unknown => self.unknown.insert((write.deadline, id)),
            WriteState::Waiting { .. } => self.deadlines.insert((write.deadline, id)),
        };
    }

    fn unindex(&mut self, id: WriteId) {
        let Some(write) = self.writes.get(&id) else { return };
        match write.state {
            WriteState::Calling { until, .. } => self.calling.remove(&(until, id)),
            WriteState::Waiting { .. } if write.unknown => self.unknown.remove(&(write.deadline, id)),
            WriteState::Waiting { .. } => self.deadlines.remove(&(write.deadline, id)),
        };
    }

    /// Panics if the indices do not follow from the writes.
    pub fn check(&self) {
        let rebuilt = Queue::from(Stored::from(self.clone()));
        assert_eq!(*self, rebuilt, "the queue's indices follow from its writes");
        for (id, write) in &self.writes {
            assert!(id.0 < self.next, "write ids are unique");
            if let WriteState::Calling { .. } = write.state {
                assert_eq!(self.front(write.ordering_key), Some(*id), "only the front of an ordering key is called");
            }
        }
    }
}

fn leave<K: Ord>(groups: &mut BTreeMap<K, Vec<WriteId>>, group: K, id: WriteId) {
    if let Some(ids) = groups.get_mut(&group) {
        ids.retain(|other| *other != id);
        if ids.is_empty() {
            groups.remove(&group);
        }
    }
}
