//! Appointment types: those of the EHR and those created through the API.

use engine::commands::{AppointmentTypeChange, WriteAppointmentType};
use framework::values::{
    kinds::shared::{self, bookable_online},
    limits::{DEFAULT_MINUTES, SLOT_MINUTES},
};

use super::descriptors::{self, AppointmentDescriptorView, ListDescriptors};
use crate::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParentType {
    Institution,
    Location,
}

closed! {
    ParentType: "ParentType" "Type of the owner of a record." { Institution = "Institution", Location = "Location" }
}

/// An appointment type.
#[view(of = AppointmentType, named = "appointment type", published)]
#[derive(Clone)]
pub struct AppointmentTypeView {
    id: u32,
    name: String,
    category: Option<()>,
    /// Owner of the type: the institution or one location.
    #[view(with = Word(if entry.location_id.is_some() { ParentType::Location } else { ParentType::Institution }))]
    parent_type: Word<ParentType>,
    /// Id of the institution or location that the type belongs to.
    #[view(with = entry.location_id.unwrap_or(entry.institution_id))]
    parent_id: u32,
    /// Length of an appointment in minutes, 1 to 1440.
    minutes: u32,
    position: Option<()>,
    /// `true` if patients may book the type themselves. If false, slot searches and bookings by slot token exclude the
    /// type; `POST /appointments` may use it.
    bookable_online: bool,
}

/// An appointment type with the included records.
#[view(of = AppointmentType)]
pub struct AppointmentTypeDetail<'a> {
    #[view(flatten = AppointmentTypeView::from_record(entry))]
    appointment_type: AppointmentTypeView,
    /// Descriptors of appointments of this type. Only with `include[]=descriptors`.
    pub descriptors: IncludedList<AppointmentDescriptorView<'a>>,
}

/// Returns the types of an institution that are not deleted, by id.
pub fn by_id(call: &ApiCall, tenant: &Tenant) -> Result<HashMap<u32, AppointmentTypeView>, ApiError> {
    Ok(all(call, tenant)?.iter().map(|it| (it.id, AppointmentTypeView::from_record(it))).collect())
}

/// Returns the types of an institution that are not deleted.
pub fn all(call: &ApiCall, tenant: &Tenant) -> Result<Vec<Record<AppointmentType>>, ApiError> {
    let mut all = call.api.engine.appointment_types(tenant.institution.id)?;
    all.retain(|it| it.deleted_at.is_none());
    Ok(all)
}

/// Returns whether one of these locations has the type. A type belongs to a location, to an EHR, or to the institution.
pub(crate) fn is_at(it: &Record<AppointmentType>, locations: &[OpenLocation]) -> bool {
    let its = |location: &OpenLocation| {
        it.location_id.is_none_or(|id| id == location.setup.id.0)
            && it.source_id.is_none_or(|source| location.setup.source == Some(source))
    };
    locations.iter().any(its)
}

/// Finds the type that a request names, as seen by these locations.
pub fn find(
    call: &ApiCall,
    tenant: &Tenant,
    locations: &[OpenLocation],
    id: u32,
) -> Result<Record<AppointmentType>, ApiError> {
    let found = call.api.engine.appointment_type(tenant.institution.id, id)?;
    let found = found.filter(|it| it.deleted_at.is_none() && is_at(it, locations));
    found.ok_or_else(|| ApiError::not_found(format!("Appointment Type with id {id}")))
}

#[input]
pub struct ShowAppointmentTypes {
    #[read(input.includes(&["descriptors"]))]
    include: Vec<&'static str>,
}

