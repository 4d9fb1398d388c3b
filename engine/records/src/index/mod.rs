//! Index entries of records: terms, the words of names, and sort keys of orders by a field that may change. The index
//! itself is in `query`.

use demographics::{name, phone};
use location::Timestamp;

use crate::{
    Day,
    words::{HistoryCategory, Word},
};

/// The field of a term. The numbers are stored, so never reused or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Field {
    /// A word of a name, joined with the words after it.
    Name = 1,
    /// The last digits of any telephone number of a patient.
    Phone = 2,
    /// An e-mail address in lower case.
    Email = 3,
    /// A date of birth, `YYYY-MM-DD`.
    BirthDate = 4,
    /// A flag: only inactive patients have the term.
    Inactive = 5,
    /// A flag, like `Inactive`.
    NewPatient = 6,
    /// A flag, like `Inactive`.
    NonPatient = 7,
    /// A location at which a patient was created or seen.
    Location = 8,
    /// Id of the record's patient.
    Patient = 9,
    /// Id of the patient who pays.
    Guarantor = 10,
    /// Id of a provider, of the record or of its parts.
    Provider = 11,
    /// Unused; the number is reserved.
    Operatory = 12,
    /// Id of the record's appointment.
    Appointment = 13,
    /// Id of the insurance plan.
    Plan = 14,
    /// Id of the subscriber of a coverage.
    Subscriber = 15,
    /// Id of the insurance claim.
    Claim = 16,
    /// Id of a charge, of the record or of its parts.
    Charge = 17,
    /// Id of the procedure.
    Procedure = 18,
    /// Id of the fee schedule.
    FeeSchedule = 19,
    /// A category, by its word or its id.
    Category = 20,
    /// Id of the record's type.
    Type = 21,
    /// Unused; the number is reserved.
    TreatmentPlan = 22,
    /// Unused; the number is reserved.
    PaymentPlan = 23,
    /// Unused; the number is reserved.
    Payment = 24,
    /// Unused; the number is reserved.
    FormSchema = 25,
    /// Unused; the number is reserved.
    Status = 26,
    /// Unused; the number is reserved.
    Code = 27,
    /// Payer id of an insurance plan.
    Payer = 28,
    /// Group number of an insurance plan.
    Group = 29,
    /// Identifier of a payment at its processor.
    Transaction = 30,
    /// A date of service, `YYYY-MM-DD`.
    ServiceDate = 31,
}

/// An index term of a record.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    pub field: Field,
    /// The value, compared as a whole.
    pub value: Value,
}

/// The value of a term.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// An id, or 1 for a flag.
    Number(u64),
    /// A text. Only a keyed digest is stored, because keys are not encrypted.
    Text(String),
}

/// A value with index terms.
pub trait Findable {
    /// Adds the terms of the value.
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

/// Redacted, because terms may be patient data.
impl std::fmt::Debug for Term {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Term({:?}, redacted)", self.field)
    }
}

impl Term {
    /// Creates the term of an id.
    pub fn number(field: Field, number: impl Into<u64>) -> Term {
        Term { field, value: Value::Number(number.into()) }
    }

    /// Creates the term of a flag that is set; an unset flag has no term.
    pub fn flag(field: Field) -> Term {
        Term::number(field, 1u64)
    }

    /// Creates the term of a text that is compared as it is.
    pub fn text(field: Field, text: impl Into<String>) -> Term {
        Term { field, value: Value::Text(text.into()) }
    }

    /// Creates the term of a phone number as written. Returns `None` if it has too few digits.
    pub fn phone(number: &str) -> Option<Term> {
        phone::last_digits(number).map(|digits| Term::text(Field::Phone, digits))
    }

    /// Creates the term of an e-mail address in lower case. Returns `None` for an empty address.
    pub fn email(address: &str) -> Option<Term> {
        let address = address.trim().to_lowercase();
        (!address.is_empty()).then(|| Term::text(Field::Email, address))
    }

    /// Creates one term for each word.
    pub fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Term> {
        let words = names.into_iter().flat_map(name::words).take(name::MAX_WORDS);
        words.map(|word| Term::text(Field::Name, word)).collect()
    }

    /// Returns the word of a name term.
    pub fn word(&self) -> Option<&str> {
        match (&self.field, &self.value) {
            (Field::Name, Value::Text(word)) => Some(word),
            _ => None,
        }
    }
}

/// An order of records. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum OrderBy {
    /// Time at which this service last changed the record.
    Updated = 1,
    /// Start of an entry of the calendar.
    Start = 2,
}

impl OrderBy {
    /// All orders, by number.
    pub const ALL: [OrderBy; 2] = [OrderBy::Updated, OrderBy::Start];
}

/// The index entries of a kind of record.
pub trait Indexed {
    /// `true` if lists are sorted by id; changes since a time are then listed in that order too.
    const LISTED_BY_ID: bool = true;

    /// Returns the index terms, the id excluded.
    fn terms(&self) -> Vec<Term> {
        Vec::new()
    }

    /// Returns the terms of the words of names. May return other terms, too.
    fn names(&self) -> Vec<Term> {
        self.terms()
    }

    /// Returns the sort keys in orders by a field that may change.
    fn sort_keys(&self) -> Vec<(OrderBy, Timestamp)> {
        Vec::new()
    }

    /// Returns `true` if the record is deleted in the EHR.
    fn deleted(&self) -> bool {
        false
    }
}
