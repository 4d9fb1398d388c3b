//! New patients and changes of patients (specification 4.4 and 4.10).

use location::{
    command::Cx,
    decision::{Decision, Refusal},
    ids::{Lane, PatientId},
    pull::{Resource, Verb},
};
use records::{self, entry::EntryWrite, index::words::phone};

use crate::saving::{Prepared, queued, refused, saved, unmet};
use crate::{
    book::{narrow, plain},
    request::Answer,
    requests::{NewPatient, PatientChange, Unmet},
    turn::{Processor, TurnError},
    unit_of_work::{UnitOfWork, merge_base::fields},
};

impl Processor {
    pub(super) fn new_patient(&self, cx: Cx, new: &NewPatient, unit: &mut UnitOfWork<'_>) -> Prepared {
        if self.known_provider(new.provider_id, unit)?.is_none() {
            return unmet(Unmet::NotFound { resource: Resource::Providers, id: new.provider_id.into() });
        }
        if let Some(known) = self.duplicate(new, unit)? {
            if !new.return_existing {
                return unmet(Unmet::DuplicatePatient { id: known.id });
            }
            let (decision, answer) = saved(Decision::nothing(), &known)?;
            return Ok((decision, Answer { existing: true, ..answer }));
        }
        let missing = self.missing_fields(&new.details);
        if !missing.is_empty() {
            let refusal = Decision::refuse(Refusal::PatientFieldsRequired { missing });
            return Ok((refusal.clone(), Answer::from(refusal.reply)));
        }
        let id = narrow(unit.allot(Resource::Patients)?)?;
        let lane = Lane::Patient(PatientId(id));
        let decision = self.decide_save(cx, Resource::Patients, id.into(), Verb::Create, lane, false);
        let details = new.details.clone();
        let patient = records::Patient {
            id,
            institution_id: self.institution.id.0,
            source_id: self.source(),
            first_name: details.first_name,
            middle_name: details.middle_name,
            last_name: details.last_name,
            date_of_birth: details.date_of_birth.map(|date| date.to_string()),
            gender: details.gender,
            email: details.email,
            primary_phone: details.phone_number,
            cell_phone: new.cell_phone.clone(),
            home_phone: new.home_phone.clone(),
            work_phone: new.work_phone.clone(),
            address: details.address,
            ssn: new.ssn.clone(),
            provider_id: Some(new.provider_id),
            new_patient: true,
            more: new.more.clone(),
            location_ids: vec![self.setup.id.0],
            created_at: cx.now,
            updated_at: cx.now,
            write: Some(EntryWrite::pending()),
            ..records::Patient::default()
        };
        if !refused(&decision) {
            self.index_patient(None, &patient, unit)?;
            unit.put(&patient)?;
        }
        let (decision, mut answer) = saved(decision, &patient)?;
        answer.warnings = self.unkept(&records::Patient::default(), &patient)?;
        Ok((decision, answer))
    }

    /// What of a change the EHR has no field for.
    fn unkept(&self, before: &records::Patient, after: &records::Patient) -> Result<Vec<String>, TurnError> {
        let unkept = self.description.as_ref().map_or(&[][..], |description| &description.unkept_patient_fields);
        let (was, is) = (fields(before)?, fields(after)?);
        let own = is.iter().filter(|(name, value)| was.get(*name) != Some(value)).map(|(name, _)| name);
        let own = own.filter(|name| unkept.contains(name));
        let more = after.more.iter().filter(|pair| !before.more.contains(pair)).map(|(name, _)| name);
        let more = more.filter(|_| unkept.iter().any(|name| name == "extra"));
        Ok(own
            .chain(more)
            .map(|name| format!("{name} stays here: the health record system has no field for it."))
            .collect())
    }

    /// The patient with the same date of birth, name and phone number.
    fn duplicate(&self, new: &NewPatient, unit: &mut UnitOfWork<'_>) -> Result<Option<records::Patient>, TurnError> {
        let first = plain(&new.details.first_name);
        let given = [&new.details.phone_number, &new.cell_phone, &new.home_phone, &new.work_phone];
        let given: Vec<String> = given.into_iter().flatten().filter_map(|number| phone(number)).collect();
        let same = |known: &records::Patient| {
            let phones = [&known.primary_phone, &known.cell_phone, &known.home_phone, &known.work_phone];
            let mut phones = phones.into_iter().flatten().filter_map(|number| phone(number));
            plain(&known.first_name) == first && phones.any(|number| given.contains(&number))
        };
        Ok(self.namesakes(&new.details, unit)?.into_iter().find(same))
    }

    pub(super) fn change_patient(
        &self,
        cx: Cx,
        id: u32,
        change: &PatientChange,
        unit: &mut UnitOfWork<'_>,
    ) -> Prepared {
        let before = match self.synced_patient(id, unit)? {
            Ok(patient) => patient,
            Err(why) => return unmet(why),
        };
        let mut after = before.clone();
        change.apply(&mut after);
        if after == before {
            return saved(Decision::nothing(), &before);
        }
        after.updated_at = cx.now;
        let lane = Lane::Patient(PatientId(id));
        let decision = self.decide_save(cx, Resource::Patients, id.into(), Verb::Update, lane, false);
        if queued(&decision) {
            after.write = Some(EntryWrite::pending());
            unit.keep_merge_base(&before)?;
        }
        if !refused(&decision) {
            self.index_patient(Some(&before), &after, unit)?;
            unit.put(&after)?;
        }
        let (decision, mut answer) = saved(decision, &after)?;
        answer.warnings = self.unkept(&before, &after)?;
        Ok((decision, answer))
    }
}

impl PatientChange {
    fn apply(&self, patient: &mut records::Patient) {
        let set = |field: &mut String, value: &Option<String>| {
            if let Some(value) = value {
                field.clone_from(value);
            }
        };
        // An empty text empties the field.
        let put = |field: &mut Option<String>, value: &Option<String>| {
            if value.is_some() {
                *field = value.clone().filter(|value| !value.is_empty());
            }
        };
        set(&mut patient.first_name, &self.first_name);
        set(&mut patient.last_name, &self.last_name);
        put(&mut patient.middle_name, &self.middle_name);
        put(&mut patient.email, &self.email);
        put(&mut patient.date_of_birth, &self.date_of_birth);
        put(&mut patient.gender, &self.gender);
        put(&mut patient.cell_phone, &self.cell_phone);
        put(&mut patient.home_phone, &self.home_phone);
        put(&mut patient.work_phone, &self.work_phone);
        put(&mut patient.work_phone_extension, &self.work_phone_extension);
        put(&mut patient.ssn, &self.ssn);
        if let Some(address) = &self.address {
            let known = patient.address.get_or_insert_default();
            put(&mut known.line_1, &address.line_1);
            put(&mut known.line_2, &address.line_2);
            put(&mut known.city, &address.city);
            put(&mut known.region, &address.region);
            put(&mut known.postal_code, &address.postal_code);
            put(&mut known.country, &address.country);
        }
    }
}
