//! The configuration by the operator: institutions, data sources and locations, EHR credentials (`login`), limits of
//! guests (`guests`), and the settings derived for a location (`settings`). The API layer reads it from a file; tests
//! and benchmarks build it directly. The crate knows no store and no actor.

#![warn(unreachable_pub)]

pub mod changes;
pub mod current;
pub mod database;
pub mod guests;
pub mod login;
pub mod secret;
pub mod settings;
pub mod zones;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use location::{
    ids::{InstitutionId, LocationId},
    settings::{BookingRules, PullRules, Quota, WriteRules},
    time::{DAY, Millis},
};

use crate::{
    database::Database,
    guests::{GuestLimits, HostLimits},
    login::Login,
};

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

#[derive(Clone, Debug, PartialEq)]
pub struct LocationSetup {
    pub id: LocationId,
    pub institution: InstitutionId,
    pub name: String,
    pub street_address: Option<String>,
    pub street_address_2: Option<String>,
    pub city: Option<String>,
    pub state: Option<String>,
    pub zip_code: Option<String>,
    pub country_code: Option<String>,
    pub phone_number: Option<String>,
    pub email: Option<String>,
    pub latitude: Option<f64>,
    pub longitude: Option<f64>,
    pub zone: chrono_tz::Tz,
    pub map_by_operatory: bool,
    pub status: LocationStatus,
    /// The data source. `None` without EHR integration (specification 1.4).
    pub source: Option<u32>,
    /// The location's id in the EHR.
    pub foreign_id: Option<String>,
    pub booking: BookingRules,
    pub write: WriteRules,
    pub pull: PullRules,
    pub quota: Quota,
    /// Settings of the adapter, documented in its README.
    pub adapter_config: BTreeMap<String, String>,
    /// Used only if the data source is reached through workstations.
    pub workstation: WorkstationRules,
}

impl LocationSetup {
    /// Returns the country whose telephone numbers are written without a calling code at this location.
    pub fn country<'a>(&'a self, institution: &'a Institution) -> &'a str {
        self.country_code.as_deref().unwrap_or(&institution.country_code)
    }
}

/// Rules for the use of the staff's workstations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkstationRules {
    /// The staff must approve each write.
    pub approval: bool,
    /// Maximum concurrent requests per workstation.
    pub in_flight: u32,
    /// Grace period after the last workstation has disconnected. Requests wait for one to return, and nothing is
    /// reported.
    pub patience_seconds: u32,
}

impl Default for WorkstationRules {
    fn default() -> Self {
        // A browser makes up to six concurrent requests to a server, and the staff work in the same session.
        WorkstationRules { approval: false, in_flight: 2, patience_seconds: PATIENCE_SECONDS }
    }
}

/// Long enough for a restart of a browser or of this process.
const PATIENCE_SECONDS: u32 = 20;

