//! The payload of a queued write: stored records with foreign ids, as they are when the write is sent.

use location::{
    Operation, Placement, Resource, WriteIntent,
    command::{Failure, Outcome, Written},
};
use records::{
    Body, Fault, Patient, Receipt, Record, RecordWrite, WorkingHour, Write, WriteStatus,
    references::Missing,
    schema::{self, EhrPatient, EhrRecord, Visitor},
};
use serde::Deserialize;
use store::keys;

use crate::{Processor, Reject, processor::decode};

/// Maximum number of cached foreign ids. A full cache is emptied.
const FOREIGN_IDS: usize = 200;

/// The cancellation reason of an appointment that a move replaced, as staff read it in the EHR.
const MOVED: &str = "moved to another time";

impl Processor {
    /// Returns the write to send, or the reason why it cannot be sent now or ever.
    pub fn outgoing(
        &self,
        work: WriteIntent,
        key: &str,
        placement: Option<Placement>,
    ) -> Result<Outcome<Write>, Reject> {
        let institution = self.institution.id.0;
        let patient = |id| {
            let patient = self.read::<Record<Patient>>(institution, id)?;
            self.for_ehr(&patient.ok_or(Reject::Damaged("a write without its patient"))?)
        };
        match work {
            WriteIntent::CreatePatient(id) => {
                return Ok(patient(id.0.into())?.map(|new| Write::CreatePatient(with_cell_phone(new))));
            }
            WriteIntent::Record { resource: Resource::Patients, id, .. } => {
                let before = self.read_merge_base::<Record<Patient>>(institution, id)?;
                let before = before.map(|before| self.for_ehr(&before)).transpose()?.transpose();
                let after = patient(id)?;
                return Ok(after.and_then(|after| Ok(Write::UpdatePatient(after, before?.map(Box::new)))));
            }
            WriteIntent::Record { resource: Resource::WorkingHours, id, operation } => {
                return self.outgoing_hour(id, operation);
            }
            WriteIntent::Record { resource, id, operation } => {
                return schema::on(resource, Out { processor: self, id, operation });
            }
            _ => {}
        }
        let Some(id) = work.appointment() else { return Err(Reject::Damaged("a write without a target")) };
        let mut record = self.appointment(id.0)?.ok_or(Reject::Damaged("a write without its appointment"))?;
        if record.source_id != self.source() {
            // A version that allowed another data source for a location with records has left the appointment.
            return Ok(Err(Failure::Rejected("the appointment belongs to another data source".to_owned())));
        }
        let moved = record.reschedule.as_ref().filter(|moved| moved.is_at(record.placement.span.start));
        let moved_for = moved.and_then(|moved| moved.reason.clone());
        record.placement = placement.unwrap_or(record.placement);
        let mut reason = record.cancel_reason.clone();
        match work {
            // The EHR gives the new appointment its own identifier.
            WriteIntent::Replace(_) => (record.foreign_id, record.version) = (None, None),
            WriteIntent::CancelReplaced { replaced, .. } => {
                let old = record.replaced.iter().find(|old| old.is_left(replaced.0)).cloned();
                let Some(old) = old else {
                    // Staff moved the visit to another location meanwhile, which has taken its record over.
                    let reason = "the replaced appointment is not known any more";
                    return Ok(Err(Failure::Rejected(reason.to_owned())));
                };
                if !record.cancelled {
                    let for_staff = |why| format!("{MOVED}: {why}");
                    reason = Some(moved_for.as_deref().map_or_else(|| MOVED.to_owned(), for_staff));
                }
                (record.foreign_id, record.version) = (Some(old.foreign_id), old.version);
                (record.placement, record.cancelled) = (old.placement, true);
            }
            // Another location may have read the visit as not cancelled since.
            WriteIntent::Cancel(_) => record.cancelled = true,
            _ => {}
        }
        let Some(patient) = record.patient_id else { return Err(Reject::Damaged("a booking without patient")) };
        let mut appointment = match self.for_ehr(&record)? {
            Ok(appointment) => appointment,
            Err(failure) => return Ok(Err(failure)),
        };
        if appointment.patient.is_none() {
            // Another location of the data source is writing the patient, or failed to.
            let missing = self.foreign_id(Resource::Patients, patient.into())?.err();
            return Ok(Err(missing.unwrap_or_else(|| not_yet(Resource::Patients))));
        }
        appointment.write_key = Some(key.to_owned());
        Ok(Ok(match work {
            WriteIntent::CreateAppointment(_) | WriteIntent::Replace(_) => Write::CreateAppointment(appointment),
            WriteIntent::Reschedule(_) => Write::RescheduleAppointment(appointment, moved_for),
            WriteIntent::Confirm(_) => Write::ConfirmAppointment(appointment),
            WriteIntent::CheckIn(_) => Write::CheckInAppointment(appointment),
            WriteIntent::Note(_) => Write::NoteAppointment(appointment),
            WriteIntent::Cancel(_)
            | WriteIntent::CancelReplaced { .. }
            | WriteIntent::CreatePatient(_)
            | WriteIntent::Record { .. } => Write::CancelAppointment(appointment, reason),
        }))
    }

    fn outgoing_hour(&self, id: u64, operation: Operation) -> Result<Outcome<Write>, Reject> {
        let record = self.read::<Record<WorkingHour>>(self.setup.id.0, id)?;
        let record = record.ok_or(Reject::Damaged("a write without its working hours"))?;
        Ok(match operation {
            Operation::Create => self.for_ehr(&record)?.map(Write::CreateWorkingHour),
            Operation::Update => self.for_ehr(&record)?.map(Write::UpdateWorkingHour),
            Operation::Delete => Ok(Write::DeleteWorkingHour(record.foreign_id.unwrap_or_default())),
        })
    }

