//! The configuration by the operator: institutions, data sources and locations, EHR credentials (`login`), and limits
//! of guests (`guests`). The API layer reads it from a file; tests and benchmarks build it directly. The crate knows no
//! store and no actor.

#![warn(unreachable_pub)]

pub mod country;
pub mod database;
pub mod events;
pub mod guests;
pub mod login;
pub mod secret;

use std::{collections::BTreeMap, mem, path::PathBuf, sync::Arc, thread::available_parallelism, time::Duration};

use arc_swap::ArcSwap;
use location::{
    ids::{InstitutionId, LocationId},
    key_kinds::{not_empty, parsed, path, text},
    keys::KeyReader,
    settings::LocationSettings,
    time::{DAY, HOUR, MINUTE, Millis, SECOND},
};
use url::Url;

use crate::{
    country::CountryCode,
    database::Database,
    events::{EhrEvents, header_name},
    guests::HostLimits,
    login::{Login, OAuthKeys, TrytonKeys, TrytonSession},
    secret::Secret,
};

location::settings! {
    /// Everything an engine serves.
    #[derive(Clone, Debug)]
    pub struct Setup {
        institutions: BTreeMap<InstitutionId, Arc<Institution>> = BTreeMap::new();
        locations: BTreeMap<LocationId, Arc<LocationSetup>> = BTreeMap::new();
        sources: BTreeMap<u32, Arc<DataSource>> = BTreeMap::new();
        engine: EngineRules = EngineRules::default(), nested() => reload, "";
    }
}

/// The setup in force, which a reload of the configuration replaces. Callers keep the version that they have read for
/// the duration of an operation.
pub type Current = ArcSwap<Setup>;

/// The environment of a key, subdomain or location. The two environments are strictly separated (specification 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Environment {
    Sandbox,
    Production,
}

/// Status of a location (specification 5.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocationStatus {
    Active,
    Pending,
    Closed,
}

location::settings! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Institution {
        id: InstitutionId = InstitutionId(0), own_id("institution id") =>
            reload, "The id, which records refer to. It must not change.";
        /// Lower case. The name of the tenant in queries.
        subdomain: String = String::new(),
            text_where(is_subdomain, "must have 1 to 63 lower case letters, digits and hyphens")
                .required().unique("subdomain") =>
            reload, "The name by which clients address the institution.";
        name: String = String::new(), text(not_empty).required() => reload, "Shown to clients.";
        environment: Environment = Environment::Sandbox,
            word(&[("sandbox", Environment::Sandbox), ("production", Environment::Production)]).required() =>
            reload, "API keys work only in this environment.";
        phone_number: Option<String> = None, text(not_empty).optional() => reload, "Shown to clients.";
        country_code: CountryCode = CountryCode::US, text(CountryCode::parse) =>
            reload, "Two capital letters; `US` by default. Telephone numbers without a calling code are numbers of \
                     this country.";
    }

    #[derive(Clone, Debug, PartialEq)]
    pub struct LocationSetup {
        id: LocationId = LocationId(0), own_id("location id") =>
            reload, "The id, which records refer to. It must not change.";
        institution: InstitutionId = InstitutionId(0);
        name: String = String::new(), text(not_empty).required() => reload, "Shown to clients.";
        zone: chrono_tz::Tz = chrono_tz::Tz::UTC, parsed(zone).required() =>
            reload, "IANA name of the time zone, such as `America/New_York`.";
        status: LocationStatus = LocationStatus::Active,
            word(&[
                ("active", LocationStatus::Active),
                ("pending", LocationStatus::Pending),
                ("closed", LocationStatus::Closed),
            ]) => reload, "`pending` and `closed` refuse all calls of clients.";
        /// `None` without EHR integration (specification 1.4).
        source: Option<u32> = None, id().optional() =>
            reload, "The `id` of the location's data source. Unset, the location has no EHR. It cannot change once the \
                     location has records.";
        map_by_operatory: bool = false, flag() => reload, "A booking must name an operatory.";
        street_address: Option<Box<str>> = None, boxed_text().optional() => reload, "Shown to clients.";
        city: Option<Box<str>> = None, boxed_text().optional() => reload, "Shown to clients.";
        state: Option<Box<str>> = None, boxed_text().optional() => reload, "Shown to clients.";
        zip_code: Option<Box<str>> = None, boxed_text().optional() => reload, "Shown to clients.";
        country_code: Option<CountryCode> = None, text(CountryCode::parse).optional() =>
            reload, "By default that of the institution. Telephone numbers without a calling code are numbers of this \
                     country.";
        phone_number: Option<Box<str>> = None, boxed_text().optional() => reload, "Shown to clients.";
        email: Option<Box<str>> = None, boxed_text().optional() => reload, "Shown to clients.";
        foreign_id: Option<Box<str>> = None, boxed_text().optional() =>
            reload, "The id of the location in the EHR. It cannot change once the location has records.";
        /// Shared by locations with equal settings.
        settings: Arc<LocationSettings> = Arc::default();
        /// Boxed, because few locations have them.
        extras: Option<Box<LocationExtras>> = None, inline() =>
            reload, "`None` if none of its keys is set.";
    }

    /// The keys that few locations have.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LocationExtras {
        street_address_2: Option<Box<str>> = None, boxed_text().optional() => reload, "Shown to clients.";
        latitude: Option<f64> = None, number(-90.0..=90.0).optional() => reload, "Shown to clients.";
        longitude: Option<f64> = None, number(-180.0..=180.0).optional() => reload, "Shown to clients.";
        adapter_config: BTreeMap<String, String> = BTreeMap::new(),
            map(("NAME", "A setting of the adapter."), |_| Ok(()), text(not_empty)) =>
            reload, "Settings of the adapter; see its README.";
    }
}