pub async fn list(
    call: ApiCall,
    InLocations(tenant, location, ShowAppointmentTypes { include }): InLocations<ShowAppointmentTypes>,
) -> Answer<Listed<AppointmentTypeDetail<'static>>> {
    let locations = location.map_or_else(|| call.open_locations(&tenant), |location| vec![location]);
    let mut all = all(&call, &tenant)?;
    all.retain(|it| is_at(it, &locations));
    let of_type = |it: &Record<AppointmentType>| match include.is_empty() {
        true => Ok(None),
        false => descriptors::by_ids(&call, &tenant, it.descriptor_ids.iter().copied()).map(Some),
    };
    let with = all.iter().map(of_type).collect::<Result<Vec<_>, ApiError>>()?;
    let rows = all.iter().zip(&with).map(|(it, with)| {
        let mut view = AppointmentTypeDetail::from_record(it);
        view.descriptors = with.as_ref().map(|with| descriptors::views(&call, with));
        view
    });
    Ok(call.list(&rows.collect::<Vec<_>>()))
}

pub async fn show(
    call: ApiCall,
    Id(id): Id<u32>,
    InLocations(tenant, location, ShowAppointmentTypes { include }): InLocations<ShowAppointmentTypes>,
) -> Answer<One<AppointmentTypeDetail<'static>>> {
    let record = find_at(&call, &tenant, location.as_ref(), id)?;
    let found = descriptors::by_ids(&call, &tenant, record.descriptor_ids.iter().copied())?;
    let mut view = AppointmentTypeDetail::from_record(&record);
    view.descriptors = (!include.is_empty()).then(|| descriptors::views(&call, &found));
    Ok(call.show(view))
}

/// GET /appointment_types/{id}/appointment_descriptors
pub async fn descriptors(
    call: ApiCall,
    Id(id): Id<u32>,
    InLocations(tenant, location, requested): InLocations<ListDescriptors>,
) -> Answer<Listed<AppointmentDescriptorView<'static>>> {
    let record = find_at(&call, &tenant, location.as_ref(), id)?;
    let found = descriptors::by_ids(&call, &tenant, record.descriptor_ids.iter().copied())?;
    Ok(descriptors::list(&call, &found, &requested))
}

#[input(object("appointment_type", "The appointment type."))]
pub struct NewAppointmentType {
    parent: Parent,
    /// Name.
    #[body(person_name(MAX_NAME))]
    name: String,
    /// Duration in minutes.
    #[body(integer(SLOT_MINUTES).map(|minutes| minutes as u32), default = DEFAULT_MINUTES)]
    minutes: u32,
    #[body(bookable_online(), default = true)]
    bookable_online: bool,
    /// Ids of appointment descriptors in the health record system.
    #[body(descriptor(), name = "appointment_type.emr_appt_descriptor_ids")]
    descriptor_ids: Vec<u32>,
}

fn descriptor() -> Kind<u32> {
    id().referring_to(Resource::AppointmentDescriptors)
}

pub async fn create(
    mut call: ApiCall,
    InTenant(tenant, new): InTenant<NewAppointmentType>,
) -> Answer<Created<AppointmentTypeView>> {
    let NewAppointmentType { parent, name, minutes, bookable_online, descriptor_ids } = new;
    let (location, of_location) = parent.location(&call, &tenant)?;
    let of_location = of_location.unwrap_or(false);
    let body = AppointmentType { name, minutes, bookable_online, descriptor_ids, ..AppointmentType::default() };
    save(&mut call, &location, WriteAppointmentType::Create { body, of_location }).await
}

#[input(object("appointment_type", "The appointment type."))]
pub struct AppointmentTypeUpdate {
    parent: Parent,
    /// Duration in minutes.
    #[body(integer(SLOT_MINUTES).map(|minutes| minutes as u32), not_null)]
    minutes: Option<u32>,
    /// Name.
    #[body(person_name(MAX_NAME), not_null)]
    name: Option<String>,
    #[body(bookable_online(), not_null)]
    bookable_online: Option<bool>,
    /// Ids of appointment descriptors in the health record system.
    #[body(descriptor(), name = "appointment_type.emr_appt_descriptor_ids")]
    descriptor_ids: Option<Vec<u32>>,
}

