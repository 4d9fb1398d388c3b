//! The expected effect of a write on the EHR.

use location::resource::Operation;
use records::ehr::{EhrRecord, Resource, Write};
use serde_json::{Map, Value};

/// Returns the resource of a write and the fields of the record after it. A deletion has no fields.
pub fn left(write: &Write) -> (Resource, Option<Map<String, Value>>) {
    match write {
        Write::CreatePatient(patient) | Write::UpdatePatient(patient, _) => {
            (Resource::Patients, Some(EhrRecord::Patient(patient.clone()).fields()))
        }
        Write::CreateAppointment(a)
        | Write::RescheduleAppointment(a, _)
        | Write::ConfirmAppointment(a)
        | Write::CheckInAppointment(a)
        | Write::NoteAppointment(a)
        | Write::CancelAppointment(a, _) => (Resource::Appointments, Some(EhrRecord::Appointment(a.clone()).fields())),
        Write::CreateWorkingHour(hour) | Write::UpdateWorkingHour(hour) => {
            (Resource::WorkingHours, Some(EhrRecord::WorkingHour(hour.clone()).fields()))
        }
        Write::DeleteWorkingHour(_) => (Resource::WorkingHours, None),
        Write::Record(Operation::Delete, entry) => (entry.resource(), None),
        Write::Record(_, entry) => (entry.resource(), Some(entry.fields())),
    }
}

/// Returns the number of records of this write that the EHR must have.
pub fn due(write: &Write) -> usize {
    usize::from(left(write).1.is_some())
}
