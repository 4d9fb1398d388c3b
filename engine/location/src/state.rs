//! The state of a location: built from events, stored in snapshots.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    AppointmentId, AppointmentTypeId, Calendar, Holder, OperatoryId, PatientId, Placement, Timestamp, WorkingHour,
    WorkingHourId, WriteId,
    decision::NotOpenReason,
    gate::{GateSince, Shut},
    pause::Paused,
    quota::Bucket,
    sync::pulls::Pulls,
    writes::{
        breaker::CircuitBreaker,
        queue::{Queue, Write},
        replacement::Replaced,
    },
};

/// The state of a location.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Derived from appointments and holds. Left out of snapshots, rebuilt on load, and verified by `check`.
    #[serde(skip)]
    pub calendar: Calendar,
    /// Operatories by id, with their `active` flags.
    pub operatories: BTreeMap<OperatoryId, bool>,
    pub hours: BTreeMap<WorkingHourId, WorkingHour>,
    /// Local hours that the EHR has confirmed, as the EHR has them.
    #[serde(default, rename = "told_hours")]
    pub confirmed_hours: BTreeMap<WorkingHourId, WorkingHour>,
    pub appointments: BTreeMap<AppointmentId, CalendarAppointment>,
    pub holds: BTreeMap<u64, Hold>,
    pub keys: BTreeMap<String, Key>,
    pub queue: Queue,
    #[serde(rename = "path")]
    pub breaker: CircuitBreaker,
    /// The workstation gate; `None` if the location has none or its state is not known yet.
    #[serde(default)]
    pub gate: Option<GateSince>,
    /// The directions that an operator has paused.
    #[serde(default, skip_serializing_if = "Paused::is_nothing")]
    pub paused: Paused,
    /// The token bucket of the EHR's request quota.
    pub quota: Bucket,
    /// Time of the last event. An earlier clock value means that the clock was set back.
    #[serde(default)]
    pub latest: Timestamp,
    pub pulls: Pulls,
    /// Bookings of ours that share a slot with an appointment of the EHR, until resolved.
    pub conflicts: BTreeSet<AppointmentId>,
    /// The first write id since the store was restored from a backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<WriteId>,
    /// Appointments that ended before this time were pruned.
    pub pruned: Option<Timestamp>,
    /// Lower bound of the ends of all appointments; pruning before it is pointless.
    pub first_end: Option<Timestamp>,
    /// Lower bound of the expiry times of all idempotency keys.
    pub first_expiry: Option<Timestamp>,
}

/// An appointment in the calendar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalendarAppointment {
    pub patient: Option<PatientId>,
    pub appointment_type: Option<AppointmentTypeId>,
    pub placement: Placement,
    /// `true` for a block of unavailable time.
    pub unavailable: bool,
    pub insert: Insert,
    /// Cancelled locally, not yet in the EHR: its slot remains taken through `vacating`.
    pub cancelling: bool,
    /// Other placements at which the EHR has, or may have, the appointment. Derived from the last confirmed placement
    /// and the writes in flight.
    pub vacating: Vec<Placement>,
    /// The placement that the EHR confirmed last.
    pub confirmed: Option<Placement>,
    /// Appointments of the EHR that a replacement left behind, until the EHR has cancelled them. Their placements stay
    /// taken through `vacating`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<Replaced>,
    /// The EHR has cancelled the visit, and it only waits for the end of its replacements.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
}

impl CalendarAppointment {
    /// Returns `true` if the EHR has the appointment, as far as known.
    pub fn in_ehr(&self) -> bool {
        self.insert != Insert::Pending
    }

    /// Returns the reason, apart from its time, why clients cannot change the appointment.
    pub(crate) fn over(&self) -> Option<NotOpenReason> {
        let nobodys = self.unavailable || self.patient.is_none();
        if self.cancelling { Some(NotOpenReason::Cancelled) } else { nobodys.then_some(NotOpenReason::NotOfAPatient) }
    }

    /// Returns `true` if another state of the appointment occupies the same placements.
    fn has_places_of(&self, other: &CalendarAppointment) -> bool {
        self.placement == other.placement && self.cancelling == other.cancelling && self.vacating == other.vacating
    }

    /// Returns `true` if the EHR has the appointment at exactly its local placement.
    pub fn settled(&self) -> bool {
        self.in_ehr() && !self.cancelling && self.vacating.is_empty()
    }

    /// Returns `true` if the EHR has the appointment at its local placement, and otherwise only replaced ones.
    pub(crate) fn in_place(&self) -> bool {
        let is_replaced = |place: &Placement| self.replaced.iter().any(|replaced| replaced.placement == *place);
        self.in_ehr() && !self.cancelling && self.vacating.iter().all(is_replaced)
    }

    /// Returns `true` if nothing of the appointment is left after `before`, in the EHR or here.
    fn ended(&self, before: Timestamp) -> bool {
        let unfinished = !self.settled() && self.replaced.is_empty();
        let mut replaced = self.replaced.iter();
        !unfinished
            && self.in_ehr()
            && (self.gone || self.placement.span.end <= before)
            && replaced.all(|replaced| replaced.placement.span.end <= before)
    }
}

/// State of an appointment's insert into the EHR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Insert {
    /// The appointment was pulled from the EHR.
    Pulled,
    /// The insert is queued or in flight.
    Pending,
    /// The insert is in the EHR, or the location has no EHR.
    Done,
}

