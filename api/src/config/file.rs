//! The sections of the file and what they become.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use engine::{
    setup::{
        BackupRules, DataSource, EngineRules, Environment, Institution, LocationSetup, LocationStatus, Setup,
        StoreEngine, WorkstationAccess,
        login::{Login, OAuth, Proof, SigningKey, TrytonSession},
        secret::Secret as Hidden,
    },
    webhooks::limits::MAX_SECRET_OVERLAP,
};
use location::{
    ids::{InstitutionId, LocationId},
    time::{DAY, HOUR, MINUTE, SECOND},
};
use toml::de::DeTable;

use super::{
    compatibility,
    contents::{Access, AuditRules, Config},
    database,
    knobs::Knobs,
    node,
    reader::{Placed, Problem, Problems, Section, credential},
    tls,
};
use crate::{
    access::{
        directory::Statuses,
        keys::{ApiKey, Grants},
    },
    http::{cors, proxies, rules::HttpRules},
    logging::LogFormat,
    routes::table,
    values::{kinds, limits::INT32},
};

pub(super) fn read(text: &str, base: &Path) -> Result<Config, Vec<Problem>> {
    let (config, _, problems) = read_all(text, base)?;
    if problems.is_empty() { Ok(config) } else { Err(problems) }
}

/// What takes effect while the service runs, with all that is wrong in the file. What of it cannot be read gives nobody anything.
pub(super) fn read_access(text: &str, base: &Path) -> Result<(Access, Vec<Problem>), Vec<Problem>> {
    let (config, statuses, problems) = read_all(text, base)?;
    Ok((Access { keys: config.keys, statuses }, problems))
}

/// Fails where the text is no TOML.
fn read_all(text: &str, base: &Path) -> Result<(Config, Statuses, Vec<Problem>), Vec<Problem>> {
    let problems = Problems::of(text);
    let (table, broken) = DeTable::parse_recoverable(text);
    for error in &broken {
        problems.add(error.span().map_or(0, |span| span.start), error.message().trim());
    }
    if !broken.is_empty() {
        return Err(problems.take());
    }
    let statuses = Statuses { complete: true, ..Statuses::default() };
    let file = File { problems: problems.clone(), base, seen: Seen::default(), setup: Setup::default(), statuses };
    let (config, statuses) = file.read(&Section::root(table.get_ref(), problems.clone()));
    Ok((config, statuses, problems.take()))
}

struct File<'a> {
    problems: Problems<'a>,
    base: &'a Path,
    seen: Seen,
    setup: Setup,
    statuses: Statuses,
}

/// What must be unique in a file.
#[derive(Default)]
struct Seen {
    names: HashMap<&'static str, BTreeSet<String>>,
}

impl Seen {
    fn once(&mut self, problems: &Problems<'_>, what: &'static str, name: &Placed<impl ToString>) {
        let name_text = name.value.to_string();
        if !self.names.entry(what).or_default().insert(name_text.clone()) {
            problems.add(name.at, format!("duplicate {what} `{name_text}`"));
        }
    }
}

impl<'a> File<'a> {
    fn read(mut self, root: &Section<'a, '_>) -> (Config, Statuses) {
        let data_dir = root.text("data_dir").map_or_else(|| PathBuf::from("data"), |placed| placed.value.into());
        let log = root.text("log").map_or_else(|| "info".to_owned(), |placed| placed.value);
        let format = root.parsed("log_format", |text| match text {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            _ => Err("must be \"text\" or \"json\"".into()),
        });
        let log_format = format.map(|placed| placed.value).unwrap_or_default();
        let secret = root.parsed("token_secret", node::secret).map(|placed| placed.value);
        let mut http = HttpRules::default();
        root.table("http").iter().for_each(|s| {
            read_http(s, &mut http);
            http.tls = tls::read(s, self.base);
        });
        root.table("operators").iter().for_each(|s| {
            read_operators(s, &mut http);
            http.operators_tls = tls::read(s, self.base);
        });
        root.table("compatibility").iter().for_each(|s| compatibility::read(s, &mut http.compatibility));
        root.table("rate_limits").iter().for_each(|s| read_rate_limits(s, &mut http));
        self.setup.engine = self.engine(root);
        self.setup.engine.backup = self.backup(root);
        let node = node::read(root, &self.setup.engine, secret.as_ref());
        let (node_rules, node) = node.unzip();
        self.setup.engine.node = node_rules;
        let knobs = root.table("defaults").map_or_else(Knobs::default, |s| Knobs::default().with(&s));
        let institutions = root.tables("institutions");
        // A list that is not one names nothing, and nothing is gone for that.
        self.statuses.complete = !institutions.is_empty() || !root.has("institutions");
        for section in institutions {
            self.institution(&section, knobs);
        }
        let keys = root.tables("keys").iter().filter_map(|s| self.key(s)).collect();
        let data_dir = self.base.join(data_dir);
        let audit = self.audit(root, &data_dir);
        let config = Config { setup: self.setup, http, keys, data_dir, secret, log, log_format, audit, node };
        (config, self.statuses)
    }

