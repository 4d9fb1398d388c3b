//! Tests mirror the routes: one module per resource, and the rules all routes share in `access` and `bad_input`.
#![allow(clippy::unwrap_used)]

mod access;
mod adjustments;
mod appointment_types;
mod appointment_writes;
mod appointments;
mod authenticates;
mod available_slots;
mod bad_input;
mod balances;
mod booking;
mod charges;
mod claims;
mod contract;
mod documentation;
mod envelope;
mod fee_schedules;
mod ledger_types;
mod limits;
mod locations;
mod operations;
mod operatories;
mod payment_plans;
mod payments;
mod practice;
mod practice_ledger;
mod providers;
mod server;
mod support;
mod sync_status;
mod table;
mod webhooks;
mod working_hours;
