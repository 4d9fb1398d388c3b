//! A practice whose EHR opens only at a workstation: the product as a process of its own, and the cloud EHR.

use std::{io, path::Path, time::Duration};

use cloud_ehr::{CloudEhr, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Workstation;
use crate::harness::{
    http_client::Caller,
    process::{API_KEY, Installation, Listen, Process, SUBDOMAIN, common, key, operator},
};
use testing::until;

pub const LOCATION: u32 = 201;
/// Of the same institution, on the same EHR.
pub const OTHER: u32 = 202;
const ADAPTER: &str = "gated-cloud";
const USER: &str = "frontdesk";

pub struct GatedProcess {
    pub installation: Installation,
    pub ehr: CloudEhr,
    process: Option<Process>,
    // Removed when the test is over.
    _dir: TempDir,
}

impl GatedProcess {
    /// `rules` are tables of the configuration file that set its knobs.
    pub async fn open(program: &Path, rules: &str) -> GatedProcess {
        let settings = Settings { calls_per_minute: None, ..Settings::default() };
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

    /// A workstation that is paired, and at which nobody is logged in.
    pub async fn pair(&self, location: u32, name: &str) -> Workstation {
        let code = self.code(location).await;
        Workstation::pair(self.installation.address, &code, name).await.expect("the code is good")
    }

    /// Somebody logs in to the EHR at a workstation. Their session at another one is over.
    pub fn log_in(&self, workstation: &Workstation) {
        workstation.browser.log_in(&self.ehr.log_in(USER));
    }

    async fn operator(&self) -> Caller {
        self.installation.operator().await.expect("the operators' listener accepts connections")
    }

    /// As an operator; so are the next two.
    pub async fn get(&self, path: &str) -> (u16, Value) {
        self.operator().await.get(path).await.expect("an answer")
    }

    pub async fn delete(&self, path: &str) -> u16 {
        self.operator().await.delete(path).await.expect("an answer").0
    }

    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.operator().await.post(path, body).await.expect("an answer")
    }

    /// How the gate of a location stands.
    pub async fn gate(&self, location: u32) -> Value {
        self.get(&format!("/locations/{location}/sync")).await.1["data"]["gate"].clone()
    }

    pub async fn gate_is(&self, location: u32, state: &str) {
        until(&format!("a gate that is {state}"), async || (self.gate(location).await["state"] == state).then_some(()))
            .await;
    }

    /// The first read cycle is over.
    pub async fn read(&self) {
        let done = async || {
            let state = self.get(&format!("/locations/{LOCATION}/sync")).await.1;
            state["data"]["last_sync_at"].is_string().then_some(())
        };
        until("the first read cycle", done).await;
    }

    /// A figure of /metrics.
    pub async fn figure(&self, name: &str) -> u64 {
        let text = self.installation.metrics().await.expect("an answer");
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("practice_sync_{name} ")));
        line.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("no figure {name}"))
    }

    /// Stops the process as an operator does, and starts another one on what it left; how long the stop took.
    pub async fn restart(&mut self) -> io::Result<Duration> {
        let stopped = match self.process.take() {
            Some(process) => process.stop()?,
            None => Duration::ZERO,
        };
        self.process = Some(self.installation.start().await?);
        Ok(stopped)
    }

    /// The same without a word.
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

/// The configuration file.
pub fn configuration(dir: &Path, listen: Listen, origin: &str, rules: &str) -> String {
    let location = |id: u32| {
        format!(
            "[[institutions.locations]]\nid = {id}\nname = \"Place {id}\"\nzone = \"America/New_York\"\nsource = 21\n\
             adapter_config = {{ requests_per_minute = \"6000\" }}\n"
        )
    };
    // What belongs to a table that is here already goes into it.
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

/// The file of keys.
pub fn keys() -> String {
    key("tests", API_KEY, r#""financial", "beta""#) + &operator()
}
