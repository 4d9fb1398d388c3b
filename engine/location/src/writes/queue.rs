//! The write-back queue as a structure: unfinished writes, their order per patient, and what is due when.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    ids::{AppointmentId, PatientId, WriteId},
    resource::{Operation, Resource},
    schedule::{calendar::Placement, hours::WorkingHour},
    time::{Millis, Timestamp},
    writes::{
        intent::{CallKind, WriteIntent},
        order::OrderingKey,
    },
};

/// One unfinished write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// What the write does in the EHR.
    pub work: WriteIntent,
    /// Writes of one ordering key go to the EHR one after the other, in this order: the patient, then the others by their ids.
    #[serde(rename = "lane")]
    pub ordering_key: OrderingKey,
    /// Sent with each attempt, so that the EHR or a look-up can tell a repeat.
    pub key: String,
    /// When it was queued.
    pub queued_at: Timestamp,
    /// Since then the clock was set back, or another process with a clock of its own took over: nobody knows what came before it.
    #[serde(default)]
    pub clock_changed: bool,
    /// The write fails unless it is in the EHR by then.
    pub deadline: Timestamp,
    /// How often it was tried.
    pub attempts: u32,
    /// Whether it waits or is being called.
    pub state: WriteState,
    /// It may be in the EHR already: look it up before any push.
    pub unknown: bool,
    /// It waited when the backup was made that the store was restored from, and was not looked up since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restored: bool,
    /// Times it was sent without an answer and then not found.
    #[serde(default)]
    pub not_found: u32,
    /// Where the appointment stood when it was last sent.
    pub sent: Option<Placement>,
    /// The working hours as they were last sent.
    #[serde(default)]
    pub sent_hour: Option<Box<WorkingHour>>,
    /// While it was on its way, a page showed the appointment elsewhere, or the hours otherwise: nobody knows which of the two came last.
    #[serde(rename = "overtaken")]
    pub superseded: bool,
    /// Why it waits, in words for operators.
    pub reason: Option<String>,
    /// The id of the request that caused it, for whoever reads logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// Whether a write waits or is being called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WriteState {
    /// It waits.
    Waiting {
        /// It is not tried before.
        not_before: Timestamp,
    },
    /// A call is in flight.
    Calling {
        /// Whether it writes or looks up.
        kind: CallKind,
        /// The deadline of the call.
        until: Timestamp,
    },
}

impl Write {
    /// It may be in the EHR, and waits to be looked up.
    pub fn waits_unknown(&self) -> bool {
        matches!(self.state, WriteState::Waiting { .. }) && self.unknown
    }

    /// Certainly not in the EHR and not on its way: it can be withdrawn, changed or timed out without asking anyone.
    pub fn withdrawable(&self) -> bool {
        matches!(self.state, WriteState::Waiting { .. }) && !self.unknown
    }
}

/// The unfinished writes of a location.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Queue {
    writes: BTreeMap<WriteId, Write>,
    /// Derived: the writes of each ordering key by id. Only the front of a key may be called.
    ordered: BTreeMap<OrderingKey, Vec<WriteId>>,
    /// Derived: the writes of each appointment, in order.
    appointments: BTreeMap<AppointmentId, Vec<WriteId>>,
    /// Derived: the writes of each other record, in order.
    records: BTreeMap<(Resource, u64), Vec<WriteId>>,
    /// Derived: fronts that wait, by the time they may be tried.
    ready: BTreeSet<(Timestamp, WriteId)>,
    /// Derived: all deadlines.
    deadlines: BTreeSet<(Timestamp, WriteId)>,
    /// Derived: calls in flight.
    calling: BTreeSet<(Timestamp, WriteId)>,
    next: u64,
}

