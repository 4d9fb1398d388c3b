//! Every record of a practice, described once. Knows neither the store nor the wire nor an adapter.
//!
//! ```text
//!  an EHR's record ── references: our ids ──► body ── in its frame ──► Record<T> ──► the store's JSON, index terms, views of the API
//!  (Ehr..., schema)                         (schema)                 (record)
//! ```
//!
//! Ids are ours; `foreign_id` is the EHR's.

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
    appointment::{Appointment, Booking, Writeback},
    schema::*,
    words::*,
    working_hour::WorkingHour,
    write::Write,
};

/// The parts of a name, without those that are not known.
pub fn full_name(first: &str, middle: Option<&str>, last: &str) -> String {
    [Some(first), middle, Some(last)]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
