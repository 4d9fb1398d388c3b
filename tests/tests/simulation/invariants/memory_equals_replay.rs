//! The state in memory equals the replayed journal with the deferred records at all times: a crash loses nothing but
//! the progress of a read cycle, and a load adds nothing.

use location::ids::LocationId;
use processor::{error::LoadError, processor::Processor};

use crate::simulation::sim::Sim;

pub fn check(sim: &Sim, location: LocationId) {
    check_after(sim, location, |loaded, memory| loaded.replay_deferred(memory));
}

/// Checks a location whose deferred records were written when it left.
pub fn check_left(sim: &Sim, location: LocationId) {
    check_after(sim, location, |_, _| Ok(()));
}

fn check_after(
    sim: &Sim,
    location: LocationId,
    replay: impl FnOnce(&mut Processor, &Processor) -> Result<(), LoadError>,
) {
    let Some(host) = sim.process.hosts.get(&location).filter(|host| !host.behind) else { return };
    let loaded = Processor::load(sim.process.deps.clone(), location).and_then(|mut processor| {
        replay(&mut processor, &host.processor)?;
        Ok(processor)
    });
    let replayed = match loaded {
        Ok(processor) => processor.machine.state,
        Err(error) => panic!("memory equals replay: location {location} cannot be loaded: {error}"),
    };
    let memory = &host.processor.machine.state;
    assert!(
        replayed == *memory,
        "memory equals replay: location {location} remembers\n{memory:?}\nbut its journal yields\n{replayed:?}"
    );
}
