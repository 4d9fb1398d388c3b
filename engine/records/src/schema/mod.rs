//! The description of every record, and what follows from it.
//!
//! ```text
//! table ── with_every_record! ──► define (bodies, what EHRs show, references, index terms)
//!                            └──► adapter_host::record (the contract's types, limits of what an EHR may say)
//! ```

mod define;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;

use location::{
    hours::{HourKind, Weekday},
    pull::Resource,
    resource::Operation,
    time::Timestamp,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

pub use self::define::*;
use crate::{
    appointment::Appointment,
    documents::Upload,
    ehr::{EhrRecurrence, ForeignId},
    index::{Field, Findable, Term},
    money::Money,
    operatory, patient,
    record::{Body, Record, RecordId, Schema, Scope},
    references::{Invalid, Missing, Ours, Part, Reference, Theirs},
    values::{Address, Day, Extra, Json, Seconds},
    words::*,
    working_hour::WorkingHour,
};

/// Something to do with the body of a resource that is only known at run time.
pub trait Visitor {
    /// What comes of it.
    type Output;

    /// Runs with the body.
    fn visit<T: Body<Ehr: Into<EhrRecord>>>(self) -> Self::Output;
}

/// Something to do with what an EHR shows of a record.
pub trait EhrVisitor {
    /// What comes of it.
    type Output;

    /// Runs with the body and what the EHR shows.
    fn visit<T: Body<Ehr: Into<EhrRecord>>>(self, id: &str, shown: &T::Ehr) -> Self::Output;
}

/// What the engine knows of one resource.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The resource.
    pub resource: Resource,
    /// The byte its records have in keys. Never reused or changed: they are on disks.
    pub tag: u8,
    /// Whose they are.
    pub scope: Scope,
    /// The last id a record of it may have.
    pub last_id: u64,
    /// Its record in the contract.
    pub record: &'static str,
    /// In messages: `Payment Type with id 7 not found`.
    pub name: &'static str,
    /// What it refers to, by the contract's field.
    pub refers_to: &'static [(&'static str, Resource)],
    /// What the contract calls a write of it.
    pub writes: &'static [(Operation, &'static str)],
}

/// What an EHR may say in a field. A text without a limit is a short one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Cut after 1,024 bytes.
    Short,
    /// Cut after 65,536 bytes.
    Long,
    /// At most 500 bytes: what is compared is never cut.
    Exact,
    /// `YYYY-MM-DD`.
    Date,
    /// `HH:MM`.
    TimeOfDay,
    /// `HH:MM` or `24:00`.
    EndOfDay,
    /// In the years 1 to 9999, in seconds since 1970.
    Instant,
    /// Not believed of an EHR: it is written only.
    NeverRead,
    /// From the first number to the second, and what to say of others.
    Between(i64, i64, &'static str),
}

/// Reads a body; what is wrong is said by field, never with the value.
pub fn read<T: DeserializeOwned>(body: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(body).map_err(|error| {
        let rule = rule(&error.inner().to_string());
        match error.path().iter().next() {
            Some(_) => format!("field {}: {rule}", error.path()),
            None => rule,
        }
    })
}

/// What a message of serde says about the type, without what it says about the value.
fn rule(message: &str) -> String {
    if message.starts_with("missing field ") || message.starts_with("must ") {
        return message.to_owned();
    }
    match message.rsplit_once(", expected ") {
        Some((_, expected)) => format!("must be {expected}"),
        None => "is not valid".to_owned(),
    }
}

/// Takes out what is not known, in parts of a record too.
fn drop_unknown(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| !value.is_null());
    fields.values_mut().filter_map(Value::as_object_mut).for_each(drop_unknown);
    let lists = fields.values_mut().filter_map(Value::as_array_mut);
    lists.flatten().filter_map(Value::as_object_mut).for_each(drop_unknown);
}

/// What the contract calls a write; none where it has no such write.
pub fn write_kind(resource: Resource, operation: Operation) -> Option<&'static str> {
    rules(resource).writes.iter().find(|(known, _)| *known == operation).map(|(_, kind)| *kind)
}

/// Every write of a record that the contract has, with its name there. New patients and appointments have writes of their own.
pub fn all_writes() -> impl Iterator<Item = ((Resource, Operation), &'static str)> {
    let rules = RESOURCES.iter().map(|resource| rules(*resource));
    rules.flat_map(|rules| rules.writes.iter().map(|(operation, kind)| ((rules.resource, *operation), *kind)))
}

/// The patient a body is about.
pub fn patient_of(body: &impl Body) -> Option<u32> {
    body.terms().iter().find_map(|term| match (term.field, &term.value) {
        (Field::Patient, crate::index::Value::Number(id)) => u32::try_from(*id).ok(),
        _ => None,
    })
}
