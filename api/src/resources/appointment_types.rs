//! GET /appointment_types

use std::collections::HashMap;

use engine::records::AppointmentType;
use schemars::JsonSchema;
use serde::Serialize;

use super::Answer;
use crate::{
    errors::ApiError,
    kinds::includes,
    scope::{Call, Tenant},
};

/// A kind of appointment.
#[derive(Clone, Serialize, JsonSchema)]
pub struct AppointmentTypeView {
    id: u32,
    name: String,
    category: Option<()>,
    parent_type: &'static str,
    parent_id: u32,
    minutes: u32,
    position: Option<()>,
    bookable_online: bool,
}

impl AppointmentTypeView {
    pub fn of(record: &AppointmentType) -> AppointmentTypeView {
        AppointmentTypeView {
            id: record.id,
            name: record.name.clone(),
            category: None,
            parent_type: "Institution",
            parent_id: record.institution_id,
            minutes: record.minutes,
            position: None,
            bookable_online: record.bookable_online,
        }
    }
}

/// The types of an institution that were not deleted, by id.
pub fn by_id(call: &Call, tenant: &Tenant) -> Result<HashMap<u32, AppointmentTypeView>, ApiError> {
    let all = call.api.engine.appointment_types(tenant.institution.id)?;
    Ok(all.iter().filter(|it| it.deleted_at.is_none()).map(|it| (it.id, AppointmentTypeView::of(it))).collect())
}

/// The one a request names.
pub fn find(call: &Call, tenant: &Tenant, id: u32) -> Result<AppointmentType, ApiError> {
    let found = call.api.engine.appointment_type(tenant.institution.id, id)?.filter(|it| it.deleted_at.is_none());
    found.ok_or_else(|| ApiError::NotFound(format!("Appointment type with id {id}")))
}

pub async fn list(mut call: Call) -> Answer {
    // Types belong to the whole institution, so a location only has to be one the caller may reach.
    let (tenant, _, ()) = call.in_places(|input| {
        if !input.query.list("include", includes(&["descriptors"])).is_empty() {
            input.query.without_effect("include");
        }
        Some(())
    })?;
    let all = call.api.engine.appointment_types(tenant.institution.id)?;
    let rows: Vec<_> = all.iter().filter(|it| it.deleted_at.is_none()).map(AppointmentTypeView::of).collect();
    Ok(call.list(&rows))
}
