//! Each location's own invariants hold after each of its turns.

use location::ids::LocationId;

use crate::simulation::world::World;

pub fn check(world: &World, location: LocationId) {
    if let Some(host) = world.process.hosts.get(&location) {
        host.shell.machine.check(world.now);
    }
}
