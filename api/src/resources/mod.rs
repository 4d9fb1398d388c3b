//! One file per resource: its parameters, its shape, its handlers.

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
pub mod webhook_subscriptions;
pub mod working_hour_labels;
pub mod working_hours;
pub mod workstations;
pub mod write_requests;

use actix_web::HttpResponse;

use crate::errors::ApiError;

pub type Answer = Result<HttpResponse, ApiError>;
