//! A queued write in the EHR's words: our documents with foreign ids, as they are at the moment of sending.

use location::{
    command::{Failure, Outcome, Placement, Written},
    event::Work,
    time::SECOND,
};

use super::turn::{Shell, TurnError};
use crate::{
    ehr::{self, EhrAddress, EhrAppointment, EhrPatient, Fault, Receipt, Write},
    records,
};

impl Shell {
    /// The write to send, or why it cannot be sent now or ever.
    pub fn outgoing(&self, work: Work, key: &str, placement: Option<Placement>) -> Result<Outcome<Write>, TurnError> {
        if let Work::CreatePatient(id) = work {
            let patient = self.read::<records::Patient>(self.institution.id.0, u64::from(id.0))?;
            let patient = patient.ok_or(TurnError::Damaged("a write without its patient"))?;
            return Ok(Ok(Write::CreatePatient(self.patient(patient)?)));
        }
        let Some(id) = work.appointment() else { return Err(TurnError::Damaged("a write of nothing")) };
        let record = self.appointment(id.0)?.ok_or(TurnError::Damaged("a write without its appointment"))?;
        let placement = placement.unwrap_or(record.placement);
        let Some(patient_id) = record.patient_id else { return Err(TurnError::Damaged("a booking without patient")) };
        let patient = self.read::<records::Patient>(self.institution.id.0, u64::from(patient_id))?;
        let patient = patient.ok_or(TurnError::Damaged("a booking without its patient"))?;
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
            Work::CreateAppointment(_) => Write::CreateAppointment(appointment),
            Work::Reschedule(_) => Write::RescheduleAppointment(appointment),
            Work::Cancel(_) | Work::CreatePatient(_) => Write::CancelAppointment(appointment, reason),
        }))
    }

    fn ehr_appointment(
        &self,
        record: records::Appointment,
        placement: Placement,
        patient: String,
        key: &str,
    ) -> Result<EhrAppointment, TurnError> {
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

    fn patient(&self, patient: records::Patient) -> Result<EhrPatient, TurnError> {
        let provider = match patient.provider_id {
            Some(id) => {
                self.read::<records::Provider>(self.institution.id.0, u64::from(id))?.and_then(|p| p.foreign_id)
            }
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
            address: patient.address.map(|address| EhrAddress {
                line1: address.line_1,
                line2: address.line_2,
                city: address.city,
                region: address.region,
                postal_code: address.postal_code,
                country: address.country,
            }),
            ssn: None,
            guarantor: None,
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
            extra: ehr::Extra::new(),
        })
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
    }
}

pub fn written(receipt: Receipt) -> Written {
    Written { foreign_id: receipt.id, version: receipt.version }
}
