//! GET /operatories, GET /operatories/{id}

use engine::records::{Operatory, record::Record};
use location::ids::LocationId;

use super::appointment_types;
use crate::{
    access::{
        call::Call,
        tenancy::{OpenLocation, Tenant},
    },
    http::errors::{ApiError, HttpResult},
    values::{
        kinds::{includes, long_id, text},
        limits::MAX_NAME,
    },
    views::operatories::OperatoryView,
};

/// The one a request names, to put something into it.
pub(crate) fn find(call: &Call, location: LocationId, id: u64) -> Result<Record<Operatory>, ApiError> {
    let found = call.api.engine.operatory(location, id)?.filter(|it| it.deleted_at.is_none());
    found.ok_or_else(|| ApiError::NotFound(format!("Operatory with id {id} in location {location}")))
}

pub(crate) async fn list(mut call: Call) -> HttpResult {
    let (OpenLocation { institution, setup }, (listing, name)) = call.at_location(|input| {
        // Types are always there; their category is part of them.
        input.query.list("include", includes(&["appointment_types", "appt_categories"]));
        let name = input.query.optional("search_name", text(MAX_NAME)).map(|name| name.to_lowercase());
        Some((input.listing().foreign_ids().since().done(), name))
    })?;
    let types = appointment_types::by_id(&call, &Tenant { institution })?;
    let named = |it: &Record<Operatory>| name.as_ref().is_none_or(|name| it.name.to_lowercase().contains(name));
    let sources: Vec<u32> = setup.source.into_iter().collect();
    let page = listing.page(&call, &[setup.id.0], &sources, named)?;
    let adapter = call.api.directory.adapter(&setup);
    Ok(call.page_of(&page, |it| OperatoryView::basic(it, adapter).with_types(it, &types)))
}

pub(crate) async fn show(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (tenant, ()) = call.in_tenant(|input| {
        input.query.list("include", includes(&["appointment_types", "appt_categories"]));
        Some(())
    })?;
    let types = appointment_types::by_id(&call, &tenant)?;
    for location in call.open_locations(&tenant) {
        let found = call.api.engine.operatory(location.setup.id, id)?;
        if let Some(record) = found {
            let adapter = call.api.directory.adapter(&location.setup);
            return Ok(call.show(OperatoryView::basic(&record, adapter).with_types(&record, &types)));
        }
    }
    Err(ApiError::NotFound(format!("Operatory with id {id}")))
}
