//! What lists are filtered by, in the words of the records, and what a filter means to the index.

use std::{collections::BTreeSet, fmt};

use location::{
    time::{Span, Timestamp},
    zone::Date,
};
use records::{
    document::Document,
    index::{Field, OrderBy, Term, words},
};

/// What the records of a list have in common.
#[derive(Clone, PartialEq, Eq)]
pub enum Filter {
    /// Found another way already.
    Ids(BTreeSet<u64>),
    /// Those that any of these data sources calls by one of these names.
    ForeignIds {
        sources: Vec<u32>,
        foreign_ids: Vec<String>,
    },
    UpdatedSince(Timestamp),
    /// In a calendar.
    Starting(Span),
    /// The EHR has it still.
    NotDeleted,

    /// A name as someone types it: each of its words begins a word of the record's names, whatever the case and the accents. A name
    /// without a word is nobody's.
    Name(String),
    /// By the digits; with too few of them for a number, it filters nothing.
    Phone(String),
    Email(String),
    DateOfBirth(Date),
    Inactive(bool),
    NewPatient(bool),
    NonPatient(bool),

    // What it refers to.
    Location(u64),
    Patient(u64),
    Guarantor(u64),
    Provider(u64),
    Appointment(u64),
    InsurancePlan(u64),
    Claim(u64),
    Charge(u64),
    Procedure(u64),
    FeeSchedule(u64),
    RecallType(u64),

    Category(String),
    PayerId(String),
    GroupNumber(String),
    TransactionId(String),
    DateOfService(Date),
}

/// Filters hold patient data.
impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Filter(redacted)")
    }
}

/// What a filter means to the index, and to a record that was read.
pub(super) enum Criterion {
    Has(Term),
    Lacks(Term),
    /// One of its names has a word with this beginning.
    NameBegins(String),
    UpdatedSince(Timestamp),
    Starting(Span),
    NotDeleted,
    OneOf(BTreeSet<u64>),
}

impl Filter {
    /// All of them hold where the filter does. `linked` gives the ids of what data sources call so.
    pub(super) fn criteria<E>(
        &self,
        linked: impl FnOnce(&[u32], &[String]) -> Result<BTreeSet<u64>, E>,
    ) -> Result<Vec<Criterion>, E> {
        use Criterion::{Has, Lacks, NameBegins, NotDeleted, OneOf, Starting, UpdatedSince};
        let number = |field, id: &u64| Has(Term::number(field, *id));
        let text = |field, text: &str| Has(Term::text(field, text));
        let flag = |field, set: bool| if set { Has(Term::flag(field)) } else { Lacks(Term::flag(field)) };
        let one = match self {
            Filter::Ids(ids) => OneOf(ids.clone()),
            Filter::ForeignIds { sources, foreign_ids } => OneOf(linked(sources, foreign_ids)?),
            Filter::UpdatedSince(since) => UpdatedSince(*since),
            Filter::Starting(span) => Starting(*span),
            Filter::NotDeleted => NotDeleted,
            Filter::Name(name) => {
                let words = words::of(name);
                if words.is_empty() {
                    return Ok(vec![OneOf(BTreeSet::new())]);
                }
                return Ok(words.into_iter().map(NameBegins).collect());
            }
            Filter::Phone(number) => return Ok(Term::phone(number).map(Has).into_iter().collect()),
            Filter::Email(address) => return Ok(Term::email(address).map(Has).into_iter().collect()),
            Filter::DateOfBirth(date) => text(Field::BirthDate, &date.to_string()),
            Filter::Inactive(set) => flag(Field::Inactive, *set),
            Filter::NewPatient(set) => flag(Field::NewPatient, *set),
            Filter::NonPatient(set) => flag(Field::NonPatient, *set),
            Filter::Location(id) => number(Field::Location, id),
            Filter::Patient(id) => number(Field::Patient, id),
            Filter::Guarantor(id) => number(Field::Guarantor, id),
            Filter::Provider(id) => number(Field::Provider, id),
            Filter::Appointment(id) => number(Field::Appointment, id),
            Filter::InsurancePlan(id) => number(Field::Plan, id),
            Filter::Claim(id) => number(Field::Claim, id),
            Filter::Charge(id) => number(Field::Charge, id),
            Filter::Procedure(id) => number(Field::Procedure, id),
            Filter::FeeSchedule(id) => number(Field::FeeSchedule, id),
            Filter::RecallType(id) => number(Field::Type, id),
            Filter::Category(name) => text(Field::Category, name),
            Filter::PayerId(id) => text(Field::Payer, id),
            Filter::GroupNumber(number) => text(Field::Group, number),
            Filter::TransactionId(id) => text(Field::Transaction, id),
            Filter::DateOfService(date) => text(Field::ServiceDate, &date.to_string()),
        };
        Ok(vec![one])
    }
}

impl Criterion {
    pub(super) fn holds(&self, record: &impl Document) -> bool {
        let at = |order| record.places().into_iter().find(|(of, _)| *of == order).map(|(_, at)| at);
        match self {
            Criterion::Has(term) => record.terms().contains(term),
            Criterion::Lacks(term) => !record.terms().contains(term),
            Criterion::NameBegins(start) => {
                record.terms().iter().filter_map(Term::word).any(|word| word.starts_with(start.as_str()))
            }
            Criterion::UpdatedSince(since) => at(OrderBy::Updated).is_some_and(|at| at >= *since),
            Criterion::Starting(span) => at(OrderBy::Start).is_some_and(|at| span.start <= at && at < span.end),
            Criterion::NotDeleted => !record.deleted(),
            Criterion::OneOf(ids) => ids.contains(&record.id()),
        }
    }
}

/// Whether a name is meant by what someone typed, as `Filter::Name` judges all names of a record.
pub fn name_matches(name: &str, asked: &str) -> bool {
    !words::of(asked).is_empty() && words::begin(name, asked)
}
