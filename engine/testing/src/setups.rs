//! Institutions, locations and data sources with defaults. Tests set only the fields that they check.

use std::sync::Arc;

use location::{InstitutionId, LocationId, Quota, settings::LocationSettings};
use setup::{DataSource, Environment, Institution, LocationSetup, Setup, country::CountryCode};

/// Returns an institution `practice-{id}` in the sandbox.
pub fn institution(id: u32) -> Institution {
    Institution {
        id: InstitutionId(id),
        subdomain: format!("practice-{id}"),
        name: "Practice".into(),
        phone_number: None,
        country_code: CountryCode::US,
        environment: Environment::Sandbox,
    }
}

/// Returns an active location with a request quota too large to run out.
pub fn location(id: LocationId, institution: u32, source: u32) -> LocationSetup {
    LocationSetup {
        id,
        institution: InstitutionId(institution),
        name: format!("Place {id}"),
        zone: chrono_tz::UTC,
        source: Some(source),
        settings: Arc::new(LocationSettings {
            quota: Quota { per_minute: 60_000, burst: 10_000 },
            ..LocationSettings::default()
        }),
        ..LocationSetup::default()
    }
}

/// Like `location`, with these settings changed.
pub fn location_with(
    id: LocationId,
    institution: u32,
    source: u32,
    change: impl FnOnce(&mut LocationSettings),
) -> LocationSetup {
    let mut location = location(id, institution, source);
    change(location.settings_mut());
    location
}

/// Returns a data source of the adapter `practice`.
pub fn source(id: u32, institution: u32) -> DataSource {
    DataSource {
        id,
        institution: InstitutionId(institution),
        adapter: "practice".into(),
        base_url: "https://ehr.example".into(),
        guest_requests_per_call: 10,
        ..DataSource::default()
    }
}

/// Returns a setup of these parts, with default rules of the engine.
pub fn setup(
    institutions: impl IntoIterator<Item = Institution>,
    locations: impl IntoIterator<Item = LocationSetup>,
    sources: impl IntoIterator<Item = DataSource>,
) -> Setup {
    Setup {
        institutions: institutions.into_iter().map(|it| (it.id, Arc::new(it))).collect(),
        locations: locations.into_iter().map(|it| (it.id, Arc::new(it))).collect(),
        sources: sources.into_iter().map(|it| (it.id, Arc::new(it))).collect(),
        ..Setup::default()
    }
}

/// Returns a setup of one institution with one location on one data source, each with the id 1.
pub fn one_location() -> Setup {
    setup([institution(1)], [location(LocationId(1), 1, 1)], [source(1, 1)])
}
