//! GET /locations, GET /locations/{id}

use engine::{
    SetUp,
    setup::{LocationSetup, LocationStatus},
};
use location::{
    ids::{InstitutionId, LocationId},
    time::Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    access::{
        call::Call,
        tenancy::{OpenLocation, Tenant},
    },
    http::errors::{ApiError, HttpResult},
    values::{
        kinds::{boolean, id, text},
        limits::MAX_TEXT,
        times::At,
    },
    views::{gate::GateView, parts::foreign_id_type},
};

#[derive(Serialize, JsonSchema)]
pub(crate) struct LocationView<'a> {
    #[schemars(with = "u32")]
    id: LocationId,
    name: &'a str,
    #[schemars(with = "u32")]
    institution_id: InstitutionId,
    street_address: Option<&'a str>,
    street_address_2: Option<&'a str>,
    city: Option<&'a str>,
    state: Option<&'a str>,
    zip_code: Option<&'a str>,
    country_code: Option<&'a str>,
    created_at: Option<At>,
    updated_at: Option<At>,
    latitude: Option<f64>,
    longitude: Option<f64>,
    phone_number: Option<&'a str>,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    email: Option<&'a str>,
    tz: &'static str,
    last_sync_time: Option<At>,
    insert_appt_client: bool,
    map_by_operatory: bool,
    set_availability_by_operatory: bool,
    inactive: bool,
    specialty: Option<()>,
}

/// One location.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LocationDetail<'a> {
    #[serde(flatten)]
    location: LocationView<'a>,
    /// Only if the health record system is reached through workstations.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<GateView>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct InstitutionView<'a> {
    #[schemars(with = "u32")]
    id: InstitutionId,
    name: &'a str,
    subdomain: &'a str,
    locations: Vec<LocationView<'a>>,
}

/// What the store knows of a location besides its setup.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    set_up: Option<SetUp>,
    last_sync: Option<Timestamp>,
}

impl Facts {
    /// Asks no actor. A location without EHR is never synced, a closed one no more.
    pub(crate) fn of(call: &Call, location: &LocationSetup) -> Result<Facts, ApiError> {
        let synced = location.source.is_some() && location.status == LocationStatus::Active;
        let last_sync = if synced { call.api.engine.last_sync(location.id)? } else { None };
        Ok(Facts { set_up: call.api.engine.location_set_up(location.id)?, last_sync })
    }
}

impl<'a> LocationView<'a> {
    pub(crate) fn of(location: &'a LocationSetup, adapter: Option<&'a str>, facts: Facts) -> LocationView<'a> {
        LocationView {
            id: location.id,
            name: &location.name,
            institution_id: location.institution,
            street_address: location.street_address.as_deref(),
            street_address_2: location.street_address_2.as_deref(),
            city: location.city.as_deref(),
            state: location.state.as_deref(),
            zip_code: location.zip_code.as_deref(),
            country_code: location.country_code.as_deref(),
            created_at: facts.set_up.map(|it| At(it.first)),
            updated_at: facts.set_up.map(|it| At(it.changed)),
            latitude: location.latitude,
            longitude: location.longitude,
            phone_number: location.phone_number.as_deref(),
            foreign_id: location.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(location.foreign_id.as_deref(), adapter),
            email: location.email.as_deref(),
            tz: location.zone.name(),
            last_sync_time: facts.last_sync.map(At),
            insert_appt_client: location.source.is_some(),
            map_by_operatory: location.map_by_operatory,
            set_availability_by_operatory: location.map_by_operatory,
            inactive: location.status == LocationStatus::Closed,
            specialty: None,
        }
    }
}

/// Pending locations are not open yet and not shown; closed ones are shown as inactive.
pub(crate) fn shown(call: &Call, location: &LocationSetup) -> bool {
    location.status != LocationStatus::Pending && call.key.reaches(location.id)
}

pub(crate) async fn list(mut call: Call) -> HttpResult {
    let (tenants, (inactive, foreign_id)) = call.in_tenants(|input| {
        Some((input.query.optional("inactive", boolean()), input.query.optional("foreign_id", text(MAX_TEXT))))
    })?;
    let mut institutions = Vec::new();
    for Tenant { institution } in &tenants {
        let mut locations = Vec::new();
        for location in call.locations.of_institution(institution.id) {
            let closed = location.status == LocationStatus::Closed;
            let wanted = shown(&call, location)
                && inactive.is_none_or(|inactive| inactive == closed)
                && foreign_id.as_ref().is_none_or(|id| location.foreign_id.as_ref() == Some(id));
            if wanted {
                let facts = Facts::of(&call, location)?;
                locations.push(LocationView::of(location, call.api.directory.adapter(location), facts));
            }
        }
        let (name, subdomain) = (institution.name.as_str(), institution.subdomain.as_str());
        institutions.push(InstitutionView { id: institution.id, name, subdomain, locations });
    }
    Ok(call.list(&institutions))
}

pub(crate) async fn show(mut call: Call) -> HttpResult {
    let id = call.path_id(id())?;
    let (tenants, ()) = call.in_tenants(|_| Some(()))?;
    let OpenLocation { setup: location, .. } = call.location_of_any(&tenants, LocationId(id))?;
    let facts = Facts::of(&call, &location)?;
    let engine = &call.api.engine;
    let gate = match engine.gateway().status(location.id) {
        Some(_) => GateView::of(location.id, &engine.sync_state(location.id).await?, engine.now()),
        None => None,
    };
    let location = LocationView::of(&location, call.api.directory.adapter(&location), facts);
    Ok(call.show(LocationDetail { location, gate }))
}
