//! One file per resource: its parameters, its own views, its handlers. A handler reads its input, calls the engine, and
//! returns a view; it is independent of routes and server. Views shared by several resources are in `views`.
//!
//! ```text
//!  ledger ─► ledger_entry      record_handlers ─► related  workstations, workstation_socket
//!  booking ─► slot_weeks, available_slots ─► providers     webhooks ─► webhook_{endpoints,subscriptions,deliveries}
//!                                                          ─► webhook_ownership
//!  operator_actions ─► sync, write_requests, adapters, webhooks, workstations
//!  patients/ ─► providers, insurance_plans                 documentation, operations (open to anyone)
//!  ehr_events (reports of EHRs, each with its secret)
//! ```

pub mod access;
pub mod booking;
pub mod care;
pub mod documentation;
pub mod ehr_events;
pub mod insurance;
pub mod ledger;
pub mod operations;
pub mod operators;
pub mod patients;
pub mod practice;
pub mod record_handlers;
pub mod related;
pub mod schedule;
pub mod webhook;
pub mod workstation;
