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

use super::world::World;

/// One event is durable.
pub fn committed(world: &World, location: LocationId, event: &Event) {
    no_double_booking::granted(world, location, event);
}

/// A turn is over, and memory follows the disk.
pub fn after_turn(world: &World, location: LocationId, events: &[Event]) {
    machine::check(world, location);
    bounded::check(world, location);
    documents_agree::after(world, location, events);
    order_per_patient::check(world, location);
}

/// A look at all documents and the journal of one location.
pub fn sweep(world: &World, location: LocationId) {
    memory_equals_replay::check(world, location);
    documents_agree::check(world, location);
    at_most_once::check(world);
    nothing_lost::check(world);
}

/// Everything, at the end.
pub fn sweep_all(world: &World) {
    for location in world.process.hosts.keys() {
        sweep(world, *location);
    }
}
