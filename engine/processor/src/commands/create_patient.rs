//! Creates a patient (specification 4.4 and 4.10).

use location::Refusal;
use records::PatientChange;

use super::prelude::*;

#[derive(Clone)]
pub struct CreatePatient {
    pub provider_id: u32,
    pub details: PatientDetails,
    /// The fields that are not in `details`.
    pub change: PatientChange,
    /// Names and values of fields that are not part of the patient record.
    pub more: Vec<(String, String)>,
    /// `true` to return a patient with the same date of birth, name and phone number instead of refusing the request.
    pub return_existing: bool,
}

impl Request for CreatePatient {
    type Reply = Saved<Record<records::Patient>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        if at.known_provider(self.provider_id, unit)?.is_none() {
            return Err(
                PreconditionError::NotFound { resource: Resource::Providers, id: self.provider_id.into() }.into()
            );
        }
        if let Some(known) = self.duplicate(at, cx, unit)? {
            if !self.return_existing {
                return Err(PreconditionError::DuplicatePatient { id: known.id }.into());
            }
            return Ok((Decision::nothing(), Saved { existing: true, ..Saved::new(known) }));
        }
        let missing = at.missing_fields(&self.details);
        if !missing.is_empty() {
            return Err(Reject::Refused(Refusal::PatientFieldsRequired { missing }));
        }
        let id = narrow(unit.allot(Resource::Patients)?)?;
        let ordering_key = OrderingKey::Patient(PatientId(id));
        let decision = at.decide_save(cx, Resource::Patients, id.into(), Operation::Create, ordering_key, false)?;
        let mut patient = at.fresh_patient(cx, id, &self.details);
        // The number of a client has no type, unlike that of a booking.
        patient.primary_phone = patient.cell_phone.take();
        self.change.apply(&mut patient);
        patient.provider_id = Some(self.provider_id);
        patient.extra.clone_from(&self.more);
        at.index_patient(None, &patient, unit)?;
        unit.put(&patient)?;
        // Set here, not by the client.
        let blank = records::Patient { new_patient: patient.new_patient, ..records::Patient::default() };
        let warnings = at.warn_about_unsupported_fields(&blank, &patient)?;
        Ok((decision, Saved { warnings, ..Saved::new(patient) }))
    }
}

impl CreatePatient {
    /// Returns the patient with the same date of birth, name and phone number. A patient that the EHR rejected is none:
    /// it is created again with corrected data.
    fn duplicate(
        &self,
        at: &Processor,
        cx: DecisionContext,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Option<Record<records::Patient>>, Reject> {
        let PatientChange { cell_phone, home_phone, work_phone, .. } = &self.change;
        let given = [&self.details.phone_number, cell_phone, home_phone, work_phone];
        let given = at.numbers(given.into_iter().flatten().map(String::as_str));
        let same = |known: &Record<records::Patient>| !known.rejected() && at.is_reached_by(known, &given);
        Ok(at.namesakes(cx, &self.details, &at.match_keys(&self.details), unit)?.into_iter().find(same))
    }
}
