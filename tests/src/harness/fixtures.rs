//! A practice for tests: the demo's institution with two locations in two zones on one simulated EHR.

use chrono::{DateTime, Days, NaiveDate};
use location::{
    ids::{InstitutionId, LocationId},
    time::DAY,
};
use runtime::clock;
use sandbox_ehr::{OffsetFrom, Profile};
use setup::{DataSource, EngineRules, Institution, LocationSetup, Setup, country::CountryCode};

pub const INSTITUTION: InstitutionId = InstitutionId(1);
pub const MAIN_STREET: LocationId = LocationId(101);
pub const LAKESIDE: LocationId = LocationId(102);
pub const SOURCE: u32 = 11;

/// Returns today in days since 1970.
pub fn today() -> i32 {
    i32::try_from(clock::now().0.div_euclid(DAY)).expect("the present is near")
}

/// Returns tomorrow's local date in a zone.
pub fn tomorrow(zone: chrono_tz::Tz) -> NaiveDate {
    let now = DateTime::from_timestamp_millis(clock::now().0).expect("the present is near");
    now.with_timezone(&zone).date_naive() + Days::new(1)
}

/// Returns the profile of the simulated EHR. Its working hours use the winter offsets of New York and Chicago all
/// year.
pub fn profile(seed: u64) -> Profile {
    let offset = |seconds| vec![OffsetFrom { from: 0, seconds }];
    Profile::demo(seed, today(), offset(-5 * 3_600), offset(-6 * 3_600))
}

/// Returns the profile of a practice with fewer records, for tests that need any patients and free times.
pub fn small_profile(seed: u64) -> Profile {
    Profile { patients: 60, days_back: 2, days_ahead: 14, ..profile(seed) }
}

/// Returns the demo's institution on a simulated EHR at `base_url`.
pub fn setup(base_url: &str) -> Setup {
    let main_street = location(MAIN_STREET, "main-street", chrono_tz::America::New_York, false);
    let lakeside = location(LAKESIDE, "lakeside", chrono_tz::America::Chicago, true);
    Setup {
        engine: EngineRules { webhook_development: true, ..EngineRules::default() },
        ..testing::setup(
            [institution(INSTITUTION, "demo-dental")],
            [main_street, lakeside],
            [source(SOURCE, INSTITUTION, "sandbox", base_url)],
        )
    }
}

/// Returns a sandbox institution with this subdomain.
pub fn institution(id: InstitutionId, subdomain: &str) -> Institution {
    let name = "Demo Dental".to_owned();
    Institution { subdomain: subdomain.to_owned(), name, ..testing::institution(id.0) }
}

/// Returns a data source with a limit of 20 requests per call.
pub fn source(id: u32, institution: InstitutionId, adapter: &str, base_url: &str) -> DataSource {
    DataSource {
        name: "Sandbox EHR".into(),
        adapter: adapter.to_owned(),
        base_url: base_url.to_owned(),
        guest_requests_per_call: 20,
        ..testing::source(id, institution.0)
    }
}

/// Returns a location of the demo's institution and data source; `key` is its name and its id in the EHR.
pub fn location(id: LocationId, key: &str, zone: chrono_tz::Tz, map_by_operatory: bool) -> LocationSetup {
    LocationSetup {
        name: key.to_owned(),
        street_address: Some("1 Main Street".into()),
        city: Some("Springfield".into()),
        state: Some("NY".into()),
        zip_code: Some("10001".into()),
        country_code: Some(CountryCode::US),
        zone,
        map_by_operatory,
        foreign_id: Some(key.into()),
        ..testing::location_with(id, INSTITUTION.0, SOURCE, |settings| settings.quota.burst = 1_000)
    }
}