pub async fn update(
    mut call: ApiCall,
    Id(id): Id<u32>,
    InTenant(tenant, requested): InTenant<AppointmentTypeUpdate>,
) -> Answer<One<AppointmentTypeView>> {
    let AppointmentTypeUpdate { parent, minutes, name, bookable_online, descriptor_ids } = requested;
    let record = find_at(&call, &tenant, None, id)?;
    let (location, of_location) = parent.location(&call, &tenant)?;
    let location = match (of_location, record.location_id) {
        (None, Some(own)) => call.location(&tenant, LocationId(own))?,
        _ => location,
    };
    let change = AppointmentTypeChange { of_location, name, minutes, bookable_online, descriptor_ids };
    save(&mut call, &location, WriteAppointmentType::Change(id, change)).await
}

pub async fn delete(
    mut call: ApiCall,
    Id(id): Id<u32>,
    InLocations(tenant, location, ()): InLocations<()>,
) -> Answer<One<AppointmentTypeView>> {
    let record = find_at(&call, &tenant, location.as_ref(), id)?;
    let location = match record.location_id {
        Some(own) => call.location(&tenant, LocationId(own))?,
        None => location.map_or_else(|| any_location(&call, &tenant), Ok)?,
    };
    save(&mut call, &location, WriteAppointmentType::Remove(id)).await
}

async fn save<const STATUS: u16>(
    call: &mut ApiCall,
    location: &OpenLocation,
    request: WriteAppointmentType,
) -> Answer<One<AppointmentTypeView, STATUS>> {
    let saved = call.save(location, request).await?;
    Ok(call.created(saved.replay, AppointmentTypeView::from_record(&saved.record)))
}

fn find_at(
    call: &ApiCall,
    tenant: &Tenant,
    location: Option<&OpenLocation>,
    id: u32,
) -> Result<Record<AppointmentType>, ApiError> {
    match location {
        Some(location) => find(call, tenant, std::slice::from_ref(location), id),
        None => find(call, tenant, &call.open_locations(tenant), id),
    }
}

/// The owner of a type, as given by the request.
#[input]
struct Parent {
    #[body(shared::location(), name = "location_id")]
    location: Option<u32>,
    /// Owner of the type: the institution or one location.
    #[body(word().map(|parent: ParentType| parent == ParentType::Location), name = "appointment_type.parent_type")]
    of_location: Option<bool>,
    /// Id of the institution or location that the type belongs to.
    #[body(id(), name = "appointment_type.parent_id")]
    id: Option<u32>,
}

impl Parent {
    /// Returns the location that saves the type, and whether the type is for that location only. `None` keeps the
    /// owner.
    fn location(&self, call: &ApiCall, tenant: &Tenant) -> Result<(OpenLocation, Option<bool>), ApiError> {
        let named = |id: u32| call.location(tenant, LocationId(id));
        let location = match (self.of_location, self.id.or(self.location)) {
            (Some(true), Some(id)) => named(id)?,
            (Some(true), None) => {
                return Err(ApiError::bad("appointment_type.parent_id is missing: it must name the location."));
            }
            (None, _) if self.id.is_some() => {
                return Err(ApiError::bad(
                    "appointment_type.parent_type is missing: it must say whether parent_id is an institution or a location.",
                ));
            }
            (Some(false), _) if self.id.is_some_and(|id| id != tenant.institution.id.0) => {
                return Err(ApiError::bad("appointment_type.parent_id must be the id of the institution."));
            }
            _ => self.location.map_or_else(|| any_location(call, tenant), named)?,
        };
        Ok((location, self.of_location))
    }
}

/// Returns any location, for types of the whole institution.
fn any_location(call: &ApiCall, tenant: &Tenant) -> Result<OpenLocation, ApiError> {
    call.open_locations(tenant).into_iter().next().ok_or(ApiError::from(Failure::OutOfReach))
}
