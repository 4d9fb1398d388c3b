//! Tests mirror the routes: one module per resource, and the rules all routes share in `access` and `bad_input`.
#![allow(clippy::unwrap_used)]

mod access;
mod appointment_types;
mod appointments;
mod authenticates;
mod available_slots;
mod bad_input;
mod booking;
mod clinical;
mod communication_logs;
mod contract;
mod documentation;
mod envelope;
mod file_records;
mod forms;
mod insurance_coverages;
mod insurance_plans;
mod kept;
mod limits;
mod locations;
mod medical_history;
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
