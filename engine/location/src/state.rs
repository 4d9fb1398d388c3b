//! What a location remembers: the state that events build and snapshots keep.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    decision::Over,
    gate::{GateSince, Shut},
    ids::{AppointmentId, AppointmentTypeId, OperatoryId, PatientId, WorkingHourId, WriteId},
    pause::Paused,
    quota::Bucket,
    schedule::{
        calendar::{Calendar, Holder, Placement},
        hours::WorkingHour,
    },
    sync::pulls::Pulls,
    time::Timestamp,
    writes::{
        breaker::CircuitBreaker,
        intent::WriteIntent,
        queue::{Queue, Write},
    },
};

/// What a location remembers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Derived from appointments and holds: no snapshot has it, a load builds it, and `check` compares it.
    #[serde(skip)]
    pub calendar: Calendar,
    /// Operatories and whether they are in use.
    pub operatories: BTreeMap<OperatoryId, bool>,
    /// The working hours.
    pub hours: BTreeMap<WorkingHourId, WorkingHour>,
    /// Hours set here that the EHR has, as it has them.
    #[serde(default, rename = "told_hours")]
    pub confirmed_hours: BTreeMap<WorkingHourId, WorkingHour>,
    /// The appointments.
    pub appointments: BTreeMap<AppointmentId, Appointment>,
    /// The holds.
    pub holds: BTreeMap<u64, Hold>,
    /// The idempotency keys in use.
    pub keys: BTreeMap<String, Key>,
    /// The unfinished writes.
    pub queue: Queue,
    /// The circuit breaker of the writes.
    #[serde(rename = "path")]
    pub breaker: CircuitBreaker,
    /// The workstation gate, where there is one and the processor has said how it stands.
    #[serde(default)]
    pub gate: Option<GateSince>,
    /// What an operator has paused.
    #[serde(default, skip_serializing_if = "Paused::is_nothing")]
    pub paused: Paused,
    /// How many requests the EHR may be sent.
    pub quota: Bucket,
    /// When something happened last. A clock that shows less was set back.
    #[serde(default)]
    pub latest: Timestamp,
    /// How far reading the EHR came.
    pub pulls: Pulls,
    /// Bookings of ours that share a slot with an appointment of the EHR, until resolved.
    pub conflicts: BTreeSet<AppointmentId>,
    /// The first number of a write since the store was restored from a backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<WriteId>,
    /// Nothing that ended before this is remembered.
    pub pruned: Option<Timestamp>,
    /// No appointment ends, and no key expires, before these: when there may be something to trim.
    pub first_end: Option<Timestamp>,
    /// No idempotency key expires before.
    pub first_expiry: Option<Timestamp>,
}

/// An appointment that still matters to the calendar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appointment {
    /// The patient.
    pub patient: Option<PatientId>,
    /// The appointment type, where one is known.
    pub appointment_type: Option<AppointmentTypeId>,
    /// Where and when it takes place.
    pub placement: Placement,
    /// Whether it is a block of unavailable time.
    pub unavailable: bool,
    /// Whether its insert has reached the EHR.
    pub insert: Insert,
    /// Cancelled here, not yet in the EHR: its place stays taken as `vacating`.
    pub cancelling: bool,
    /// Places besides its own at which the EHR has it, or may have it. Derived: where the EHR last confirmed it, and where a write
    /// on its way may put it.
    pub vacating: Vec<Placement>,
    /// Where the EHR last confirmed it.
    pub confirmed: Option<Placement>,
}

impl Appointment {
    /// The EHR has it, as far as we know.
    pub fn in_ehr(&self) -> bool {
        self.insert != Insert::Pending
    }

    /// Why clients cannot change it, besides its time.
    pub(crate) fn over(&self) -> Option<Over> {
        let nobodys = self.unavailable || self.patient.is_none();
        if self.cancelling { Some(Over::Cancelled) } else { nobodys.then_some(Over::NotOfAPatient) }
    }

    /// The EHR has it exactly where we have it.
    pub fn settled(&self) -> bool {
        self.in_ehr() && !self.cancelling && self.vacating.is_empty()
    }
}

/// Whether the appointment's insert has reached the EHR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Insert {
    /// It came from there.
    Pulled,
    /// It is queued, or on its way.
    Pending,
    /// It is in the EHR, or there is no EHR.
    Done,
}

/// A slot that is kept for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Where and when it takes place.
    pub placement: Placement,
    /// When it ends.
    pub until: Timestamp,
    /// Whose it is, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<u64>,
}

/// What an idempotency key answers with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Digest of the request data.
    pub fingerprint: String,
    /// The appointment.
    pub appointment: AppointmentId,
    /// When it expires.
    pub expires: Timestamp,
}

