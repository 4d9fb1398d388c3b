//! Nothing grows without limit: queues, holds, keys, and calls on their way.

use location::ids::LocationId;

use crate::simulation::{agenda::TRIPS_PER_LOCATION, sim::Sim};

pub fn check(sim: &Sim, location: LocationId) {
    let Some(host) = sim.process.hosts.get(&location) else { return };
    let (state, settings) = (&host.processor.machine.state, host.processor.settings());
    // Changes of what was accepted are never refused; a booking has an insert or two, and a change or two.
    let most = settings.write.max_queue as usize * 3;
    assert!(state.queue.len() <= most, "bounded: {} writes queue at {location}", state.queue.len());
    assert!(state.holds.len() <= settings.booking.max_holds as usize, "bounded: holds at {location}");
    let promised = sim.ledger.attempts.len();
    assert!(state.keys.len() <= promised, "bounded: more keys at {location} than anybody used");
    let trips = sim.agenda.trips();
    // Calls of former incarnations may still be on their way.
    let most = TRIPS_PER_LOCATION * sim.plan.setup.locations.len();
    assert!(trips <= most, "bounded: {trips} calls are on their way");
}
