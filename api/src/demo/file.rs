//! `DIR/demo.json`, and the names of the demo's practice.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use engine::store::files;
use serde::{Deserialize, Serialize};

pub(super) const SUBDOMAIN: &str = "demo-dental";

pub(super) const LOCATIONS: [u32; 2] = [101, 102];

pub(super) const SOURCE: u32 = 11;

/// `DIR/demo.json`: the facts that a client needs, and the state that a restart resumes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DemoFile {
    pub base_url: String,
    pub api_key: String,
    /// The URL of the operators' listener, and a token for it.
    pub operators_url: String,
    pub operator_token: String,
    pub subdomain: String,
    pub location_ids: Vec<u32>,
    /// The URL at which the demo receives and shows its webhook messages.
    pub webhook_dev_sink: String,
    pub webhook_endpoint_id: Option<i64>,
    pub webhook_secret_key: Option<String>,
    pub config: PathBuf,
    /// Present with `--cloud`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_ehr: Option<CloudFacts>,
}

pub(super) fn read(file: &Path) -> Option<DemoFile> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// Replaces the file atomically, because scripts wait for it. Only its owner can read it, because it contains a key and
/// a token.
pub(super) fn write(file: &Path, facts: &DemoFile) -> io::Result<()> {
    files::replace(file, &serde_json::to_string_pretty(facts).map_err(io::Error::other)?)
}

/// The login and address of the cloud EHR, and the state that a restart resumes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CloudFacts {
    pub url: String,
    pub user: String,
    pub password: String,
    pub port: u16,
    /// The time for which the EHR's data was generated, in seconds since 1970.
    pub seeded_at: i64,
}
