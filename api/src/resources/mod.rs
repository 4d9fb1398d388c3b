//! One file per resource: its parameters, its own views, its handlers. A handler reads its input, asks the engine, and shows a view; it
//! knows neither routes nor the server. Views that several resources share are in `views`.
//!
//! ```text
//!  adjustments, payments ─► ledger_entry, related          workstations, workstation_socket
//!  booking ─► slot_weeks, available_slots ─► providers     webhook_endpoints, _subscriptions, _deliveries ─► webhook_ownership
//!  patients/ ─► providers, insurance_plans                 documentation, operations (open to anyone)
//! ```

pub mod adjustments;
pub mod appointment_types;
pub mod appointment_writes;
pub mod appointments;
pub mod authenticates;
pub mod available_slots;
pub mod balances;
pub mod booking;
pub mod capabilities;
pub mod changes;
pub mod charges;
pub mod claims;
pub mod clinical;
pub mod communication_logs;
pub mod descriptors;
pub mod documentation;
pub mod fee_schedules;
pub mod forms;
pub mod institutions;
pub mod insurance_coverages;
pub mod insurance_plans;
mod ledger_entry;
pub mod ledger_types;
pub mod locations;
pub mod medical_history;
pub mod operations;
pub mod operatories;
pub mod patients;
pub mod payment_plans;
pub mod payments;
pub mod providers;
mod related;
mod resource_names;
pub mod simulated_ehr;
mod slot_weeks;
pub mod sync;
pub mod sync_status;
pub mod webhook_deliveries;
pub mod webhook_endpoints;
mod webhook_ownership;
pub mod webhook_subscriptions;
pub mod working_hour_labels;
pub mod working_hours;
pub mod workstation_socket;
pub mod workstations;
pub mod write_requests;
