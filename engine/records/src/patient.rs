//! What a patient is found by, and called.

use crate::{
    Patient, full_name,
    index::{Field, Term},
};

impl Patient {
    /// First, middle and last name.
    pub fn name(&self) -> String {
        full_name(&self.first_name, self.middle_name.as_deref(), &self.last_name)
    }
}

/// The words of the names, digits of phone numbers, and what lists filter by.
pub(crate) fn terms(patient: &Patient) -> Vec<Term> {
    let names = [Some(&patient.first_name), patient.middle_name.as_ref(), Some(&patient.last_name)];
    let mut terms = Term::names(names.into_iter().flatten().map(String::as_str));
    let phones = [&patient.cell_phone, &patient.home_phone, &patient.work_phone, &patient.primary_phone];
    terms.extend(phones.into_iter().flatten().filter_map(|phone| Term::phone(phone)));
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
