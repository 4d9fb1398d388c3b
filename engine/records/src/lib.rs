//! All records of a practice. Independent of the store, the API and adapters.
//!
//! ```text
//!  an EHR's record ── references: our ids ──► body ── in its frame ──► Record<T> ──► JSON, index terms, API views
//!  (Ehr..., schema)                         (schema)                 (record)
//! ```
//!
//! Ids are allotted by this service; a `foreign_id` is the identifier in the EHR.

#![warn(missing_docs, unreachable_pub)]

pub mod appointment;
pub mod currencies;
pub mod document;
pub mod documents;
pub mod ehr;
pub mod form_answers;
pub mod index;
pub mod money;
pub mod operatory;
pub mod patient;
pub mod provider;
pub mod record;
pub mod references;
pub mod schema;
pub mod sync_state;
pub mod values;
pub mod words;
pub mod working_hour;
pub mod write;

pub use demographics;

pub use crate::{
    appointment::{Appointment, Booking},
    record::Writeback,
    schema::*,
    words::*,
    working_hour::WorkingHour,
    write::FinishedWrite,
};

/// Joins the known parts of a name.
pub fn full_name(first: &str, middle: Option<&str>, last: &str) -> String {
    [Some(first), middle, Some(last)]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
