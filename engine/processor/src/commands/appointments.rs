//! What the requests that make appointments share.

use location::{
    command::{Cx, Placement},
    ids::{AppointmentId, PatientId},
};

use crate::processor::Processor;

const SAME_TIME: &str = "The patient has another appointment at this location at the same time.";

impl Processor {
    /// An appointment made here, as it starts out.
    pub fn fresh_appointment(&self, cx: Cx, id: u64, patient: u32, placement: Placement) -> records::Appointment {
        records::Appointment {
            id,
            institution_id: self.institution.id.0,
            location_id: self.setup.id.0,
            foreign_id: None,
            version: None,
            patient_id: Some(patient),
            appointment_type_id: None,
            placement,
            note: None,
            unavailable: false,
            cancelled: false,
            cancelled_at: None,
            cancel_reason: None,
            confirmed: false,
            confirmed_at: None,
            patient_confirmed: false,
            patient_confirmed_at: None,
            patient_missed: false,
            checkin_at: None,
            checked_out_at: None,
            created_at: cx.now,
            updated_at: cx.now,
            last_sync_time: None,
            booking: None,
        }
    }

    /// What whoever booked should know.
    pub fn double_booked(&self, record: &records::Appointment) -> Option<String> {
        let (patient, id) = (PatientId(record.patient_id?), AppointmentId(record.id));
        let twice = self.machine.is_double_booked(patient, record.placement.span, id);
        twice.then(|| SAME_TIME.to_owned())
    }
}
