//! What the simulation may hold the engine to: what clients were told, and what each location committed itself to.

use std::collections::{BTreeMap, BTreeSet};

use location::{
    command::Placement,
    event::Event,
    ids::{AppointmentId, InstitutionId, LocationId},
    time::Timestamp,
};
use processor::commands::BookSlot;

/// A booking some location committed.
pub struct Booking {
    pub location: LocationId,
    /// Where it stands, as far as the location knows.
    pub place: Placement,
    /// Its slot is free again: it failed, or the EHR has it no more.
    pub ended: bool,
    /// A client was told.
    pub acknowledged: bool,
}

/// An accepted key, as a client knows it.
pub struct Promise {
    pub location: LocationId,
    pub appointment: AppointmentId,
    pub request: BookSlot,
    pub expires: Timestamp,
}

pub type KeyName = (InstitutionId, String);

#[derive(Default)]
pub struct Ledger {
    pub bookings: BTreeMap<AppointmentId, Booking>,
    pub promises: BTreeMap<KeyName, Promise>,
    /// Every use of a key anybody tried: where, and with what data.
    pub attempts: BTreeMap<KeyName, BTreeSet<(LocationId, String)>>,
}

impl Ledger {
    /// A promise that still binds.
    pub fn promise(&self, key: &KeyName, now: Timestamp) -> Option<&Promise> {
        self.promises.get(key).filter(|promise| now < promise.expires)
    }

    /// Follows what a location committed.
    pub fn note(&mut self, location: LocationId, event: &Event) {
        match event {
            Event::Booked { appointment, placement, .. } => {
                let booking = Booking { location, place: *placement, ended: false, acknowledged: false };
                self.bookings.insert(*appointment, booking);
            }
            Event::Moved { appointment, to, .. } | Event::MoveReverted { appointment, to, .. } => {
                self.change(*appointment, |booking| booking.place = *to);
            }
            Event::AppointmentPulled { record, keep: false } => {
                self.change(record.id, |booking| {
                    booking.place = record.placement;
                    booking.ended = false;
                });
            }
            Event::InsertFailed { appointment, .. }
            | Event::CancelConfirmed { appointment }
            | Event::AppointmentGone { appointment } => self.change(*appointment, |booking| booking.ended = true),
            _ => {}
        }
    }

    pub fn change(&mut self, id: AppointmentId, change: impl FnOnce(&mut Booking)) {
        if let Some(booking) = self.bookings.get_mut(&id) {
            change(booking);
        }
    }
}

/// What a request says, for telling same from other.
pub fn said(request: &BookSlot) -> String {
    let BookSlot { offer, patient, note, .. } = request;
    format!("{} {} {:?} {note:?}", offer.hold, patient.last_name, patient.phone_number)
}
