//! A queued write in the EHR's words: our documents with foreign ids, as they are at the moment of sending.

use location::{
    command::{Failure, Outcome, Placement, Written},
    intent::WriteIntent,
    pull::Resource,
    resource::Operation,
    time::SECOND,
};
use records::{
    self,
    ehr::{EhrAppointment, EhrPatient, Fault, Receipt, Write},
    entries::{self, Visitor},
    entry::{Body, Entry},
    schema::Missing,
    values::Address,
};

use crate::{error::Reject, processor::Processor};

impl Processor {
    /// The write to send, or why it cannot be sent now or ever.
    pub fn outgoing(
        &self,
        work: WriteIntent,
        key: &str,
        placement: Option<Placement>,
    ) -> Result<Outcome<Write>, Reject> {
        let institution = self.institution.id.0;
        let patient = |id| {
            let patient = self.read::<records::Patient>(institution, id)?;
            self.patient(patient.ok_or(Reject::Damaged("a write without its patient"))?)
        };
        match work {
            WriteIntent::CreatePatient(id) => return Ok(Ok(Write::CreatePatient(patient(id.0.into())?))),
            WriteIntent::Record { resource: Resource::Patients, id, .. } => {
                let before = self.read_merge_base::<records::Patient>(institution, id)?;
                let before = before.map(|before| self.patient(before)).transpose()?;
                return Ok(Ok(Write::UpdatePatient(patient(id)?, before.map(Box::new))));
            }
            WriteIntent::Record { resource: Resource::WorkingHours, id, verb } => return self.outgoing_hour(id, verb),
            WriteIntent::Record { resource, id, verb } => {
                let out = entries::on(resource, Out { processor: self, id, operation: verb });
                return out.unwrap_or(Err(Reject::Damaged("a write of a resource that has none")));
            }
            _ => {}
        }
        let Some(id) = work.appointment() else { return Err(Reject::Damaged("a write of nothing")) };
        let record = self.appointment(id.0)?.ok_or(Reject::Damaged("a write without its appointment"))?;
        let placement = placement.unwrap_or(record.placement);
        let Some(patient_id) = record.patient_id else { return Err(Reject::Damaged("a booking without patient")) };
        let patient = self.read::<records::Patient>(self.institution.id.0, u64::from(patient_id))?;
        let patient = patient.ok_or(Reject::Damaged("a booking without its patient"))?;
        let Some(patient_foreign_id) = patient.foreign_id else {
            // Another location of the data source is writing the patient, or failed to.
            return Ok(Err(match patient.write_error {
                Some(reason) => Failure::Rejected(reason),
                None => Failure::NotReady("the patient is not in the EHR yet".to_owned()),
            }));
        };
        let reason = record.cancel_reason.clone();
        let appointment = self.ehr_appointment(record, placement, patient_foreign_id, key)?;
        Ok(Ok(match work {
            WriteIntent::CreateAppointment(_) => Write::CreateAppointment(appointment),
            WriteIntent::Reschedule(_) => Write::RescheduleAppointment(appointment),
            WriteIntent::Confirm(_) => Write::ConfirmAppointment(appointment),
            WriteIntent::CheckIn(_) => Write::CheckInAppointment(appointment),
            WriteIntent::Note(_) => Write::NoteAppointment(appointment),
            WriteIntent::Cancel(_) | WriteIntent::CreatePatient(_) | WriteIntent::Record { .. } => {
                Write::CancelAppointment(appointment, reason)
            }
        }))
    }

    fn ehr_appointment(
        &self,
        record: records::Appointment,
        placement: Placement,
        patient: String,
        key: &str,
    ) -> Result<EhrAppointment, Reject> {
        let institution = self.institution.id.0;
        let provider = match placement.provider {
            Some(id) => self.read::<records::Provider>(institution, u64::from(id.0))?.and_then(|p| p.foreign_id),
            None => None,
        };
        let operatory = match placement.operatory {
            Some(id) => self.read::<records::Operatory>(self.setup.id.0, id.0)?.and_then(|o| o.foreign_id),
            None => None,
        };
        let kind = match record.appointment_type_id {
            Some(id) => self.read::<records::AppointmentType>(institution, u64::from(id))?.and_then(|t| t.foreign_id),
            None => None,
        };
        Ok(EhrAppointment {
            id: record.foreign_id.unwrap_or_default(),
            patient: Some(patient),
            provider,
            operatory,
            appointment_type: kind,
            start: placement.span.start.0.div_euclid(SECOND),
            end: placement.span.end.0.div_euclid(SECOND),
            note: record.note,
            unavailable: false,
            cancelled: record.cancelled,
            confirmed: record.confirmed,
            patient_confirmed: record.patient_confirmed,
            patient_missed: record.patient_missed,
            checkin_at: record.checkin_at.map(|at| at.0.div_euclid(SECOND)),
            checked_out_at: record.checked_out_at.map(|at| at.0.div_euclid(SECOND)),
            write_key: Some(key.to_owned()),
            version: record.version,
            extra: Vec::new(),
        })
    }

