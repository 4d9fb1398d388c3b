//! GET /locations, GET /locations/{id}

use engine::SetUp;
use framework::{records::listing::foreign_ids, values::kinds::shared::inactive};

use crate::{prelude::*, views::gate::GateView};

/// A location of an institution.
#[view(value = LocationSetup, named = "location", args(facts: Facts))]
pub(crate) struct LocationView<'a> {
    id: u32,
    name: &'a str,
    /// Id of the institution that the location belongs to.
    #[view(from = institution)]
    institution_id: u32,
    /// Street and number of the location; null if not configured.
    street_address: Option<&'a str>,
    /// Second line of the street address, such as a suite; null if not configured.
    #[view(with = entry.extras().street_address_2.as_deref())]
    street_address_2: Option<&'a str>,
    /// City of the location; null if not configured.
    city: Option<&'a str>,
    /// State of the location; null if not configured.
    state: Option<&'a str>,
    /// Postal code of the location; null if not configured.
    zip_code: Option<&'a str>,
    /// Country of the location, as a two-letter code; null if not configured.
    country_code: Option<&'a str>,
    /// Time at which this service first started with this record in its configuration, in UTC; null if it was not
    /// recorded.
    #[view(with = facts.set_up.map(|it| At(it.first)))]
    created_at: Option<At>,
    /// Time at which this service first started with the current configuration of this record, in UTC; null if it was
    /// not recorded.
    #[view(with = facts.set_up.map(|it| At(it.changed)))]
    updated_at: Option<At>,
    /// Latitude of the location in degrees; null if not configured.
    #[view(with = entry.extras().latitude)]
    latitude: Option<f64>,
    /// Longitude of the location in degrees; null if not configured.
    #[view(with = entry.extras().longitude)]
    longitude: Option<f64>,
    /// Phone number of the location; null if not configured.
    phone_number: Option<&'a str>,
    /// Identifier of the location in the health record system; null if not configured.
    foreign_id: Option<&'a str>,
    /// Name of the health record system's adapter; `nex` if `foreign_id` is null or there is no health record system.
    foreign_id_type: &'a str,
    /// E-mail address of the location; null if not configured.
    email: Option<&'a str>,
    /// IANA name of the location's time zone.
    #[view(with = entry.zone.name())]
    tz: &'static str,
    /// End time of the last complete read cycle, in UTC; null before the first one, without a health record system and
    /// for a closed location.
    #[view(with = facts.last_sync.map(At))]
    last_sync_time: Option<At>,
    /// `true` if the location has a health record system to which appointments are written.
    #[view(with = entry.source.is_some())]
    insert_appt_client: bool,
    /// `true` if bookings and working hours must specify an operatory.
    map_by_operatory: bool,
    /// The same as `map_by_operatory`.
    #[view(from = map_by_operatory)]
    set_availability_by_operatory: bool,
    /// `true` if the location is closed. Calls for a closed location are refused with 404.
    #[view(with = entry.status == LocationStatus::Closed)]
    inactive: bool,
    /// Always null: specialties are not configured.
    specialty: Option<()>,
}

/// A location with its details.
#[view]
pub struct LocationDetail<'a> {
    #[serde(flatten)]
    location: LocationView<'a>,
    /// Gate of the location. Only if the health record system is accessed through workstations.
    gate: Omittable<GateView>,
}

/// An institution with its locations.
#[view(named = "institution")]
pub struct InstitutionView<'a> {
    id: u32,
    name: &'a str,
    subdomain: &'a str,
    /// Locations of the institution that the key can access and that match the filters, without pending ones.
    locations: Vec<LocationView<'a>>,
}

/// Data about a location in the store, in addition to its setup.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    set_up: Option<SetUp>,
    last_sync: Option<Timestamp>,
}

impl Facts {
    /// Reads from the store without an actor. Locations that are closed or have no EHR have no time of the last sync.
    pub(crate) fn read(call: &ApiCall, location: &LocationSetup) -> Result<Facts, ApiError> {
        let synced = location.source.is_some() && location.status == LocationStatus::Active;
        let last_sync = if synced { call.api.engine.last_sync(location.id)? } else { None };
        Ok(Facts { set_up: call.api.engine.location_set_up(location.id)?, last_sync })
    }
}

/// Returns whether a location is visible. Pending locations are not; closed ones are shown as inactive.
pub(crate) fn is_visible(call: &ApiCall, location: &LocationSetup) -> bool {
    location.status != LocationStatus::Pending && call.key.reaches(location.id)
}

#[input]
pub struct ListLocations {
    #[query(inactive())]
    inactive: Option<bool>,
    #[read(foreign_ids(&mut input.query))]
    foreign_ids: Vec<Vec<String>>,
}

pub async fn list(
    call: ApiCall,
    InTenants(tenants, ListLocations { inactive, foreign_ids }): InTenants<ListLocations>,
) -> Answer<Listed<InstitutionView<'static>>> {
    let called = |location: &LocationSetup, names: &[String]| {
        location.foreign_id.as_deref().is_some_and(|id| names.iter().any(|name| name == id))
    };
    let mut institutions = Vec::new();
    for Tenant { institution } in &tenants {
        let mut locations = Vec::new();
        for location in call.directory.locations_of(institution.id) {
            let closed = location.status == LocationStatus::Closed;
            let wanted = is_visible(&call, location)
                && inactive.is_none_or(|inactive| inactive == closed)
                && foreign_ids.iter().all(|names| called(location, names));
            if wanted {
                let facts = Facts::read(&call, location)?;
                locations.push(LocationView::from_value(location, facts, call.directory.adapter(location)));
            }
        }
        let (name, subdomain) = (institution.name.as_str(), institution.subdomain.as_str());
        institutions.push(InstitutionView { id: institution.id.0, name, subdomain, locations });
    }
    Ok(call.list(&institutions))
}

pub async fn show(call: ApiCall, OfLocation(location, ()): OfLocation<()>) -> Answer<One<LocationDetail<'static>>> {
    let OpenLocation { setup: location, .. } = location;
    let facts = Facts::read(&call, &location)?;
    let engine = &call.api.engine;
    let gate = match engine.gateway().status(location.id) {
        Some(_) => GateView::from_state(location.id, &engine.sync_state(location.id).await?, engine.now()),
        None => None,
    };
    let location = LocationView::from_value(&location, facts, call.directory.adapter(&location));
    Ok(call.show(LocationDetail { location, gate }))
}
