//! Nothing grows without limit: queues, holds, keys, and calls on their way.

use location::ids::LocationId;

use crate::simulation::{agenda::TRIPS_PER_LOCATION, world::World};

pub fn check(world: &World, location: LocationId) {
    let Some(host) = world.process.hosts.get(&location) else { return };
    let (state, settings) = (&host.shell.machine.state, host.shell.settings());
    // Changes of what was accepted are never refused; a booking has an insert or two, and a change or two.
    let most = settings.write.max_queue as usize * 3;
    assert!(state.queue.len() <= most, "bounded: {} writes queue at {location}", state.queue.len());
    assert!(state.holds.len() <= settings.booking.max_holds as usize, "bounded: holds at {location}");
    let promised = world.ledger.attempts.len();
    assert!(state.keys.len() <= promised, "bounded: more keys at {location} than anybody used");
    let trips = world.agenda.trips();
    // Calls of former incarnations may still be on their way.
    let most = TRIPS_PER_LOCATION * world.plan.setup.locations.len();
    assert!(trips <= most, "bounded: {trips} calls are on their way");
}
