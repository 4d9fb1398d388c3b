//! The query of a list: owners, order and filters in terms of records, and their translation to index criteria.

use std::{cell::RefCell, collections::BTreeSet, fmt};

use location::{
    time::{Span, Timestamp},
    zone::Date,
};
use records::{
    demographics::{name, phone::Number},
    document::Document,
    index::{Field, OrderBy, Term},
};

/// The owners, order and filters of a list.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// The institutions, data sources or locations whose records are listed.
    pub owners: Vec<u32>,
    pub order: Order,
    /// Filters that must all match.
    pub filters: Vec<Filter>,
}

impl ListQuery {
    pub fn new(owners: impl Into<Vec<u32>>, order: Order) -> ListQuery {
        ListQuery { owners: owners.into(), order, filters: Vec::new() }
    }

    pub fn filtered(mut self, filters: impl IntoIterator<Item = Filter>) -> ListQuery {
        self.filters.extend(filters);
        self
    }
}

/// The sort order of a list. Records with the same time are sorted by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Id,
    UpdatedAt,
    /// The start of calendar records.
    StartsAt,
}

impl Order {
    /// Returns the index order, or `None` for the order of ids.
    pub(super) fn by_time(self) -> Option<OrderBy> {
        match self {
            Order::Id => None,
            Order::UpdatedAt => Some(OrderBy::Updated),
            Order::StartsAt => Some(OrderBy::Start),
        }
    }
}

/// A condition on the records of a list.
#[derive(Clone, PartialEq, Eq)]
pub enum Filter {
    /// Records found by other means.
    Ids(BTreeSet<u64>),
    /// Records with one of these foreign ids in any of these data sources.
    ForeignIds {
        sources: Vec<u32>,
        foreign_ids: Vec<String>,
    },
    UpdatedSince(Timestamp),
    /// Calendar records that start within the span.
    Starting(Span),
    /// Records that still exist in the EHR.
    NotDeleted,

    /// A name as typed by a user: each of its words is a prefix of a word in the record's names, ignoring case,
    /// accents and signs between letters. A name without words matches no record.
    Name(String),
    /// Compares the last digits, so a number of another country may match, too.
    Phone(Number),
    Email(String),
    DateOfBirth(Date),
    Inactive(bool),
    NewPatient(bool),
    NonPatient(bool),

    // References to other records.
    Location(u64),
    Patient(u64),
    /// A reference to any of these patients.
    Patients(BTreeSet<u64>),
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

/// Omits the values, which are patient data.
impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Filter(redacted)")
    }
}

/// A filter as understood by the index, which can also be checked on a record.
pub(super) enum Criterion {
    HasOneOf(Vec<Term>),
    HasAny(BTreeSet<Term>),
    Lacks(Term),
    /// One of the names has a word with one of these prefixes. `frequent_in` are the owners with too many such records
    /// for the index, as found by an earlier read of the page.
    NameBegins {
        starts: Vec<String>,
        frequent_in: RefCell<BTreeSet<u32>>,
    },
    UpdatedSince(Timestamp),
    Starting(Span),
    NotDeleted,
    OneOf(BTreeSet<u64>),
}

impl Filter {
    /// Returns criteria that together are equivalent to the filter. `linked` returns the records with the given
    /// foreign ids.
    pub(super) fn criteria<E>(
        &self,
        linked: impl FnOnce(&[u32], &[String]) -> Result<BTreeSet<u64>, E>,
    ) -> Result<Vec<Criterion>, E> {
        use Criterion::{HasAny, HasOneOf, Lacks, NameBegins, NotDeleted, OneOf, Starting, UpdatedSince};
        let has = |term| HasOneOf(vec![term]);
        let number = |field, id: &u64| has(Term::number(field, *id));
        let text = |field, text: &str| has(Term::text(field, text));
        let flag = |field, set: bool| if set { has(Term::flag(field)) } else { Lacks(Term::flag(field)) };
        let one = match self {
            Filter::Ids(ids) => OneOf(ids.clone()),
            Filter::ForeignIds { sources, foreign_ids } => OneOf(linked(sources, foreign_ids)?),
            Filter::UpdatedSince(since) => UpdatedSince(*since),
            Filter::Starting(span) => Starting(*span),
            Filter::NotDeleted => NotDeleted,
            Filter::Name(name) => {
                let words = name::beginnings(name);
                if words.is_empty() {
                    return Ok(vec![OneOf(BTreeSet::new())]);
                }
                let begins = |starts| NameBegins { starts, frequent_in: RefCell::default() };
                return Ok(words.into_iter().map(begins).collect());
            }
            Filter::Phone(number) => {
                let last = number.last_digits().into_iter();
                HasOneOf(last.map(|digits| Term::text(Field::Phone, digits)).collect())
            }
            Filter::Email(address) => return Ok(Term::email(address).map(has).into_iter().collect()),
            Filter::DateOfBirth(date) => text(Field::BirthDate, &date.to_string()),
            Filter::Inactive(set) => flag(Field::Inactive, *set),
            Filter::NewPatient(set) => flag(Field::NewPatient, *set),
            Filter::NonPatient(set) => flag(Field::NonPatient, *set),
            Filter::Location(id) => number(Field::Location, id),
            Filter::Patient(id) => number(Field::Patient, id),
            Filter::Patients(ids) => HasAny(ids.iter().map(|id| Term::number(Field::Patient, *id)).collect()),
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
    /// Returns `true` if the records of a list by id may be found by the criterion. The others only filter them.
    pub(super) fn finds(&self) -> bool {
        !matches!(self, Criterion::Lacks(_) | Criterion::Starting(_) | Criterion::NotDeleted)
    }

    pub(super) fn holds(&self, record: &impl Document) -> bool {
        let at = |order| record.sort_keys().into_iter().find(|(of, _)| *of == order).map(|(_, at)| at);
        match self {
            Criterion::HasOneOf(terms) => record.terms().iter().any(|term| terms.contains(term)),
            Criterion::HasAny(terms) => record.terms().iter().any(|term| terms.contains(term)),
            Criterion::Lacks(term) => !record.terms().contains(term),
            Criterion::NameBegins { starts, .. } => {
                let begins = |word: &str| starts.iter().any(|start| word.starts_with(start.as_str()));
                record.names().iter().filter_map(Term::word).any(begins)
            }
            Criterion::UpdatedSince(since) => at(OrderBy::Updated).is_some_and(|at| at >= *since),
            Criterion::Starting(span) => at(OrderBy::Start).is_some_and(|at| span.start <= at && at < span.end),
            Criterion::NotDeleted => !record.deleted(),
            Criterion::OneOf(ids) => ids.contains(&record.id()),
        }
    }
}

/// Returns whether a name matches the typed text, by the rules of `Filter::Name`.
pub fn name_matches(name: &str, asked: &str) -> bool {
    !name::words(asked).is_empty() && name::is_found(name, asked)
}
