//! One file per resource: its parameters, its own views, its handlers. A handler reads its input, calls the engine, and
//! returns a view; it is independent of routes and server. Views shared by several resources are in `views`.
//!
//! ```text
//!  ledger ─► ledger_entry      record_handlers ─► related  workstations, workstation_socket
//!  booking ─► slot_weeks, available_slots ─► providers     webhooks ─► webhook_{endpoints,subscriptions,deliveries}
//!                                                          ─► webhook_ownership
//!  operator_actions ─► sync, write_requests, adapters, webhooks, workstations
//!  patients/ ─► providers, insurance_plans                 documentation, operations (open to anyone)
//! ```

mod adapter_costs;
pub(crate) mod adapters;
pub(crate) mod appointment_types;
pub(crate) mod appointment_writes;
pub(crate) mod appointments;
pub(crate) mod authenticates;
pub(crate) mod available_slots;
pub(crate) mod backups;
pub(crate) mod balances;
pub(crate) mod booking;
pub(crate) mod capabilities;
pub(crate) mod changes;
pub(crate) mod charges;
pub(crate) mod clinical;
pub(crate) mod communication_logs;
pub(crate) mod configuration;
pub(crate) mod descriptors;
pub(crate) mod documentation;
pub(crate) mod fee_schedules;
pub(crate) mod forms;
pub(crate) mod institutions;
pub(crate) mod insurance_coverages;
pub(crate) mod insurance_plans;
pub(crate) mod ledger;
pub(crate) mod ledger_entry;
pub(crate) mod locations;
pub(crate) mod me;
pub(crate) mod medical_history;
pub(crate) mod operations;
pub(crate) mod operator_actions;
pub(crate) mod operatories;
pub(crate) mod operators;
pub(crate) mod patients;
pub(crate) mod problems;
pub(crate) mod providers;
pub(crate) mod recent_errors;
pub(crate) mod record_handlers;
mod related;
pub(crate) mod resource_names;
pub(crate) mod simulated_ehr;
mod slot_weeks;
pub(crate) mod store_keys;
pub(crate) mod sync;
pub(crate) mod sync_status;
pub(crate) mod webhook_deliveries;
pub(crate) mod webhook_endpoints;
mod webhook_ownership;
pub(crate) mod webhook_subscriptions;
pub(crate) mod webhooks;
pub(crate) mod working_hour_labels;
pub(crate) mod working_hours;
pub(crate) mod workstation_socket;
pub(crate) mod workstations;
pub(crate) mod write_requests;
