//! Each booking has at most one record in the EHR, and each patient, too, however many bookings name them.

use std::collections::BTreeMap;

use location::intent::WriteIntent;
use records::ehr::{EhrRecord, Resource};

use crate::simulation::sim::Sim;

pub fn check(sim: &Sim) {
    for (source, ehr) in &sim.ehrs {
        let (mut bookings, mut keys) = (BTreeMap::new(), BTreeMap::new());
        for (id, row) in ehr.rows_for(Resource::Appointments) {
            if let Some(first) = row.key.as_ref().and_then(|key| keys.insert(key, id)) {
                panic!("at most once: {first} and {id} in EHR {source} are of one write");
            }
            let Some((location, WriteIntent::CreateAppointment(booking))) = row.made_for else { continue };
            if let Some(first) = bookings.insert((location, booking), id) {
                panic!("at most once: booking {booking} of {location} is {first} and {id} in EHR {source}");
            }
        }
        let mut patients = BTreeMap::new();
        for (id, row) in ehr.rows_for(Resource::Patients).filter(|(_, row)| row.made_for.is_some()) {
            let EhrRecord::Patient(patient) = &row.record else { continue };
            if let Some(first) = patients.insert(patient.last_name.clone(), id) {
                panic!("at most once: patient {} is {first} and {id} in EHR {source}", patient.last_name);
            }
        }
    }
}
