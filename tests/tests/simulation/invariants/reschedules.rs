//! Reschedules: a key moves its visit once and is remembered like that of a booking, and at the end each reschedule is
//! confirmed or has failed.

use location::{
    command::Placement,
    decision::Refusal,
    ids::{AppointmentId, LocationId},
};
use processor::commands::{BookSlot, RescheduleVisit, book_slot::key_digest};
use records::{self, Writeback, record::Record};

use crate::simulation::{
    ledger::KeyName,
    sim::{Sim, document},
};

/// The state that a client's reschedule finds.
pub struct BeforeReschedule {
    /// The appointment of the key, if the key was used before and has not expired.
    pinned: Option<AppointmentId>,
    place: Option<Placement>,
}

impl BeforeReschedule {
    /// Returns `true` if the key was used before and has not expired.
    pub fn is_known(&self) -> bool {
        self.pinned.is_some()
    }
}

/// Returns the name of a key in events and states.
pub fn name(key: &str) -> String {
    hex::encode(key_digest(key))
}

/// Returns the key of a request.
pub fn key(request: &RescheduleVisit) -> KeyName {
    (request.offer.institution, request.idempotency_key.clone())
}

/// Returns the content of a request for comparisons.
pub fn content(request: &RescheduleVisit) -> String {
    format!("reschedule {} to {} {:?}", request.appointment, request.offer.hold, request.reason)
}

pub fn before(sim: &Sim, request: &RescheduleVisit) -> BeforeReschedule {
    let pinned = sim.ledger.pinned.get(&(request.offer.location, name(&request.idempotency_key)));
    BeforeReschedule {
        pinned: pinned.filter(|pinned| sim.now < pinned.expires).map(|pinned| pinned.appointment),
        place: place(sim, request.appointment),
    }
}

/// Checks the answer of a location. `refused`: `None` if the visit was moved now or by an earlier request with the key.
pub fn check(sim: &Sim, request: &RescheduleVisit, before: &BeforeReschedule, refused: Option<&Refusal>) {
    let (id, key) = (request.appointment, key(request));
    let uses = sim.ledger.attempts.get(&key).map_or(0, |uses| uses.len());
    match (refused, before.pinned) {
        (None, Some(pinned)) => {
            assert_eq!(pinned, id, "one key one answer: {key:?} was accepted for another visit");
            assert_eq!(place(sim, id), before.place, "one key one answer: {key:?} moved {id} again");
        }
        (None, None) => {
            let wanted = Some(request.offer.placement());
            assert_eq!(place(sim, id), wanted, "reschedules: {id} was moved, but not to the place of the offer");
        }
        (Some(Refusal::IdempotencyConflict), _) => {
            assert!(uses > 1, "one key one answer: {key:?} was never used for anything else");
        }
        (Some(refusal), pinned) => {
            let behind = sim.process.hosts.get(&request.offer.location).is_some_and(|host| host.behind);
            // Staff may have moved the visit to another location, which does not know the key.
            let accepted = pinned == Some(id) && uses == 1 && is_at(sim, id, request.offer.location);
            assert!(behind || !accepted, "one key one answer: {key:?} was accepted, now {refusal:?}");
        }
    }
}

/// Checks that each location remembers the keys of its committed reschedules.
pub fn keys_are_remembered(sim: &Sim) {
    for ((location, name), pinned) in sim.ledger.pinned.iter().filter(|(_, pinned)| sim.now < pinned.expires) {
        let Some(host) = sim.process.hosts.get(location).filter(|host| !host.behind) else { continue };
        let known = host.processor.machine.state.keys.get(name).map(|known| known.appointment);
        assert_eq!(known, Some(pinned.appointment), "nothing lost: a reschedule's key is forgotten at {location}");
    }
}

/// Checks that the key of an accepted booking is not that of a reschedule.
pub fn check_booked(sim: &Sim, request: &BookSlot) {
    let name = name(&request.idempotency_key);
    for ((location, known), pinned) in &sim.ledger.pinned {
        let institution = sim.plan.setup.locations.get(location).map(|at| at.institution);
        let same = institution == Some(request.offer.institution) && *known == name;
        assert!(
            !same || pinned.expires <= sim.now,
            "one key one answer: key {} booked, though it rescheduled {}",
            request.idempotency_key,
            pinned.appointment
        );
    }
}

/// Checks at the end that no reschedule of a live visit is pending, and that a failed one has a reason.
pub fn each_has_an_end(sim: &Sim) {
    for (id, booking) in &sim.ledger.bookings {
        let kept: Record<records::Appointment> = document(sim, 0, id.0).expect("a booking has its document");
        let stayed = kept.location() == booking.location.0;
        let Some(reschedule) = kept.reschedule.as_ref().filter(|_| stayed && !kept.cancelled) else { continue };
        match reschedule.status {
            Writeback::Pending => panic!("liveness: the reschedule of {id} at {} is still pending", booking.location),
            Writeback::Failed => assert!(
                reschedule.failure_reason.is_some(),
                "liveness: the reschedule of {id} at {} failed without a reason",
                booking.location
            ),
            Writeback::Confirmed => {}
        }
    }
}

fn place(sim: &Sim, id: AppointmentId) -> Option<Placement> {
    sim.ledger.bookings.get(&id).map(|booking| booking.place)
}

/// Returns `true` if the visit's document is at this location.
fn is_at(sim: &Sim, id: AppointmentId, location: LocationId) -> bool {
    let kept: Option<Record<records::Appointment>> = document(sim, 0, id.0);
    kept.is_some_and(|kept| kept.location() == location.0)
}
