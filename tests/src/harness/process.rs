//! The product as a process, with a configuration file, a data directory, and an EHR reached over the network.

use std::{
    env, fs, io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use location::zone::Date;
use postgres_server::free_port;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store::EngineKind;
use testing::{PATIENCE, until};

use crate::harness::{
    components, fixtures,
    http_client::{Caller, Connection, request},
};

pub const API_KEY: &str = "psk_of_the_tests";
/// The token of an operator with all rights.
pub const OPERATOR_TOKEN: &str = "pso_of_the_operator";
/// The id of the data source.
pub const SOURCE: u32 = 11;
pub const SUBDOMAIN: &str = "demo-dental";
/// Id, foreign id, zone, and whether bookings must name an operatory.
pub const LOCATIONS: [(u32, &str, &str, bool); 2] =
    [(101, "main-street", "America/New_York", false), (102, "lakeside", "America/Chicago", true)];
/// Configuration with short pauses between the attempts of a write.
pub const HASTY: &str = r#"
[defaults.write]
concurrency = 8
call_deadline = "2s"
backoff_base = "100ms"
backoff_cap = "1s"
settle = "100ms"
breaker_threshold = 100
breaker_pause = "1s"
breaker_pause_cap = "1s"
[defaults.pull]
every = "10s"
jitter_percent = 50
call_deadline = "2s"
retry_base = "100ms"
retry_cap = "1s"
confirm_after = "1s"
[defaults.quota]
per_minute = 1000000
burst = 100000
"#;
/// No limits of refused callers and of searches for visits.
const HTTP_RULES: &str = "refused_per_minute = 0\nfinds_per_minute = 0\nfinds_per_contact = 0";
/// Variables that cargo sets for a test. Passed on, they would change the build of [`binary`].
const OF_THE_TEST: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_EXE_", "RUSTC_BOOTSTRAP"];

/// Returns the product's executable. Cargo builds it once per process if its sources changed, with the features of
/// `cargo run`.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| built(&[]))
}

/// Builds the executable with these additional arguments, such as features, and returns its path. A later build
/// replaces the file.
pub fn built(arguments: &[&str]) -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(components::root()).args(["build", "--bin", "practice-sync", "--message-format"]);
    cargo.arg("json-render-diagnostics").args(arguments);
    for (name, _) in env::vars_os() {
        if OF_THE_TEST.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
    let built = cargo.output().expect("cargo runs this test");
    // The reason is at the end.
    let output = String::from_utf8_lossy(&built.stderr);
    let last: Vec<&str> = output.lines().rev().take(40).collect();
    assert!(built.status.success(), "{}", last.into_iter().rev().collect::<Vec<_>>().join("\n"));
    let messages = String::from_utf8_lossy(&built.stdout);
    let executable = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message["executable"].as_str()?))
    });
    executable.expect("cargo reports the executable it built")
}

/// An installation of the product, on which processes are started.
pub struct Installation {
    program: PathBuf,
    config: PathBuf,
    /// Output of all processes.
    log: PathBuf,
    environment: Vec<(String, String)>,
    pub address: SocketAddr,
    /// The operators' listener.
    pub operators: SocketAddr,
}

/// The listeners of clients and of operators.
#[derive(Clone, Copy)]
pub struct Listen {
    pub address: SocketAddr,
    pub operators: SocketAddr,
}

/// A running process, killed when dropped.
pub struct Process(Child);

/// The EHR in the product's configuration.
pub struct ServedEhr {
    /// The folder of `adapters/`.
    pub adapter: &'static str,
    pub base_url: String,
    /// Additional lines of the source: credentials, limits.
    pub source: String,
    pub locations: Vec<LocationConfig>,
}

pub struct LocationConfig {
    pub id: u32,
    pub foreign_id: String,
    pub zone: chrono_tz::Tz,
    pub map_by_operatory: bool,
    /// Settings of the adapter, as lines.
    pub adapter_config: String,
}