impl State {
    /// Why nothing is asked of the EHR before the gate opens.
    pub fn shut(&self) -> Option<Shut> {
        self.gate.and_then(GateSince::shut)
    }

    /// Nothing is read for now: the gate is shut, or an operator paused reading.
    pub fn reads_nothing(&self) -> bool {
        self.shut().is_some() || self.paused.reading.is_some()
    }

    /// Nothing is written for now: the gate is shut, or an operator paused writing.
    pub fn writes_nothing(&self) -> bool {
        self.shut().is_some() || self.paused.writing.is_some()
    }

    fn occupy(&mut self, placement: &Placement, holder: Holder) {
        if let Some(column) = placement.column() {
            self.calendar.insert(column, placement.span, holder);
        }
    }

    fn vacate(&mut self, placement: &Placement, holder: Holder) {
        if let Some(column) = placement.column() {
            self.calendar.remove(column, placement.span, holder);
        }
    }

    /// Every place an appointment takes.
    fn places(id: AppointmentId, appointment: &Appointment) -> impl Iterator<Item = (Placement, Holder)> {
        let present = (!appointment.cancelling).then_some((appointment.placement, Holder::Appointment(id)));
        present.into_iter().chain(appointment.vacating.iter().map(move |place| (*place, Holder::Vacating(id))))
    }

    /// Adds or replaces an appointment; the calendar follows.
    pub fn put_appointment(&mut self, id: AppointmentId, appointment: Appointment) {
        self.remove_appointment(id);
        for (place, holder) in Self::places(id, &appointment) {
            self.occupy(&place, holder);
        }
        let end = appointment.placement.span.end;
        self.first_end = Some(self.first_end.map_or(end, |first| first.min(end)));
        self.appointments.insert(id, appointment);
    }

    /// Adds an idempotency key.
    pub fn put_key(&mut self, name: String, key: Key) {
        self.first_expiry = Some(self.first_expiry.map_or(key.expires, |first| first.min(key.expires)));
        self.keys.insert(name, key);
    }

    /// Removes an appointment; the calendar follows.
    pub fn remove_appointment(&mut self, id: AppointmentId) -> Option<Appointment> {
        let appointment = self.appointments.remove(&id)?;
        for (place, holder) in Self::places(id, &appointment) {
            self.vacate(&place, holder);
        }
        Some(appointment)
    }

    /// Changes an appointment, or takes in a change of its writes; the calendar follows.
    pub fn change_appointment(&mut self, id: AppointmentId, change: impl FnOnce(&mut Appointment)) {
        if let Some(mut appointment) = self.remove_appointment(id) {
            change(&mut appointment);
            appointment.vacating = self.vacating(id, &appointment);
            self.put_appointment(id, appointment);
        }
    }

    /// The places the EHR may have an appointment at, that are not where it stands here.
    pub(crate) fn vacating(&self, id: AppointmentId, appointment: &Appointment) -> Vec<Placement> {
        let moves = |work| matches!(work, WriteIntent::CreateAppointment(_) | WriteIntent::Reschedule(_));
        let on_the_way = self.queue.of(id).filter(|(_, write)| moves(write.work));
        // What is not sent yet will carry the place of then.
        let goes_to = |write: &Write| if write.withdrawable() { Some(appointment.placement) } else { write.sent };
        let mut places: Vec<Placement> = appointment.confirmed.into_iter().collect();
        places.extend(on_the_way.filter_map(|(_, write)| goes_to(write)));
        places.retain(|place| appointment.cancelling || *place != appointment.placement);
        places.sort();
        places.dedup();
        places
    }

    /// Adds or replaces a hold; the calendar follows.
    pub fn put_hold(&mut self, id: u64, hold: Hold) {
        self.remove_hold(id);
        self.occupy(&hold.placement, Holder::Hold(id));
        self.holds.insert(id, hold);
    }

    /// Removes a hold; the calendar follows.
    pub fn remove_hold(&mut self, id: u64) {
        if let Some(hold) = self.holds.remove(&id) {
            self.vacate(&hold.placement, Holder::Hold(id));
        }
    }

    /// The calendar as appointments and holds say it must be.
    pub fn rebuilt_calendar(&self) -> Calendar {
        let mut fresh = State::default();
        for (id, appointment) in &self.appointments {
            for (place, holder) in Self::places(*id, appointment) {
                fresh.occupy(&place, holder);
            }
        }
        for (id, hold) in &self.holds {
            fresh.occupy(&hold.placement, Holder::Hold(*id));
        }
        fresh.calendar
    }
}
