//! Nodes on one database, each as a process, with a proxy between each node and the database.

use std::{fs, net::SocketAddr, path::Path, process::Command, time::Duration};

use postgres_server::{Cluster, Durability, Proxy, free_port};
use sandbox_ehr::{Behaviours, Control, Profile};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use testing::until;
use tests::harness::{
    components,
    ehr_server::EhrServer,
    fixtures,
    http_client::Caller,
    process::{API_KEY, HASTY, Installation, Listen, Process, binary, operator},
};

use crate::nodes::clock;

/// The first [`FIRST`] run from the beginning, the others may join later.
pub const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
pub const FIRST: usize = 3;
/// Number of institutions, each with one location and its own EHR.
pub const INSTITUTIONS: u32 = 5;
/// Maximum restarts of a node.
const STARTS: u32 = 5;
/// Short, so that other nodes take over soon.
pub const PERIOD: Duration = Duration::from_secs(2);

pub struct Node {
    pub installation: Installation,
    pub internal: SocketAddr,
    pub database: Proxy,
    pub process: Option<Process>,
}

pub struct Nodes {
    pub nodes: Vec<Node>,
    pub cluster: Cluster,
    pub ehrs: Vec<EhrServer>,
    _dir: TempDir,
}

pub fn subdomain(location: u32) -> String {
    format!("practice-{location}")
}

pub fn at(route: &str, location: u32) -> String {
    format!("{route}?subdomain={}&location_id={location}", subdomain(location))
}

fn key(name: &str, key: &str, grants: &str) -> String {
    let hash = hex::encode(Sha256::digest(key));
    let all: Vec<String> = (1..=INSTITUTIONS).map(subdomain).collect();
    format!(
        "[[keys]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nenvironment = \"sandbox\"\ninstitutions = {all:?}\ngrants = [{grants}]\n"
    )
}

/// Returns a node's configuration. Nodes differ only in `[node]` and in addresses.
fn configuration(
    dir: &Path,
    Listen { address, operators }: Listen,
    internal: SocketAddr,
    name: &str,
    url: &str,
    ehrs: &[EhrServer],
) -> String {
    let practices: String = (1..=INSTITUTIONS)
        .zip(ehrs)
        .map(|(id, ehr)| {
            format!(
                "[[institutions]]\nid = {id}\nsubdomain = \"{subdomain}\"\nname = \"Practice\"\nenvironment = \"sandbox\"\n\
                 [[institutions.sources]]\nid = {id}\nname = \"EHR\"\nadapter = \"sandbox\"\nbase_url = \"{url}\"\n\
                 [[institutions.locations]]\nid = {id}\nname = \"Main Street\"\nzone = \"America/New_York\"\nsource = {id}\n\
                 foreign_id = \"main-street\"\n",
                subdomain = subdomain(id),
                url = ehr.url(),
            )
        })
        .collect();
    format!(
        r#"data_dir = "{data}"
log = "info"
token_secret = "{secret}"
[http]
listen = "{address}"
slot_token = "12h"
refused_per_minute = 0
[operators]
listen = "{operators}"
[rate_limits]
per_second = 0
per_minute = 0
[rate_limits.endpoints]
"POST /intent/booking/search" = 0
[postgres]
url = "{url}"
tls = "off"
connect_timeout = "1s"
statement_timeout = "3s"
[engine]
store_engine = "postgres"
adapter_cache = "{cache}"
webhook_development = true
[node]
name = "{name}"
address = "http://{internal}"
listen = "{internal}"
secret = "{secret}"
period = "{period}s"
[adapters]
sandbox = "{component}"
{HASTY}{practices}
"#,
        data = dir.join("data").display(),
        secret = "7".repeat(64),
        cache = components::root().join("target").join("adapters").join("compiled").display(),
        component = components::component("sandbox").display(),
        period = PERIOD.as_secs(),
    )
}

