//! Patients, with their index terms and names.

use location::Date;
use record_macro::record;

use crate::{
    Address, full_name,
    index::{Field, Term},
};

/// A patient. The frame names no location: a patient is at all of `location_ids`.
#[record(
    resource = Patients, tag = 4, id = u32, scope = Institution, contract = "patient", name = "Patient",
    writes(Update = "update-patient"), found_with = terms, named_with = names, local_extra
)]
#[derive(Default)]
pub struct Patient {
    /// The responsible party, a patient of the same EHR.
    #[record(refers(guarantor = Patients), omit_missing)]
    pub guarantor_id: Option<u32>,
    /// The primary provider.
    #[record(refers(provider = Providers), omit_missing)]
    pub provider_id: Option<u32>,
    #[record(change)]
    pub first_name: String,
    #[record(change)]
    pub middle_name: Option<String>,
    #[record(change)]
    pub last_name: String,
    /// Date of birth, `YYYY-MM-DD`.
    #[record(limit = Date, change)]
    pub date_of_birth: Option<String>,
    /// `Male`, `Female` or `Other`.
    #[record(change)]
    pub gender: Option<String>,
    /// E-mail address.
    #[record(change)]
    pub email: Option<String>,
    #[record(change)]
    pub cell_phone: Option<String>,
    #[record(change)]
    pub home_phone: Option<String>,
    #[record(change)]
    pub work_phone: Option<String>,
    #[record(change)]
    pub work_phone_extension: Option<String>,
    /// The number of an EHR that keeps one number without a type.
    pub primary_phone: Option<String>,
    #[record(change)]
    pub address: Option<Address>,
    /// Social security number, until the EHR has it: written, never read back.
    #[record(limit = NeverRead, change)]
    pub ssn: Option<String>,
    /// Billing or account type.
    pub billing_type: Option<String>,
    /// Number staff use for the patient.
    pub chart_id: Option<String>,
    /// ISO 639-1 code.
    pub preferred_language: Option<String>,
    #[record(limit = Long)]
    pub premedication: Option<String>,
    /// No longer active in the EHR.
    #[record(deleted)]
    pub inactive: bool,
    /// Not yet seen: some systems convert a new patient at the first visit.
    pub new_patient: bool,
    /// A person on file, but not a patient.
    pub non_patient: bool,
    /// Unsubscribed from text messages in the EHR.
    pub unsubscribed_sms: bool,
    /// Unsubscribed from e-mail in the EHR.
    pub unsubscribed_email: bool,
    /// Locations the patient was created or seen at.
    #[record(local)]
    pub location_ids: Vec<u32>,
}

impl Patient {
    /// Returns first, middle and last name.
    pub fn name(&self) -> String {
        full_name(&self.first_name, self.middle_name.as_deref(), &self.last_name)
    }

    /// Iterates over the telephone numbers of the patient, as written.
    pub fn phones(&self) -> impl Iterator<Item = &str> {
        let phones = [&self.cell_phone, &self.home_phone, &self.work_phone, &self.primary_phone];
        phones.into_iter().flatten().map(String::as_str)
    }
}

/// The first year of birth dates. Systems write earlier ones for dates that are not known.
pub const FIRST_YEAR_OF_BIRTH: i32 = 1880;

/// Returns `false` for a day in the future or before 1880. Such a date is displayed, but never used to match people.
pub fn is_birth_date(day: Date, today: Date) -> bool {
    day.ymd().0 >= FIRST_YEAR_OF_BIRTH && day <= today
}

fn names(patient: &Patient) -> Vec<Term> {
    let names = [Some(&patient.first_name), patient.middle_name.as_ref(), Some(&patient.last_name)];
    Term::names(names.into_iter().flatten().map(String::as_str))
}

/// Returns the words of the names, the digits of phone numbers, and the values of list filters.
fn terms(patient: &Patient) -> Vec<Term> {
    let mut terms = names(patient);
    terms.extend(patient.phones().filter_map(Term::phone));
    terms.extend(patient.email.as_deref().and_then(Term::email));
    terms.extend(patient.date_of_birth.as_ref().map(|born| Term::text(Field::BirthDate, born)));
    let flags = [
        (Field::Inactive, patient.inactive),
        (Field::NewPatient, patient.new_patient),
        (Field::NonPatient, patient.non_patient),
    ];
    terms.extend(flags.into_iter().filter(|(_, set)| *set).map(|(field, _)| Term::flag(field)));
    terms.extend(patient.guarantor_id.map(|id| Term::number(Field::Guarantor, id)));
    terms.extend(patient.location_ids.iter().map(|id| Term::number(Field::Location, *id)));
    terms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Body;

    #[test]
    fn names_are_the_terms_with_a_word() {
        let patient = Patient {
            first_name: "Mary-Ann".to_owned(),
            middle_name: Some("Zoë".to_owned()),
            last_name: "Byron".to_owned(),
            email: Some("ada@example.com".to_owned()),
            cell_phone: Some("+1 555 010 0001".to_owned()),
            ..Patient::default()
        };
        let names = patient.names();
        assert!(names.iter().filter_map(Term::word).eq(["maryann", "ann", "zoe", "byron"]));
        let (words, others): (Vec<Term>, Vec<Term>) = patient.terms().into_iter().partition(|it| it.word().is_some());
        assert!(words.len() == names.len() && words.iter().all(|word| names.contains(word)));
        assert!(!others.is_empty());
    }
}