/// A slot that is kept for a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    pub placement: Placement,
    pub until: Timestamp,
    /// Digest of the holder's API key, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<u64>,
    /// The appointment type, if booking rules refer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub appointment_type: Option<AppointmentTypeId>,
    /// The channel of the holder's API key, if booking rules refer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

/// The booking that an idempotency key replays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Digest of the request data.
    pub fingerprint: String,
    /// The appointment; the first one if the request booked several.
    pub appointment: AppointmentId,
    pub expires: Timestamp,
    /// The further appointments of the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<AppointmentId>,
}

impl State {
    /// Returns the reason why the gate is shut, or `None` if it is open.
    pub fn shut(&self) -> Option<Shut> {
        self.gate.and_then(GateSince::shut)
    }

    /// Returns `true` if reading is suspended by a shut gate or by an operator.
    pub fn is_reading_suspended(&self) -> bool {
        self.shut().is_some() || self.paused.reading.is_some()
    }

    /// Returns `true` if writing is suspended by a shut gate or by an operator.
    pub fn is_writing_suspended(&self) -> bool {
        self.shut().is_some() || self.paused.writing.is_some()
    }

    /// Returns every placement that an appointment occupies.
    fn places(id: AppointmentId, appointment: &CalendarAppointment) -> impl Iterator<Item = (Placement, Holder)> {
        let present = (!appointment.cancelling).then_some((appointment.placement, Holder::Appointment(id)));
        present.into_iter().chain(appointment.vacating.iter().map(move |place| (*place, Holder::Vacating(id))))
    }

    /// Adds or replaces an appointment and updates the calendar.
    pub fn put_appointment(&mut self, id: AppointmentId, appointment: CalendarAppointment) {
        self.remove_appointment(id);
        for (place, holder) in Self::places(id, &appointment) {
            self.calendar.occupy(&place, holder);
        }
        let end = appointment.placement.span.end;
        self.first_end = Some(self.first_end.map_or(end, |first| first.min(end)));
        self.appointments.insert(id, appointment);
    }

    pub fn put_key(&mut self, name: String, key: Key) {
        self.first_expiry = Some(self.first_expiry.map_or(key.expires, |first| first.min(key.expires)));
        self.keys.insert(name, key);
    }

    /// Removes an appointment and updates the calendar.
    pub fn remove_appointment(&mut self, id: AppointmentId) -> Option<CalendarAppointment> {
        let appointment = self.appointments.remove(&id)?;
        for (place, holder) in Self::places(id, &appointment) {
            self.calendar.vacate(&place, holder);
        }
        Some(appointment)
    }

    /// Changes an appointment, recomputes its `vacating` placements and updates the calendar if they changed.
    pub fn change_appointment(&mut self, id: AppointmentId, change: impl FnOnce(&mut CalendarAppointment)) {
        let Some(mut appointment) = self.appointments.get(&id).cloned() else { return };
        change(&mut appointment);
        appointment.vacating = self.vacating(id, &appointment);
        match self.appointments.get_mut(&id) {
            Some(before) if before.has_places_of(&appointment) => *before = appointment,
            _ => self.put_appointment(id, appointment),
        }
    }

    /// Returns the placements, other than the local one, at which the EHR may have an appointment.
    pub(crate) fn vacating(&self, id: AppointmentId, appointment: &CalendarAppointment) -> Vec<Placement> {
        let on_the_way = self.queue.for_appointment(id).filter(|(_, write)| write.work.places());
        // An unsent write will be sent with the current placement.
        let goes_to = |write: &Write| if write.withdrawable() { Some(appointment.placement) } else { write.sent };
        let mut places: Vec<Placement> = appointment.confirmed.into_iter().collect();
        places.extend(appointment.replaced.iter().map(|replaced| replaced.placement));
        places.extend(on_the_way.filter_map(|(_, write)| goes_to(write)));
        places.retain(|place| appointment.cancelling || *place != appointment.placement);
        places.sort();
        places.dedup();
        places
    }

    /// Removes the appointments that ended by `before` and have no unfinished writes.
    pub(crate) fn prune(&mut self, before: Timestamp) {
        let ended: Vec<_> = self
            .appointments
            .iter()
            .filter(|(id, a)| a.ended(before) && self.queue.for_appointment(**id).next().is_none())
            .map(|(id, _)| *id)
            .collect();
        for id in ended {
            self.remove_appointment(id);
            self.conflicts.remove(&id);
        }
        self.pruned = Some(before);
        self.first_end = self.appointments.values().map(|a| a.placement.span.end).min();
        self.first_expiry = self.keys.values().map(|key| key.expires).min();
    }

    /// Adds or replaces a hold and updates the calendar.
    pub fn put_hold(&mut self, id: u64, hold: Hold) {
        self.remove_hold(id);
        self.calendar.occupy(&hold.placement, Holder::Hold(id));
        self.holds.insert(id, hold);
    }

    /// Removes a hold and updates the calendar.
    pub fn remove_hold(&mut self, id: u64) {
        if let Some(hold) = self.holds.remove(&id) {
            self.calendar.vacate(&hold.placement, Holder::Hold(id));
        }
    }

    /// Returns the calendar that follows from appointments and holds.
    pub fn rebuilt_calendar(&self) -> Calendar {
        let mut fresh = Calendar::new();
        for (id, appointment) in &self.appointments {
            for (place, holder) in Self::places(*id, appointment) {
                fresh.occupy(&place, holder);
            }
        }
        for (id, hold) in &self.holds {
            fresh.occupy(&hold.placement, Holder::Hold(*id));
        }
        fresh
    }
}