    fn audit(&self, root: &Section<'a, '_>, data_dir: &Path) -> AuditRules {
        let mut rules = AuditRules { folder: data_dir.join("audit"), keep_days: None };
        if let Some(s) = root.table("audit") {
            s.text("folder").iter().for_each(|folder| rules.folder = self.base.join(&folder.value));
            rules.keep_days = s.integer("keep_days", 1..=36_500).map(|days| days.value as u32);
        }
        rules
    }

    fn backup(&self, root: &Section<'a, '_>) -> Option<BackupRules> {
        let s = root.table("backup")?;
        let folder = s.required("folder", s.text("folder"));
        let (mut every, mut keep) = (Duration::ZERO, 7);
        s.std_duration("every", 0..=30 * DAY, &mut every);
        s.knob("keep", 1..=10_000, &mut keep);
        let folder = folder?;
        if self.setup.engine.store_engine == StoreEngine::Postgres {
            let problem = "a store in a database is backed up with the database's own tools: remove [backup]";
            self.problems.add(folder.at, problem);
        }
        let every = Some(every).filter(|every| !every.is_zero());
        Some(BackupRules { folder: self.base.join(folder.value), every, keep })
    }

    fn engine(&self, root: &Section<'a, '_>) -> EngineRules {
        let mut rules = EngineRules { database: database::read(root, self.base), ..EngineRules::default() };
        if let Some(s) = root.table("engine") {
            s.knob("mailbox", 1..=100_000, &mut rules.mailbox);
            let mut idle = rules.idle_seconds as i64 * SECOND;
            s.duration("idle", SECOND..=DAY, &mut idle);
            rules.idle_seconds = (idle / SECOND).unsigned_abs();
            s.knob("actor_threads", 1..=256, &mut rules.actor_threads);
            let engine = s.parsed("store_engine", |name| match name {
                "sled" => Ok(StoreEngine::Sled),
                "fjall" => Ok(StoreEngine::Fjall),
                "postgres" => Ok(StoreEngine::Postgres),
                _ => Err("must be \"sled\", \"fjall\" or \"postgres\"".into()),
            });
            database::check(engine.as_ref(), &rules, &s);
            rules.store_engine = engine.map_or(rules.store_engine, |engine| engine.value);
            s.knob("history_days", 1..=3_650, &mut rules.history_days);
            let (mut floor, mut cache) = (rules.store_floor_bytes >> 20, rules.store_cache_bytes >> 20);
            s.knob("store_floor_mib", 0..=1 << 20, &mut floor);
            s.knob("store_cache_mib", 8..=1 << 20, &mut cache);
            (rules.store_floor_bytes, rules.store_cache_bytes) = (floor << 20, cache << 20);
            let mebibytes = [
                ("pull_floor_mib", &mut rules.pull_floor_bytes),
                ("pull_burst_mib", &mut rules.pull_burst_bytes),
                ("pull_mib_per_minute", &mut rules.pull_bytes_per_minute),
            ];
            for (name, bytes) in mebibytes {
                let mut mib = *bytes >> 20;
                s.knob(name, 1..=1 << 20, &mut mib);
                *bytes = mib << 20;
            }
            s.knob("store_compact_ratio", 0..=1_000, &mut rules.store_compact_ratio);
            rules.store_verify = s.boolean("store_verify").unwrap_or(rules.store_verify);
            rules.webhook_development = s.boolean("webhook_development").unwrap_or(rules.webhook_development);
            rules.adapter_cache = s.text("adapter_cache").map(|placed| self.base.join(placed.value));
        }
        if let Some(s) = root.table("guests") {
            let guests = &mut rules.guests;
            s.knob("calls", 4..=1_000, &mut guests.host.calls);
            s.knob("calls_per_source", 1..=1_000, &mut guests.host.calls_per_source);
            s.knob("calls_per_host", 1..=1_000, &mut guests.host.calls_per_host);
            s.std_duration("wait", 0..=5 * MINUTE, &mut guests.wait);
            s.std_duration("compile", SECOND..=HOUR, &mut guests.host.compile);
            s.std_duration("processor", 50..=MINUTE, &mut guests.processor);
            guests.host.signers = s.texts_as("signers", signer).unwrap_or_default();
            s.std_duration("pull_processor", 50..=5 * MINUTE, &mut guests.pull_processor);
        }
        if let Some(s) = root.table("webhooks") {
            s.knob("queue", 100..=10_000_000, &mut rules.webhooks.queue);
            s.duration("keep", HOUR..=365 * DAY, &mut rules.webhooks.keep);
            s.duration("secret_overlap", 0..=MAX_SECRET_OVERLAP, &mut rules.webhooks.secret_overlap);
        }
        if let Some(s) = root.table("adapters") {
            for name in s.keys() {
                let Some(file) = s.text(&name.value) else { continue };
                // Whether it can be used is the matter of its own locations, and told by `config check`.
                let path = self.base.join(&file.value);
                rules.adapters.insert(name.value, path);
            }
        }
        rules
    }