impl Nodes {
    /// Creates all nodes without starting them. `clocks` contains the seconds by which the clocks of some nodes are
    /// ahead.
    pub fn new(behaviours: &Behaviours, clocks: &[(&str, i64)]) -> Nodes {
        let ehr = |seed: u32| {
            let profile = Profile {
                booked_percent: 20,
                days_back: 0,
                days_ahead: 7,
                patients: 20,
                ..fixtures::profile(seed.into())
            };
            let ehr = EhrServer::start(profile).unwrap();
            ehr.ehr().control(Control::Behave(behaviours.clone())).unwrap();
            ehr
        };
        let ehrs: Vec<EhrServer> = (1..=INSTITUTIONS).map(ehr).collect();
        let cluster = Cluster::temporary(Durability::Written).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let keys = key("tests", API_KEY, r#""financial", "beta""#) + &operator();
        let nodes = NAMES.map(|name| {
            let own = dir.path().join(name);
            fs::create_dir_all(own.join("data")).unwrap();
            let database = Proxy::to(cluster.port()).unwrap();
            let internal = SocketAddr::from(([127, 0, 0, 1], free_port().unwrap()));
            let url = Cluster::url(database.port());
            let configured = |listen| configuration(&own, listen, internal, name, &url, &ehrs);
            let installation = Installation::configured(binary(), &own, &keys, configured).unwrap();
            let ahead = clocks.iter().find(|(of, _)| *of == name).map(|(_, seconds)| *seconds);
            let installation = match ahead {
                Some(seconds) => clock::set_apart(installation, dir.path(), seconds),
                None => installation,
            };
            Node { installation, internal, database, process: None }
        });
        let nodes = Nodes { nodes: nodes.into(), cluster, ehrs, _dir: dir };
        // One node creates the store; all nodes get its key.
        let first = &nodes.nodes[0];
        let made =
            Command::new(binary()).args(["store", "migrate", "--config"]).arg(first.installation.config()).output();
        assert!(made.as_ref().unwrap().status.success(), "{made:?}");
        let key = |node: &Node| node.installation.config().with_file_name("data").join("store.key");
        for node in &nodes.nodes[1..] {
            fs::copy(key(first), key(node)).unwrap();
        }
        nodes
    }

    /// Starts a node with retries, as a supervisor does, if it did not find the database in time.
    pub async fn start(&mut self, node: usize) {
        let mut tries = 0;
        let process = loop {
            match self.nodes[node].installation.start().await {
                Ok(process) => break process,
                Err(error) if tries < STARTS && error.to_string().contains("the database") => tries += 1,
                Err(error) => panic!("node {}: {error}", NAMES[node]),
            }
        };
        self.nodes[node].process = Some(process);
    }

    /// Creates the nodes and starts the first ones.
    pub async fn started(behaviours: &Behaviours, clocks: &[(&str, i64)]) -> Nodes {
        let mut nodes = Nodes::new(behaviours, clocks);
        for node in 0..FIRST {
            nodes.start(node).await;
        }
        let mut caller = nodes.sign_in(0).await;
        for location in 1..=INSTITUTIONS {
            until("the first reading", async || {
                let (status, answer) =
                    caller.get(&format!("/sync_status?subdomain={}", subdomain(location))).await.unwrap();
                (status == 200 && answer["data"][0]["read_status"] == "green").then_some(())
            })
            .await;
        }
        nodes
    }

    pub async fn sign_in(&self, node: usize) -> Caller {
        self.nodes[node].installation.sign_in().await.unwrap()
    }

    /// Returns the node that serves a location, as reported to operators by node `through`.
    pub async fn owner(&self, through: usize, location: u32) -> usize {
        let mut operator = self.nodes[through].installation.operator().await.unwrap();
        until("the node of a location", async || {
            let (_, answer) = operator.get(&format!("/locations/{location}/sync")).await.ok()?;
            NAMES.iter().position(|name| answer["data"]["node"] == *name)
        })
        .await
    }

    pub fn signal(&self, node: usize, signal: &str) {
        self.nodes[node].process.as_ref().unwrap().signal(signal).unwrap();
    }

    /// Returns the last lines of the nodes' logs, for error messages.
    pub fn last_logged(&self) -> String {
        let last = |node: &Node| {
            let log = node.installation.log().unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            lines[lines.len().saturating_sub(30)..].join("\n")
        };
        self.nodes.iter().map(last).collect::<Vec<_>>().join("\n\n")
    }

    /// Returns errors and panics in the nodes' logs.
    pub fn faults(&self) -> String {
        let faults = |(name, node): (&str, &Node)| {
            let log = node.installation.log().unwrap_or_default();
            let is_fault = |line: &&str| line.contains("ERROR") || line.contains("panicked at");
            log.lines().filter(is_fault).map(|line| format!("{name}: {line}\n")).collect::<String>()
        };
        NAMES.into_iter().zip(&self.nodes).map(faults).collect()
    }

    pub async fn no_panics(&self) {
        // Some nodes may never have started.
        for node in self.nodes.iter().filter(|node| node.installation.log().is_ok()) {
            assert_eq!(node.installation.panics().unwrap(), [""; 0]);
        }
    }
}
