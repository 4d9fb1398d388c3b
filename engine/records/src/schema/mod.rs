//! The description of every record, and the code generated from it.
//!
//! ```text
//! table ── with_every_record! ──► define (bodies, their form in EHRs, references, index terms)
//!                            └──► adapter_host::record (the contract's types, limits on values of an EHR)
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
    document::DocumentKind,
    documents::Upload,
    ehr::{EhrRecurrence, ForeignId},
    index::{Field, Findable, Term},
    money::Money,
    operatory, patient,
    record::{Body, Record, RecordId, Schema, Scope},
    references::{ForeignIdOf, Invalid, Missing, Part, Reference, ResolveId},
    values::{Address, Day, Extra, Json, Seconds},
    words::*,
    working_hour::WorkingHour,
};

/// An operation on the body of a resource that is known only at run time.
pub trait Visitor {
    /// The result of the operation.
    type Output;

    /// Runs the operation for a type of body.
    fn visit<T: Body<Ehr: Into<EhrRecord>>>(self) -> Self::Output;
}

/// An operation on a record in the EHR's form.
pub trait EhrVisitor {
    /// The result of the operation.
    type Output;

    /// Runs the operation for a type of body, with the record in the EHR's form.
    fn visit<T: Body<Ehr: Into<EhrRecord>>>(self, id: &str, shown: &T::Ehr) -> Self::Output;
}

/// The properties of one resource.
#[derive(Clone, Copy, Debug)]
pub struct ResourceRules {
    /// The resource.
    pub resource: Resource,
    /// The byte of the resource in keys. Stored, so never reused or changed.
    pub tag: u8,
    /// The scope of the records.
    pub scope: Scope,
    /// The highest id of a record.
    pub last_id: u64,
    /// The name of the record in the contract.
    pub record: &'static str,
    /// The name in messages: `Payment Type with id 7 not found`.
    pub name: &'static str,
    /// Referenced resources, by the name of the field in the contract.
    pub refers_to: &'static [(&'static str, Resource)],
    /// Supported writes, with their names in the contract.
    pub writes: &'static [(Operation, &'static str)],
}

/// The limit on a value from an EHR. A text without limit is `Short`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Cut after 1,024 bytes.
    Short,
    /// Cut after 65,536 bytes.
    Long,
    /// At most 500 bytes. Never cut, because the value is compared.
    Exact,
    /// `YYYY-MM-DD`.
    Date,
    /// `HH:MM`.
    TimeOfDay,
    /// `HH:MM` or `24:00`.
    EndOfDay,
    /// Seconds since 1970, in the years 1 to 9999.
    Instant,
    /// Ignored when read: the field is only written.
    NeverRead,
    /// The range from the first number to the second, and the message for others.
    Between(i64, i64, &'static str),
}

/// Reads a body. Errors name the field but never contain its value.
pub fn read<T: DeserializeOwned>(body: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(body).map_err(|error| {
        let rule = rule(&error.inner().to_string());
        match error.path().iter().next() {
            Some(_) => format!("field {}: {rule}", error.path()),
            None => rule,
        }
    })
}

/// Returns the part of a serde message about the type, without the value.
fn rule(message: &str) -> String {
    if message.starts_with("missing field ") || message.starts_with("must ") {
        return message.to_owned();
    }
    match message.rsplit_once(", expected ") {
        Some((_, expected)) => format!("must be {expected}"),
        None => "is not valid".to_owned(),
    }
}

/// Removes fields that are null, in parts of a record too.
fn drop_unknown(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| !value.is_null());
    fields.values_mut().filter_map(Value::as_object_mut).for_each(drop_unknown);
    let lists = fields.values_mut().filter_map(Value::as_array_mut);
    lists.flatten().filter_map(Value::as_object_mut).for_each(drop_unknown);
}

/// Returns the name of a write in the contract, or `None` if the contract has no such write.
pub fn write_kind(resource: Resource, operation: Operation) -> Option<&'static str> {
    rules(resource).writes.iter().find(|(known, _)| *known == operation).map(|(_, kind)| *kind)
}

/// Returns all writes of records, with their names in the contract. The writes that create patients and appointments
/// are separate.
pub fn all_writes() -> impl Iterator<Item = ((Resource, Operation), &'static str)> {
    let rules = RESOURCES.iter().map(|resource| rules(*resource));
    rules.flat_map(|rules| rules.writes.iter().map(|(operation, kind)| ((rules.resource, *operation), *kind)))
}

/// Returns the patient of a body.
pub fn patient_of(body: &impl Body) -> Option<u32> {
    body.terms().iter().find_map(|term| match (term.field, &term.value) {
        (Field::Patient, crate::index::Value::Number(id)) => u32::try_from(*id).ok(),
        _ => None,
    })
}

impl DocumentKind {
    /// Returns the byte in keys. Stored, so never reused or changed.
    pub fn byte(self) -> u8 {
        match self {
            DocumentKind::Write => 7,
            DocumentKind::Description => 8,
            DocumentKind::SetUp => 9,
            DocumentKind::LastSync => 10,
            DocumentKind::ReportedSyncStatus => 11,
            DocumentKind::LastTurn => 12,
            DocumentKind::FailedWrite => 13,
            DocumentKind::Of(resource) => rules(resource).tag,
        }
    }
}

/// Returns the institution, data source or location that a resource's records belong to.
pub fn scope_of(resource: Resource, institution: u32, source: Option<u32>, location: u32) -> u32 {
    rules(resource).scope.number(institution, source, location)
}
