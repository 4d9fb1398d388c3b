//! GET /operatories, GET /operatories/{id}

use engine::records::{Operatory, record::Record};
use location::ids::LocationId;

use super::appointment_types;
use crate::{
    access::{
        arguments::{AtLocation, FromInput, Id, InTenant},
        call::Call,
        input::Input,
        respond::{Answer, One, Paged},
        tenancy::{OpenLocation, Tenant},
    },
    http::errors::ApiError,
    records::listing::Listing,
    values::{
        kinds::{includes, text},
        limits::MAX_NAME,
    },
    views::operatories::OperatoryView,
};

/// The one a request names, to put something into it.
pub(crate) fn find(call: &Call, location: LocationId, id: u64) -> Result<Record<Operatory>, ApiError> {
    let found = call.api.engine.operatory(location, id)?.filter(|it| it.deleted_at.is_none());
    found.ok_or_else(|| ApiError::NotFound(format!("Operatory with id {id} in location {location}")))
}

/// Types are always there; their category is part of them.
const INCLUDES: &[&str] = &["appointment_types", "appt_categories"];

pub(crate) struct ListOperatories {
    listing: Listing,
    name: Option<String>,
}

impl FromInput for ListOperatories {
    fn from_input(input: &mut Input) -> Option<ListOperatories> {
        input.query.list("include", includes(INCLUDES));
        let name = input.query.optional("search_name", text(MAX_NAME)).map(|name| name.to_lowercase());
        Some(ListOperatories { listing: input.listing().foreign_ids().since().done(), name })
    }
}

pub(crate) async fn list(
    call: Call,
    AtLocation(location, ListOperatories { listing, name }): AtLocation<ListOperatories>,
) -> Answer<Paged<OperatoryView<'static>>> {
    let OpenLocation { institution, setup } = location;
    let types = appointment_types::by_id(&call, &Tenant { institution })?;
    let named = |it: &Record<Operatory>| name.as_ref().is_none_or(|name| it.name.to_lowercase().contains(name));
    let sources: Vec<u32> = setup.source.into_iter().collect();
    let page = listing.page(&call, &[setup.id.0], &sources, named)?;
    let adapter = call.api.directory.adapter(&setup);
    Ok(call.page_of(&page, |it| OperatoryView::basic(it, adapter).with_types(it, &types)))
}

pub(crate) struct ShowOperatory;

impl FromInput for ShowOperatory {
    fn from_input(input: &mut Input) -> Option<ShowOperatory> {
        input.query.list("include", includes(INCLUDES));
        Some(ShowOperatory)
    }
}

pub(crate) async fn show(
    call: Call,
    Id(id): Id<u64>,
    InTenant(tenant, ShowOperatory): InTenant<ShowOperatory>,
) -> Answer<One<OperatoryView<'static>>> {
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
