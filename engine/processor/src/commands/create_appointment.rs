//! Creates an appointment without a slot token (specification 4.10 and 7.3).

use location::{
    AppointmentTypeId, OperatoryId, Placement, ProviderId,
    command::{Book, BookPatient, OfferedSlot},
};
use records::{Appointment, Booking, Patient, Writeback};

use super::{
    prelude::*,
    references::{all_met, refusal_of, set_aside},
};
use crate::patients::describe_patient;

/// Suffix of the foreign id of a patient whom the EHR shows on their first appointment only (specification 7.3).
const UNCONVERTED: &str = "_np";

/// The appointment of the adapter contract has no descriptors.
const DESCRIPTORS_STAY: &str = "descriptor_ids stay here only: they are not written to the health record system.";

#[derive(Clone)]
pub struct CreateAppointment {
    pub patient_id: u32,
    /// The patient of the appointment, if `patient_id` is their guardian.
    pub dependent: Option<PatientDetails>,
    pub provider_id: u32,
    pub operatory_id: Option<u64>,
    pub span: Span,
    pub appointment_type_id: Option<u32>,
    pub note: Option<String>,
    pub is_guardian: bool,
    pub is_new_clients_patient: bool,
    pub referrer: Option<String>,
    pub descriptor_ids: Vec<u32>,
    /// Synced hours and schedulable blocks count together.
    pub join_blocks: bool,
    /// Name of the API key, for the record.
    pub created_by: String,
}

impl Request for CreateAppointment {
    type Reply = Saved<Record<Appointment>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let mut wrong = Vec::new();
        let guardian = set_aside(self.patient_to_book(at, unit), &mut wrong)?;
        wrong.extend(self.unknown(at, unit)?);
        all_met(wrong)?;
        let guardian = guardian.ok_or(Reject::Damaged("a guardian that is neither found nor missing"))?;
        let dependent = self.dependent.as_ref().map(|details| reached_through(&guardian, details));
        let known = match &dependent {
            Some(details) => at.matching_patient(cx, details, &at.match_keys(details), unit)?,
            None => Some(guardian.clone()),
        };
        // A patient rejected by the EHR is sent again, as described by this request.
        let is_new = known.as_ref().is_none_or(|known| known.rejected());
        let patient_id = match &known {
            Some(known) => known.id,
            None => narrow(unit.allot(Resource::Patients)?)?,
        };
        let missing_fields = match &dependent {
            Some(details) if is_new => at.missing_fields(details),
            _ => Vec::new(),
        };
        let id = unit.allot(Resource::Appointments)?;
        let (provider, kind) = (ProviderId(self.provider_id), self.appointment_type_id.map(AppointmentTypeId));
        let operatory = match self.operatory_id {
            Some(id) => Some(OperatoryId(id)),
            None if at.setup.map_by_operatory => None,
            None => at.machine.operatory_for(provider, self.span, kind, self.join_blocks),
        };
        let placement = Placement { operatory, provider: Some(provider), span: self.span };
        let offer = OfferedSlot {
            appointment_type: kind,
            join_blocks: self.join_blocks,
            ..OfferedSlot::new(placement, Timestamp::MAX)
        };
        let book = Book {
            appointment: AppointmentId(id),
            offer,
            key: None,
            patient: BookPatient { id: PatientId(patient_id), is_new, missing_fields, date_of_birth: None },
            by_rules: false,
        };
        let decision = at.decide(cx, &Command::Book(book))?;
        let name_of = known.as_ref().unwrap_or(&guardian);
        let (first_name, last_name) = match &dependent {
            Some(details) => (details.first_name.clone(), details.last_name.clone()),
            None => (name_of.first_name.clone(), name_of.last_name.clone()),
        };
        let mut record = at.fresh_appointment(cx, id, patient_id, placement);
        record.appointment_type_id = self.appointment_type_id;
        record.note.clone_from(&self.note);
        record.booking = Some(Booking {
            booking_ref: at.deps.secrets.booking_ref(id),
            writeback: Writeback::Pending,
            failure_reason: None,
            cancellation: None,
            patient_first_name: first_name,
            patient_last_name: last_name,
            patient_matched: Some(known.is_some()),
            created_by: self.created_by.clone(),
            is_guardian: self.is_guardian,
            is_new_clients_patient: self.is_new_clients_patient,
            referrer: self.referrer.clone(),
            descriptor_ids: self.descriptor_ids.clone(),
        });
        if let Some(details) = dependent.as_ref().filter(|_| is_new) {
            let mut dependent = known.unwrap_or_else(|| at.fresh_patient(cx, patient_id, details));
            describe_patient(cx, &mut dependent, details);
            dependent.guarantor_id = Some(guardian.id);
            dependent.provider_id = Some(self.provider_id);
            at.index_patient(None, &dependent, unit)?;
            unit.put(&dependent)?;
        }
        unit.put(&record)?;
        let mut warnings: Vec<String> = at.double_booked(&record).into_iter().collect();
        if !self.descriptor_ids.is_empty() {
            warnings.push(DESCRIPTORS_STAY.to_owned());
        }
        Ok((decision, Saved { warnings, ..Saved::new(record) }))
    }
}

impl CreateAppointment {
    /// Returns the patient, if this location may create an appointment for them.
    fn patient_to_book(&self, at: &Processor, unit: &mut UnitOfWork<'_>) -> Result<Record<Patient>, Reject> {
        let id = self.patient_id;
        let patient = unit.get::<Record<Patient>>(at.institution.id.0, u64::from(id))?;
        let patient = patient.ok_or(PreconditionError::NotFound { resource: Resource::Patients, id: id.into() })?;
        let synced = patient.foreign_id.is_some();
        if patient.source_id != at.source() {
            return Err(PreconditionError::PatientOfOtherEhr { id, synced }.into());
        }
        if !synced && !patient.location_ids.contains(&at.setup.id.0) {
            return Err(PreconditionError::PatientOfOtherLocation { id }.into());
        }
        if let Some(refusal) = refusal_of(&patient, &format!("appt.patient_id {id} is of a patient")) {
            return Err(refusal.into());
        }
        let unconverted = patient.foreign_id.as_ref().is_some_and(|foreign_id| foreign_id.ends_with(UNCONVERTED));
        if patient.new_patient && unconverted {
            Err(PreconditionError::PatientNotConverted.into())
        } else {
            Ok(patient)
        }
    }

    fn unknown(&self, at: &Processor, unit: &mut UnitOfWork<'_>) -> Result<Vec<PreconditionError>, Reject> {
        let kinds: Vec<u32> = self.appointment_type_id.into_iter().collect();
        let mut unknown = at.unknown_in_schedule(self.provider_id, self.operatory_id, &kinds, unit)?;
        unknown.extend(at.unknown_descriptors(&self.descriptor_ids, unit)?);
        Ok(unknown)
    }
}

/// Returns the details of a dependent, with the guardian's contact details where none are given.
fn reached_through(guardian: &Record<Patient>, dependent: &PatientDetails) -> PatientDetails {
    let phones = [&guardian.primary_phone, &guardian.cell_phone, &guardian.home_phone, &guardian.work_phone];
    let phone = phones.into_iter().flatten().next();
    PatientDetails {
        phone_number: dependent.phone_number.clone().or_else(|| phone.cloned()),
        email: dependent.email.clone().or_else(|| guardian.email.clone()),
        ..dependent.clone()
    }
}
