//! Patients as requests describe them: matching, missing fields, and the index by date of birth and last name.

use std::cell::LazyCell;

use location::{Date, DecisionContext};
use records::{
    self, Record, RecordWrite,
    demographics::{name, phone::Number},
    patient::is_birth_date,
};
use store::{Key, keys};

use crate::{Processor, Reject, UnitOfWork, processor::decode};

/// Required to identify a patient, even if the EHR does not require them.
const ALWAYS_REQUIRED: [&str; 3] = ["first_name", "last_name", "date_of_birth"];

/// A patient as described by a booking, or by a client who creates one.
#[derive(Clone, Default, serde::Serialize)]
pub struct PatientDetails {
    pub first_name: String,
    pub middle_name: Option<String>,
    pub last_name: String,
    pub date_of_birth: Option<Date>,
    pub phone_number: Option<String>,
    pub email: Option<String>,
    pub gender: Option<String>,
    pub address: Option<records::values::Address>,
}

impl Processor {
    /// Returns the initial record of a patient created here.
    pub fn fresh_patient(&self, cx: DecisionContext, id: u32, details: &PatientDetails) -> Record<records::Patient> {
        let body =
            records::Patient { new_patient: true, location_ids: vec![self.setup.id.0], ..records::Patient::default() };
        let mut patient = Record { source_id: self.source(), ..Record::new(id, self.institution.id.0, cx.now, body) };
        describe_patient(cx, &mut patient, details);
        patient
    }

    /// Returns the patient of this data source with the same date of birth, first and last name, and phone or e-mail
    /// (decisions: Booking intent). Twins, and parents and children of one name, share all but one of these. A patient
    /// that the EHR rejected is returned only if no other matches. `keys` are the `match_keys` of the description.
    pub fn matching_patient(
        &self,
        cx: DecisionContext,
        details: &PatientDetails,
        keys: &[Key],
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Option<Record<records::Patient>>, Reject> {
        let numbers = LazyCell::new(|| self.numbers(details.phone_number.as_deref()));
        let email = details.email.as_deref().map(plain);
        let same = |patient: &Record<records::Patient>| {
            let same_email = email.is_some() && patient.email.as_deref().map(plain) == email;
            same_email || self.is_reached_by(patient, &numbers)
        };
        Ok(self.namesakes(cx, details, keys, unit)?.into_iter().filter(same).min_by_key(|patient| patient.rejected()))
    }

    /// Returns `true` if two descriptions match as a description and a record do in `matching_patient`.
    pub fn is_same_person(&self, one: &PatientDetails, other: &PatientDetails) -> bool {
        let email = |details: &PatientDetails| details.email.as_deref().map(plain);
        let numbers = self.numbers(one.phone_number.as_deref());
        let same_email = email(one).is_some() && email(one) == email(other);
        let same_number = || self.numbers(other.phone_number.as_deref()).iter().any(|number| numbers.contains(number));
        one.date_of_birth.is_some()
            && one.date_of_birth == other.date_of_birth
            && name::is_same(&one.last_name, &other.last_name)
            && name::is_same(&one.first_name, &other.first_name)
            && (same_email || same_number())
    }

    /// Parses telephone numbers as they are dialled at this location.
    pub fn numbers<'a>(&self, written: impl IntoIterator<Item = &'a str>) -> Vec<Number> {
        let country = self.setup.country(&self.institution);
        written.into_iter().filter_map(|number| Number::read(number, country)).collect()
    }

    pub fn is_reached_by(&self, patient: &records::Patient, numbers: &[Number]) -> bool {
        self.numbers(patient.phones()).iter().any(|known| numbers.contains(known))
    }