impl Installation {
    /// Creates the demo's practice on a simulated EHR. `rules` are additional tables of the configuration.
    pub fn new(program: &Path, dir: &Path, ehr_url: &str, rules: &str) -> io::Result<Installation> {
        let place = |(id, foreign_id, zone, map_by_operatory): (u32, &str, &str, bool)| LocationConfig {
            id,
            foreign_id: foreign_id.to_owned(),
            zone: zone.parse().expect("a zone of the list"),
            map_by_operatory,
            adapter_config: String::new(),
        };
        let (base_url, locations) = (ehr_url.to_owned(), LOCATIONS.into_iter().map(place).collect());
        let served = ServedEhr { adapter: "sandbox", base_url, source: String::new(), locations };
        Installation::serving(program, dir, &served, rules)
    }

    pub fn serving(program: &Path, dir: &Path, served: &ServedEhr, rules: &str) -> io::Result<Installation> {
        Installation::configured(program, dir, &keys(), |listen| configuration(dir, listen, served, rules))
    }

    /// Creates an installation with the test's keys and configuration, which must use the given addresses.
    pub fn configured(
        program: &Path,
        dir: &Path,
        keys: &str,
        configuration: impl FnOnce(Listen) -> String,
    ) -> io::Result<Installation> {
        let free = || free_port().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let (address, operators) = (free()?, free()?);
        let config = dir.join("practice-sync.toml");
        fs::write(&config, configuration(Listen { address, operators }))?;
        fs::write(dir.join("keys.toml"), keys)?;
        let (program, log) = (program.to_path_buf(), dir.join("log"));
        Ok(Installation { program, config, log, environment: Vec::new(), address, operators })
    }

    /// Adds an environment variable for the processes.
    pub fn with_variable(mut self, name: &str, value: String) -> Installation {
        self.environment.push((name.to_owned(), value));
        self
    }

    /// Sets the storage engine.
    pub fn on_engine(self, engine: EngineKind) -> io::Result<Installation> {
        let text = fs::read_to_string(&self.config)?;
        let chosen = format!("[engine]\nstore_engine = \"{engine}\"\n");
        fs::write(&self.config, text.replacen("[engine]\n", &chosen, 1))?;
        Ok(self)
    }

    /// Stores data in a database, which is reached without TLS.
    pub fn on_database(self, url: &str) -> io::Result<Installation> {
        let text = fs::read_to_string(&self.config)?;
        let database = format!(
            "[postgres]\nurl = \"{url}\"\ntls = \"off\"\nconnect_timeout = \"2s\"\nstatement_timeout = \"5s\"\n\
             [engine]\nstore_engine = \"postgres\"\n"
        );
        fs::write(&self.config, text.replacen("[engine]\n", &database, 1))?;
        Ok(self)
    }

    /// Returns the path of the configuration file.
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// Starts a process.
    pub fn launch(&self) -> io::Result<Process> {
        let mut command = Command::new(&self.program);
        command.arg("serve").arg("--config").arg(&self.config).stdin(Stdio::null()).stdout(Stdio::null());
        let log = fs::OpenOptions::new().create(true).append(true).open(&self.log)?;
        command.stderr(log).env_remove("RUST_LOG").envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.spawn().map(Process)
    }

