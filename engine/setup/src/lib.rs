//! What the operator set up: institutions, data sources and locations, the credentials of their EHRs (`login`), what guests may take
//! (`guests`), and what follows from it for a location (`settings`). The API layer reads it from a configuration file; tests and
//! benchmarks build it directly. It knows no store and no actor.

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

/// Keys, subdomains and locations belong to one of the two worlds, and never meet (specification 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Environment {
    Sandbox,
    Production,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Institution {
    pub id: InstitutionId,
    /// Lower case; the tenant's name in queries.
    pub subdomain: String,
    pub name: String,
    pub phone_number: Option<String>,
    pub country_code: String,
    pub environment: Environment,
}

/// Specification 5.9.
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
    /// Its data source; none: no EHR integration (specification 1.4).
    pub source: Option<u32>,
    /// The location's id in the EHR.
    pub foreign_id: Option<String>,
    pub booking: BookingRules,
    pub write: WriteRules,
    pub pull: PullRules,
    pub quota: Quota,
    /// Settings of the adapter, as its README names them.
    pub adapter_config: BTreeMap<String, String>,
    /// Heeded where the data source is reached through workstations.
    pub workstation: WorkstationRules,
}

impl LocationSetup {
    /// The country whose telephone numbers are written without a calling code here.
    pub fn country<'a>(&'a self, institution: &'a Institution) -> &'a str {
        self.country_code.as_deref().unwrap_or(&institution.country_code)
    }
}

/// How the staff's workstations are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkstationRules {
    /// The staff must say yes to each write.
    pub approval: bool,
    /// Requests a workstation is given at one time.
    pub in_flight: u32,
    /// How long nobody is told that the last workstation went, and requests wait for one to come back.
    pub patience_seconds: u32,
}

impl Default for WorkstationRules {
    fn default() -> Self {
        // What a browser itself would ask of a server at one time is six; the staff work in the same session.
        WorkstationRules { approval: false, in_flight: 2, patience_seconds: PATIENCE_SECONDS }
    }
}

/// A browser, or this process, that restarts is back by then.
const PATIENCE_SECONDS: u32 = 20;

/// One EHR database that one or several locations of an institution share.
#[derive(Clone, PartialEq, Eq)]
pub struct DataSource {
    pub id: u32,
    pub institution: InstitutionId,
    pub name: String,
    /// Name of the adapter, one of `EngineRules::adapters`.
    pub adapter: String,
    /// `http(s)://host[:port][/path]`, or `sandbox:` for the simulated EHR inside the engine.
    pub base_url: String,
    /// Headers with credentials that the engine adds to each request.
    pub headers: Vec<(String, String)>,
    /// How access tokens or sessions are obtained, where it takes such.
    pub login: Option<Login>,
    /// Paths below the base URL the adapter may use; empty: what its manifest asks for.
    pub allowed_paths: Vec<String>,
    pub guest_memory_mib: u32,
    pub guest_requests_per_call: u32,
    /// It is reached only through workstations on which staff is logged in to it.
    pub workstation: Option<WorkstationAccess>,
}

/// An EHR that opens only in the browser session of a staff member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkstationAccess {
    /// A path below the base URL that answers 200 with JSON exactly while somebody is logged in.
    pub probe: String,
}

/// Credentials never reach a log.
impl std::fmt::Debug for DataSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DataSource({}, {}, {})", self.id, self.adapter, self.base_url)
    }
}