fn is_subdomain(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=63).contains(&text.len()) && text.bytes().all(allowed)
}

fn zone(text: &str) -> Result<chrono_tz::Tz, String> {
    text.parse().map_err(|_| format!("must be an IANA time zone such as America/New_York, not {text:?}"))
}

impl LocationSetup {
    /// Returns the country whose telephone numbers are written without a calling code at this location.
    pub fn country<'a>(&'a self, institution: &'a Institution) -> &'a str {
        self.country_code.as_ref().unwrap_or(&institution.country_code).as_str()
    }

    pub fn extras(&self) -> &LocationExtras {
        static NONE: LocationExtras =
            LocationExtras { street_address_2: None, latitude: None, longitude: None, adapter_config: BTreeMap::new() };
        self.extras.as_deref().unwrap_or(&NONE)
    }

    /// Returns the settings for a change of this location alone.
    pub fn settings_mut(&mut self) -> &mut LocationSettings {
        Arc::make_mut(&mut self.settings)
    }
}

location::settings! {
    /// An EHR database shared by one or several locations of an institution.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct DataSource, DataSource::check {
        id: u32 = 0, own_id("source id") => reload, "The id, which records refer to. It must not change.";
        institution: InstitutionId = InstitutionId(0);
        name: Box<str> = Box::default(), boxed_text().required() => reload, "The name shown to operators.";
        adapter: String = String::new(), text(not_empty).required() =>
            reload, "The name of an adapter in `[adapters]`.";
        base_url: String = String::new(),
            text_where(is_base_url, "must be an http or https URL, or \"sandbox:\"").required() =>
            reload, "The EHR: an http or https URL. `sandbox:` is the simulated EHR, refused in production and with \
                     `[node]`.";
        guest_memory_mib: u32 = 64, integer(1..=4_096) => reload, "Memory of a call, in MiB.";
        guest_requests_per_call: u32 = 100, integer(1..=100_000) => reload, "Requests of a call to the EHR.";
        /// Boxed, like `access`, because there may be a source for each location.
        requests: Option<Box<SourceRequests>> = None, inline() =>
            reload, "`None` if none of its keys is set.";
        /// Boxed, because most sources have none.
        access: Option<Box<SourceAccess>> = None, inline() =>
            reload, "`None` if none of its keys is set.";
    }

    /// The paths and headers of requests to an EHR.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SourceRequests {
        /// If empty, the paths below the base URL that the manifest of the adapter requests.
        allowed_paths: Vec<String> = Vec::new(), texts(|path| Ok(path.to_owned())) =>
            reload, "Restricts the paths that the adapter declares.";
        headers: Vec<(String, Secret)> = Vec::new(),
            map(("NAME", "A header, such as `Authorization`."), header, parsed(header_value).credential()) =>
            reload, "Added to each request; values are credentials.";
    }

    /// The access to an EHR, and the authentication of its events.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SourceAccess {
        /// The login for access tokens or sessions, made of the keys in the next two fields.
        login: Option<Login> = None;
        oauth: Option<Box<OAuthKeys>> = None, table() => reload, "Access tokens (OAuth 2.0 client credentials).";
        tryton_session: Option<Box<TrytonKeys>> = None, table() =>
            reload, "Sessions of a Tryton server, such as GNU Health. The last part of `base_url` is the database.";
        workstation: Option<WorkstationAccess> = None, table() =>
            reload, "The EHR is reached through workstations only: no headers, no login.";
        events: Option<EhrEvents> = None, table() =>
            reload, "Reports of changes that the EHR sends to `POST /ehr_events/{source}`. Each starts a read.";
    }

    /// An EHR that is accessible only in the browser session of a staff member.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct WorkstationAccess {
        probe: String = String::new(),
            text_where(is_probe, "must be a path below `base_url`, such as \"/api/session\"").required() =>
            reload, "A path below `base_url` that answers 200 with JSON only while staff is logged in.";
    }
}

