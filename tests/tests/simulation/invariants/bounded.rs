//! Queues, holds, keys and calls in flight are bounded.

use location::ids::LocationId;

use crate::simulation::{agenda::TRIPS_PER_LOCATION, sim::Sim};

pub fn check(sim: &Sim, location: LocationId) {
    let Some(host) = sim.process.hosts.get(&location) else { return };
    let (state, settings) = (&host.processor.machine.state, host.processor.settings());
    // The limit applies to bookings only. Each has one or two inserts and one or two changes, which are never
    // refused. An appointment that its visit does not need has a cancellation.
    let replaced: usize = state.appointments.values().map(|known| known.replaced.len()).sum();
    let most = settings.write.max_queue as usize * 3 + replaced;
    assert!(state.queue.len() <= most, "bounded: {} writes queue at {location}", state.queue.len());
    assert!(state.holds.len() <= settings.booking.max_holds as usize, "bounded: holds at {location}");
    let promised = sim.ledger.attempts.len();
    assert!(state.keys.len() <= promised, "bounded: more keys at {location} than anybody used");
    let trips = sim.agenda.trips();
    // Includes calls of former incarnations.
    let most = TRIPS_PER_LOCATION * sim.plan.setup.locations.len();
    assert!(trips <= most, "bounded: {trips} calls are on their way");
}