    /// Returns the patients of this data source with the same date of birth, first and last name, inactive ones last.
    /// `keys` are the `match_keys` of the description.
    pub fn namesakes(
        &self,
        cx: DecisionContext,
        details: &PatientDetails,
        keys: &[Key],
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Vec<Record<records::Patient>>, Reject> {
        let today = self.settings().zone.local_date(cx.now);
        let born = details.date_of_birth.filter(|born| is_birth_date(*born, today));
        let Some(born) = born.map(|born| born.to_string()) else { return Ok(Vec::new()) };
        let mut ids = Vec::new();
        for key in keys {
            ids.extend(self.matches(key, unit)?);
        }
        ids.sort_unstable();
        ids.dedup();
        let mut patients = Vec::new();
        for id in ids {
            patients.extend(unit.get::<Record<records::Patient>>(self.institution.id.0, u64::from(id))?);
        }
        // A list may contain patients whose names have changed since. Only the document is authoritative.
        let same = |patient: &Record<records::Patient>| {
            name::is_same(&patient.last_name, &details.last_name)
                && name::is_same(&patient.first_name, &details.first_name)
        };
        patients.retain(|patient| patient.date_of_birth.as_ref() == Some(&born) && same(patient));
        // Staff may have merged two records of a patient. The EHR refuses appointments of the one that it deleted.
        patients.sort_by_key(|patient| patient.inactive);
        Ok(patients)
    }

    /// Returns the keys of the lists that may contain the patient.
    pub fn match_keys(&self, details: &PatientDetails) -> Vec<Key> {
        let born = details.date_of_birth.map(|born| born.to_string());
        let last_name = &details.last_name;
        // Earlier versions also used names with spaces or accents.
        let mut names = vec![name::fold(last_name), name::parts(last_name).join(" "), plain(last_name)];
        names.dedup();
        names.into_iter().filter_map(|name| self.match_key(&name, born.as_deref()?)).collect()
    }

    fn matches(&self, key: &Key, unit: &mut UnitOfWork<'_>) -> Result<Vec<u32>, Reject> {
        Ok(unit.guarded(key.clone())?.map(|bytes| decode(&bytes)).transpose()?.unwrap_or_default())
    }

    /// Returns the key of a list: a keyed digest of date of birth and last name, because keys on disk are not
    /// encrypted.
    fn match_key(&self, name: &str, born: &str) -> Option<Key> {
        let scope = self.source().unwrap_or(0);
        (!name.is_empty()).then(|| {
            let digest = self.deps.secrets.digest(&[b"patient", name.as_bytes(), born.as_bytes()]);
            keys::patient_match(self.institution.id.0, scope, &digest)
        })
    }

    /// Updates the lists of patients by date of birth and last name.
    pub fn index_patient(
        &self,
        old: Option<&Record<records::Patient>>,
        new: &Record<records::Patient>,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        let key_of = |patient: &Record<records::Patient>| {
            patient.date_of_birth.as_deref().and_then(|born| self.match_key(&name::fold(&patient.last_name), born))
        };
        let (before, after) = (old.and_then(key_of), key_of(new));
        for (key, present) in [(&before, false), (&after, true)] {
            let Some(key) = key.as_ref().filter(|_| present || before != after) else { continue };
            let mut ids = self.matches(key, unit)?;
            if ids.contains(&new.id) == present {
                continue;
            }
            ids.retain(|id| *id != new.id);
            ids.extend(present.then_some(new.id));
            let bytes = serde_json::to_vec(&ids).map_err(|_| Reject::Damaged("a list of patients"))?;
            unit.put_raw(key.clone(), bytes);
        }
        Ok(())
    }

    /// Returns the fields, named as in the API, that a new patient requires and the request lacks. Identifying fields
    /// are always required, others by the EHR.
    pub fn missing_fields(&self, details: &PatientDetails) -> Vec<String> {
        let given = |field: &str| match field {
            "first_name" => !details.first_name.is_empty(),
            "last_name" => !details.last_name.is_empty(),
            "middle_name" => details.middle_name.is_some(),
            "date_of_birth" => details.date_of_birth.is_some(),
            "phone_number" => details.phone_number.is_some(),
            "email" => details.email.is_some(),
            "gender" => details.gender.is_some(),
            "address" => details.address.is_some(),
            _ => false,
        };
        let by_ehr = self.description.iter().flat_map(|description| &description.required_patient_fields);
        let mut required: Vec<&str> = ALWAYS_REQUIRED.to_vec();
        for field in by_ehr.map(String::as_str) {
            if !required.contains(&field) {
                required.push(field);
            }
        }
        required.into_iter().filter(|field| !given(field)).map(str::to_owned).collect()
    }
}

/// Copies the details of a request to a patient.
pub(crate) fn describe_patient(cx: DecisionContext, patient: &mut Record<records::Patient>, details: &PatientDetails) {
    patient.first_name.clone_from(&details.first_name);
    patient.middle_name.clone_from(&details.middle_name);
    patient.last_name.clone_from(&details.last_name);
    patient.date_of_birth = details.date_of_birth.map(|date| date.to_string());
    patient.cell_phone.clone_from(&details.phone_number);
    patient.email.clone_from(&details.email);
    patient.gender.clone_from(&details.gender);
    patient.address.clone_from(&details.address);
    patient.write = Some(RecordWrite::pending());
    patient.updated_at = cx.now;
}

/// Converts an id to the width of its resource's ids.
pub(crate) fn narrow<Id: TryFrom<u64>>(id: u64) -> Result<Id, Reject> {
    Id::try_from(id).map_err(|_| Reject::Damaged("an id beyond 32 bits"))
}

/// Normalizes a text for comparison: trimmed and in lower case.
fn plain(text: &str) -> String {
    text.trim().to_lowercase()
}
