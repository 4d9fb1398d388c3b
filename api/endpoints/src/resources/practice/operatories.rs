//! GET /operatories, GET /operatories/{id}; POST, PATCH and DELETE at locations without an EHR.

use engine::commands::WriteOwnRecord;
use framework::values::kinds::shared::bookable_online;

use crate::{
    prelude::*,
    resources::schedule::appointment_types::{self, AppointmentTypeView},
};

/// A chair, column or room where providers see patients.
#[view(of = Operatory, named = "operatory", published)]
pub struct OperatoryView<'a> {
    id: u64,
    name: &'a str,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    /// Id of the location of the operatory.
    #[view(with = entry.location())]
    location_id: u32,
    last_sync_time: Option<At>,
    created_at: At,
    updated_at: At,
    display_name: Option<&'a str>,
    active: bool,
    /// `true` if patients may book the type themselves. If false, slot searches and bookings by slot token exclude the
    /// type; `POST /appointments` may use it.
    bookable_online: bool,
    static_image_url: Option<()>,
    profile_url: Option<()>,
    /// Appointment types that the operatory is intended for; an empty list means all types. Absent inside an
    /// appointment and in `GET /changes`.
    appointment_types: IncludedList<AppointmentTypeView>,
}

impl<'a> OperatoryView<'a> {
    pub(crate) fn with_types(
        self,
        record: &Record<Operatory>,
        types: &HashMap<u32, AppointmentTypeView>,
    ) -> OperatoryView<'a> {
        let own = record.appointment_type_ids.iter().filter_map(|id| types.get(id)).cloned().collect();
        OperatoryView { appointment_types: Some(own), ..self }
    }
}

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

#[input]
pub struct ListOperatories {
    #[query(includes(INCLUDES), name = "include")]
    _include: Vec<&'static str>,
    #[query(part_of_name().map(|name| name.to_lowercase()), name = "search_name")]
    name: Option<String>,
    #[read(input.listing().foreign_ids().since().done())]
    listing: Listing,
}

pub async fn list(
    call: ApiCall,
    AtLocation(location, ListOperatories { listing, name, .. }): AtLocation<ListOperatories>,
) -> Answer<Paged<OperatoryView<'static>>> {
    let types = appointment_types::by_id(&call, &location.tenant())?;
    let named = |it: &Record<Operatory>| name.as_ref().is_none_or(|name| it.name.to_lowercase().contains(name));
    let page = listing.page(&call, &[location.setup.id.0], &location.sources(), named)?;
    let adapter = call.directory.adapter(&location.setup);
    Ok(call.page(&page.views(|it| OperatoryView::from_record(it, adapter).with_types(it, &types))))
}

#[input]
pub struct ShowOperatory {
    #[query(includes(INCLUDES), name = "include")]
    _include: Vec<&'static str>,
}

pub async fn show(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, _): InTenant<ShowOperatory>,
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

#[input(object("operatory", "The operatory."), builds = Operatory, rest = Operatory::default())]
pub struct NewOperatory {
    /// Name.
    #[body(filled(text(MAX_NAME)))]
    name: String,
    /// Display name, shown instead of the name.
    #[body(text(MAX_NAME), nonempty)]
    display_name: Option<String>,
    #[body(active(), default = true)]
    active: bool,
    #[body(bookable_online(), default = true)]
    bookable_online: bool,
    /// Ids of the appointment types.
    #[body(id().referring_to(Resource::AppointmentTypes))]
    appointment_type_ids: Vec<u32>,
}

pub async fn create(
    mut call: ApiCall,
    AtLocation(location, NewOperatory(new)): AtLocation<NewOperatory>,
) -> Answer<Created<OperatoryView<'static>>> {
    save(&mut call, &location, WriteOwnRecord::Create(new)).await
}

/// A change of an operatory; missing fields stay unchanged.
#[input(object("operatory", "The operatory."), changes = Operatory)]
pub struct OperatoryUpdate {
    /// Name.
    #[body(filled(text(MAX_NAME)), not_null)]
    name: Option<String>,
    /// Display name, shown instead of the name.
    #[body(text(MAX_NAME))]
    display_name: Option<Option<String>>,
    #[body(active(), not_null)]
    active: Option<bool>,
    #[body(bookable_online(), not_null)]
    bookable_online: Option<bool>,
    /// Ids of the appointment types.
    #[body(id().referring_to(Resource::AppointmentTypes))]
    appointment_type_ids: Option<Vec<u32>>,
}

pub async fn update(
    mut call: ApiCall,
    Id(id): Id<u64>,
    AtLocation(location, change): AtLocation<OperatoryUpdate>,
) -> Answer<One<OperatoryView<'static>>> {
    let change = Arc::new(move |it: &mut Operatory| change.apply_to(it));
    save(&mut call, &location, WriteOwnRecord::Change(id, change)).await
}

pub async fn delete(mut call: ApiCall, Id(id): Id<u64>, location: OpenLocation) -> Answer<One<OperatoryView<'static>>> {
    save(&mut call, &location, WriteOwnRecord::Remove(id)).await
}

async fn save<const STATUS: u16>(
    call: &mut ApiCall,
    location: &OpenLocation,
    request: WriteOwnRecord<Operatory>,
) -> Answer<One<OperatoryView<'static>, STATUS>> {
    let saved = call.save(location, request).await?;
    let types = appointment_types::by_id(call, &location.tenant())?;
    Ok(call.created(saved.replay, OperatoryView::from_record(&saved.record, None).with_types(&saved.record, &types)))
}
