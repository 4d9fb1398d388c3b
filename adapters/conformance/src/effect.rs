//! The expected effect of a write on the EHR.

use location::resource::Operation;
use records::ehr::{EhrRecord, Resource, Write};
use serde_json::{Map, Value};

/// Returns the record that a write leaves in the EHR; `None` for a deletion.
pub fn record(write: &Write) -> Option<EhrRecord> {
    Some(match write {
        Write::CreatePatient(patient) | Write::UpdatePatient(patient, _) => EhrRecord::Patient(patient.clone()),
        Write::CreateAppointment(a)
        | Write::RescheduleAppointment(a, _)
        | Write::ConfirmAppointment(a)
        | Write::CheckInAppointment(a)
        | Write::NoteAppointment(a)
        | Write::CancelAppointment(a, _) => EhrRecord::Appointment(a.clone()),
        Write::CreateWorkingHour(hour) | Write::UpdateWorkingHour(hour) => EhrRecord::WorkingHour(hour.clone()),
        Write::DeleteWorkingHour(_) | Write::Record(Operation::Delete, _) => return None,
        Write::Record(_, record) => record.clone(),
    })
}

pub fn deleted_id(write: &Write) -> Option<&str> {
    match write {
        Write::DeleteWorkingHour(id) => Some(id),
        Write::Record(Operation::Delete, record) => Some(record.id()),
        _ => None,
    }
}

/// Returns the resource of a write and the fields of the record after it. A deletion has no fields.
pub fn left(write: &Write) -> (Resource, Option<Map<String, Value>>) {
    match (record(write), write) {
        (Some(record), _) => (record.resource(), Some(record.fields())),
        (None, Write::Record(_, record)) => (record.resource(), None),
        (None, _) => (Resource::WorkingHours, None),
    }
}

/// Returns the number of records of this write that the EHR must have.
pub fn due(write: &Write) -> usize {
    usize::from(deleted_id(write).is_none())
}