    /// Starts a process and waits until it is ready for traffic.
    pub async fn start(&self) -> io::Result<Process> {
        let mut process = self.launch()?;
        let since = Instant::now();
        loop {
            if let Some(status) = process.0.try_wait()? {
                let log = fs::read_to_string(&self.log)?;
                let last = log.lines().next_back().unwrap_or_default();
                return Err(io::Error::other(format!("the server ended with {status} instead of serving: {last}")));
            }
            if self.ready().await {
                return Ok(process);
            }
            if since.elapsed() > PATIENCE {
                return Err(io::ErrorKind::TimedOut.into());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn ready(&self) -> bool {
        let Ok(mut connection) = Connection::open(self.address).await else { return false };
        connection.send(&request("GET", "/readyz", &[], &[])).await.is_ok_and(|answer| answer.status == 200)
    }

    /// Returns the output of all processes so far.
    pub fn log(&self) -> io::Result<String> {
        fs::read_to_string(&self.log)
    }

    /// Returns log lines about panics. A location restarts after a panic, so clients may not notice it.
    pub fn panics(&self) -> io::Result<Vec<String>> {
        let log = self.log()?;
        let lines: Vec<&str> = log.lines().collect();
        let panics = lines.windows(2).filter(|pair| pair[0].contains("panicked at"));
        Ok(panics.map(|pair| pair.join(" ")).collect())
    }

    pub async fn sign_in(&self) -> io::Result<Caller> {
        Caller::sign_in(self.address, API_KEY).await
    }

    /// Returns the text of `/metrics`.
    pub async fn metrics(&self) -> io::Result<String> {
        let answer = Connection::open(self.operators).await?.send(&request("GET", "/metrics", &[], &[])).await?;
        String::from_utf8(answer.body).map_err(io::Error::other)
    }

    /// Exports entries of the audit trail with the command's filters.
    pub fn audit_entries(&self, filters: &[&str]) -> io::Result<Vec<Value>> {
        let mut export = Command::new(&self.program);
        let ended = export.args(["audit", "export"]).args(filters).arg("--config").arg(self.config()).output()?;
        if !ended.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&ended.stderr).into_owned()));
        }
        ended
            .stdout
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| Ok(serde_json::from_slice(line)?))
            .collect()
    }

    pub async fn operator(&self) -> io::Result<Caller> {
        Caller::operator(self.operators, OPERATOR_TOKEN).await
    }
}

impl Process {
    /// Stops the process with SIGTERM and returns the time it took.
    pub fn stop(mut self) -> io::Result<Duration> {
        let since = Instant::now();
        self.signal("TERM")?;
        self.0.wait()?;
        Ok(since.elapsed())
    }

    pub fn signal(&self, name: &str) -> io::Result<()> {
        let sent = Command::new("sh").args(["-c", "kill -$1 $0", &self.0.id().to_string(), name]).status()?;
        if sent.success() { Ok(()) } else { Err(io::Error::other("kill does not work")) }
    }

