//! Appointment types: those of the EHR and those created through the API.

use std::collections::HashMap;

use engine::{
    Request, Saved,
    commands::{AppointmentTypeChange, ChangeAppointmentType, CreateAppointmentType, RemoveAppointmentType},
    records::{AppointmentType, record::Record},
};
use framework::{
    access::{
        arguments::{FromInput, Id, InLocations, InTenant, included},
        call::ApiCall,
        input::Input,
        respond::{Answer, Created, Listed, One},
        tenancy::{OpenLocation, Tenant},
    },
    http::{errors::ApiError, fields::Fields},
    values::{
        failures::Failure,
        kinds::{
            id, integer, object, person_name,
            shared::{self, bookable_online},
        },
        limits::{DEFAULT_MINUTES, MAX_NAME, SLOT_MINUTES},
        words::word,
    },
};
use location::{ids::LocationId, pull::Resource};

use super::descriptors::{self, ListDescriptors};
use crate::views::catalogue::{AppointmentDescriptorView, AppointmentTypeDetail, AppointmentTypeView, ParentType};

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

included!(ShowAppointmentTypes: &["descriptors"]);

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
    InLocations(tenant, location, asked): InLocations<ListDescriptors>,
) -> Answer<Listed<AppointmentDescriptorView<'static>>> {
    let record = find_at(&call, &tenant, location.as_ref(), id)?;
    let found = descriptors::by_ids(&call, &tenant, record.descriptor_ids.iter().copied())?;
    Ok(descriptors::list(&call, &found, &asked))
}

pub struct NewAppointmentType {
    parent: Parent,
    new: CreateAppointmentType,
}

impl FromInput for NewAppointmentType {
    fn from_input(input: &mut Input) -> NewAppointmentType {
        let b = &mut input.body;
        b.required("appointment_type", object("The appointment type."));
        let parent = Parent::read(b);
        let name = b.required("appointment_type.name", person_name(MAX_NAME).about("Name."));
        let minutes = b.defaulted(
            "appointment_type.minutes",
            integer(SLOT_MINUTES).about("Duration in minutes."),
            DEFAULT_MINUTES,
        );
        let bookable_online = b.defaulted("appointment_type.bookable_online", bookable_online(), true);
        let descriptor_ids = b.list(
            "appointment_type.emr_appt_descriptor_ids",
            id().referring_to(Resource::AppointmentDescriptors)
                .about("Ids of appointment descriptors in the health record system."),
        );
        let (minutes, of_location) = (minutes as u32, false);
        let new = CreateAppointmentType { name, minutes, bookable_online, descriptor_ids, of_location };
        NewAppointmentType { parent, new }
    }
}

pub async fn create(
    mut call: ApiCall,
    InTenant(tenant, NewAppointmentType { parent, new }): InTenant<NewAppointmentType>,
) -> Answer<Created<AppointmentTypeView>> {
    let (location, of_location) = parent.location(&call, &tenant)?;
    let new = CreateAppointmentType { of_location: of_location.unwrap_or(false), ..new };
    save(&mut call, &location, new).await
}

pub struct AppointmentTypeUpdate {
    parent: Parent,
    change: AppointmentTypeChange,
}

impl FromInput for AppointmentTypeUpdate {
    fn from_input(input: &mut Input) -> AppointmentTypeUpdate {
        let b = &mut input.body;
        b.required("appointment_type", object("The appointment type."));
        let parent = Parent::read(b);
        let minutes =
            b.optional_not_null("appointment_type.minutes", integer(SLOT_MINUTES).about("Duration in minutes."));
        let change = AppointmentTypeChange {
            of_location: None,
            name: b.optional_not_null("appointment_type.name", person_name(MAX_NAME).about("Name.")),
            minutes: minutes.map(|minutes| minutes as u32),
            bookable_online: b.optional_not_null("appointment_type.bookable_online", bookable_online()),
            descriptor_ids: b.optional_list(
                "appointment_type.emr_appt_descriptor_ids",
                id().referring_to(Resource::AppointmentDescriptors)
                    .about("Ids of appointment descriptors in the health record system."),
            ),
        };
        AppointmentTypeUpdate { parent, change }
    }
}

pub async fn update(
    mut call: ApiCall,
    Id(id): Id<u32>,
    InTenant(tenant, AppointmentTypeUpdate { parent, change }): InTenant<AppointmentTypeUpdate>,
) -> Answer<One<AppointmentTypeView>> {
    let record = find_at(&call, &tenant, None, id)?;
    let (location, of_location) = parent.location(&call, &tenant)?;
    let location = match (of_location, record.location_id) {
        (None, Some(own)) => call.location(&tenant, LocationId(own))?,
        _ => location,
    };
    let change = AppointmentTypeChange { of_location, ..change };
    save(&mut call, &location, ChangeAppointmentType { id, change }).await
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
    save(&mut call, &location, RemoveAppointmentType(id)).await
}

async fn save<const STATUS: u16>(
    call: &mut ApiCall,
    location: &OpenLocation,
    request: impl Request<Reply = Saved<Record<AppointmentType>>> + Clone,
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
struct Parent {
    location: Option<u32>,
    of_location: Option<bool>,
    id: Option<u32>,
}

impl Parent {
    fn read(b: &mut Fields) -> Parent {
        let belongs = word::<ParentType>().about("Owner of the type: the institution or one location.");
        Parent {
            location: b.optional("location_id", shared::location()),
            of_location: b.optional("appointment_type.parent_type", belongs).map(|it| it == ParentType::Location),
            id: b.optional(
                "appointment_type.parent_id",
                id().about("Id of the institution or location that the type belongs to."),
            ),
        }
    }

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
