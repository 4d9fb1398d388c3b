//! The configuration by the operator: institutions, data sources and locations, EHR credentials (`login`), limits of
//! guests (`guests`), and the settings derived for a location (`settings`). The API layer reads it from a file; tests
//! and benchmarks build it directly. The crate knows no store and no actor.

#![warn(unreachable_pub)]

pub mod changes;
pub mod current;
pub mod database;
pub mod events;
pub mod guests;
pub mod login;
pub mod secret;
pub mod settings;
pub mod zones;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, thread::available_parallelism, time::Duration};

use location::{
    ids::{InstitutionId, LocationId},
    keys::{ConfigKey, KeyReader, KeyTable, not_empty},
    rules::RuleSet,
    settings::{BookingRules, PullRules, Quota, WriteRules},
    time::{DAY, HOUR, Millis, SECOND},
};
use url::Url;

use crate::{database::Database, events::EhrEvents, guests::HostLimits, login::Login};

/// Everything an engine serves.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    pub institutions: BTreeMap<InstitutionId, Arc<Institution>>,
    pub locations: BTreeMap<LocationId, Arc<LocationSetup>>,
    pub sources: BTreeMap<u32, Arc<DataSource>>,
    pub engine: EngineRules,
}

/// The environment of a key, subdomain or location. The two environments are strictly separated (specification 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Environment {
    Sandbox,
    Production,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Institution {
    pub id: InstitutionId,
    /// Lower case. The name of the tenant in queries.
    pub subdomain: String,
    pub name: String,
    pub phone_number: Option<String>,
    pub country_code: String,
    pub environment: Environment,
}

/// Status of a location (specification 5.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocationStatus {
    Active,
    Pending,
    Closed,
}

location::settings! {
    #[derive(Clone, Debug, PartialEq)]
    pub struct LocationSetup("locations") {
        id: LocationId = LocationId(0);
        institution: InstitutionId = InstitutionId(0);
        name: String = String::new();
        zone: chrono_tz::Tz = chrono_tz::Tz::UTC;
        status: LocationStatus = LocationStatus::Active;
        /// The data source. `None` without EHR integration (specification 1.4).
        source: Option<u32> = None;
        map_by_operatory: bool = false, flag() => reload, "A booking must name an operatory.";
        street_address: Option<String> = None, optional(not_empty) => reload, "Shown to clients.";
        street_address_2: Option<String> = None, optional(not_empty) => reload, "Shown to clients.";
        city: Option<String> = None, optional(not_empty) => reload, "Shown to clients.";
        state: Option<String> = None, optional(not_empty) => reload, "Shown to clients.";
        zip_code: Option<String> = None, optional(not_empty) => reload, "Shown to clients.";
        country_code: Option<String> = None, optional(country_code) =>
            reload, "By default that of the institution. Telephone numbers without a calling code are numbers of this \
                     country.";
        phone_number: Option<String> = None, optional(not_empty) => reload, "Shown to clients.";
        email: Option<String> = None, optional(not_empty) => reload, "Shown to clients.";
        latitude: Option<f64> = None, number(-90.0..=90.0) => reload, "Shown to clients.";
        longitude: Option<f64> = None, number(-180.0..=180.0) => reload, "Shown to clients.";
        foreign_id: Option<String> = None, optional(not_empty) => reload, "The id of the location in the EHR.";
        booking: BookingRules = BookingRules::default();
        /// The practice's own rules for visits that are booked through intents.
        rules: RuleSet = RuleSet::default();
        write: WriteRules = WriteRules::default();
        pull: PullRules = PullRules::default();
        quota: Quota = Quota::default();
        /// Used only if the data source is reached through workstations.
        workstation: WorkstationRules = WorkstationRules::default();
        /// Settings of the adapter, documented in its README.
        adapter_config: BTreeMap<String, String> = BTreeMap::new();
    }
}

/// Parses the country code of an institution or a location.
pub fn country_code(text: &str) -> Result<String, String> {
    let valid = text.len() == 2 && text.bytes().all(|b| b.is_ascii_uppercase());
    if valid { Ok(text.to_owned()) } else { Err("must be a country code of two capital letters".into()) }
}

impl LocationSetup {
    /// Returns the country whose telephone numbers are written without a calling code at this location.
    pub fn country<'a>(&'a self, institution: &'a Institution) -> &'a str {
        self.country_code.as_deref().unwrap_or(&institution.country_code)
    }
}

