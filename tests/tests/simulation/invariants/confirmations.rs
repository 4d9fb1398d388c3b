//! Confirmations by patients: a visit stays confirmed through moves, crashes and lost replies, and no write confirms it
//! in the EHR twice. At the end, the EHR shows each confirmation that it takes and did not refuse.

use std::collections::BTreeSet;

use location::ids::{AppointmentId, LocationId};
use records::{self, ehr::Resource, record::Record};

use crate::simulation::{
    liveness::linked,
    sim::{Sim, document},
};

/// Records that a client got the answer, and checks that the confirmation is durable.
pub fn acknowledged(sim: &mut Sim, id: AppointmentId) {
    sim.ledger.confirmations.entry(id).or_default().acknowledged = true;
    check_stored(sim, id);
}

/// Checks all confirmations, also those without an answer.
pub fn check(sim: &Sim) {
    for id in sim.ledger.confirmations.keys() {
        check_stored(sim, *id);
    }
    for (source, ehr) in &sim.ehrs {
        let mut keys = BTreeSet::new();
        for (id, row) in ehr.rows_for(Resource::Appointments) {
            for key in &row.confirmed_by {
                assert!(keys.insert(key), "confirmations: write {key} confirmed {id} in EHR {source} again");
            }
        }
    }
}

fn check_stored(sim: &Sim, id: AppointmentId) {
    let kept: Record<records::Appointment> = document(sim, 0, id.0).expect("a booking has its document");
    let stored = kept.patient_confirmed && kept.patient_confirmed_here.is_some();
    assert!(stored, "confirmations: the confirmation of {id} is lost");
}

/// Checks at the end that the EHR shows the confirmations of its live visits.
pub fn all_are_in_the_ehr(sim: &Sim) {
    let written = sim.ledger.confirmations.iter().filter(|(_, it)| it.queued && !it.failed);
    for (id, _) in written {
        let kept: Record<records::Appointment> = document(sim, 0, id.0).expect("a booking has its document");
        let location = sim.plan.setup.locations.get(&LocationId(kept.location()));
        let source = location.and_then(|location| location.source);
        let Some(ehr) = source.and_then(|source| sim.ehrs.get(&source)) else { continue };
        let foreign_id = kept.foreign_id.as_deref().unwrap_or_default();
        let is_visit = linked(sim, ehr.source, Resource::Appointments, foreign_id) == Some(id.0);
        let Some(row) = ehr.appointment(foreign_id).filter(|_| is_visit) else { continue };
        let shown = row.occupying().is_none_or(|occupying| occupying.confirmed);
        assert!(shown, "confirmations: {id} is confirmed, but not as {foreign_id} of EHR {}", ehr.source);
    }
}
