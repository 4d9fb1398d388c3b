//! GET /operatories, GET /operatories/{id}

use std::collections::HashMap;

use engine::records::Operatory;
use location::ids::LocationId;
use schemars::JsonSchema;
use serde::Serialize;

use super::appointment_types::{self, AppointmentTypeView};
use crate::{
    access::call::{Call, Place, Tenant},
    http::errors::{Answer, ApiError},
    values::{
        kinds::{includes, long_id, text},
        limits::MAX_NAME,
        times::{At, foreign_id_type},
    },
};

/// A chair, column or room where providers see patients.
#[derive(Serialize, JsonSchema)]
pub struct OperatoryView<'a> {
    id: u64,
    name: &'a str,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    location_id: u32,
    last_sync_time: Option<At>,
    created_at: At,
    updated_at: At,
    display_name: Option<&'a str>,
    active: bool,
    bookable_online: bool,
    static_image_url: Option<()>,
    profile_url: Option<()>,
    #[serde(skip_serializing_if = "Option::is_none")]
    appointment_types: Option<Vec<AppointmentTypeView>>,
}

impl<'a> OperatoryView<'a> {
    pub fn basic(record: &'a Operatory, adapter: Option<&'a str>) -> OperatoryView<'a> {
        OperatoryView {
            id: record.id,
            name: &record.name,
            foreign_id: record.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(record.foreign_id.as_deref(), adapter),
            location_id: record.location_id,
            last_sync_time: record.last_sync_time.map(At),
            created_at: At(record.created_at),
            updated_at: At(record.updated_at),
            display_name: record.display_name.as_deref(),
            active: record.active,
            bookable_online: record.bookable_online,
            static_image_url: None,
            profile_url: None,
            appointment_types: None,
        }
    }

    fn with_types(self, record: &Operatory, types: &HashMap<u32, AppointmentTypeView>) -> OperatoryView<'a> {
        let own = record.appointment_type_ids.iter().filter_map(|id| types.get(id)).cloned().collect();
        OperatoryView { appointment_types: Some(own), ..self }
    }
}

/// The one a request names, to put something into it.
pub fn find(call: &Call, location: LocationId, id: u64) -> Result<Operatory, ApiError> {
    let found = call.api.engine.operatory(location, id)?.filter(|it| it.deleted_at.is_none());
    found.ok_or_else(|| ApiError::NotFound(format!("Operatory with id {id} in location {location}")))
}

pub async fn list(mut call: Call) -> Answer {
    let (Place { institution, location }, (listing, name)) = call.in_place(|input| {
        // Types are always there; their category is part of them.
        input.query.list("include", includes(&["appointment_types", "appt_categories"]));
        let name = input.query.optional("search_name", text(MAX_NAME)).map(|name| name.to_lowercase());
        Some((input.listing().foreign_id().since().done(), name))
    })?;
    let types = appointment_types::by_id(&call, &Tenant { institution })?;
    let named = |it: &Operatory| name.as_ref().is_none_or(|name| it.name.to_lowercase().contains(name));
    let sources: Vec<u32> = location.source.into_iter().collect();
    let page = listing.page(&call, &[location.id.0], &sources, named)?;
    let adapter = call.api.directory.adapter(&location);
    Ok(call.page_of(&page, |it| OperatoryView::basic(it, adapter).with_types(it, &types)))
}

pub async fn show(mut call: Call) -> Answer {
    let id = call.path_id(long_id())?;
    let (tenant, ()) = call.in_tenant(|input| {
        input.query.list("include", includes(&["appointment_types", "appt_categories"]));
        Some(())
    })?;
    let types = appointment_types::by_id(&call, &tenant)?;
    for place in call.open_places(&tenant) {
        let found = call.api.engine.operatory(place.location.id, id)?;
        if let Some(record) = found {
            let adapter = call.api.directory.adapter(&place.location);
            return Ok(call.show(OperatoryView::basic(&record, adapter).with_types(&record, &types)));
        }
    }
    Err(ApiError::NotFound(format!("Operatory with id {id}")))
}
