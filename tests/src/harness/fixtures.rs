//! A practice to test with: the demo's institution, two locations in two zones on one simulated EHR.

use std::{collections::BTreeMap, sync::Arc};

use chrono::{DateTime, Days, NaiveDate};
use location::{
    ids::{InstitutionId, LocationId},
    settings::{BookingRules, PullRules, Quota, WriteRules},
    slots::SlotQuery,
    time::{DAY, Timestamp},
    zone::Date,
};
use runtime::clock;
use sandbox_ehr::{OffsetFrom, Profile};
use setup::{DataSource, EngineRules, Environment, Institution, LocationSetup, LocationStatus, Setup};

pub const INSTITUTION: InstitutionId = InstitutionId(1);
pub const MAIN_STREET: LocationId = LocationId(101);
pub const LAKESIDE: LocationId = LocationId(102);
pub const SOURCE: u32 = 11;

/// Today, in days since 1970.
pub fn today() -> i32 {
    i32::try_from(clock::now().0.div_euclid(DAY)).expect("the present is near")
}

/// The day after the one a clock on the wall shows there.
pub fn tomorrow(zone: chrono_tz::Tz) -> NaiveDate {
    let now = DateTime::from_timestamp_millis(clock::now().0).expect("the present is near");
    now.with_timezone(&zone).date_naive() + Days::new(1)
}

/// The simulated EHR's practice; winter offsets of New York and Chicago are near enough for its working hours.
pub fn profile(seed: u64) -> Profile {
    let offset = |seconds| vec![OffsetFrom { from: 0, seconds }];
    Profile::demo(seed, today(), offset(-5 * 3_600), offset(-6 * 3_600))
}

pub fn setup(base_url: &str) -> Setup {
    let mut setup = Setup::default();
    setup.institutions.insert(INSTITUTION, Arc::new(institution(INSTITUTION, "demo-dental")));
    let main_street = location(MAIN_STREET, "main-street", chrono_tz::America::New_York, false);
    let lakeside = location(LAKESIDE, "lakeside", chrono_tz::America::Chicago, true);
    setup.locations.insert(MAIN_STREET, Arc::new(main_street));
    setup.locations.insert(LAKESIDE, Arc::new(lakeside));
    setup.sources.insert(SOURCE, Arc::new(source(SOURCE, INSTITUTION, "sandbox", base_url)));
    setup.engine = EngineRules { webhook_development: true, ..EngineRules::default() };
    setup
}

pub fn institution(id: InstitutionId, subdomain: &str) -> Institution {
    Institution {
        id,
        subdomain: subdomain.to_owned(),
        name: "Demo Dental".to_owned(),
        phone_number: None,
        country_code: "US".to_owned(),
        environment: Environment::Sandbox,
    }
}

pub fn source(id: u32, institution: InstitutionId, adapter: &str, base_url: &str) -> DataSource {
    DataSource {
        id,
        institution,
        name: "Sandbox EHR".to_owned(),
        adapter: adapter.to_owned(),
        base_url: base_url.to_owned(),
        headers: Vec::new(),
        login: None,
        allowed_paths: Vec::new(),
        guest_memory_mib: 64,
        guest_requests_per_call: 20,
        workstation: Default::default(),
    }
}

pub fn location(id: LocationId, key: &str, zone: chrono_tz::Tz, map_by_operatory: bool) -> LocationSetup {
    LocationSetup {
        id,
        institution: INSTITUTION,
        name: key.to_owned(),
        street_address: Some("1 Main Street".to_owned()),
        street_address_2: None,
        city: Some("Springfield".to_owned()),
        state: Some("NY".to_owned()),
        zip_code: Some("10001".to_owned()),
        country_code: Some("US".to_owned()),
        phone_number: None,
        email: None,
        latitude: None,
        longitude: None,
        zone,
        map_by_operatory,
        status: LocationStatus::Active,
        source: Some(SOURCE),
        foreign_id: Some(key.to_owned()),
        booking: BookingRules::default(),
        write: WriteRules::default(),
        pull: PullRules::default(),
        quota: Quota { per_minute: 60_000, burst: 1_000 },
        adapter_config: BTreeMap::new(),
        workstation: Default::default(),
    }
}

/// Any free slots of a location. What a test asks beyond that it says itself.
pub fn slot_query(from: Date, days: u16, length: i64, not_before: Timestamp) -> SlotQuery {
    SlotQuery {
        from,
        days,
        length,
        interval: None,
        appointment_type: None,
        providers: Vec::new(),
        operatories: Vec::new(),
        source: None,
        hours: None,
        join_blocks: true,
        overlapping_operatory_slots: false,
        appointments_per_timeslot: 1,
        not_before,
        limit: 1_000,
    }
}
