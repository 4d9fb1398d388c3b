//! Groups: a group is booked whole by one commit or not at all, its members do not conflict, and its key returns all of
//! them.

use location::{
    command::Placement,
    decision::Refusal,
    event::Event,
    ids::{AppointmentId, LocationId},
};
use processor::commands::{BookSlots, SlotBooking};

use super::reschedules::name;
use crate::simulation::{
    ledger::{BookedGroup, KeyName},
    sim::Sim,
};

/// Returns the key of a request.
pub fn key(request: &BookSlots) -> Option<KeyName> {
    Some((request.bookings.first()?.offer.institution, request.idempotency_key.clone()))
}

/// Returns the location of a request.
pub fn location(request: &BookSlots) -> Option<LocationId> {
    Some(request.bookings.first()?.offer.location)
}

/// Returns the content of a request for comparisons.
pub fn content(request: &BookSlots) -> String {
    let member =
        |booking: &SlotBooking| format!("{} {} {:?}", booking.offer.hold, booking.patient.last_name, booking.note);
    format!("group of {}", request.bookings.iter().map(member).collect::<Vec<_>>().join(", "))
}

/// Checks the events of one commit.
pub fn committed(location: LocationId, events: &[Event]) {
    let mut places: Vec<&Placement> = Vec::new();
    let (mut booked, mut promised) = (Vec::new(), Vec::new());
    for event in events {
        let Event::Booked { appointment, placement, key, .. } = event else { continue };
        promised.extend(key.iter().flat_map(|key| [*appointment].into_iter().chain(key.others.iter().copied())));
        booked.push(*appointment);
        let conflict = places.iter().find(|other| {
            other.column().is_some() && other.column() == placement.column() && other.span.overlaps(placement.span)
        });
        assert_eq!(conflict, None, "whole groups: members of a group at {location} conflict, at {placement:?}");
        places.push(placement);
    }
    if booked.len() > 1 || promised.len() > 1 {
        assert_eq!(booked, promised, "whole groups: a commit of {location} has other bookings than its key");
    }
}

/// The state that a client's group booking finds.
pub struct BeforeGroup {
    /// The key was used before and has not expired.
    known: bool,
    /// Number of bookings at the location.
    bookings: usize,
}

pub fn before(sim: &Sim, request: &BookSlots) -> BeforeGroup {
    BeforeGroup { known: find(sim, request).is_some(), bookings: bookings(sim, request) }
}

/// Checks the answer of a location. `refused`: `None` if the group was booked now or by an earlier request with the
/// key.
pub fn check(sim: &Sim, request: &BookSlots, before: &BeforeGroup, refused: Option<&Refusal>) {
    let uses = key(request).and_then(|key| sim.ledger.attempts.get(&key)).map_or(0, |uses| uses.len());
    let (key, size) = (&request.idempotency_key, request.bookings.len());
    let made = bookings(sim, request) - before.bookings;
    match refused {
        None => {
            let Some(group) = find(sim, request) else { panic!("whole groups: {key} was accepted without a commit") };
            assert_eq!(group.members.len(), size, "whole groups: {key} has other members than its request");
            assert_eq!(made, if before.known { 0 } else { size }, "whole groups: bookings made for {key}");
            if !before.known {
                let places = group.members.iter().map(|id| sim.ledger.bookings.get(id).map(|booking| booking.place));
                let wanted = request.bookings.iter().map(|booking| Some(booking.offer.placement()));
                assert!(places.eq(wanted), "whole groups: a member of {key} is not at the place of its offer");
            }
        }
        Some(refusal) => {
            assert_eq!(made, 0, "whole groups: {key} was refused with {refusal:?}, but booked a part");
            if let Refusal::Member { index, .. } = refusal {
                assert!(*index < size, "whole groups: {key} has no member {index}");
            }
            if *refusal == Refusal::IdempotencyConflict {
                assert!(uses > 1, "one key one answer: group {key} was never used for anything else");
            } else {
                let behind = location(request).and_then(|at| sim.process.hosts.get(&at)).is_some_and(|at| at.behind);
                let accepted = before.known && uses == 1;
                assert!(behind || !accepted, "one key one answer: group {key} was accepted, now {refusal:?}");
            }
        }
    }
}

/// Checks that each location remembers all members of its groups.
pub fn keys_are_remembered(sim: &Sim) {
    for ((location, name), group) in sim.ledger.groups.iter().filter(|(_, group)| sim.now < group.expires) {
        let Some(host) = sim.process.hosts.get(location).filter(|host| !host.behind) else { continue };
        let known = host.processor.machine.state.keys.get(name);
        let members = known.map(|known| [&[known.appointment][..], &known.others].concat());
        assert_eq!(members.as_ref(), Some(&group.members), "nothing lost: a group of {location} is forgotten");
    }
}

/// Returns the appointments of a booked group.
pub fn members(sim: &Sim, request: &BookSlots) -> Vec<AppointmentId> {
    find(sim, request).map(|group| group.members.clone()).unwrap_or_default()
}

fn bookings(sim: &Sim, request: &BookSlots) -> usize {
    let here = location(request);
    sim.ledger.bookings.values().filter(|booking| Some(booking.location) == here).count()
}

/// Returns the booked group of a request's key, unless the key has expired.
fn find<'a>(sim: &'a Sim, request: &BookSlots) -> Option<&'a BookedGroup> {
    let group = sim.ledger.groups.get(&(location(request)?, name(&request.idempotency_key)))?;
    (sim.now < group.expires).then_some(group)
}
