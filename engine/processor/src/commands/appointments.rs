//! Shared parts of the requests that create appointments.

use location::Placement;
use records::Appointment;

use super::prelude::*;

const SAME_TIME: &str = "The patient has another appointment at this location at the same time.";

impl Processor {
    /// Returns the initial record of an appointment created here.
    pub fn fresh_appointment(
        &self,
        cx: DecisionContext,
        id: u64,
        patient: u32,
        placement: Placement,
    ) -> Record<Appointment> {
        let body = Appointment { patient_id: Some(patient), ..Appointment::at(placement) };
        Record {
            source_id: self.source(),
            location_id: Some(self.setup.id.0),
            ..Record::new(id, self.institution.id.0, cx.now, body)
        }
    }

    /// Returns a warning if the patient has another appointment at the same time.
    pub fn double_booked(&self, record: &Record<Appointment>) -> Option<String> {
        let (patient, id) = (PatientId(record.patient_id?), AppointmentId(record.id));
        let twice = self.machine.is_double_booked(patient, record.placement.span, id);
        twice.then(|| SAME_TIME.to_owned())
    }
}