    fn institution(&mut self, s: &Section<'a, '_>, knobs: Knobs) {
        let id = s.required("id", s.integer("id", INT32));
        let subdomain = s.required("subdomain", s.parsed("subdomain", subdomain));
        let name = s.required("name", s.text("name"));
        let environment = s.required("environment", s.parsed("environment", environment));
        let phone_number = s.text("phone_number").map(|placed| placed.value);
        let country_code = s.parsed("country_code", country).map_or_else(|| "US".to_owned(), |placed| placed.value);
        id.iter().for_each(|id| self.seen.once(&self.problems, "institution id", id));
        subdomain.iter().for_each(|name| self.seen.once(&self.problems, "subdomain", name));
        // Problems of what follows are told even when the institution itself has some.
        let owner = InstitutionId(id.map_or(0, |id| id.value as u32));
        let knobs = knobs.with(s);
        let real = environment.as_ref().is_some_and(|environment| environment.value == Environment::Production);
        s.tables("sources").iter().for_each(|source| self.source(source, owner, real));
        let locations = s.tables("locations");
        self.statuses.complete &= !locations.is_empty() || !s.has("locations");
        locations.iter().for_each(|location| self.location(location, owner, knobs));
        if let (Some(_), Some(subdomain), Some(environment)) = (id, subdomain, environment) {
            let institution = Institution {
                id: owner,
                subdomain: subdomain.value,
                name: name.map_or_else(String::new, |name| name.value),
                phone_number,
                country_code,
                environment: environment.value,
            };
            self.setup.institutions.insert(owner, Arc::new(institution));
        }
    }