/// What of a queue is stored; the rest is derived from it.
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
    /// How many writes are unfinished.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Whether every write is finished.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// An unfinished write.
    pub fn get(&self, id: WriteId) -> Option<&Write> {
        self.writes.get(&id)
    }

    /// All unfinished writes by their ids.
    pub fn iter(&self) -> impl Iterator<Item = (WriteId, &Write)> {
        self.writes.iter().map(|(id, write)| (*id, write))
    }

    /// The id the next write gets, and after `ahead` more in the same decision.
    pub fn next_id(&self, ahead: u64) -> WriteId {
        WriteId(self.next + ahead)
    }

    /// How many calls are in flight.
    pub fn in_flight(&self) -> usize {
        self.calling.len()
    }

    /// Fronts that may be tried at `now`, in order of their time.
    pub fn ready(&self, now: Timestamp) -> impl Iterator<Item = (WriteId, &Write)> {
        self.ready.iter().take_while(move |(at, _)| *at <= now).map(|(_, id)| (*id, &self.writes[id]))
    }

    /// When the next front may be tried.
    pub fn next_ready(&self) -> Option<Timestamp> {
        self.ready.first().map(|(at, _)| *at)
    }

    /// Calls whose time ran out by `now`.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = (WriteId, &Write)> {
        self.calling.iter().take_while(move |(at, _)| *at <= now).map(|(_, id)| (*id, &self.writes[id]))
    }

    /// When the first call in flight passes its deadline.
    pub fn next_overdue(&self) -> Option<Timestamp> {
        self.calling.first().map(|(at, _)| *at)
    }

    /// Writes whose deadline passed by `now`.
    pub fn expired(&self, now: Timestamp) -> impl Iterator<Item = (WriteId, &Write)> {
        self.deadlines.iter().take_while(move |(at, _)| *at <= now).map(|(_, id)| (*id, &self.writes[id]))
    }

    /// The first deadline of a write that would still time out: what may be in the EHR is looked up first.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.iter().find(|(_, id)| self.writes[id].withdrawable()).map(|(at, _)| *at)
    }

    /// The first deadline of a write that waits to be looked up.
    pub fn next_unknown_deadline(&self) -> Option<Timestamp> {
        self.deadlines.iter().find(|(_, id)| self.writes[id].waits_unknown()).map(|(at, _)| *at)
    }

    /// When the oldest unfinished write was queued: ids are given in the order of time.
    pub fn oldest(&self) -> Option<Timestamp> {
        self.writes.first_key_value().map(|(_, write)| write.queued_at)
    }

    /// Unfinished writes of one patient, in order.
    pub fn of_patient(&self, patient: PatientId) -> impl Iterator<Item = (WriteId, &Write)> {
        self.ordered.get(&OrderingKey::Patient(patient)).into_iter().flatten().map(|id| (*id, &self.writes[id]))
    }

    /// Unfinished writes of one record, in order.
    pub fn of_record(&self, resource: Resource, id: u64) -> impl Iterator<Item = (WriteId, &Write)> {
        self.records.get(&(resource, id)).into_iter().flatten().map(|id| (*id, &self.writes[id]))
    }

    /// Appointments whose insert is not done.
    pub fn inserts(&self) -> impl Iterator<Item = AppointmentId> {
        let inserts = self.writes.values().filter(|write| matches!(write.work, WriteIntent::CreateAppointment(_)));
        inserts.filter_map(|write| write.work.appointment())
    }

    /// Whether a write is to make a record of a resource.
    pub fn creates(&self, resource: Resource) -> bool {
        self.writes.values().any(|write| match write.work {
            WriteIntent::CreateAppointment(_) => resource == Resource::Appointments,
            WriteIntent::CreatePatient(_) => resource == Resource::Patients,
            WriteIntent::Record { resource: of, operation, .. } => operation == Operation::Create && of == resource,
            _ => false,
        })
    }

    /// Records of a resource the EHR may have made by now, without an answer that says under which name.
    pub fn inserts_on_their_way(&self, resource: Resource) -> impl Iterator<Item = u64> {
        let sent = self.writes.values().filter(|write| !write.withdrawable());
        sent.filter_map(move |write| match write.work {
            WriteIntent::CreateAppointment(id) if resource == Resource::Appointments => Some(id.0),
            WriteIntent::Record { resource: of, id, operation: Operation::Create }
                if of == resource && of == Resource::WorkingHours =>
            {
                Some(id)
            }
            _ => None,
        })
    }

    /// Unfinished writes of one appointment, in order. They share an ordering key, whatever patient the EHR says it has by now.
    pub fn of(&self, appointment: AppointmentId) -> impl Iterator<Item = (WriteId, &Write)> {
        self.appointments.get(&appointment).into_iter().flatten().map(|id| (*id, &self.writes[id]))
    }

    /// Adds a write.
    pub fn push(&mut self, id: WriteId, write: Write) {
        self.next = self.next.max(id.0 + 1);
        self.insert(id, write);
    }

    /// The next write gets an id that is so much higher.
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
            debug_assert!(queue.ordered[&ordering_key].is_sorted(), "ids rise within an ordering key");
        });
    }

    /// Changes a write; the indices follow.
    pub fn update(&mut self, id: WriteId, change: impl FnOnce(&mut Write)) {
        let Some(ordering_key) = self.writes.get(&id).map(|write| write.ordering_key) else { return };
        self.change_ordered(ordering_key, |queue| {
            queue.unindex(id);
            queue.writes.get_mut(&id).map(change);
            queue.index(id);
        });
    }

    /// The clock was set back to `at`: what waits, or is waited for, is due as much earlier. Deadlines stay what was promised.
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

    /// Another process has queued and begun all there is. No call that is under way ends before.
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

    /// Takes a write out.
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

    /// What is under way; then what makes the patient, whom all others of the key need; then the oldest.
    fn front(&self, ordering_key: OrderingKey) -> Option<WriteId> {
        let ids = self.ordered.get(&ordering_key)?;
        let first = |wanted: fn(&Write) -> bool| ids.iter().find(|id| self.writes.get(id).is_some_and(wanted));
        let calling = first(|write| matches!(write.state, WriteState::Calling { .. }));
        let patient = || first(|write| matches!(write.work, WriteIntent::CreatePatient(_)));
        calling.or_else(patient).or(ids.first()).copied()
    }

    /// The front of an ordering key that may be called, and when.
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
        self.deadlines.insert((write.deadline, id));
        if let WriteState::Calling { until, .. } = write.state {
            self.calling.insert((until, id));
        }
    }

    fn unindex(&mut self, id: WriteId) {
        let Some(write) = self.writes.get(&id) else { return };
        self.deadlines.remove(&(write.deadline, id));
        if let WriteState::Calling { until, .. } = write.state {
            self.calling.remove(&(until, id));
        }
    }

    /// Panics where the derived parts do not follow from the writes.
    pub fn check(&self) {
        let rebuilt = Queue::from(Stored::from(self.clone()));
        assert_eq!(*self, rebuilt, "the queue's indices follow from its writes");
        for (id, write) in &self.writes {
            assert!(id.0 < self.next, "write ids are handed out once");
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
