//! What records are found by besides their ids: terms, the words of names, and orders by a field that may change. `query` keeps the index,
//! here stands what it holds of a record.

use demographics::{name, phone};
use location::time::Timestamp;

use crate::{
    values::Day,
    words::{HistoryCategory, Word},
};

/// What a term is about. The numbers are on disks: never reused or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Field {
    /// One word of a name, with those after it.
    Name = 1,
    /// The last digits of any of a patient's telephone numbers.
    Phone = 2,
    /// In lower case.
    Email = 3,
    /// `YYYY-MM-DD`.
    BirthDate = 4,
    /// A flag: only inactive patients have the term.
    Inactive = 5,
    /// A flag, as `Inactive`.
    NewPatient = 6,
    /// A flag, as `Inactive`.
    NonPatient = 7,
    /// Each location a patient was created or seen at.
    Location = 8,
    /// Id of the patient it is about.
    Patient = 9,
    /// Id of the patient who pays.
    Guarantor = 10,
    /// Id of a provider, those of its parts too.
    Provider = 11,
    /// Not used now; the number stays taken.
    Operatory = 12,
    /// Id of the appointment it belongs to.
    Appointment = 13,
    /// Id of the insurance plan.
    Plan = 14,
    /// Id of the patient in whose name a coverage is.
    Subscriber = 15,
    /// Id of the insurance claim.
    Claim = 16,
    /// Id of a charge, those of its parts too.
    Charge = 17,
    /// Id of the procedure.
    Procedure = 18,
    /// Id of the fee schedule.
    FeeSchedule = 19,
    /// A category by its word or its id.
    Category = 20,
    /// The type of whatever the record is one of.
    Type = 21,
    /// Not used now; the number stays taken.
    TreatmentPlan = 22,
    /// Not used now; the number stays taken.
    PaymentPlan = 23,
    /// Not used now; the number stays taken.
    Payment = 24,
    /// Not used now; the number stays taken.
    FormSchema = 25,
    /// Not used now; the number stays taken.
    Status = 26,
    /// Not used now; the number stays taken.
    Code = 27,
    /// Payer id of an insurance plan.
    Payer = 28,
    /// Group number of an insurance plan.
    Group = 29,
    /// Identifier of a payment at its processor.
    Transaction = 30,
    /// `YYYY-MM-DD`.
    ServiceDate = 31,
}

/// A fact a record is found by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    /// What it is about.
    pub field: Field,
    /// Compared whole.
    pub value: Value,
}

/// The value of a term.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// An id, or 1 for a flag.
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
    /// For an id.
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

    /// For a number as it is written. Returns `None` if it has too few digits.
    pub fn phone(number: &str) -> Option<Term> {
        phone::last_digits(number).map(|digits| Term::text(Field::Phone, digits))
    }

    /// In lower case; none for an empty address.
    pub fn email(address: &str) -> Option<Term> {
        let address = address.trim().to_lowercase();
        (!address.is_empty()).then(|| Term::text(Field::Email, address))
    }

    /// One term for each word.
    pub fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Term> {
        let words = names.into_iter().flat_map(name::words).take(name::MAX_WORDS);
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
    /// When this service last changed it.
    Updated = 1,
    /// When it begins, for what is in a calendar.
    Start = 2,
}

impl OrderBy {
    /// In the order of their numbers.
    pub const ALL: [OrderBy; 2] = [OrderBy::Updated, OrderBy::Start];
}

/// What a kind of record is found by.
pub trait Indexed {
    /// Lists show it in the order of ids, so that what changed since a time is looked for in that order too.
    const LISTED_BY_ID: bool = true;

    /// The facts it is found by, besides its id.
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
