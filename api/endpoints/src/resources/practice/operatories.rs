//! GET /operatories, GET /operatories/{id}; POST, PATCH and DELETE at locations without an EHR.

use std::sync::Arc;

use engine::{
    Request, Saved,
    commands::{ChangeOwnRecord, CreateOwnRecord, RemoveOwnRecord},
    records::{Operatory, record::Record},
};
use framework::{
    access::{
        arguments::{AtLocation, FromInput, Id, InTenant},
        call::ApiCall,
        input::Input,
        respond::{Answer, Created, One, Paged},
        tenancy::{OpenLocation, Tenant},
    },
    http::errors::ApiError,
    records::listing::Listing,
    values::{
        kinds::{
            filled, id, includes, object,
            shared::{active, bookable_online, part_of_name},
            text,
        },
        limits::MAX_NAME,
    },
};
use location::{ids::LocationId, pull::Resource};

use crate::{resources::schedule::appointment_types, views::operatories::OperatoryView};

/// Finds the operatory that a write refers to.
pub fn find(call: &ApiCall, location: LocationId, id: u64) -> Result<Record<Operatory>, ApiError> {
    let found = call.api.engine.operatory(location, id)?.filter(|it| it.deleted_at.is_none());
    found.ok_or_else(|| missing(location, id))
}

pub fn missing(location: LocationId, id: u64) -> ApiError {
    ApiError::not_found(format!("Operatory with id {id} in location {location}"))
}

/// Accepted without effect: types are always included, with their category.
const INCLUDES: &[&str] = &["appointment_types", "appt_categories"];

pub struct ListOperatories {
    listing: Listing,
    name: Option<String>,
}

impl FromInput for ListOperatories {
    fn from_input(input: &mut Input) -> ListOperatories {
        input.query.list("include", includes(INCLUDES));
        let name = input.query.optional("search_name", part_of_name()).map(|name| name.to_lowercase());
        ListOperatories { listing: input.listing().foreign_ids().since().done(), name }
    }
}

pub async fn list(
    call: ApiCall,
    AtLocation(location, ListOperatories { listing, name }): AtLocation<ListOperatories>,
) -> Answer<Paged<OperatoryView<'static>>> {
    let OpenLocation { institution, setup } = location;
    let types = appointment_types::by_id(&call, &Tenant { institution })?;
    let named = |it: &Record<Operatory>| name.as_ref().is_none_or(|name| it.name.to_lowercase().contains(name));
    let sources: Vec<u32> = setup.source.into_iter().collect();
    let page = listing.page(&call, &[setup.id.0], &sources, named)?;
    let adapter = call.directory.adapter(&setup);
    Ok(call.page_of(&page, |it| OperatoryView::from_record(it, adapter).with_types(it, &types)))
}

pub struct ShowOperatory;

impl FromInput for ShowOperatory {
    fn from_input(input: &mut Input) -> ShowOperatory {
        input.query.list("include", includes(INCLUDES));
        ShowOperatory
    }
}

pub async fn show(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, ShowOperatory): InTenant<ShowOperatory>,
) -> Answer<One<OperatoryView<'static>>> {
    let types = appointment_types::by_id(&call, &tenant)?;
    for location in call.open_locations(&tenant) {
        let found = call.api.engine.operatory(location.setup.id, id)?;
        if let Some(record) = found {
            let adapter = call.directory.adapter(&location.setup);
            return Ok(call.show(OperatoryView::from_record(&record, adapter).with_types(&record, &types)));
        }
    }
    Err(ApiError::not_found(format!("Operatory with id {id}")))
}

pub struct NewOperatory(Operatory);

impl FromInput for NewOperatory {
    fn from_input(input: &mut Input) -> NewOperatory {
        let b = &mut input.body;
        b.required("operatory", object("The operatory."));
        let name = b.required("operatory.name", filled(text(MAX_NAME)).about("Name."));
        let display_name = b.optional_nonempty(
            "operatory.display_name",
            text(MAX_NAME).about("Display name, shown instead of the name."),
        );
        let active = b.defaulted("operatory.active", active(), true);
        let bookable_online = b.defaulted("operatory.bookable_online", bookable_online(), true);
        let appointment_type_ids = b.list(
            "operatory.appointment_type_ids",
            id().referring_to(Resource::AppointmentTypes).about("Ids of the appointment types."),
        );
        NewOperatory(Operatory {
            name,
            display_name,
            active,
            bookable_online,
            appointment_type_ids,
            ..Operatory::default()
        })
    }
}

pub async fn create(
    mut call: ApiCall,
    AtLocation(location, NewOperatory(new)): AtLocation<NewOperatory>,
) -> Answer<Created<OperatoryView<'static>>> {
    save(&mut call, &location, CreateOwnRecord(new)).await
}

/// A change of an operatory; missing fields stay unchanged.
#[derive(Clone)]
pub struct OperatoryUpdate {
    name: Option<String>,
    display_name: Option<Option<String>>,
    active: Option<bool>,
    bookable_online: Option<bool>,
    appointment_type_ids: Option<Vec<u32>>,
}

impl FromInput for OperatoryUpdate {
    fn from_input(input: &mut Input) -> OperatoryUpdate {
        let b = &mut input.body;
        b.required("operatory", object("The operatory."));
        OperatoryUpdate {
            name: b.optional_not_null("operatory.name", filled(text(MAX_NAME)).about("Name.")),
            display_name: b
                .clearable("operatory.display_name", text(MAX_NAME).about("Display name, shown instead of the name.")),
            active: b.optional_not_null("operatory.active", active()),
            bookable_online: b.optional_not_null("operatory.bookable_online", bookable_online()),
            appointment_type_ids: b.optional_list(
                "operatory.appointment_type_ids",
                id().referring_to(Resource::AppointmentTypes).about("Ids of the appointment types."),
            ),
        }
    }
}

impl OperatoryUpdate {
    fn onto(&self, it: &mut Operatory) {
        let OperatoryUpdate { name, display_name, active, bookable_online, appointment_type_ids } = self.clone();
        it.name = name.unwrap_or(std::mem::take(&mut it.name));
        it.display_name = display_name.unwrap_or(it.display_name.take());
        it.active = active.unwrap_or(it.active);
        it.bookable_online = bookable_online.unwrap_or(it.bookable_online);
        it.appointment_type_ids = appointment_type_ids.unwrap_or(std::mem::take(&mut it.appointment_type_ids));
    }
}

pub async fn update(
    mut call: ApiCall,
    Id(id): Id<u64>,
    AtLocation(location, change): AtLocation<OperatoryUpdate>,
) -> Answer<One<OperatoryView<'static>>> {
    save(&mut call, &location, ChangeOwnRecord { id, change: Arc::new(move |it| change.onto(it)) }).await
}

pub async fn delete(
    mut call: ApiCall,
    Id(id): Id<u64>,
    AtLocation(location, ()): AtLocation<()>,
) -> Answer<One<OperatoryView<'static>>> {
    save(&mut call, &location, RemoveOwnRecord::<Operatory>::new(id)).await
}

async fn save<const STATUS: u16>(
    call: &mut ApiCall,
    location: &OpenLocation,
    request: impl Request<Reply = Saved<Record<Operatory>>> + Clone,
) -> Answer<One<OperatoryView<'static>, STATUS>> {
    let saved = call.save(location, request).await?;
    let types = appointment_types::by_id(call, &Tenant { institution: location.institution.clone() })?;
    Ok(call.created(saved.replay, OperatoryView::from_record(&saved.record, None).with_types(&saved.record, &types)))
}
