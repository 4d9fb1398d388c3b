//! One file per resource: its parameters, its shape, its handlers.

pub mod appointment_types;
pub mod appointments;
pub mod authenticates;
pub mod available_slots;
pub mod booking;
pub mod documentation;
pub mod locations;
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