location::settings! {
    /// Rules for the use of the staff's workstations.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WorkstationRules("workstation") {
        approval: bool = false, flag() => reload, "Staff approve each write at the workstation.";
        /// A browser makes up to six concurrent requests to a server, and the staff work in the same session.
        in_flight: u32 = 2, integer(1..=16) => reload, "Maximum number of concurrent requests per workstation.";
        /// Long enough for a restart of a browser or of this process.
        patience_seconds: u32 = 20, seconds(0..=HOUR) =>
            reload "patience", "How long requests wait for a disconnected workstation before it is reported.";
    }

    /// The settings of a location, read at three levels: the defaults, the institution and the location. Each level
    /// overrides the one before.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LocationSettings("defaults") {
        booking: BookingSettings = BookingSettings::default(), nested() =>
            reload, "Bookings. The settings of a location are inherited: `[defaults.X]`, then the institution's, then \
                     the location's own; each level changes only the keys it names.";
        write: WriteRules = WriteRules::default(), nested() => reload, "Writes to the EHR.";
        pull: PullRules = PullRules::default(), nested() => reload, "Reading from the EHR.";
        quota: Quota = Quota::default(), nested() =>
            reload, "A bucket of requests that the EHR takes from a location. A call is not split: it is sent at \
                     once, and the next one waits.";
        workstation: WorkstationRules = WorkstationRules::default(), nested() =>
            reload, "EHRs that are reached through workstations.";
    }
}

/// The settings under `booking`: those of the engine, and the practice's booking rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BookingSettings {
    pub limits: BookingRules,
    pub rules: RuleSet,
}

impl KeyTable for BookingSettings {
    fn read_keys(&mut self, keys: &impl KeyReader) {
        self.limits.read_keys(keys);
        let about = "The practice's rules for visits that are booked through intents; neutral by default. Staff, GET \
                     /available_slots and POST /appointments are not bound by them. `types.ID` overrides single keys \
                     for an appointment type, `channels.NAME` for the API keys of a channel. If both override a key, \
                     the value of the type applies.";
        keys.nested(ConfigKey::reload("rules", about), &mut self.rules);
    }

    fn changed_keys(&self, after: &BookingSettings) -> Vec<ConfigKey<'static>> {
        let mut changed = self.limits.changed_keys(&after.limits);
        changed.extend(self.rules.changed_keys(&after.rules));
        changed
    }
}

location::settings! {
    /// An EHR database shared by one or several locations of an institution.
    #[derive(Clone, PartialEq, Eq)]
    pub struct DataSource("sources") {
        id: u32 = 0;
        institution: InstitutionId = InstitutionId(0);
        name: String = String::new(), required_text(not_empty) => reload, "The name shown to operators.";
        adapter: String = String::new(), required_text(not_empty) =>
            reload, "The name of an adapter in `[adapters]`.";
        base_url: String = String::new(), required_text(base_url) =>
            reload, "The EHR: an http or https URL. `sandbox:` is the simulated EHR, refused in production and with \
                     `[node]`.";
        /// Headers with credentials that the engine adds to each request.
        headers: Vec<(String, String)> = Vec::new();
        /// The login for access tokens or sessions, if the EHR requires one.
        login: Option<Login> = None;
        /// If empty, the paths below the base URL that the manifest of the adapter requests.
        allowed_paths: Vec<String> = Vec::new(), texts(|path| Ok(path.to_owned())) =>
            reload, "Restricts the paths that the adapter declares.";
        guest_memory_mib: u32 = 64, integer(1..=4_096) => reload, "Memory of a call, in MiB.";
        guest_requests_per_call: u32 = 100, integer(1..=100_000) => reload, "Requests of a call to the EHR.";
        /// Set if the data source is reached only through workstations with a logged-in staff member.
        workstation: Option<WorkstationAccess> = None;
        /// Set if the EHR reports changes to `POST /ehr_events/{source}`.
        events: Option<EhrEvents> = None;
    }
}

fn base_url(text: &str) -> Result<String, String> {
    let web = Url::parse(text).is_ok_and(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
    if web || text == "sandbox:" {
        Ok(text.to_owned())
    } else {
        Err("must be an http or https URL, or \"sandbox:\"".into())
    }
}

/// An EHR that is accessible only in the browser session of a staff member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkstationAccess {
    /// A path below the base URL that returns 200 and JSON only while a user is logged in.
    pub probe: String,
}

/// Omits the credentials.
impl std::fmt::Debug for DataSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DataSource({}, {}, {})", self.id, self.adapter, self.base_url)
    }
}