    fn source(&mut self, s: &Section<'a, '_>, institution: InstitutionId, real: bool) {
        let id = s.required("id", s.integer("id", INT32));
        let name = s.required("name", s.text("name"));
        let adapter = s.required("adapter", s.text("adapter"));
        let base_url = s.required("base_url", s.parsed("base_url", base_url));
        if let Some(base_url) = base_url.as_ref().filter(|base_url| real && base_url.value == "sandbox:") {
            let problem = "`base_url` \"sandbox:\" is the simulated EHR, which a production institution must not have; \
                           give the address of its EHR, or make its `environment` \"sandbox\"";
            self.problems.add(base_url.at, problem);
        }
        if let Some(base_url) =
            base_url.as_ref().filter(|base_url| self.setup.engine.node.is_some() && base_url.value == "sandbox:")
        {
            let problem =
                "`base_url` \"sandbox:\" is an EHR within one process, which the nodes of [node] cannot share";
            self.problems.add(base_url.at, problem);
        }
        let headers = s.table("headers").map_or_else(Vec::new, |s| self.headers(&s));
        let oauth = s.table("oauth").and_then(|s| self.oauth(&s)).map(Login::from);
        let session = s.table("tryton_session").zip(base_url.as_ref());
        let session = session.and_then(|(s, base_url)| self.tryton_session(&s, base_url)).map(Login::from);
        let authorization = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let ways = [oauth.is_some(), session.is_some(), authorization].into_iter().filter(|way| *way).count();
        if let Some(base_url) = base_url.as_ref().filter(|_| ways > 1) {
            self.problems.add(base_url.at, "oauth, tryton_session and the header Authorization are mutually exclusive");
        }
        let allowed_paths = s.texts("allowed_paths").unwrap_or_default();
        let (mut guest_memory_mib, mut guest_requests_per_call) = (64, 100);
        s.knob("guest_memory_mib", 1..=4_096, &mut guest_memory_mib);
        s.knob("guest_requests_per_call", 1..=100_000, &mut guest_requests_per_call);
        let workstation = s.table("workstation").and_then(|s| {
            let probe = s.required("probe", s.parsed("probe", probe))?;
            Some(WorkstationAccess { probe: probe.value })
        });
        if workstation.is_some() {
            self.only_the_session(&headers, oauth.is_some(), base_url.as_ref());
        }
        id.iter().for_each(|id| self.seen.once(&self.problems, "source id", id));
        if let Some(adapter) =
            adapter.as_ref().filter(|adapter| !self.setup.engine.adapters.contains_key(&adapter.value))
        {
            let known = self.setup.engine.adapters.keys().cloned().collect::<Vec<_>>().join(", ");
            self.problems.add(adapter.at, format!("no adapter `{}` in [adapters]; known are: {known}", adapter.value));
        }
        if let (Some(id), Some(name), Some(adapter), Some(base_url)) = (id, name, adapter, base_url) {
            let source = DataSource {
                id: id.value as u32,
                institution,
                name: name.value,
                adapter: adapter.value,
                base_url: base_url.value,
                headers,
                login: oauth.or(session),
                allowed_paths: allowed_paths.into_iter().map(|path| path.value).collect(),
                guest_memory_mib,
                guest_requests_per_call,
                workstation,
            };
            self.setup.sources.insert(source.id, Arc::new(source));
        }
    }

    /// Requests that run in the session of a staff member carry its credentials and no others, to an address a browser can reach.
    fn only_the_session(&self, headers: &[(String, String)], oauth: bool, base_url: Option<&Placed<String>>) {
        let Some(base_url) = base_url else { return };
        if oauth || !headers.is_empty() {
            self.problems.add(base_url.at, "a source reached through workstations must not have headers or oauth");
        }
        if !base_url.value.starts_with("http") {
            self.problems.add(base_url.at, "a source reached through workstations needs an http or https `base_url`");
        }
    }

    /// Access tokens by client credentials: the client proves itself by a secret or by what it signs with a key.
    fn oauth(&self, s: &Section<'a, '_>) -> Option<OAuth> {
        let url =
            s.required("token_url", s.parsed("token_url", |text| text.parse().map_err(|_| "must be a URL".into())));
        let client_id = s.required("client_id", s.text("client_id"));
        let secret = s.parsed("client_secret", credential);
        let key = s.parsed("private_key_file", |file| {
            let pem = std::fs::read(self.base.join(file)).map_err(|error| format!("cannot be read: {error}"))?;
            SigningKey::from_pem(&pem).map_err(|error| error.to_string())
        });
        let id = s.text("key_id").map(|placed| placed.value);
        let in_body = s.parsed("client_auth", |text| match text {
            "basic" => Ok(false),
            "post" => Ok(true),
            _ => Err("must be \"basic\" or \"post\"".into()),
        });
        let in_body = in_body.is_some_and(|placed| placed.value);
        let scopes =
            s.texts("scopes").map(|all| all.into_iter().map(|scope| scope.value).collect::<Vec<_>>().join(" "));
        let (url, client_id) = (url?, client_id?);
        let proof = match (secret, key) {
            (Some(secret), None) if in_body => Proof::Post(Hidden::new(secret.value)),
            (Some(secret), None) => Proof::Basic(Hidden::new(secret.value)),
            (None, Some(key)) => Proof::Key { key: Arc::new(key.value), id },
            _ => {
                self.problems.add(url.at, "oauth needs either client_secret or private_key_file");
                return None;
            }
        };
        match OAuth::new(url.value, client_id.value, proof, scopes) {
            Ok(oauth) => Some(oauth),
            Err(error) => {
                self.problems.add(url.at, error.to_string());
                None
            }
        }
    }