    /// `kill -9`, without a flush or a message.
    pub fn kill(mut self) -> io::Result<()> {
        self.0.kill()?;
        self.0.wait().map(drop)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Already killed, or the test failed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn configuration(dir: &Path, listen: Listen, served: &ServedEhr, rules: &str) -> String {
    let ServedEhr { adapter, base_url, source, locations } = served;
    let locations: String = locations.iter().map(LocationConfig::lines).collect();
    format!(
        r#"{common}
[[institutions.sources]]
id = {SOURCE}
name = "Sandbox EHR"
adapter = "{adapter}"
base_url = "{base_url}"
{source}
{locations}
"#,
        common = common(dir, listen, "error", HTTP_RULES, (adapter, rules)),
    )
}

/// Returns the file of keys.
fn keys() -> String {
    key("tests", API_KEY, r#""financial", "beta""#) + &operator()
}

/// Returns the beginning of a configuration file: one adapter, one institution, no rate limits. `http`: additional
/// lines of that table; `rules`: additional tables.
pub(super) fn common(dir: &Path, listen: Listen, log: &str, http: &str, (adapter, rules): (&str, &str)) -> String {
    format!(
        r#"data_dir = "{data}"
log = "{log}"
[http]
listen = "{address}"
slot_token = "12h"
{http}
[operators]
listen = "{operators}"
[rate_limits]
per_second = 0
per_minute = 0
[rate_limits.endpoints]
"POST /intent/booking/search" = 0
"GET /appointments" = 0
"GET /available_slots" = 0
"GET /appointment_slots" = 0
[engine]
adapter_cache = "{cache}"
webhook_development = true
[adapters]
{adapter} = "{component}"
{rules}
[[institutions]]
id = 1
subdomain = "{SUBDOMAIN}"
name = "Demo Dental"
environment = "sandbox"
"#,
        address = listen.address,
        operators = listen.operators,
        data = dir.join("data").display(),
        cache = components::root().join("target").join("adapters").join("compiled").display(),
        component = components::component(adapter).display(),
    )
}

/// Returns an API key of the institution as lines of the file of keys.
pub(super) fn key(name: &str, key: &str, grants: &str) -> String {
    let hash = hex::encode(Sha256::digest(key));
    format!(
        "[[keys]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nenvironment = \"sandbox\"\n\
         institutions = [\"{SUBDOMAIN}\"]\ngrants = [{grants}]\n"
    )
}

/// Returns an operator with all rights as lines of the file of keys.
pub fn operator() -> String {
    let hash = hex::encode(Sha256::digest(OPERATOR_TOKEN));
    format!("[[operators]]\nname = \"tests\"\nsha256 = \"{hash}\"\nrole = \"admin\"\n")
}

impl LocationConfig {
    fn lines(&self) -> String {
        let LocationConfig { id, foreign_id, zone, map_by_operatory, adapter_config } = self;
        format!(
            "[[institutions.locations]]\nid = {id}\nname = \"{foreign_id}\"\nzone = \"{zone}\"\nsource = {SOURCE}\n\
             foreign_id = \"{foreign_id}\"\nmap_by_operatory = {map_by_operatory}\n\
             [institutions.locations.adapter_config]\n{adapter_config}\n"
        )
    }
}

pub fn path(route: &str, location: u32) -> String {
    format!("{route}?subdomain={SUBDOMAIN}&location_id={location}")
}

/// Returns disjoint offers of a location: one per operatory and time, for two months, and `most` of them at most.
pub async fn offers(caller: &mut Caller, location: u32, most: usize) -> io::Result<Vec<String>> {
    let today = Date(fixtures::today());
    let mut tokens = Vec::new();
    for operatory in operatories(caller, location).await? {
        for days in (1..60).step_by(3) {
            let start = today.add_days(days).to_string();
            let asked = json!({"operatory_ids": [operatory], "start_date": start, "days": 3, "limit": 100});
            let (status, found) = caller.post(&path("/intent/booking/search", location), &asked).await?;
            let slots = found["slots"].as_array().filter(|_| status == 200);
            let slots = slots.ok_or_else(|| io::Error::other(format!("search: {status} {found}")))?;
            tokens.extend(disjoint(slots));
            if tokens.len() >= most {
                tokens.truncate(most);
                return Ok(tokens);
            }
        }
    }
    Ok(tokens)
}

/// Several providers may be offered in one operatory at the same time, but only one of them can be booked.
fn disjoint(slots: &[Value]) -> Vec<String> {
    let mut starts = std::collections::BTreeSet::new();
    let first = slots.iter().filter(|slot| starts.insert(slot["start_iso"].as_str()));
    first.filter_map(|slot| Some(slot["slot_token"].as_str()?.to_owned())).collect()
}

async fn operatories(caller: &mut Caller, location: u32) -> io::Result<Vec<u64>> {
    let (status, answer) = caller.get(&format!("{}&per_page=100", path("/operatories", location))).await?;
    let records = answer["data"].as_array().filter(|_| status == 200);
    let records = records.ok_or_else(|| io::Error::other(format!("operatories: {status} {answer}")))?;
    Ok(records.iter().filter_map(|record| record["id"].as_u64()).collect())
}

/// Waits until the first read cycle of every location is complete. Earlier offers may be of times that are taken.
pub async fn first_sync(caller: &mut Caller) -> io::Result<()> {
    let path = format!("/sync_status?subdomain={SUBDOMAIN}");
    until("the first read cycle of every location", async || {
        let (status, answer) = match caller.get(&path).await {
            Ok(answered) => answered,
            Err(error) => return Ok(Err(error)),
        };
        let states = answer["data"].as_array().filter(|states| status == 200 && !states.is_empty());
        let all_read = states.is_some_and(|states| states.iter().all(|state| state["read_status"] == "green"));
        if all_read { Ok(Ok(())) } else { Err((status, answer)) }
    })
    .await
}

pub fn booking(slot_token: &str, idempotency_key: &str, person: u64, note: &str) -> Value {
    json!({
        "slot_token": slot_token,
        "idempotency_key": idempotency_key,
        "note": note,
        "patient": {
            "first_name": "Zoë",
            "last_name": format!("Ångström-{person}"),
            "date_of_birth": format!("{}-{:02}-{:02}", 1950 + person % 60, 1 + person % 12, 1 + person % 28),
            "phone_number": format!("+1 555 {person:07}"),
            "email": format!("zoe{person}@mail.example"),
        },
    })
}