impl DataSource {
    /// Makes the login, and reports keys that exclude each other.
    fn check(&mut self, keys: &impl KeyReader) {
        let has_headers = !self.headers().is_empty();
        let authorization = self.headers().iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let Some(access) = &mut self.access else { return };
        let problem = |problem: &str| keys.problem(&[], &["base_url"], problem);
        let oauth = access.oauth.take().and_then(|oauth| oauth.login(keys));
        let session = access.tryton_session.take().filter(|_| !self.base_url.is_empty()).and_then(|session| {
            let session = TrytonSession::new(&self.base_url, session.user, session.password?);
            session.map_err(|error| problem(&error.to_string())).ok().map(Login::Tryton)
        });
        if usize::from(oauth.is_some()) + usize::from(session.is_some()) + usize::from(authorization) > 1 {
            problem("oauth, tryton_session and the header Authorization are mutually exclusive");
        }
        if access.workstation.is_some() && !self.base_url.is_empty() {
            // Its requests run in the browser session of a staff member.
            if oauth.is_some() || has_headers {
                problem("a source reached through workstations must not have headers or oauth");
            }
            if !self.base_url.starts_with("http") {
                problem("a source reached through workstations needs an http or https `base_url`");
            }
        }
        access.login = oauth.or(session);
    }

    pub fn allowed_paths(&self) -> &[String] {
        self.requests.as_ref().map_or(&[], |requests| requests.allowed_paths.as_slice())
    }

    pub fn headers(&self) -> &[(String, Secret)] {
        self.requests.as_ref().map_or(&[], |requests| requests.headers.as_slice())
    }

    pub fn login(&self) -> Option<&Login> {
        self.access.as_ref()?.login.as_ref()
    }

    pub fn workstation(&self) -> Option<&WorkstationAccess> {
        self.access.as_ref()?.workstation.as_ref()
    }

    pub fn events(&self) -> Option<&EhrEvents> {
        self.access.as_ref()?.events.as_ref()
    }
}

fn is_base_url(text: &str) -> bool {
    let is_web = |url: Url| ["http", "https"].contains(&url.scheme()) && url.has_host();
    text == "sandbox:" || Url::parse(text).is_ok_and(is_web)
}

fn header(name: &str) -> Result<(), String> {
    header_name(name).map(drop).map_err(|_| format!("`{name}` is not a valid header"))
}

fn header_value(text: &str) -> Result<Secret, String> {
    let is_valid = text.bytes().all(|b| b == b'\t' || (b' '..=b'~').contains(&b));
    if is_valid { Ok(Secret::new(text)) } else { Err("is not a valid header".to_owned()) }
}

fn is_probe(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_graphic() && !b"?#\\".contains(&b);
    let path = text.starts_with('/') && !text.starts_with("//") && text.bytes().all(plain);
    path && !text.split('/').any(|segment| segment == "." || segment == "..")
}

