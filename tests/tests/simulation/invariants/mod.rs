//! Invariants of the simulation, one per module. Each check panics on a violation.

pub mod at_most_once;
pub mod bounded;
pub mod confirmations;
pub mod documents_agree;
pub mod groups;
pub mod machine;
pub mod memory_equals_replay;
pub mod no_double_booking;
pub mod nothing_lost;
pub mod one_key_one_answer;
pub mod order_per_patient;
pub mod reschedules;
pub mod rules_hold;

use location::{event::Event, ids::LocationId};

use super::sim::Sim;

/// Checks a durable event.
pub fn committed(sim: &Sim, location: LocationId, event: &Event) {
    no_double_booking::granted(sim, location, event);
}

/// Checks a location after a turn, once memory and disk are in sync.
pub fn after_turn(sim: &Sim, location: LocationId, events: &[Event]) {
    machine::check(sim, location);
    bounded::check(sim, location);
    documents_agree::after(sim, location, events);
    order_per_patient::check(sim, location);
}

/// Checks all documents and the journal of one location.
pub fn sweep(sim: &Sim, location: LocationId) {
    memory_equals_replay::check(sim, location);
    documents_agree::check(sim, location);
    at_most_once::check(sim);
    nothing_lost::check(sim);
    confirmations::check(sim);
    reschedules::keys_are_remembered(sim);
    groups::keys_are_remembered(sim);
}

/// Checks all locations at the end.
pub fn sweep_all(sim: &Sim) {
    for location in sim.process.hosts.keys() {
        sweep(sim, *location);
    }
}
