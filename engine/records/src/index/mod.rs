//! What records are found by besides their ids: terms, the words of names, and orders by a field that may change. `query` keeps the index,
//! here stands what it holds of a record.

mod indexed;
pub mod words;

use location::time::Timestamp;

/// What a term is about. The numbers are on disks: never reused or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Field {
    /// One word of a name.
    Name = 1,
    Phone = 2,
    Email = 3,
    BirthDate = 4,
    Inactive = 5,
    NewPatient = 6,
    NonPatient = 7,
    Location = 8,
    Patient = 9,
    Guarantor = 10,
    Provider = 11,
    Operatory = 12,
    Appointment = 13,
    Plan = 14,
    Subscriber = 15,
    Claim = 16,
    Charge = 17,
    Procedure = 18,
    FeeSchedule = 19,
    Category = 20,
    /// The type of whatever the record is one of.
    Type = 21,
    TreatmentPlan = 22,
    PaymentPlan = 23,
    Payment = 24,
    FormSchema = 25,
    Status = 26,
    Code = 27,
    Payer = 28,
    Group = 29,
    Transaction = 30,
    ServiceDate = 31,
}

impl Field {
    /// The field a path of a body is found by (`entries::Rules::index`).
    pub fn of_body(name: &str) -> Option<Field> {
        Some(match name {
            "patient_id" => Field::Patient,
            "guarantor_id" => Field::Guarantor,
            "provider_id" => Field::Provider,
            "appointment_id" => Field::Appointment,
            "plan_id" => Field::Plan,
            "subscriber_id" => Field::Subscriber,
            "claim_id" => Field::Claim,
            "charge_id" => Field::Charge,
            "procedure_id" => Field::Procedure,
            "fee_schedule_id" => Field::FeeSchedule,
            "category_id" | "category" => Field::Category,
            "recall_type_id" => Field::Type,
            "payer_id" => Field::Payer,
            "group_number" => Field::Group,
            "transaction_id" => Field::Transaction,
            "date_of_service" => Field::ServiceDate,
            _ => return None,
        })
    }
}

/// A fact a record is found by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    pub field: Field,
    pub value: Value,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    Number(u64),
    /// On the disk only a keyed digest of it: keys are not encrypted.
    Text(String),
}

/// Terms may be patient data.
impl std::fmt::Debug for Term {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Term({:?}, redacted)", self.field)
    }
}

impl Term {
    pub fn number(field: Field, number: impl Into<u64>) -> Term {
        Term { field, value: Value::Number(number.into()) }
    }

    /// For a flag that is set; one that is not has no term.
    pub fn flag(field: Field) -> Term {
        Term::number(field, 1u64)
    }

    /// A value of a body.
    pub fn of_value(field: Field, value: &serde_json::Value) -> Option<Term> {
        match value {
            serde_json::Value::String(text) => Some(Term::text(field, text)),
            other => other.as_u64().map(|number| Term::number(field, number)),
        }
    }

    /// Any text that is compared as it is.
    pub fn text(field: Field, text: impl Into<String>) -> Term {
        Term { field, value: Value::Text(text.into()) }
    }

    /// None with too few digits for a number.
    pub fn phone(number: &str) -> Option<Term> {
        words::phone(number).map(|digits| Term::text(Field::Phone, digits))
    }

    pub fn email(address: &str) -> Option<Term> {
        let address = address.trim().to_lowercase();
        (!address.is_empty()).then(|| Term::text(Field::Email, address))
    }

    /// One term per word.
    pub fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Term> {
        let words = names.into_iter().flat_map(words::of).take(words::MOST);
        words.map(|word| Term::text(Field::Name, word)).collect()
    }

    /// The word of a name it stands for.
    pub fn word(&self) -> Option<&str> {
        match (&self.field, &self.value) {
            (Field::Name, Value::Text(word)) => Some(word),
            _ => None,
        }
    }
}

/// By what records are ordered. The numbers are on disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum OrderBy {
    Updated = 1,
    /// When it begins, for what is in a calendar.
    Start = 2,
}

impl OrderBy {
    pub const ALL: [OrderBy; 2] = [OrderBy::Updated, OrderBy::Start];
}

/// What a kind of record is found by.
pub trait Indexed {
    /// Lists show it in the order of ids, so that what changed since a time is looked for in that order too.
    const LISTED_BY_ID: bool = true;

    fn terms(&self) -> Vec<Term> {
        Vec::new()
    }

    /// Where it stands in orders by a field that may change.
    fn places(&self) -> Vec<(OrderBy, Timestamp)> {
        Vec::new()
    }

    /// It is gone in the EHR.
    fn deleted(&self) -> bool {
        false
    }
}