/// Knobs of the engine as a whole.
#[derive(Clone, Debug)]
pub struct EngineRules {
    /// Adapter name to component file.
    pub adapters: BTreeMap<String, PathBuf>,
    /// Where precompiled components are kept.
    pub adapter_cache: Option<PathBuf>,
    /// Messages a location's mailbox holds before callers get 503.
    pub mailbox: usize,
    /// A location without work leaves memory after this many seconds.
    pub idle_seconds: u64,
    /// Threads that run location actors.
    pub actor_threads: usize,
    /// Webhooks may go to loopback over plain http: development only.
    pub webhook_development: bool,
    pub webhooks: WebhookRules,
    pub store_engine: StoreEngine,
    pub database: Database,
    /// Commits are refused while less than this is free on the store's disk.
    pub store_floor_bytes: u64,
    pub guests: GuestRules,
    /// Health record systems are not read while less than this is free there: what is left is for bookings.
    pub pull_floor_bytes: u64,
    /// What the reading of one location may write at once, and each minute beyond that.
    pub pull_burst_bytes: u64,
    pub pull_bytes_per_minute: u64,
    /// Finished writes, and records of the journals behind their snapshots, are deleted when they are this old.
    pub history_days: u32,
    /// What the store keeps of its pages in memory.
    pub store_cache_bytes: u64,
    /// Read through every record at the start and compare with what was written: finds records that a damaged log lost without a
    /// trace, where gaps, seals and the watermark did not.
    pub store_verify: bool,
    /// A start makes the store's files anew when they are so many times as large as what is live in them; 0: never.
    pub store_compact_ratio: u32,
    /// Begins with an empty store where one was made before and is gone.
    pub accept_empty_store: bool,
    /// This process among those that share the store; none where nobody else uses it.
    pub node: Option<NodeRules>,
    /// None: no backups are made here.
    pub backup: Option<BackupRules>,
}

/// Where backups of the store go, and when they are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupRules {
    pub folder: PathBuf,
    /// None: only when somebody asks for one.
    pub every: Option<Duration>,
    /// The newest ones stay.
    pub keep: usize,
}

/// What the operator says of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRules {
    /// No other has it.
    pub name: String,
    /// Where the other nodes reach it: `http://10.0.0.5:8081`.
    pub address: String,
    /// How long it may serve after it began to renew its row; a node that dies costs its institutions about one and a half of it.
    pub period: Duration,
}

/// What the store is made of; `engine/store/README.md` says what each is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreEngine {
    #[default]
    Sled,
    Fjall,
    Postgres,
}

/// What the calls of adapters may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestRules {
    /// What they share.
    pub host: HostLimits,
    /// How long a call waits for a place before it is put off.
    pub wait: Duration,
    /// Processor time of a call, and of one that reads a page.
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
            // Far above an honest first pull of 60,000 records; a busy practice needs a fraction of the rest each day.
            pull_burst_bytes: 1_024 << 20,
            pull_bytes_per_minute: 16 << 20,
            // As long as the feed of changes and finished deliveries are kept.
            history_days: 30,
            store_cache_bytes: 256 << 20,
            // Its cost grows with the store, and a start's should not.
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

    /// The data source of a location that is reached through workstations.
    pub fn gated(&self, location: &LocationSetup) -> Option<(&DataSource, &WorkstationAccess)> {
        let source = self.sources.get(&location.source?)?;
        Some((source, source.workstation.as_ref()?))
    }

    /// The one location of a data source that pulls what the source's locations share: the first that is active.
    pub fn lead(&self, source: u32) -> Option<LocationId> {
        self.locations.values().find(|l| l.source == Some(source) && l.status == LocationStatus::Active).map(|l| l.id)
    }
}

/// Limits that an operator may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookRules {
    /// Deliveries that wait for one endpoint. Of further events it gets no message; how many those were is kept and shown.
    pub queue: usize,
    /// How long a finished delivery stays readable. Pending ones end by themselves after two days.
    pub keep: Millis,
    /// How long the earlier secret goes on signing beside a new one, unless a rotation says otherwise.
    pub secret_overlap: Millis,
}

impl Default for WebhookRules {
    fn default() -> Self {
        // A dead endpoint costs the disk this many small records beside what the events show, and nothing in memory.
        WebhookRules { queue: 50_000, keep: 30 * DAY, secret_overlap: DAY }
    }
}