location::settings! {
    /// Settings of the engine as a whole.
    #[derive(Clone, Debug)]
    pub struct EngineRules("engine") {
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
            restart, "A start on sled compacts the store if its files are this many times as large as the data in \
                      use. 0 switches it off.";
        /// Detects values that a damaged log lost or restored, which leaves no gap and no invalid seal. If `false`, a
        /// background audit does it after the start. The check takes longer the larger the store is, which would
        /// delay a start.
        store_verify: bool = false, flag() =>
            restart, "Compares every record with the recorded writes before anything is served (1 to 2 s per million \
                      records), instead of in the background.";
        webhook_development: bool = false, flag() =>
            restart, "Allows webhooks to this machine over plain http. For development only.";
        adapter_cache: Option<PathBuf> = None, path().optional() =>
            restart, "Where compiled adapters are kept; by default `adapters` in `data_dir`.";
        database: Database = Database::default() => restart "postgres", nested(),
            "The database of the store, with `store_engine = \"postgres\"`.";
        guests: HostLimits = HostLimits::default() => separate "guests", nested(), "Calls of adapters.";
        webhooks: WebhookRules = WebhookRules::default() => reload "webhooks", nested(), "";
        // An unusable component affects only its own locations; `config check` reports it.
        adapters: BTreeMap<String, PathBuf> = BTreeMap::new() => separate "adapters",
            map(
                ("NAME", "The path of a component that `practice-sync adapter build` made."),
                |_| Ok(()),
                path().described("a file", "\"adapters/NAME.wasm\"")
            ),
            "Adapters by name.";
        backup: Option<BackupRules> = None => reload "backup", table(),
            "Backups of the store. Without this table none are made.";
        /// This process as one of several on a store. `None` if it is the only one.
        node: Option<NodeRules> = None => restart "node";
        /// Starts with an empty store if the previous one is missing. Set on the command line.
        accept_empty_store: bool = false;
    }

    /// Limits of webhooks.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WebhookRules {
        /// A dead endpoint costs the disk this many small records and the payloads, but no memory.
        queue: usize = 50_000, integer(100..=10_000_000) =>
            reload, "Maximum number of pending messages per endpoint. Further messages are dropped and counted.";
        /// Pending deliveries end after two days.
        keep: Millis = 30 * DAY, duration(HOUR..=365 * DAY) =>
            reload, "How long finished deliveries, with patient data, can be looked at and sent again.";
        secret_overlap: Millis = DAY, duration(0..=MAX_SECRET_OVERLAP) =>
            reload, "How long the earlier secret also signs after a rotation that gives no time.";
    }

    /// The folder and the schedule of backups.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct BackupRules {
        folder: PathBuf = PathBuf::new(), path().required() =>
            reload, "The backup folder: an existing separate folder on another disk than `data_dir`.";
        every: Option<Duration> = None, duration_or_zero(0..=30 * DAY) =>
            reload, "The age of the newest backup at which the next one starts. 0s: only on request.";
        keep: usize = 7, integer(1..=10_000) =>
            reload, "Number of backups to keep. Older ones are deleted after a new backup is complete.";
    }

    /// The configuration of a node.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct NodeRules {
        name: String = String::new(),
            text_where(is_node_name, "must be 1 to 63 letters, digits, `-`, `_` or `.`").env().required() =>
            restart, "The name of the node, unique among the nodes: a second process with the same name waits until \
                      the first one has ended. May be `env:NAME`.";
        address: String = String::new(), text(node_address).env().required() =>
            restart, "The URL at which the other nodes reach `listen`, in the form `http://host:port`. May be \
                      `env:NAME`.";
        /// If a node fails, its institutions are down for about one and a half periods.
        period: Duration = Duration::from_secs(10), std_duration(2 * SECOND..=5 * MINUTE) =>
            restart, "Duration of the node's lease, counted from the start of a renewal.";
    }
}

fn is_node_name(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (1..=63).contains(&text.len()) && text.bytes().all(allowed)
}

fn node_address(text: &str) -> Result<String, String> {
    let plain = |url: &Url| url.scheme() == "http" && url.has_host() && url.path() == "/" && url.query().is_none();
    match Url::parse(text).ok().filter(plain) {
        Some(url) => Ok(url.as_str().trim_end_matches('/').to_owned()),
        None => Err("must be where the other nodes reach `listen`, such as \"http://10.0.0.5:8081\"".into()),
    }
}

/// The largest size that is accepted, in MiB.
const MAX_MIB: i64 = 1 << 20;

/// Maximum time during which the previous secret of an endpoint signs in addition to a new one.
pub const MAX_SECRET_OVERLAP: Millis = 7 * DAY;

/// The implementation of the store. `engine/store/README.md` describes the purpose of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreEngine {
    Sled,
    Fjall,
    Postgres,
}

impl Setup {
    /// Rebuilds the maps of locations and data sources, because insertions in order leave their nodes half empty.
    pub fn compact(&mut self) {
        self.locations = mem::take(&mut self.locations).into_iter().collect();
        self.sources = mem::take(&mut self.sources).into_iter().collect();
    }

    /// Returns the location that pulls the shared resources of a data source: its first active one.
    pub fn lead(&self, source: u32) -> Option<LocationId> {
        self.locations.values().find(|l| l.source == Some(source) && l.status == LocationStatus::Active).map(|l| l.id)
    }
}
