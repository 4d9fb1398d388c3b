//! What each kind of record is found by.

use location::time::Timestamp;

use super::{Field, Indexed, OrderBy, Term};
use crate::{
    Appointment, AppointmentType, Operatory, Patient, Provider, WorkingHour, Write,
    entry::{Body, Entry},
};

impl Indexed for Patient {
    fn terms(&self) -> Vec<Term> {
        let names = [Some(&self.first_name), self.middle_name.as_ref(), Some(&self.last_name)];
        let mut terms = Term::names(names.into_iter().flatten().map(String::as_str));
        let phones = [&self.cell_phone, &self.home_phone, &self.work_phone, &self.primary_phone];
        terms.extend(phones.into_iter().flatten().filter_map(|phone| Term::phone(phone)));
        terms.extend(self.email.as_deref().and_then(Term::email));
        terms.extend(self.date_of_birth.as_ref().map(|born| Term::text(Field::BirthDate, born)));
        let flags = [
            (Field::Inactive, self.inactive),
            (Field::NewPatient, self.new_patient),
            (Field::NonPatient, self.non_patient),
        ];
        terms.extend(flags.into_iter().filter(|(_, set)| *set).map(|(field, _)| Term::flag(field)));
        terms.extend(self.guarantor_id.map(|id| Term::number(Field::Guarantor, id)));
        terms.extend(self.location_ids.iter().map(|id| Term::number(Field::Location, *id)));
        terms
    }

    fn places(&self) -> Vec<(OrderBy, Timestamp)> {
        vec![(OrderBy::Updated, self.updated_at)]
    }
}

impl Indexed for Appointment {
    const LISTED_BY_ID: bool = false;

    fn terms(&self) -> Vec<Term> {
        self.patient_id.map(|id| Term::number(Field::Patient, id)).into_iter().collect()
    }

    fn places(&self) -> Vec<(OrderBy, Timestamp)> {
        vec![(OrderBy::Updated, self.updated_at), (OrderBy::Start, self.placement.span.start)]
    }
}

impl Indexed for Provider {
    fn places(&self) -> Vec<(OrderBy, Timestamp)> {
        vec![(OrderBy::Updated, self.updated_at)]
    }
}

impl Indexed for WorkingHour {
    fn terms(&self) -> Vec<Term> {
        vec![Term::number(Field::Provider, self.provider_id)]
    }

    fn places(&self) -> Vec<(OrderBy, Timestamp)> {
        vec![(OrderBy::Updated, self.updated_at)]
    }

    fn deleted(&self) -> bool {
        self.deleted_at.is_some()
    }
}

impl Indexed for AppointmentType {
    fn places(&self) -> Vec<(OrderBy, Timestamp)> {
        vec![(OrderBy::Updated, self.updated_at)]
    }

    fn deleted(&self) -> bool {
        self.deleted_at.is_some()
    }
}

impl Indexed for Operatory {
    fn places(&self) -> Vec<(OrderBy, Timestamp)> {
        vec![(OrderBy::Updated, self.updated_at)]
    }

    fn deleted(&self) -> bool {
        self.deleted_at.is_some()
    }
}

impl<T: Body> Indexed for Entry<T> {
    fn terms(&self) -> Vec<Term> {
        self.body.terms()
    }

    fn places(&self) -> Vec<(OrderBy, Timestamp)> {
        vec![(OrderBy::Updated, self.updated_at)]
    }

    fn deleted(&self) -> bool {
        self.deleted_at.is_some()
    }
}

/// Found by its id alone.
impl Indexed for Write {
    const LISTED_BY_ID: bool = false;
}