    fn patient(&self, patient: records::Patient) -> Result<EhrPatient, Reject> {
        let provider = match patient.provider_id {
            Some(id) => {
                self.read::<records::Provider>(self.institution.id.0, u64::from(id))?.and_then(|p| p.foreign_id)
            }
            None => None,
        };
        let guarantor = match patient.guarantor_id {
            Some(id) => self.read::<records::Patient>(self.institution.id.0, u64::from(id))?.and_then(|p| p.foreign_id),
            None => None,
        };
        Ok(EhrPatient {
            id: patient.foreign_id.unwrap_or_default(),
            first_name: patient.first_name,
            middle_name: patient.middle_name,
            last_name: patient.last_name,
            date_of_birth: patient.date_of_birth,
            gender: patient.gender,
            email: patient.email,
            cell_phone: patient.cell_phone,
            home_phone: patient.home_phone,
            work_phone: patient.work_phone,
            work_phone_extension: patient.work_phone_extension,
            primary_phone: patient.primary_phone,
            address: patient.address.map(|address| Address {
                line1: address.line_1,
                line2: address.line_2,
                city: address.city,
                region: address.region,
                postal_code: address.postal_code,
                country: address.country,
            }),
            ssn: patient.ssn,
            guarantor,
            provider,
            billing_type: patient.billing_type,
            chart_id: patient.chart_id,
            preferred_language: patient.preferred_language,
            premedication: patient.premedication,
            inactive: patient.inactive,
            new_patient: patient.new_patient,
            non_patient: patient.non_patient,
            unsubscribed_sms: patient.unsubscribed_sms,
            unsubscribed_email: patient.unsubscribed_email,
            extra: patient.more,
        })
    }

    /// The EHR's id of a record of ours, or why there is none.
    pub fn foreign_id(&self, resource: Resource, id: u64) -> Result<Result<String, Failure>, Reject> {
        let (institution, location) = (self.institution.id.0, self.setup.id.0);
        let (found, failed) = match resource {
            Resource::Patients => {
                let patient = self.read::<records::Patient>(institution, id)?;
                patient.map_or((None, None), |patient| (patient.foreign_id, patient.write_error))
            }
            Resource::Providers => (self.read::<records::Provider>(institution, id)?.and_then(|p| p.foreign_id), None),
            Resource::Operatories => (self.read::<records::Operatory>(location, id)?.and_then(|o| o.foreign_id), None),
            Resource::AppointmentTypes => {
                (self.read::<records::AppointmentType>(institution, id)?.and_then(|kind| kind.foreign_id), None)
            }
            Resource::Appointments => (self.appointment(id)?.and_then(|appointment| appointment.foreign_id), None),
            Resource::WorkingHours => {
                (self.read::<records::WorkingHour>(location, id)?.and_then(|hour| hour.foreign_id), None)
            }
            resource => entries::on(resource, Foreign { processor: self, id }).transpose()?.unwrap_or_default(),
        };
        Ok(match (found, failed) {
            (Some(foreign_id), _) => Ok(foreign_id),
            (None, Some(reason)) => Err(Failure::Rejected(reason)),
            (None, None) => Err(Failure::NotReady("a record it refers to is not in the EHR yet".to_owned())),
        })
    }
}

/// The foreign id of a record in a frame, and why its write failed.
struct Foreign<'s> {
    processor: &'s Processor,
    id: u64,
}

impl Visitor for Foreign<'_> {
    type Output = Result<(Option<String>, Option<String>), Reject>;

    fn visit<T: Body>(self) -> Self::Output {
        let entry = self.processor.read::<Entry<T>>(self.processor.source().unwrap_or(0), self.id)?;
        Ok(entry.map_or((None, None), |entry| (entry.foreign_id, entry.write.and_then(|write| write.reason))))
    }
}

/// A write of a record in a frame.
struct Out<'s> {
    processor: &'s Processor,
    id: u64,
    operation: Operation,
}

impl Visitor for Out<'_> {
    type Output = Result<Outcome<Write>, Reject>;

    fn visit<T: Body>(self) -> Self::Output {
        let Out { processor, id, operation } = self;
        let entry = processor.read::<Entry<T>>(processor.source().unwrap_or(0), id)?;
        let entry = entry.ok_or(Reject::Damaged("a write without its record"))?;
        let id = entry.foreign_id.clone().unwrap_or_default();
        let mut foreign = |resource, id| processor.foreign_id(resource, id)?.map(Some).map_err(Unsent::Failed);
        Ok(match entry.body.for_ehr(id, &mut foreign) {
            Ok(record) => Ok(Write::Record(operation, record.into())),
            Err(Unsent::Failed(why)) => Err(why),
            Err(Unsent::Rejected(reject)) => return Err(reject),
        })
    }
}

/// Why a record has no form that the EHR takes.
enum Unsent {
    Failed(Failure),
    Rejected(Reject),
}

impl From<Reject> for Unsent {
    fn from(reject: Reject) -> Unsent {
        Unsent::Rejected(reject)
    }
}

impl From<Missing> for Unsent {
    fn from(_: Missing) -> Unsent {
        Unsent::Failed(Failure::NotReady("a record it refers to is not in the EHR yet".to_owned()))
    }
}

/// Why a lookup cannot be composed. Foreign ids are never lost, so what lacks one now lacked it then, and the write was not sent. Hours
/// alone may refer to something else since.
pub fn lookup_failure(work: WriteIntent, failure: Failure) -> Failure {
    match (work, failure) {
        (WriteIntent::Record { resource: Resource::WorkingHours, .. }, Failure::Rejected(reason)) => {
            Failure::NotReady(reason)
        }
        (WriteIntent::Record { resource: Resource::WorkingHours, .. }, failure) => failure,
        (_, Failure::Rejected(reason) | Failure::NotReady(reason)) => Failure::NeverSent(reason),
        (_, failure) => failure,
    }
}

/// A fault of a call, in the machine's words.
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