    /// Converts a record for the EHR, or returns the reason why that is not possible yet.
    fn for_ehr<T: Body>(&self, record: &Record<T>) -> Result<Outcome<T::Ehr>, Reject> {
        let mut last = None;
        let mut foreign_id_of = |to, id| Ok(self.foreign_id(to, id)?.map_err(|failure| last = Some(failure)).ok());
        let shown = record.body.for_ehr(record.foreign_id.clone().unwrap_or_default(), &mut foreign_id_of);
        match shown {
            Ok(shown) => Ok(Ok(shown)),
            Err(ConversionError::Rejected(reject)) => Err(reject),
            Err(ConversionError::Missing(resource)) => Ok(Err(last.unwrap_or_else(|| not_yet(resource)))),
        }
    }

    /// Returns the foreign id of a record, or the reason why it has none.
    pub fn foreign_id(&self, resource: Resource, id: u64) -> Result<Outcome<String>, Reject> {
        if let Some(known) = self.foreign_ids.lock().get(&(resource, id)) {
            return Ok(Ok(known.clone()));
        }
        let rules = schema::rules(resource);
        let scope = rules.scope.number(self.institution.id.0, self.source(), self.setup.id.0);
        let Some(record) = self.deps.store.get(&keys::record(rules.tag, scope, id))? else {
            return Ok(Err(not_yet(resource)));
        };
        let Filed { foreign_id, write } = decode(&record)?;
        if let Some(foreign_id) = foreign_id.as_ref().filter(|_| is_catalogue(resource)) {
            let mut known = self.foreign_ids.lock();
            if known.len() >= FOREIGN_IDS {
                known.clear();
            }
            known.insert((resource, id), foreign_id.clone());
        }
        let rejection = write.filter(|write| write.status == WriteStatus::Failed).and_then(|write| write.reason);
        Ok(foreign_id.ok_or_else(|| rejection.map_or_else(|| not_yet(resource), Failure::Rejected)))
    }
}

/// Moves the number of a new patient to the field in which the contract has it, unless a cell phone is given, too.
fn with_cell_phone(mut new: EhrPatient) -> EhrPatient {
    if new.cell_phone.is_none() {
        new.cell_phone = new.primary_phone.take();
    }
    new
}

/// Returns `true` if a location has few records of the resource, and most of its writes refer to them.
fn is_catalogue(resource: Resource) -> bool {
    matches!(resource, Resource::Providers | Resource::Operatories | Resource::AppointmentTypes)
}

/// The fields of a record that show whether the EHR has it.
#[derive(Deserialize)]
struct Filed {
    foreign_id: Option<String>,
    write: Option<RecordWrite>,
}

/// Another location of the data source may be writing the record.
fn not_yet(resource: Resource) -> Failure {
    let reason = match resource {
        Resource::Patients => "the patient is not in the EHR yet",
        _ => "a record it refers to is not in the EHR yet",
    };
    Failure::NotReady(reason.to_owned())
}

/// The reason why a record cannot be converted for the EHR.
enum ConversionError {
    Missing(Resource),
    Rejected(Reject),
}

impl From<Reject> for ConversionError {
    fn from(reject: Reject) -> ConversionError {
        ConversionError::Rejected(reject)
    }
}

impl From<Missing> for ConversionError {
    fn from(Missing { resource, .. }: Missing) -> ConversionError {
        ConversionError::Missing(resource)
    }
}

/// Visitor that returns the write of a record without a specific kind of write.
struct Out<'s> {
    processor: &'s Processor,
    id: u64,
    operation: Operation,
}

impl Visitor for Out<'_> {
    type Output = Result<Outcome<Write>, Reject>;

    fn visit<T: Body<Ehr: Into<EhrRecord>>>(self) -> Self::Output {
        let Out { processor, id, operation } = self;
        let record = processor.read::<Record<T>>(processor.scope::<T>(), id)?;
        let record = record.ok_or(Reject::Damaged("a write without its record"))?;
        Ok(processor.for_ehr(&record)?.map(|record| Write::Record(operation, record.into())))
    }
}

/// Returns the failure of a lookup that cannot be composed. Foreign ids are never lost, so a missing one was missing
/// before, and the write was not sent. Working hours are an exception, because their references may have changed since.
/// So are writes after a restore: a referenced record may have been written, but not looked up yet.
pub fn lookup_failure(work: WriteIntent, failure: Failure, restored: bool) -> Failure {
    match (work, failure) {
        (_, failure @ Failure::NotReady(_)) if restored => failure,
        (WriteIntent::Record { resource: Resource::WorkingHours, .. }, Failure::Rejected(reason)) => {
            Failure::NotReady(reason)
        }
        (WriteIntent::Record { resource: Resource::WorkingHours, .. }, failure) => failure,
        (_, Failure::Rejected(reason) | Failure::NotReady(reason)) => Failure::NeverSent(reason),
        (_, failure) => failure,
    }
}

/// Converts a fault of a call for the machine.
pub fn failure(fault: Fault) -> Failure {
    match fault {
        Fault::Rejected(reason) => Failure::Rejected(reason),
        Fault::RetryLater { reason, after } => {
            let after = after.map(|wait| i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
            Failure::RetryLater { reason, after }
        }
        Fault::Unknown(reason) => Failure::Unknown(reason),
        Fault::Unauthorized(reason) => Failure::Unauthorized(reason),
        Fault::Unsupported(reason) => Failure::Unsupported(reason),
        Fault::GateClosed => Failure::GateClosed,
        Fault::NotReady(reason) => Failure::NotReady(reason),
        Fault::NotBegun(reason) => Failure::NotBegun(reason),
    }
}

pub fn written(receipt: Receipt) -> Written {
    Written { foreign_id: receipt.id, version: receipt.version }
}