location::settings! {
    /// Settings of the engine as a whole.
    #[derive(Clone, Debug)]
    pub struct EngineRules("engine") {
        /// Component files by adapter name.
        adapters: BTreeMap<String, PathBuf> = BTreeMap::new();
        mailbox: usize = 256, integer(1..=100_000) =>
            reload, "Requests that wait for one location; more are answered with 503.";
        idle_seconds: u64 = 300, seconds(SECOND..=DAY) => reload "idle", "A location without work leaves memory.";
        actor_threads: usize = available_parallelism().map_or(2, |cores| cores.get().min(256)), cores(1..=256) =>
            restart, "Threads that run locations.";
        store_engine: StoreEngine = StoreEngine::Sled,
            word(&[("sled", StoreEngine::Sled), ("fjall", StoreEngine::Fjall), ("postgres", StoreEngine::Postgres)]) =>
            restart, "The engine of the store, which must be the one of the data directory: `practice-sync store \
                      migrate` moves it to another one. `config init` writes `fjall`.";
        /// The same as for the feed of changes and finished deliveries.
        history_days: u32 = 30, integer(1..=3_650) =>
            reload, "Finished write requests, and decisions in the journal behind a location's snapshot, are deleted \
                     at this age. Unfinished writes stay, and so do decisions that the audit trail has not followed.";
        store_floor_bytes: u64 = 512 << 20, mib(0..=MAX_MIB) =>
            restart "store_floor_mib", "Below this much free disk, in MiB, commits are refused with 503.";
        store_cache_bytes: u64 = 256 << 20, mib(8..=MAX_MIB) =>
            restart "store_cache_mib", "The store's cache, in MiB.";
        pull_floor_bytes: u64 = 1_024 << 20, mib(1..=MAX_MIB) =>
            reload "pull_floor_mib", "Below this much free disk, in MiB, EHRs are not read: the rest is for bookings.";
        /// Far above a first pull of 60,000 records. A busy practice needs a fraction of the rest each day.
        pull_burst_bytes: u64 = 1_024 << 20, mib(1..=MAX_MIB) =>
            reload "pull_burst_mib", "How much data reading one location may write in a burst, in MiB.";
        pull_bytes_per_minute: u64 = 16 << 20, mib(1..=MAX_MIB) =>
            reload "pull_mib_per_minute", "Additional MiB per minute.";
        store_compact_ratio: u32 = 3, integer(0..=1_000) =>
            start, "A start on sled makes the store's files anew when they are this many times as large as what is \
                    live in them. 0 switches it off.";
        /// Detects values that a damaged log lost or restored, which leaves no gap and no invalid seal. If `false`, a
        /// background audit does it after the start. The check takes longer the larger the store is, which would
        /// delay a start.
        store_verify: bool = false, flag() =>
            start, "Compares every record with what was written before anything is served (1 to 2 s per million \
                    records), instead of beside it.";
        webhook_development: bool = false, flag() =>
            restart, "Allows webhooks to this machine over plain http. For development only.";
        adapter_cache: Option<PathBuf> = None, path() =>
            restart, "Where compiled adapters are kept; by default `adapters` in `data_dir`.";
        /// Limits of adapter calls.
        guests: HostLimits = HostLimits::default();
        webhooks: WebhookRules = WebhookRules::default() => reload "webhooks";
        /// `None` if no backups are made.
        backup: Option<BackupRules> = None => reload "backup";
        database: Database = Database::default() => restart "postgres";
        /// This process as one of several on a store. `None` if it is the only one.
        node: Option<NodeRules> = None => restart "node";
        /// Starts with an empty store if the previous one is missing. Set on the command line.
        accept_empty_store: bool = false;
    }

    /// Limits of webhooks.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WebhookRules("webhooks") {
        /// A dead endpoint costs the disk this many small records and the payloads, but no memory.
        queue: usize = 50_000, integer(100..=10_000_000) =>
            reload, "Maximum number of pending messages per endpoint. Further messages are dropped and counted.";
        /// Pending deliveries end after two days.
        keep: Millis = 30 * DAY, duration(HOUR..=365 * DAY) =>
            reload, "How long finished deliveries, with patient data, can be looked at and sent again.";
        secret_overlap: Millis = DAY, duration(0..=MAX_SECRET_OVERLAP) =>
            reload, "How long the earlier secret signs after a rotation, unless the rotation says so.";
    }
}

/// The largest size that is accepted, in MiB.
const MAX_MIB: i64 = 1 << 20;

/// Maximum time during which the previous secret of an endpoint signs in addition to a new one.
pub const MAX_SECRET_OVERLAP: Millis = 7 * DAY;

/// The folder and the schedule of backups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupRules {
    pub folder: PathBuf,
    /// `None` for backups on request only.
    pub every: Option<Duration>,
    /// Number of backups kept, newest first.
    pub keep: usize,
}

/// The configuration of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRules {
    /// Name, unique among the nodes.
    pub name: String,
    /// Address at which other nodes reach this one, for example `http://10.0.0.5:8081`.
    pub address: String,
    /// Duration of the lease after the node began to renew its row. If a node fails, its institutions are down for
    /// about one and a half periods.
    pub period: Duration,
}

/// The implementation of the store. `engine/store/README.md` describes the purpose of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreEngine {
    Sled,
    Fjall,
    Postgres,
}

impl Setup {
    pub fn institution_by_subdomain(&self, subdomain: &str) -> Option<&Arc<Institution>> {
        self.institutions.values().find(|i| i.subdomain == subdomain)
    }

    pub fn locations_of(&self, institution: InstitutionId) -> impl Iterator<Item = &Arc<LocationSetup>> {
        self.locations.values().filter(move |l| l.institution == institution)
    }

    /// Returns the data source of a location that is reached through workstations.
    pub fn gated(&self, location: &LocationSetup) -> Option<(&DataSource, &WorkstationAccess)> {
        let source = self.sources.get(&location.source?)?;
        Some((source, source.workstation.as_ref()?))
    }

    /// Returns the location that pulls the shared resources of a data source: its first active one.
    pub fn lead(&self, source: u32) -> Option<LocationId> {
        self.locations.values().find(|l| l.source == Some(source) && l.status == LocationStatus::Active).map(|l| l.id)
    }
}
