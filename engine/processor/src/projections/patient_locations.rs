//! Locations of a patient: the one that created or first read them, and each one that has an appointment with them.

use location::DecisionContext;
use query::lists::{Filter, ListQuery, Lists, Order, Range};
use records::Record;
use records::{Appointment, Patient};

use crate::{Processor, Reject, UnitOfWork};

/// Maximum number of patients in `Processor::patients_here`, about a megabyte.
const MAX_REMEMBERED: usize = 50_000;

impl Processor {
    /// Adds this location to a patient with an appointment here. Patients are shared. Only one without this location
    /// is read with a precondition, so that other commits do not require unchanged patients.
    pub fn seen_here(&self, cx: DecisionContext, patient: u32, unit: &mut UnitOfWork<'_>) -> Result<(), Reject> {
        let (scope, id, here) = (self.institution.id.0, u64::from(patient), self.setup.id.0);
        // Most patients of a pull have several appointments.
        if self.patients_here.lock().contains(&patient) {
            return Ok(());
        }
        let is_known_here = unit.peek::<Record<Patient>>(scope, id)?.map(|known| known.location_ids.contains(&here));
        let Some(is_known_here) = is_known_here else { return Ok(()) };
        if is_known_here {
            let (mut remembered, is_reading) = (self.patients_here.lock(), self.machine.state.pulls.cycle.is_some());
            // A patient that this turn writes is not stored yet.
            if is_reading && remembered.len() < MAX_REMEMBERED && !unit.is_written::<Record<Patient>>(scope, id) {
                remembered.insert(patient);
            }
            return Ok(());
        }
        unit.change::<Record<Patient>>(scope, id, |patient| {
            patient.location_ids.push(here);
            patient.updated_at = cx.now;
        })?;
        if let Some(mut before) = unit.merge_base::<Record<Patient>>(scope, id)? {
            before.location_ids.push(here);
            unit.set_merge_base(&before)?;
        }
        Ok(())
    }

    /// Returns other locations of the data source that showed an appointment with a patient before the patient. Such a
    /// patient already has an id, allotted with the reference.
    pub fn visited_elsewhere(&self, patient: u64, unit: &UnitOfWork<'_>) -> Result<Vec<u32>, Reject> {
        let mut visited = Vec::new();
        if unit.is_fresh::<Record<Patient>>(patient) {
            return Ok(visited);
        }
        let lists = Lists { store: &*self.deps.store, index: &self.deps.index };
        let setup = self.deps.setup.load_full();
        let all = setup.locations.values();
        for other in all.filter(|other| other.source == self.source() && other.id != self.setup.id) {
            let visits = ListQuery::new([other.id.0], Order::Id).filtered([Filter::Patient(patient)]);
            if !lists.scan::<Record<Appointment>>(&visits, Range::first(1))?.is_empty() {
                visited.push(other.id.0);
            }
        }
        Ok(visited)
    }
}
