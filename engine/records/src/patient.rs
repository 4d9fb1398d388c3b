//! The index terms and the name of a patient.

use location::zone::Date;

use crate::{
    Patient, full_name,
    index::{Field, Term},
};

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

/// Returns the words of the names, the digits of phone numbers, and the values of list filters.
pub(crate) fn terms(patient: &Patient) -> Vec<Term> {
    let names = [Some(&patient.first_name), patient.middle_name.as_ref(), Some(&patient.last_name)];
    let mut terms = Term::names(names.into_iter().flatten().map(String::as_str));
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
