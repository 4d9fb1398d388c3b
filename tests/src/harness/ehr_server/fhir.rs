//! Third-party FHIR R4 servers: Medplum's router from npm (`tests/medplum`) and the simulated hospital SEKMET from
//! PyPI (`tests/sekmet`). Each is installed into `target/` once and started on loopback by each test that needs it.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use reqwest::{Method, StatusCode, Url};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::harness::{
    components::root,
    external::Suite,
    packages::{Project, refresh, run, serving},
};

const SUITE: Suite = Suite::FhirServer;

const START_LIMIT: Duration = Duration::from_secs(300);
const REQUEST_LIMIT: Duration = Duration::from_secs(120);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Medplum,
    /// With staff who act: [`FhirServer::staff`]. Of the fault switch only the count of writes is supported.
    Sekmet,
}

pub struct FhirServer {
    base_url: Url,
    token: String,
    client: reqwest::Client,
    /// Killed when dropped. If this process is killed, the server ends when its standard input closes.
    _process: Child,
}

/// The ids assigned to the resources of `seed.mjs`.
#[derive(Deserialize)]
pub struct Seeded {
    pub site: String,
    pub rooms: Vec<String>,
    pub practitioners: Vec<String>,
    pub patients: Vec<String>,
    pub schedules: Vec<String>,
    pub appointments: BTreeMap<String, String>,
}

/// The state of the server's fault switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Faults {
    pub writes: u32,
    pub drop_reply: u32,
    pub drop_request: u32,
}

impl FhirServer {
    /// Starts a server that requires this bearer token. Returns `None` if the suite is not selected.
    pub async fn start(program: Program, token: &str) -> Option<FhirServer> {
        if SUITE.is_skipped() || (program == Program::Sekmet && Suite::Python.is_skipped()) {
            return None;
        }
        let mut command = match program {
            Program::Medplum => {
                let mut node = Command::new("node");
                node.arg("server.mjs").current_dir(medplum().await).env("PORT", "0").env_remove("STAY");
                node
            }
            Program::Sekmet => {
                let project = Project::new("sekmet", "sekmet", Suite::Python);
                let mut python = Command::new(project.python().await);
                python.arg(project.sources.join("server.py"));
                python
            }
        };
        command.env("TOKEN", token);
        let (_process, started) = serving(command, START_LIMIT).await;
        let base_url = started["base_url"].as_str().and_then(|url| Url::parse(url).ok()).expect("an address");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().timeout(REQUEST_LIMIT).build().expect("a client");
        Some(FhirServer { base_url, token: token.to_owned(), client, _process })
    }

    pub fn base_path(&self) -> &str {
        self.base_url.path()
    }

    pub fn address(&self) -> SocketAddr {
        let port = self.base_url.port().expect("the base URL has a port");
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    /// Creates the practice of `seed.mjs`.
    pub async fn seed(&self, first_day: &str, offset: &str, days: u32) -> Seeded {
        let mut node = Command::new("node");
        node.args(["seed.mjs", self.base_url.as_str(), first_day, offset, &days.to_string()]);
        node.current_dir(root().join("tests/medplum")).env("TOKEN", &self.token);
        let seeded = run(node, START_LIMIT).await.expect("the FHIR server can be seeded");
        serde_json::from_slice(&seeded.stdout).expect("the ids that were given")
    }

    /// Returns the current resource.
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

    /// Overwrites a resource, like staff of the practice.
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

    /// Returns the status of a request without credentials.
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
        serde_json::from_value(faults).expect("the state of the fault switch")
    }

    /// Runs a workflow of SEKMET's staff, such as `scheduling.book`. Returns its resources by name.
    pub async fn staff(&self, workflow: &str, arguments: Value) -> Value {
        let url = self.base_url.join("/workflows").expect("a path");
        let body = json!({"workflow": workflow, "arguments": arguments}).to_string();
        let (status, done) = self.send(self.client.post(url).body(body)).await;
        assert_eq!(status, StatusCode::OK, "{workflow}: {done}");
        done
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

/// Returns the folder that Medplum is installed in, with the script that starts it.
async fn medplum() -> PathBuf {
    let project = Project::new("medplum", "medplum", SUITE);
    let folder = project.npm().await;
    refresh(&project.sources.join("server.mjs"), &folder.join("server.mjs"));
    folder
}
