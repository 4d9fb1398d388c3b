//! The state in memory equals the replayed journal with the deferred records at all times: a crash loses nothing but
//! the progress of a read cycle, and a load adds nothing.

use location::ids::LocationId;
use processor::processor::Processor;

use crate::simulation::sim::Sim;

pub fn check(sim: &Sim, location: LocationId) {
    let Some(host) = sim.process.hosts.get(&location).filter(|host| !host.behind) else { return };
    let loaded = Processor::load(sim.process.deps.clone(), location).and_then(|mut processor| {
        processor.replay_deferred(&host.processor)?;
        Ok(processor)
    });
    let replayed = match loaded {
        Ok(processor) => processor.machine.state,
        Err(error) => panic!("memory equals replay: location {location} cannot be loaded: {error}"),
    };
    let memory = &host.processor.machine.state;
    assert!(
        replayed == *memory,
        "memory equals replay: location {location} remembers\n{memory:?}\nbut its journal says\n{replayed:?}"
    );
}
