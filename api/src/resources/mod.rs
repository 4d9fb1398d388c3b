//! One file per resource: its parameters, its shape, its handlers.

pub mod appointment_types;
pub mod appointments;
pub mod authenticates;
pub mod available_slots;
pub mod booking;
pub mod clinical;
pub mod communication_logs;
pub mod documentation;
pub mod forms;
pub mod insurance_coverages;
pub mod insurance_plans;
pub mod locations;
pub mod medical_history;
pub mod operations;
pub mod operatories;
pub mod patients;
pub mod providers;
pub mod sync_status;
pub mod webhook_endpoints;
pub mod webhook_subscriptions;

use actix_web::HttpResponse;

use crate::errors::ApiError;

pub type Answer = Result<HttpResponse, ApiError>;