    /// Sessions of a Tryton server, such as GNU Health.
    fn tryton_session(&self, s: &Section<'a, '_>, base_url: &Placed<String>) -> Option<TrytonSession> {
        let user = s.required("user", s.text("user"));
        let password = s.required("password", s.parsed("password", credential));
        let session = TrytonSession::new(&base_url.value, user?.value, Hidden::new(password?.value));
        session.map_err(|error| self.problems.add(base_url.at, error.to_string())).ok()
    }

    fn headers(&self, s: &Section<'a, '_>) -> Vec<(String, String)> {
        let header = |name: Placed<String>| {
            let value = s.parsed(&name.value, credential)?;
            let valid = actix_web::http::header::HeaderName::from_bytes(name.value.as_bytes()).is_ok()
                && actix_web::http::header::HeaderValue::from_str(&value.value).is_ok();
            if !valid {
                self.problems.add(name.at, format!("`{}` is not a valid header", name.value));
            }
            Some((name.value, value.value))
        };
        s.keys().into_iter().filter_map(header).collect()
    }

    fn location(&mut self, s: &Section<'a, '_>, institution: InstitutionId, knobs: Knobs) {
        let id = s.required("id", s.integer("id", INT32));
        let name = s.required("name", s.text("name"));
        let zone = s.required("zone", s.parsed("zone", |text| kinds::zone().text(text)));
        let text = |key| s.text(key).map(|placed: Placed<String>| placed.value);
        let given = s.parsed("status", status).map(|placed| placed.value);
        let status = given.unwrap_or(LocationStatus::Active);
        match &id {
            Some(id) => {
                let readable = given.is_some() || !s.has("status");
                self.statuses.of.insert(LocationId(id.value as u32), readable.then_some(status));
            }
            None => self.statuses.complete = false,
        }
        let source = s.integer("source", INT32);
        let knobs = knobs.with(s);
        let adapter_config = s.table("adapter_config").map_or_else(BTreeMap::new, |s| {
            s.keys().into_iter().filter_map(|key| Some((key.value.clone(), s.text(&key.value)?.value))).collect()
        });
        id.iter().for_each(|id| self.seen.once(&self.problems, "location id", id));
        let known =
            |id: i64| self.setup.sources.get(&(id as u32)).is_some_and(|source| source.institution == institution);
        if let Some(source) = source.filter(|source| !known(source.value)) {
            self.problems.add(source.at, format!("no source with id {} in this institution", source.value));
        }
        let location = LocationSetup {
            id: LocationId(id.map_or(0, |id| id.value as u32)),
            institution,
            name: name.map_or_else(String::new, |name| name.value),
            street_address: text("street_address"),
            street_address_2: text("street_address_2"),
            city: text("city"),
            state: text("state"),
            zip_code: text("zip_code"),
            country_code: s.parsed("country_code", country).map(|placed| placed.value),
            phone_number: text("phone_number"),
            email: text("email"),
            latitude: s.float("latitude", -90.0..=90.0),
            longitude: s.float("longitude", -180.0..=180.0),
            zone: zone.map_or(chrono_tz::Tz::UTC, |zone| zone.value),
            map_by_operatory: s.boolean("map_by_operatory").unwrap_or(false),
            status,
            source: source.map(|source| source.value as u32),
            foreign_id: text("foreign_id"),
            booking: knobs.booking,
            write: knobs.write,
            pull: knobs.pull,
            quota: knobs.quota,
            workstation: knobs.workstation,
            adapter_config,
        };
        self.setup.locations.insert(location.id, Arc::new(location));
    }

