//! A FHIR R4 server nobody here wrote: Medplum's router from npm (`tests/medplum`), installed into `target/` once and started on loopback
//! by each test that needs one.

use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use reqwest::{Method, StatusCode, Url};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::{
    adapters::root,
    skip::{missing, skips},
};

/// What `PRACTICE_SYNC_SKIP` calls it.
pub const NAME: &str = "fhir-server";
const NEEDED: &str = "Node.js 20 or newer with npm, and npm's registry when it runs for the first time";
const OLDEST_NODE: u32 = 20;
/// What the lock file pins, and what stays the same as long as it does.
const PINNED: [&str; 2] = ["package.json", "package-lock.json"];
const SCRIPTS: [&str; 2] = ["server.mjs", "seed.mjs"];

const INSTALL_LIMIT: Duration = Duration::from_secs(300);
const START_LIMIT: Duration = Duration::from_secs(60);
const REQUEST_LIMIT: Duration = Duration::from_secs(20);
/// Lines of a tool's complaint that are shown.
const QUOTED_LINES: usize = 15;

pub struct FhirServer {
    base_url: Url,
    token: String,
    folder: PathBuf,
    client: reqwest::Client,
    /// It ends with this handle; should this process be killed, with its standard input.
    _process: Child,
}

/// The ids `seed.mjs` was given.
#[derive(Deserialize)]
pub struct Seeded {
    pub site: String,
    pub rooms: Vec<String>,
    pub practitioners: Vec<String>,
    pub patients: Vec<String>,
    pub schedules: Vec<String>,
    pub appointments: BTreeMap<String, String>,
}

/// How the server's fault switch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Faults {
    pub writes: u32,
    pub drop_reply: u32,
    pub drop_request: u32,
}

impl FhirServer {
    /// Starts one that asks for this bearer token. None: the test is to be left out.
    pub async fn start(token: &str) -> Option<FhirServer> {
        if skips(NAME) {
            return None;
        }
        let folder = installed().await;
        let mut node = Command::new("node");
        node.arg("server.mjs").current_dir(&folder).env("PORT", "0").env("TOKEN", token).env_remove("STAY");
        node.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = node.spawn().unwrap_or_else(|error| missing(NAME, &format!("node: {error}"), NEEDED));
        let output = process.stdout.take().expect("its output is piped");
        let mut first = String::new();
        let said = timeout(START_LIMIT, BufReader::new(output).read_line(&mut first)).await;
        said.expect("the FHIR server starts in time").expect("the FHIR server can be heard");
        let started: Value = serde_json::from_str(&first).expect("the FHIR server says where it listens");
        let base_url = started["base_url"].as_str().and_then(|url| Url::parse(url).ok()).expect("an address");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().timeout(REQUEST_LIMIT).build().expect("a client");
        Some(FhirServer { base_url, token: token.to_owned(), folder, client, _process: process })
    }

    pub fn base_path(&self) -> &str {
        self.base_url.path()
    }

