//! What records are found by besides their ids: terms, the words of names, and orders by a field that may change. `query` keeps the index,
//! here stands what it holds of a record.

pub mod words;

use location::time::Timestamp;

use crate::{
    values::Day,
    words::{HistoryCategory, Word},
};

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

/// A value that records are found by.
pub trait Findable {
    /// Adds its terms.
    fn find(&self, field: Field, found: &mut Vec<Term>);
}

impl Findable for u32 {
    fn find(&self, field: Field, found: &mut Vec<Term>) {
        found.push(Term::number(field, *self));
    }
}

impl Findable for u64 {
    fn find(&self, field: Field, found: &mut Vec<Term>) {
        found.push(Term::number(field, *self));
    }
}

impl Findable for String {
    fn find(&self, field: Field, found: &mut Vec<Term>) {
        found.push(Term::text(field, self));
    }
}

impl Findable for Day {
    fn find(&self, field: Field, found: &mut Vec<Term>) {
        found.push(Term::text(field, self.to_string()));
    }
}

impl Findable for HistoryCategory {
    fn find(&self, field: Field, found: &mut Vec<Term>) {
        found.push(Term::text(field, self.word()));
    }
}

impl<T: Findable> Findable for Option<T> {
    fn find(&self, field: Field, found: &mut Vec<Term>) {
        self.iter().for_each(|value| value.find(field, found));
    }
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
