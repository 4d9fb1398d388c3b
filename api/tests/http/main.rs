//! Tests mirror the routes: one module per resource, and the rules all routes share in `access` and `bad_input`.
#![allow(clippy::unwrap_used)]

mod access;
mod appointment_types;
mod appointments;
mod authenticates;
mod available_slots;
mod bad_input;
mod booking;
mod contract;
mod documentation;
mod envelope;
mod everywhere;
mod file_records;
mod filled;
mod kept;
mod limits;
mod locations;
mod messages;
mod operations;
mod operatories;
mod patient_alerts;
mod patient_documents;
mod patients;
mod patients_one;
mod practice;
mod providers;
mod server;
mod support;
mod sync_status;
mod table;
mod webhooks;
