//! Each location's own invariants hold after each of its turns.

use location::ids::LocationId;

use crate::simulation::sim::Sim;

pub fn check(sim: &Sim, location: LocationId) {
    if let Some(host) = sim.process.hosts.get(&location) {
        host.processor.machine.check(sim.now);
    }
}
