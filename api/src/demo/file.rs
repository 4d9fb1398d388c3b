//! `DIR/demo.json`, and the names of the demo's practice.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use engine::store::files;
use serde::{Deserialize, Serialize};

pub(super) const SUBDOMAIN: &str = "demo-dental";

pub(super) const LOCATIONS: [u32; 2] = [101, 102];

/// The demo's data source.
pub(super) const SOURCE: u32 = 11;

/// `DIR/demo.json`: what a client needs, and what the next start goes on with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DemoFile {
    pub base_url: String,
    pub api_key: String,
    /// Where operators call, and with what.
    pub operators_url: String,
    pub operator_token: String,
    pub subdomain: String,
    pub location_ids: Vec<u32>,
    /// Where the demo receives its webhook messages, and shows them.
    pub webhook_dev_sink: String,
    pub webhook_endpoint_id: Option<i64>,
    pub webhook_secret_key: Option<String>,
    pub config: PathBuf,
    /// With `--cloud`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_ehr: Option<CloudFacts>,
}

pub(super) fn read(file: &Path) -> Option<DemoFile> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// Whole or not at all, as scripts wait for this file; and for its owner, as it holds a key and a token.
pub(super) fn write(file: &Path, facts: &DemoFile) -> io::Result<()> {
    files::replace(file, &serde_json::to_string_pretty(facts).map_err(io::Error::other)?)
}

/// What a person or a test needs to log in, and what the next start goes on with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CloudFacts {
    pub url: String,
    pub user: String,
    pub password: String,
    pub port: u16,
    /// The present its books were made for, in seconds since 1970.
    pub seeded_at: i64,
}