    pub fn address(&self) -> SocketAddr {
        let port = self.base_url.port().expect("it listens on a port of its own");
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    /// Fills it with the practice `seed.mjs` describes.
    pub async fn seed(&self, first_day: &str, offset: &str, days: u32) -> Seeded {
        let mut node = Command::new("node");
        node.args(["seed.mjs", self.base_url.as_str(), first_day, offset, &days.to_string()]);
        node.current_dir(&self.folder).env("TOKEN", &self.token);
        let seeded = run(node, START_LIMIT).await.expect("the FHIR server can be seeded");
        serde_json::from_slice(&seeded.stdout).expect("the ids that were given")
    }

    /// A resource as it is now.
    pub async fn read(&self, resource_type: &str, id: &str) -> Value {
        let (status, resource) = self.call(Method::GET, &format!("{resource_type}/{id}"), None).await;
        assert_eq!(status, StatusCode::OK, "{resource_type}/{id}: {resource}");
        resource
    }

    pub async fn search(&self, resource_type: &str, parameters: &[(&str, &str)]) -> Vec<Value> {
        let mut url = self.url(resource_type);
        url.query_pairs_mut().extend_pairs(parameters).append_pair("_count", "1000");
        let (status, bundle) = self.send(self.client.get(url)).await;
        assert_eq!(status, StatusCode::OK, "{resource_type}: {bundle}");
        let entries = bundle["entry"].as_array().cloned().unwrap_or_default();
        entries.into_iter().map(|entry| entry["resource"].clone()).collect()
    }

    pub async fn create(&self, resource: &Value) -> Value {
        let resource_type = resource["resourceType"].as_str().expect("a resource");
        let (status, created) = self.call(Method::POST, resource_type, Some(resource)).await;
        assert_eq!(status, StatusCode::CREATED, "{created}");
        created
    }

    /// Writes a resource over whatever is there, as somebody at the practice would.
    pub async fn update(&self, resource: &Value) -> Value {
        let text = |field: &str| resource[field].as_str().expect("a resource that was read").to_owned();
        let path = format!("{}/{}", text("resourceType"), text("id"));
        let (status, updated) = self.call(Method::PUT, &path, Some(resource)).await;
        assert_eq!(status, StatusCode::OK, "{updated}");
        updated
    }

    pub async fn delete(&self, resource_type: &str, id: &str) {
        let (status, answer) = self.call(Method::DELETE, &format!("{resource_type}/{id}"), None).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
    }

    /// Reads without credentials.
    pub async fn status_for_strangers(&self) -> StatusCode {
        self.client.get(self.url("Patient")).send().await.expect("an answer").status()
    }

    /// Sets a fault, `drop_reply` or `drop_request`, on the n-th write from now on.
    pub async fn fault(&self, name: &str, n: u32) {
        let (status, answer) = self.send(self.client.post(self.switch()).body(json!({name: n}).to_string())).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
    }

    pub async fn faults(&self) -> Faults {
        let (_, faults) = self.send(self.client.get(self.switch())).await;
        serde_json::from_value(faults).expect("how the switch stands")
    }

    fn switch(&self) -> Url {
        self.base_url.join("/faults").expect("a path")
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(&format!("{}/{path}", self.base_url)).expect("a path")
    }

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let mut request = self.client.request(method, self.url(path));
        if let Some(body) = body {
            request = request.header("content-type", "application/fhir+json").body(body.to_string());
        }
        self.send(request).await
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> (StatusCode, Value) {
        let answer = request.bearer_auth(&self.token).send().await.expect("the FHIR server answers");
        let status = answer.status();
        let body = answer.bytes().await.expect("the FHIR server answers in full");
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }
}

/// The folder it is installed in. Tests that run at the same time, in any process, take turns.
async fn installed() -> PathBuf {
    check_node().await;
    let sources = root().join("tests").join("medplum");
    let lock_file = fs::read(sources.join("package-lock.json")).expect("the lock file lies in the checkout");
    let version: String = hex::encode(Sha256::digest(&lock_file)).chars().take(16).collect();
    let cache = root().join("target").join("medplum");
    fs::create_dir_all(&cache).expect("the target folder can be written");
    let turn = fs::File::create(cache.join("lock")).expect("the target folder can be written");
    let turn = tokio::task::spawn_blocking(move || turn.lock().map(|()| turn));
    let _turn = turn.await.expect("no panic in a lock").expect("a file can be locked");
    let folder = cache.join(version);
    if !folder.exists() {
        install(&sources, &folder).await;
    }
    for script in SCRIPTS {
        refresh(&sources.join(script), &folder.join(script));
    }
    folder
}

async fn install(sources: &Path, folder: &Path) {
    let unfinished = folder.with_extension("unfinished");
    let _ = fs::remove_dir_all(&unfinished);
    fs::create_dir_all(&unfinished).expect("the target folder can be written");
    for file in PINNED {
        fs::copy(sources.join(file), unfinished.join(file)).expect("a file can be copied");
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund"]).current_dir(&unfinished);
    if let Err(why) = run(npm, INSTALL_LIMIT).await {
        missing(NAME, &why, NEEDED);
    }
    fs::rename(&unfinished, folder).expect("a folder can be renamed");
}

/// Replaced in one step, and only when it changed: a server that starts may be reading it.
fn refresh(source: &Path, copy: &Path) {
    let text = fs::read(source).expect("the script lies in the checkout");
    if fs::read(copy).ok().as_ref() != Some(&text) {
        let fresh = copy.with_extension("fresh");
        fs::write(&fresh, &text).and_then(|()| fs::rename(&fresh, copy)).expect("the target folder can be written");
    }
}

async fn check_node() {
    let mut node = Command::new("node");
    node.arg("--version");
    let version = run(node, START_LIMIT).await.unwrap_or_else(|why| missing(NAME, &why, NEEDED));
    let text = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let major = text.trim_start_matches('v').split('.').next().and_then(|number| number.parse::<u32>().ok());
    if major.is_none_or(|major| major < OLDEST_NODE) {
        missing(NAME, &format!("node is {text}"), NEEDED);
    }
}

/// `Err` says which tool failed and what it complained of.
async fn run(mut command: Command, limit: Duration) -> Result<Output, String> {
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    let running = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let ended = timeout(limit, running).await.map_err(|_| format!("{name} did not end within {limit:?}"))?;
    let output = ended.map_err(|error| format!("{name} could not be started: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = complaint.lines().collect();
    Err(format!("{name} failed:\n{}", lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n")))
}
