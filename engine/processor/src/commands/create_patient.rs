//! Creates a patient (specification 4.4 and 4.10).

use location::Refusal;

use super::prelude::*;

#[derive(Clone)]
pub struct CreatePatient {
    pub provider_id: u32,
    pub details: PatientDetails,
    pub home_phone: Option<String>,
    pub cell_phone: Option<String>,
    pub work_phone: Option<String>,
    pub ssn: Option<String>,
    /// Names and values of fields that are not part of the patient record.
    pub more: Vec<(String, String)>,
    /// `true` to return a patient with the same date of birth, name and phone number instead of refusing the request.
    pub return_existing: bool,
}

impl Request for CreatePatient {
    type Reply = Saved<Record<records::Patient>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        if at.known_provider(self.provider_id, unit)?.is_none() {
            return Err(Unmet::NotFound { resource: Resource::Providers, id: self.provider_id.into() }.into());
        }
        if let Some(known) = self.duplicate(at, cx, unit)? {
            if !self.return_existing {
                return Err(Unmet::DuplicatePatient { id: known.id }.into());
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
        let details = self.details.clone();
        let body = records::Patient {
            first_name: details.first_name,
            middle_name: details.middle_name,
            last_name: details.last_name,
            date_of_birth: details.date_of_birth.map(|date| date.to_string()),
            gender: details.gender,
            email: details.email,
            primary_phone: details.phone_number,
            cell_phone: self.cell_phone.clone(),
            home_phone: self.home_phone.clone(),
            work_phone: self.work_phone.clone(),
            address: details.address,
            ssn: self.ssn.clone(),
            provider_id: Some(self.provider_id),
            new_patient: true,
            extra: self.more.clone(),
            location_ids: vec![at.setup.id.0],
            ..records::Patient::default()
        };
        let patient = Record {
            source_id: at.source(),
            write: Some(RecordWrite::pending()),
            ..Record::new(id, at.institution.id.0, cx.now, body)
        };
        at.index_patient(None, &patient, unit)?;
        unit.put(&patient)?;
        let warnings = at.unkept(&records::Patient::default(), &patient)?;
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
        let given = [&self.details.phone_number, &self.cell_phone, &self.home_phone, &self.work_phone];
        let given = at.numbers(given.into_iter().flatten().map(String::as_str));
        let same = |known: &Record<records::Patient>| !known.rejected() && at.is_reached_by(known, &given);
        Ok(at.namesakes(cx, &self.details, unit)?.into_iter().find(same))
    }
}