/// An EHR database shared by one or several locations of an institution.
#[derive(Clone, PartialEq, Eq)]
pub struct DataSource {
    pub id: u32,
    pub institution: InstitutionId,
    pub name: String,
    /// Name of the adapter, one of `EngineRules::adapters`.
    pub adapter: String,
    /// `http(s)://host[:port][/path]`, or `sandbox:` for an in-process EHR.
    pub base_url: String,
    /// Headers with credentials that the engine adds to each request.
    pub headers: Vec<(String, String)>,
    /// The login for access tokens or sessions, if the EHR requires one.
    pub login: Option<Login>,
    /// Paths below the base URL that the adapter may use. If empty, those requested by its manifest.
    pub allowed_paths: Vec<String>,
    pub guest_memory_mib: u32,
    pub guest_requests_per_call: u32,
    /// Set if the data source is reached only through workstations with a logged-in staff member.
    pub workstation: Option<WorkstationAccess>,
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

/// Settings of the engine as a whole.
#[derive(Clone, Debug)]
pub struct EngineRules {
    /// Component files by adapter name.
    pub adapters: BTreeMap<String, PathBuf>,
    /// Folder of precompiled components.
    pub adapter_cache: Option<PathBuf>,
    /// Capacity of a location's mailbox. Further requests get 503.
    pub mailbox: usize,
    /// Seconds without work after which a location leaves memory.
    pub idle_seconds: u64,
    /// Threads that run location actors.
    pub actor_threads: usize,
    /// Allows webhooks to loopback addresses over plain HTTP, for development only.
    pub webhook_development: bool,
    pub webhooks: WebhookRules,
    pub store_engine: StoreEngine,
    pub database: Database,
    /// Commits are refused while less than this is free on the store's disk.
    pub store_floor_bytes: u64,
    pub guests: GuestRules,
    /// Free disk space below which no EHR is read. The rest is reserved for bookings.
    pub pull_floor_bytes: u64,
    /// Bytes that the reading of a location may write at once, and per minute beyond that.
    pub pull_burst_bytes: u64,
    pub pull_bytes_per_minute: u64,
    /// Age at which finished writes, and journal records behind their snapshot, are deleted.
    pub history_days: u32,
    /// Size of the store's page cache.
    pub store_cache_bytes: u64,
    /// Makes a start compare the versions of all values with the watermark record. This detects values that a damaged
    /// log lost or restored, which leaves no gap and no invalid seal. If `false`, a background audit does it after the
    /// start.
    pub store_verify: bool,
    /// Ratio of file size to live data above which a start compacts the store's files. 0 disables compaction.
    pub store_compact_ratio: u32,
    /// Starts with an empty store if the previous one is missing.
    pub accept_empty_store: bool,
    /// This process as one of several on a store. `None` if it is the only one.
    pub node: Option<NodeRules>,
    /// `None` if no backups are made.
    pub backup: Option<BackupRules>,
}

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreEngine {
    #[default]
    Sled,
    Fjall,
    Postgres,
}

/// Limits of adapter calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestRules {
    /// Limits shared by all calls.
    pub host: HostLimits,
    /// Maximum wait of a call for a place before it is postponed.
    pub wait: Duration,
    /// Processor time of a call, and of a call that reads a page.
    pub processor: Duration,
    pub pull_processor: Duration,
}

impl Default for GuestRules {
    fn default() -> Self {
        let GuestLimits { wait, processor, pull_processor, .. } = GuestLimits::default();
        GuestRules { host: HostLimits::default(), wait, processor, pull_processor }
    }
}

impl Default for EngineRules {
    fn default() -> Self {
        EngineRules {
            adapters: BTreeMap::new(),
            adapter_cache: None,
            mailbox: 256,
            idle_seconds: 300,
            actor_threads: std::thread::available_parallelism().map_or(2, |cores| cores.get().min(256)),
            webhook_development: false,
            webhooks: WebhookRules::default(),
            store_engine: StoreEngine::default(),
            database: Database::default(),
            store_floor_bytes: 512 << 20,
            guests: GuestRules::default(),
            pull_floor_bytes: 1_024 << 20,
            // Far above a first pull of 60,000 records. A busy practice needs a fraction of the rest each day.
            pull_burst_bytes: 1_024 << 20,
            pull_bytes_per_minute: 16 << 20,
            // The same as for the feed of changes and finished deliveries.
            history_days: 30,
            store_cache_bytes: 256 << 20,
            // The check takes longer the larger the store is, which would delay a start.
            store_verify: false,
            store_compact_ratio: 3,
            accept_empty_store: false,
            node: None,
            backup: None,
        }
    }
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

/// Limits of webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookRules {
    /// Maximum queued deliveries per endpoint. Further events cause no messages, but are counted and shown.
    pub queue: usize,
    /// Retention of finished deliveries. Pending ones end after two days.
    pub keep: Millis,
    /// Default time during which the previous secret signs in addition to a new one.
    pub secret_overlap: Millis,
}

impl Default for WebhookRules {
    fn default() -> Self {
        // A dead endpoint costs the disk this many small records and the payloads, but no memory.
        WebhookRules { queue: 50_000, keep: 30 * DAY, secret_overlap: DAY }
    }
}
