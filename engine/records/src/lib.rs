//! All records of a practice. Independent of the store, the API and adapters.
//!
//! ```text
//!  an EHR's record ── references: our ids ──► body ── in its frame ──► Record<T> ──► JSON, index terms, API views
//!  (EhrPayment)                             (Payment)                (record)
//! ```
//!
//! Each record is declared in its own file by an attribute of `record_macro`; `schema` lists them all. Ids are allotted
//! by this service; a `foreign_id` is the identifier in the EHR.

#![warn(unreachable_pub)]

mod adjustment;
pub mod appointment;
mod appointment_descriptor;
mod appointment_type;
mod balance;
mod charge;
mod claim;
mod clinical_note;
mod communication_log;
mod conversation;
mod coverage;
pub mod document;
pub mod documents;
pub mod ehr;
pub mod facts;
mod fee_schedule;
pub mod form_answers;
mod form_response;
mod form_schema;
mod generated;
pub mod index;
mod insurance_plan;
mod medical_history;
pub mod money;
pub mod operatory;
pub mod patient;
mod patient_alert;
mod payment;
mod payment_plan;
mod procedure;
mod procedure_code;
pub mod provider;
mod recall;
pub mod record;
pub mod references;
pub mod schema;
mod split;
pub mod sync_state;
mod treatment_plan;
pub mod values;
pub mod words;
pub mod working_hour;
pub mod write;

// Generated code refers to this crate by its name.
extern crate self as records;

pub use demographics;
pub use location::{Operation, Resource};

pub use crate::{
    appointment::{Appointment, Booking, Reschedule},
    ehr::{Description, Ehr, EhrFuture, Fault, Page, PullAbility, Receipt, Write},
    facts::{ChangedBy, VisitFact},
    money::Money,
    record::{Body, Record, RecordWrite, Scope, WriteStatus, Writeback},
    schema::*,
    sync_state::{AdapterState, AdapterStatus, GateState, SyncState, SyncSummary},
    values::{Address, Day, Json, Seconds},
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
