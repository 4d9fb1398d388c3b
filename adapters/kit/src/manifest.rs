//! `adapter.toml`: who an adapter is and what it asks for. The engine's operator can narrow it, never widen it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{KitError, files};

pub const MANIFEST_FILE: &str = "adapter.toml";

/// The major version of the contract this kit builds for.
const CONTRACT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Names the adapter in configuration and gives the component its file name: `[a-z][a-z0-9-]*`, at most 40 bytes.
    pub id: String,
    /// Name to show.
    pub name: String,
    /// Version of the adapter, for example `1.4.0`.
    pub version: String,
    /// Major version of the contract: the `N` of `wit/vN`.
    pub contract: u32,
    /// Prefixes of the paths it may request below the location's base URL; `/` is everything there.
    pub paths: Vec<String>,
    /// Headers that say who somebody is, which the adapter sets itself: `authorization`, `cookie`. Without them only the location's own
    /// credentials are sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// Memory one call may take.
    #[serde(default = "defaults::memory_mib")]
    pub memory_mib: u32,
    /// Seconds one call may take, waiting for the EHR included.
    #[serde(default = "defaults::call_seconds")]
    pub call_seconds: u32,
    /// HTTP requests one call may make.
    #[serde(default = "defaults::requests_per_call")]
    pub requests_per_call: u32,
    /// Requests a minute the EHR bears; none where it names no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
}

mod defaults {
    pub fn memory_mib() -> u32 {
        64
    }
    pub fn call_seconds() -> u32 {
        30
    }
    pub fn requests_per_call() -> u32 {
        50
    }
}

impl Manifest {
    /// Of the adapter crate in `dir`.
    pub fn read(dir: &Path) -> Result<Manifest, KitError> {
        let path = dir.join(MANIFEST_FILE);
        Manifest::parse(&files::read_text(&path)?).map_err(|reason| KitError::Manifest { path, reason })
    }

    /// Unknown keys and values out of range are errors that say where.
    pub fn parse(text: &str) -> Result<Manifest, String> {
        let manifest: Manifest = toml::from_str(text).map_err(|e| e.to_string().trim_end().to_string())?;
        manifest.validate()?;
        Ok(manifest)
    }

    fn validate(&self) -> Result<(), String> {
        let id_fits = self.id.len() <= 40
            && self.id.starts_with(|c: char| c.is_ascii_lowercase())
            && self.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        let version_fits = !self.version.is_empty()
            && self.version.len() <= 40
            && self.version.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
        require(id_fits, "`id` must be a lower-case letter and then letters, digits and hyphens, at most 40 bytes")?;
        require((1..=100).contains(&self.name.len()), "`name` must have 1 to 100 bytes")?;
        require(version_fits, "`version` must look like 1.4.0")?;
        require(self.contract == CONTRACT, &format!("`contract` must be {CONTRACT}, the version this kit builds for"))?;
        require((1..=50).contains(&self.paths.len()), "`paths` must hold 1 to 50 prefixes")?;
        for path in &self.paths {
            let fits = path.starts_with('/') && path.len() <= 200 && !path.contains("..") && !path.contains("//");
            require(fits, &format!("`paths` must begin with `/` and hold neither `..` nor `//`: {path:?}"))?;
        }
        let known = self.headers.iter().all(|name| matches!(name.as_str(), "authorization" | "cookie"));
        require(known, "`headers` may hold `authorization` and `cookie`; other headers need not be asked for")?;
        require((1..=1024).contains(&self.memory_mib), "`memory_mib` must be 1 to 1024")?;
        require((1..=300).contains(&self.call_seconds), "`call_seconds` must be 1 to 300")?;
        require((1..=1000).contains(&self.requests_per_call), "`requests_per_call` must be 1 to 1000")?;
        require(
            self.requests_per_minute.is_none_or(|n| (1..=60_000).contains(&n)),
            "`requests_per_minute` must be 1 to 60000",
        )
    }
}

fn require(holds: bool, rule: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(rule.to_string()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const GOOD: &str = "id = \"sandbox\"\nname = \"Sandbox\"\nversion = \"1.0.0\"\ncontract = 1\npaths = [\"/v1/\"]\n";

    #[test]
    fn defaults_apply() {
        let manifest = Manifest::parse(GOOD).unwrap();
        assert_eq!((manifest.memory_mib, manifest.call_seconds, manifest.requests_per_call), (64, 30, 50));
        assert_eq!(manifest.requests_per_minute, None);
    }

    #[test]
    fn each_rule_is_enforced_by_name() {
        for (line, expected) in [
            ("memory = 3", "unknown field `memory`"),
            ("headers = [\"host\"]", "`headers`"),
            ("memory_mib = 0", "memory_mib"),
            ("memory_mib = 4096", "memory_mib"),
            ("call_seconds = 301", "call_seconds"),
            ("requests_per_call = 0", "requests_per_call"),
            ("requests_per_minute = 0", "requests_per_minute"),
            ("memory_mib = \"big\"", "line 6"),
        ] {
            let refused = Manifest::parse(&format!("{GOOD}{line}\n")).unwrap_err();
            assert!(refused.contains(expected), "{line}: {refused}");
        }
        for (from, to, expected) in [
            ("\"sandbox\"", "\"../up\"", "`id`"),
            ("\"Sandbox\"", "\"\"", "`name`"),
            ("\"1.0.0\"", "\"1/0\"", "`version`"),
            ("contract = 1", "contract = 2", "`contract`"),
            ("[\"/v1/\"]", "[]", "`paths`"),
            ("[\"/v1/\"]", "[\"v1\"]", "`paths`"),
            ("[\"/v1/\"]", "[\"/../v1\"]", "`paths`"),
        ] {
            let refused = Manifest::parse(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert!(refused.contains(expected), "{to}: {refused}");
        }
    }
}
