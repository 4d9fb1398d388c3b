//! A practice whose EHR is reachable only through a workstation: the product as a process, and the cloud EHR.

use std::{io, path::Path, time::Duration};

use cloud_ehr::{CloudEhr, CloudEhrSettings};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::TestWorkstation;
use crate::harness::{
    http_client::Caller,
    process::{API_KEY, Installation, Listen, Process, SUBDOMAIN, common, key, operator},
};
use testing::until;

pub const LOCATION: u32 = 201;
/// A second location of the same institution on the same EHR.
pub const OTHER: u32 = 202;
const ADAPTER: &str = "gated-cloud";
const USER: &str = "frontdesk";

pub struct GatedProcess {
    pub installation: Installation,
    pub ehr: CloudEhr,
    process: Option<Process>,
    // Removed at the end of the test.
    _dir: TempDir,
}

impl GatedProcess {
    /// `rules` are additional tables of the configuration file.
    pub async fn open(program: &Path, rules: &str) -> GatedProcess {
        let settings = CloudEhrSettings { calls_per_minute: None, ..CloudEhrSettings::default() };
        GatedProcess::open_on(program, rules, CloudEhr::start(settings).expect("the EHR starts")).await
    }

    pub async fn open_on(program: &Path, rules: &str, ehr: CloudEhr) -> GatedProcess {
        let dir = tempfile::tempdir().expect("a folder");
        let (place, origin) = (dir.path().to_path_buf(), ehr.origin());
        let installation = Installation::configured(program, dir.path(), &keys(), |listen| {
            configuration(&place, listen, &origin, rules)
        });
        let installation = installation.expect("a configuration is written");
        let process = installation.start().await.expect("the server starts");
        GatedProcess { installation, ehr, process: Some(process), _dir: dir }
    }

    pub async fn caller(&self) -> Caller {
        self.installation.sign_in().await.expect("the key is good")
    }

    pub async fn code(&self, location: u32) -> String {
        let (status, made) = self.post(&format!("/locations/{location}/pairing_codes"), &json!({})).await;
        assert_eq!(status, 200, "{made}");
        made["data"]["code"].as_str().expect("a code").to_owned()
    }

    /// Pairs a workstation, without a login.
    pub async fn pair(&self, location: u32, name: &str) -> TestWorkstation {
        let code = self.code(location).await;
        TestWorkstation::pair(self.installation.address, &code, name).await.expect("the code is good")
    }

    /// Logs in to the EHR at a workstation, which ends the user's session at others.
    pub fn log_in(&self, workstation: &TestWorkstation) {
        workstation.browser.log_in(&self.ehr.log_in(USER));
    }

    async fn operator(&self) -> Caller {
        self.installation.operator().await.expect("the operators' listener accepts connections")
    }

    /// Sends a request as an operator, like the next two functions.
    pub async fn get(&self, path: &str) -> (u16, Value) {
        self.operator().await.get(path).await.expect("an answer")
    }

    pub async fn delete(&self, path: &str) -> u16 {
        self.operator().await.delete(path).await.expect("an answer").0
    }

    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.operator().await.post(path, body).await.expect("an answer")
    }

    /// Returns the gate's state of a location.
    pub async fn gate(&self, location: u32) -> Value {
        self.get(&format!("/locations/{location}/sync")).await.1["data"]["gate"].clone()
    }

    pub async fn gate_is(&self, location: u32, state: &str) {
        until(&format!("a gate that is {state}"), async || (self.gate(location).await["state"] == state).then_some(()))
            .await;
    }

    /// Waits until the first read cycle is complete.
    pub async fn read(&self) {
        let done = async || {
            let state = self.get(&format!("/locations/{LOCATION}/sync")).await.1;
            state["data"]["last_sync_at"].is_string().then_some(())
        };
        until("the first read cycle", done).await;
    }

    /// Returns a value of `/metrics`.
    pub async fn figure(&self, name: &str) -> u64 {
        let text = self.installation.metrics().await.expect("an answer");
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("practice_sync_{name} ")));
        line.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("no figure {name}"))
    }

    /// Stops the process, starts another one on its data, and returns the time that the stop took.
    pub async fn restart(&mut self) -> io::Result<Duration> {
        let stopped = match self.process.take() {
            Some(process) => process.stop()?,
            None => Duration::ZERO,
        };
        self.process = Some(self.installation.start().await?);
        Ok(stopped)
    }

    /// Kills the process and starts another one on its data.
    pub async fn crash(&mut self) -> io::Result<()> {
        if let Some(process) = self.process.take() {
            process.kill()?;
        }
        self.process = Some(self.installation.start().await?);
        Ok(())
    }

    pub fn path(&self, route: &str) -> String {
        format!("{route}?subdomain={SUBDOMAIN}&location_id={LOCATION}")
    }
}

/// Returns the configuration file.
pub fn configuration(dir: &Path, listen: Listen, origin: &str, rules: &str) -> String {
    let location = |id: u32| {
        format!(
            "[[institutions.locations]]\nid = {id}\nname = \"Place {id}\"\nzone = \"America/New_York\"\nsource = 21\n\
             adapter_config = {{ requests_per_minute = \"6000\" }}\n"
        )
    };
    // Settings of a table that exists already are merged into it.
    let (http, rules) = match rules.strip_prefix("[http]\n") {
        Some(own) => own.split_at(own.find("\n[").unwrap_or(own.len())),
        None => ("", rules),
    };
    format!(
        r#"{common}
[[institutions.sources]]
id = 21
name = "Cloud EHR"
adapter = "{ADAPTER}"
base_url = "{origin}/app"
workstation = {{ probe = "/api/session" }}
{locations}
"#,
        common = common(dir, listen, "error,workstations=warn", http, (ADAPTER, rules)),
        locations = location(LOCATION) + &location(OTHER),
    )
}

/// Returns the file of keys.
pub fn keys() -> String {
    key("tests", API_KEY, r#""financial", "beta""#) + &operator()
}
