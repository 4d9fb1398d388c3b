//! What records are found by besides their ids: terms, the words of names, and their places in orders that change. `Docs` writes it in
//! the batch of the record itself, `lists` reads it.

mod facets;
pub mod places;
pub mod words;

use std::collections::BTreeMap;

use location::time::Timestamp;

use crate::{
    actor::docs::Document,
    secrets::Secrets,
    store::{Key, KeyRange, Store, StoreError, keys},
};
use places::{OrderBy, Place};

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
    field: Field,
    value: Value,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
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

    /// The term as it lies in keys: of one length for all terms of a field.
    fn bytes(&self, secrets: &Secrets) -> Vec<u8> {
        match &self.value {
            Value::Number(number) => number.to_be_bytes().to_vec(),
            Value::Text(text) => digest(secrets, self.field, text).to_vec(),
        }
    }

    pub(crate) fn records(&self, secrets: &Secrets, scope: u32, kind: u8) -> KeyRange {
        keys::indexed(scope, kind, self.field as u8, &self.bytes(secrets))
    }

    pub(crate) fn key(&self, secrets: &Secrets, scope: u32, kind: u8, id: u64) -> Key {
        keys::index(scope, kind, self.field as u8, &self.bytes(secrets), id)
    }

    pub(crate) fn word(&self) -> Option<&str> {
        match (&self.field, &self.value) {
            (Field::Name, Value::Text(word)) => Some(word),
            _ => None,
        }
    }
}

fn digest(secrets: &Secrets, field: Field, text: &str) -> [u8; 16] {
    let full = secrets.digest(&[b"index", &[field as u8], text.as_bytes()]);
    let mut short = [0; 16];
    short.copy_from_slice(&full[..16]);
    short
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

/// All that one state of a record is found by.
pub(crate) struct Facets {
    scope: u32,
    kind: u8,
    id: u64,
    terms: Vec<Term>,
    places: Vec<Place>,
    listed_by_id: bool,
    pub deleted: bool,
}

impl Facets {
    pub fn of<T: Document>(record: &T) -> Facets {
        let (scope, kind, id) = (record.owner(), T::KIND.byte(), record.id());
        let mut terms = record.terms();
        terms.sort_unstable();
        terms.dedup();
        let places = record.places();
        let places = places.into_iter().map(|(order, at)| Place { scope, kind, order, at: at.0, id }).collect();
        Facets { scope, kind, id, terms, places, listed_by_id: T::LISTED_BY_ID, deleted: record.deleted() }
    }

    /// Institution, data source or location whose lists show it.
    pub fn owner(&self) -> u32 {
        self.scope
    }

    fn has(&self, scope: u32, term: &Term) -> bool {
        self.scope == scope && self.terms.binary_search(term).is_ok()
    }

    pub fn place(&self, order: OrderBy) -> Option<Place> {
        self.places.iter().find(|place| place.order == order).copied()
    }

    fn changed_key(&self) -> Option<Key> {
        let place = self.place(OrderBy::Updated).filter(|_| self.listed_by_id)?;
        Some(keys::changed(place.scope, place.kind, place.id, place.at))
    }
}

/// What a turn writes: a value, or nothing for a key that goes.
pub(crate) type Writes = BTreeMap<Key, Option<Vec<u8>>>;

/// The difference between what a record was found by and what it is to be found by.
pub(crate) fn write(
    store: &dyn Store,
    secrets: &Secrets,
    now: Timestamp,
    before: Option<&Facets>,
    after: &Facets,
    writes: &mut Writes,
) -> Result<(), StoreError> {
    let Facets { scope, kind, id, .. } = *after;
    for old in before.into_iter().flat_map(|before| before.terms.iter().map(move |term| (before.scope, term))) {
        if !after.has(old.0, old.1) {
            writes.insert(old.1.key(secrets, old.0, kind, id), None);
        }
    }
    for term in after.terms.iter().filter(|term| !before.is_some_and(|before| before.has(scope, term))) {
        writes.insert(term.key(secrets, scope, kind, id), Some(Vec::new()));
        if let Some(word) = term.word() {
            words::learn(store, secrets, (scope, kind), word, writes)?;
        }
    }
    for order in OrderBy::ALL {
        let (old, new) = (before.map(|before| before.place(order)), after.place(order));
        places::write(store, now, old, new, writes)?;
    }
    let (old, new) = (before.and_then(Facets::changed_key), after.changed_key());
    if old != new {
        writes.extend(old.map(|key| (key, None)));
        writes.extend(new.map(|key| (key, Some(Vec::new()))));
    }
    Ok(())
}
