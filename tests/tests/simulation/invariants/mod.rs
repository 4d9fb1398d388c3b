//! What must hold, whatever happens; each in a file of its own. They panic where it does not.

pub mod at_most_once;
pub mod bounded;
pub mod documents_agree;
pub mod machine;
pub mod memory_equals_replay;
pub mod no_double_booking;
pub mod nothing_lost;
pub mod one_key_one_answer;
pub mod order_per_patient;

use location::{event::Event, ids::LocationId};

use super::sim::Sim;

/// One event is durable.
pub fn committed(sim: &Sim, location: LocationId, event: &Event) {
    no_double_booking::granted(sim, location, event);
}

/// A turn is over, and memory follows the disk.
pub fn after_turn(sim: &Sim, location: LocationId, events: &[Event]) {
    machine::check(sim, location);
    bounded::check(sim, location);
    documents_agree::after(sim, location, events);
    order_per_patient::check(sim, location);
}

/// A look at all documents and the journal of one location.
pub fn sweep(sim: &Sim, location: LocationId) {
    memory_equals_replay::check(sim, location);
    documents_agree::check(sim, location);
    at_most_once::check(sim);
    nothing_lost::check(sim);
}

/// Everything, at the end.
pub fn sweep_all(sim: &Sim) {
    for location in sim.process.hosts.keys() {
        sweep(sim, *location);
    }
}
