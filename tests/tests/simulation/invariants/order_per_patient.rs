//! Writes of one patient are sent in order: the patient before the appointments, an appointment before its changes.
//! The EHR itself asserts that no write arrives before its prerequisites.

use std::collections::BTreeSet;

use location::{ids::LocationId, intent::WriteIntent, queue::WriteState};

use crate::simulation::sim::Sim;

pub fn check(sim: &Sim, location: LocationId) {
    let Some(host) = sim.process.hosts.get(&location) else { return };
    let (mut lanes, mut called, mut changed) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (id, write) in host.processor.machine.state.queue.iter() {
        let first = lanes.insert(write.ordering_key);
        let calling = matches!(write.state, WriteState::Calling { .. });
        assert!(
            !calling || called.insert(write.ordering_key),
            "order per patient: two writes of {location} are in flight"
        );
        match write.work {
            // Sent before the other writes of its patient.
            WriteIntent::CreatePatient(_) | WriteIntent::CancelReplaced { .. } => continue,
            WriteIntent::CreateAppointment(appointment) => {
                assert!(
                    !changed.contains(&appointment),
                    "order per patient: {appointment} is changed before it is made"
                );
            }
            other => changed.extend(other.appointment()),
        }
        assert!(first || !calling, "order per patient: write {id} of {location} is sent before an earlier one");
    }
}