    fn key(&mut self, s: &Section<'a, '_>) -> Option<ApiKey> {
        let name = s.required("name", s.text("name"));
        let hash = s.required("sha256", s.parsed("sha256", key_hash));
        let environment = s.required("environment", s.parsed("environment", environment));
        let institutions = s.required("institutions", s.texts("institutions"));
        let locations = s.integers("locations", INT32);
        let grants = s.texts("grants").unwrap_or_default();
        let organisation = s.text("organisation").map(|placed| placed.value);
        name.iter().for_each(|name| self.seen.once(&self.problems, "key name", name));
        let spelled = hash.map(|hash| Placed { value: hex::encode(hash.value), at: hash.at });
        spelled.iter().for_each(|hash| self.seen.once(&self.problems, "key hash", hash));
        let mut grants = self.grants(&grants);
        let environment = environment?.value;
        // Specification 5.10.
        grants.financial |= environment == Environment::Sandbox;
        let institutions = self.institutions_of(&institutions?, environment);
        // Without them it would reach all.
        if locations.is_none() && s.has("locations") {
            return None;
        }
        let locations = locations.map(|ids| self.locations_of(&ids, &institutions));
        let name = name?.value;
        let organisation = organisation.unwrap_or_else(|| name.clone());
        Some(ApiKey { name, hash: hash?.value, environment, institutions, locations, grants, organisation })
    }

    fn grants(&self, names: &[Placed<String>]) -> Grants {
        let mut grants = Grants::default();
        for name in names {
            match name.value.as_str() {
                "financial" => grants.financial = true,
                "beta" => grants.beta = true,
                "operator" => grants.operator = true,
                other => {
                    self.problems
                        .add(name.at, format!("unknown grant `{other}`; known are: financial, beta, operator"));
                }
            }
        }
        grants
    }

    fn institutions_of(&self, names: &[Placed<String>], environment: Environment) -> Vec<InstitutionId> {
        let mut ids = Vec::new();
        for name in names {
            match self.setup.institution_by_subdomain(&name.value) {
                Some(institution) if institution.environment == environment => ids.push(institution.id),
                Some(_) => {
                    self.problems.add(name.at, format!("institution `{}` belongs to another environment", name.value))
                }
                None => self.problems.add(name.at, format!("no institution with subdomain `{}`", name.value)),
            }
        }
        ids
    }

    fn locations_of(&self, ids: &[Placed<i64>], institutions: &[InstitutionId]) -> Vec<LocationId> {
        for id in ids {
            let location = self.setup.locations.get(&LocationId(id.value as u32));
            if !location.is_some_and(|location| institutions.contains(&location.institution)) {
                self.problems.add(id.at, format!("no location with id {} in the key's institutions", id.value));
            }
        }
        ids.iter().map(|id| LocationId(id.value as u32)).collect()
    }
}

fn read_operators(s: &Section<'_, '_>, http: &mut HttpRules) {
    let listen =
        s.parsed("listen", |text| text.parse().map_err(|_| "must be an address such as 127.0.0.1:8081".into()));
    let Some(listen) = s.required("listen", listen) else { return };
    if listen.value == http.listen {
        s.problems.add(listen.at, "`listen` of [operators] must be another address than that of [http]");
    }
    http.operators = Some(listen.value);
}

fn read_http(s: &Section<'_, '_>, http: &mut HttpRules) {
    if let Some(listen) =
        s.parsed("listen", |text| text.parse().map_err(|_| "must be an address such as 127.0.0.1:8080".into()))
    {
        http.listen = listen.value;
    }
    s.knob("workers", 1..=256, &mut http.workers);
    s.knob("max_connections", 1..=1_000_000, &mut http.max_connections);
    // Four of five, unless the file says how many.
    http.max_workstations = http.max_connections * 4 / 5;
    if let Some(asked) = s.integer("max_workstations", 0..=1_000_000) {
        http.max_workstations = asked.value.unsigned_abs() as usize;
        if http.max_workstations >= http.max_connections {
            s.problems.add(asked.at, "`max_workstations` must leave some of `max_connections` to API clients");
        }
    }
    s.std_duration("keep_alive", 0..=HOUR, &mut http.keep_alive);
    s.std_duration("header_timeout", SECOND..=5 * MINUTE, &mut http.header_timeout);
    s.std_duration("body_timeout", 100..=5 * MINUTE, &mut http.body_timeout);
    s.std_duration("shutdown_timeout", 0..=HOUR, &mut http.shutdown_timeout);
    s.knob("max_body", 1_024..=64 * 1024 * 1024, &mut http.max_body);
    s.knob("list_cache_bytes", 0..=16 * 1024 * 1024 * 1024, &mut http.list_cache_bytes);
    s.duration("token_production", MINUTE..=DAY, &mut http.token_production);
    s.duration("token_sandbox", MINUTE..=30 * DAY, &mut http.token_sandbox);
    s.duration("slot_token", MINUTE..=DAY, &mut http.slot_token);
    let trusted = s.texts_as("trusted_proxies", proxies::trusted);
    http.trusted_proxies = trusted.unwrap_or_default();
    http.cors_origins = s.texts_as("cors_origins", cors::origin).unwrap_or_default();
    s.knob("refused_per_minute", 0..=1_000_000, &mut http.refused_per_minute);
}

