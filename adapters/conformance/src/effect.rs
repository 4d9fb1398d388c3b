//! What a write leaves in the EHR.

use location::resource::Operation;
use records::ehr::{EhrRecord, Resource, Write};
use serde_json::{Map, Value};

/// What a write is about: the resource, and the fields it leaves there. A deletion leaves none.
pub fn left(write: &Write) -> (Resource, Option<Map<String, Value>>) {
    match write {
        Write::CreatePatient(patient) | Write::UpdatePatient(patient, _) => {
            (Resource::Patients, Some(EhrRecord::Patient(patient.clone()).fields()))
        }
        Write::CreateAppointment(a)
        | Write::RescheduleAppointment(a)
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

/// How many records of this write's the EHR is to have.
pub fn due(write: &Write) -> usize {
    usize::from(left(write).1.is_some())
}
