//! Setups and stores of the benchmark's own practices.

use std::{path::Path, sync::Arc};

use chrono_tz::America::New_York;
use location::{
    ids::{AppointmentTypeId, InstitutionId, LocationId},
    rules::{Closure, RuleOverrides, RuleSet, VisitRules},
    settings::{LocationSettings, PullRules, Quota},
    time::{DAY, HOUR, MINUTE},
    zone::Date,
};
use setup::{EngineRules, LocationSetup, Setup};
use store::{
    EmbeddedStore, EngineKind, Store, StoreConfig, StoreError, StoreKeys,
    postgres::{self, PostgresConfig, PostgresStore, Tls},
};

use crate::harness::fixtures;

pub const SUBDOMAIN: &str = "bench";

/// Adds an institution with locations numbered from `first`, each with its own data source. They read once a day, so
/// that reading does not affect a run.
pub fn add_institution(setup: &mut Setup, id: InstitutionId, subdomain: &str, first: u32, locations: u32) {
    setup.institutions.insert(id, Arc::new(fixtures::institution(id, subdomain)));
    // One allocation, as a loaded configuration has it.
    let settings = Arc::new(LocationSettings {
        pull: PullRules { every: DAY, ..PullRules::default() },
        quota: Quota { per_minute: 1_000_000, burst: 100_000 },
        ..LocationSettings::default()
    });
    for number in first..first + locations {
        // The EHR is passed in `Parts`: no adapter, no address.
        setup.sources.insert(number, Arc::new(fixtures::source(number, id, "", "http://127.0.0.1:9")));
        let plain = fixtures::location(LocationId(number), &format!("location-{number}"), New_York, false);
        let location = LocationSetup { institution: id, source: Some(number), settings: settings.clone(), ..plain };
        setup.locations.insert(location.id, Arc::new(location));
    }
}

pub fn setup(locations: u32) -> Setup {
    let mut setup = Setup::default();
    add_institution(&mut setup, fixtures::INSTITUTION, SUBDOMAIN, 1, locations);
    setup
}

/// Returns the subdomain of a location's institution.
pub fn subdomain(location: u32) -> String {
    format!("{SUBDOMAIN}-{location}")
}

/// Returns a setup with one institution per location.
pub fn setup_apart(locations: u32) -> Setup {
    let mut setup = Setup::default();
    for id in 1..=locations {
        add_institution(&mut setup, InstitutionId(id), &subdomain(id), id, 1);
    }
    setup
}

/// Returns rules of every kind that allow each slot of the benchmark: half hours from tomorrow on.
pub fn rules_of_every_kind() -> RuleSet {
    let far = Date(fixtures::today()).add_days(700);
    let plain = VisitRules {
        minimum_notice: MINUTE,
        horizon_days: 600,
        daily_visits: Some(100_000),
        daily_minutes: Some(1_000_000),
        daily_visits_per_provider: Some(100_000),
        closures: (0..10).map(|week| Closure::of_days(far.add_days(7 * week), far.add_days(7 * week + 1))).collect(),
        align: Some(30),
        age_max: Some(150),
        cancel_notice: HOUR,
        ..VisitRules::default()
    };
    // Buffers of another type are checked, too, and take no time here.
    let other_type = RuleOverrides { buffer_after: Some(10 * MINUTE), ..RuleOverrides::default() };
    RuleSet { plain, types: [(AppointmentTypeId(4_000_000), other_type)].into(), ..RuleSet::default() }
}

/// Returns the engine of the benchmark's stores: `BENCH_STORE`, or the default.
pub fn engine() -> EngineKind {
    let named = std::env::var("BENCH_STORE").ok();
    named.map_or_else(EngineKind::default, |name| name.parse().expect("BENCH_STORE is sled or fjall"))
}

/// Opens the store like the product.
pub fn store(dir: &Path) -> Result<Arc<dyn Store>, StoreError> {
    let rules = EngineRules::default();
    let mut config = StoreConfig::new(dir.join("store"), StoreKeys::load_or_create(&dir.join("store.key"))?);
    config.engine = engine();
    config.cache_bytes = rules.store_cache_bytes;
    config.floor_bytes = rules.store_floor_bytes;
    Ok(Arc::new(EmbeddedStore::open(config)?))
}

/// Opens the store in an empty database over loopback.
pub async fn store_in_database(dir: &Path, url: &str, setup: &Setup) -> Result<Arc<dyn Store>, StoreError> {
    let config = PostgresConfig { tls: Tls::Off, ..PostgresConfig::new(url) };
    let key = StoreKeys::load_or_create(&dir.join("store.key"))?;
    postgres::migrate(&config, &key).await?;
    Ok(Arc::new(PostgresStore::open(&config, &key, engine::owners_of(setup))?))
}