fn read_rate_limits(s: &Section<'_, '_>, http: &mut HttpRules) {
    s.knob("per_second", 0..=1_000_000, &mut http.rate_limits.per_second);
    s.knob("per_minute", 0..=60_000_000, &mut http.rate_limits.per_minute);
    if let Some(s) = s.table("endpoints") {
        for endpoint in s.keys() {
            if !table::endpoints().any(|known| known == endpoint.value) {
                let problem =
                    format!("unknown endpoint `{}`; endpoints are written as in \"GET /appointments\"", endpoint.value);
                s.problems.add(endpoint.at, problem);
            }
            let mut limit = 0;
            s.knob(&endpoint.value, 0..=1_000_000, &mut limit);
            http.rate_limits.endpoints.insert(endpoint.value, limit);
        }
    }
}

fn subdomain(text: &str) -> Result<String, String> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let valid = (1..=63).contains(&text.len()) && text.bytes().all(allowed);
    if valid { Ok(text.to_owned()) } else { Err("must have 1 to 63 lower case letters, digits and hyphens".into()) }
}

fn environment(text: &str) -> Result<Environment, String> {
    match text {
        "sandbox" => Ok(Environment::Sandbox),
        "production" => Ok(Environment::Production),
        _ => Err("must be \"sandbox\" or \"production\"".into()),
    }
}

fn status(text: &str) -> Result<LocationStatus, String> {
    match text {
        "active" => Ok(LocationStatus::Active),
        "pending" => Ok(LocationStatus::Pending),
        "closed" => Ok(LocationStatus::Closed),
        _ => Err("must be \"active\", \"pending\" or \"closed\"".into()),
    }
}

fn country(text: &str) -> Result<String, String> {
    let valid = text.len() == 2 && text.bytes().all(|b| b.is_ascii_uppercase());
    if valid { Ok(text.to_owned()) } else { Err("must be a country code of two capital letters".into()) }
}

fn base_url(text: &str) -> Result<String, String> {
    let web = reqwest::Url::parse(text).is_ok_and(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
    if web || text == "sandbox:" {
        Ok(text.to_owned())
    } else {
        Err("must be an http or https URL, or \"sandbox:\"".into())
    }
}

fn probe(text: &str) -> Result<String, String> {
    let plain = |b: u8| b.is_ascii_graphic() && !b"?#\\".contains(&b);
    let path = text.starts_with('/') && !text.starts_with("//") && text.bytes().all(plain);
    let inside = !text.split('/').any(|segment| segment == "." || segment == "..");
    if path && inside {
        Ok(text.to_owned())
    } else {
        Err("must be a path below `base_url`, such as \"/api/session\"".into())
    }
}

fn key_hash(text: &str) -> Result<[u8; 32], String> {
    let mut hash = [0; 32];
    let read = hex::decode_to_slice(text, &mut hash);
    read.map(|()| hash)
        .map_err(|_| "must be the SHA-256 of an API key: 64 hexadecimal digits (see `config new-key`)".into())
}

/// The public half of a key that `adapter new-key` makes.
fn signer(text: &str) -> Result<[u8; 32], String> {
    let key = BASE64_STANDARD.decode(text).ok().and_then(|key| key.try_into().ok());
    key.ok_or_else(|| {
        "must be a public key as `practice-sync adapter new-key` shows it: 44 characters of base64".to_owned()
    })
}
