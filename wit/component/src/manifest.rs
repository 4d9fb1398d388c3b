//! The manifest of an adapter, as `adapter.toml` and embedded in a component: its identity and the permissions it
//! requests. The engine's operator can restrict the permissions, never extend them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::settings::{self, Setting};

pub const MANIFEST_FILE: &str = "adapter.toml";

/// Headers that an adapter may set only if its manifest requests it, because they change its identity to the EHR.
pub const IDENTITY_HEADERS: [&str; 2] = ["authorization", "cookie"];

/// The major version of the contract.
const CONTRACT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Names the adapter in the configuration and gives the component its file name: `[a-z][a-z0-9-]*`, at most 40
    /// bytes.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Version of the adapter, for example `1.4.0`.
    pub version: String,
    /// Major version of the contract: the `N` of `wit/vN`.
    pub contract: u32,
    /// Prefixes of the paths it may request below the location's base URL; `/` allows all.
    pub paths: Vec<String>,
    /// Identity headers that the adapter sets itself: `authorization`, `cookie`. Without them only the location's own
    /// credentials are sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// Maximum memory of a call.
    #[serde(default = "defaults::memory_mib")]
    pub memory_mib: u32,
    /// Maximum duration of a call, including time waiting for the EHR.
    #[serde(default = "defaults::call_seconds")]
    pub call_seconds: u32,
    /// Maximum HTTP requests of a call.
    #[serde(default = "defaults::requests_per_call")]
    pub requests_per_call: u32,
    /// Maximum requests per minute of the EHR; `None` if it has no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Maximum processor time of a call, and of a call that reads a page, in milliseconds; `None` for the operator's
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_ms: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_processor_ms: Option<u32>,
    /// The adapter's settings. If none is declared, any setting is passed on unchecked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Setting>,
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

/// The permissions that an adapter requests.
#[derive(Clone, Copy, Debug)]
pub struct RequestedAccess<'a> {
    pub paths: &'a [String],
    pub headers: &'a [String],
}

impl Manifest {
    pub fn asks(&self) -> RequestedAccess<'_> {
        RequestedAccess { paths: &self.paths, headers: &self.headers }
    }

    /// Returns all problems of the configured settings, names and values. Values are not quoted, because they may be
    /// secrets.
    pub fn refused_settings<'a>(&self, set: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<String> {
        settings::refused(&self.settings, set)
    }

    pub fn default_of(&self, setting: &str) -> Option<String> {
        Some(self.settings.get(setting)?.default.as_ref()?.to_string())
    }

    /// Formats the settings as a table for a README; `None` if none is declared.
    pub fn settings_table(&self) -> Option<String> {
        settings::table(&self.settings)
    }

    /// Formats the settings as commented-out lines of a configuration; `None` if none is declared.
    pub fn settings_example(&self) -> Option<String> {
        settings::example(&self.settings)
    }

    /// Parses an `adapter.toml`. Unknown keys are reported with their position, values out of range all at once.
    pub fn parse(text: &str) -> Result<Manifest, String> {
        let manifest: Manifest = toml::from_str(text).map_err(|e| e.to_string().trim_end().to_string())?;
        match manifest.problems() {
            problems if problems.is_empty() => Ok(manifest),
            problems => Err(problems.join("; ")),
        }
    }

    pub fn problems(&self) -> Vec<String> {
        let id_fits = self.id.len() <= 40
            && self.id.starts_with(|c: char| c.is_ascii_lowercase())
            && self.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        let name_fits = (1..=100).contains(&self.name.len()) && !self.name.chars().any(char::is_control);
        let version_fits = !self.version.is_empty()
            && self.version.len() <= 40
            && self.version.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
        let path_fits =
            |path: &String| path.starts_with('/') && path.len() <= 200 && !path.contains("..") && !path.contains("//");
        let within = |value: Option<u32>, most: u32| value.is_none_or(|value| (1..=most).contains(&value));
        let rules = [
            (id_fits, "`id` must be a lower-case letter and then letters, digits and hyphens, at most 40 bytes"),
            (name_fits, "`name` must have 1 to 100 bytes and no control characters"),
            (version_fits, "`version` must look like 1.4.0"),
            (self.contract == CONTRACT, "`contract` must be 1, the version there is"),
            ((1..=50).contains(&self.paths.len()), "`paths` must hold 1 to 50 prefixes"),
            (
                self.paths.iter().all(path_fits),
                "`paths` must begin with `/`, hold neither `..` nor `//`, and have at most 200 bytes each",
            ),
            (
                self.headers.iter().all(|name| IDENTITY_HEADERS.contains(&name.as_str())),
                "`headers` may hold `authorization` and `cookie`; other headers need not be asked for",
            ),
            ((1..=1024).contains(&self.memory_mib), "`memory_mib` must be 1 to 1024"),
            ((1..=300).contains(&self.call_seconds), "`call_seconds` must be 1 to 300"),
            ((1..=1000).contains(&self.requests_per_call), "`requests_per_call` must be 1 to 1000"),
            (within(self.requests_per_minute, 60_000), "`requests_per_minute` must be 1 to 60000"),
            (within(self.processor_ms, 60_000), "`processor_ms` must be 1 to 60000"),
            (within(self.pull_processor_ms, 300_000), "`pull_processor_ms` must be 1 to 300000"),
        ];
        let broken = rules.into_iter().filter(|(holds, _)| !holds).map(|(_, rule)| rule.to_owned());
        broken.chain(settings::problems(&self.settings)).collect()
    }
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
            ("processor_ms = 0", "processor_ms"),
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
            ("[\"/v1/\"]", "[\"/v1//x\"]", "`paths`"),
            ("\"Sandbox\"", "\"\\u001b[31m\"", "`name`"),
        ] {
            let refused = Manifest::parse(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert!(refused.contains(expected), "{to}: {refused}");
        }
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        let text = GOOD.replace("contract = 1", "contract = 3").replace("1.0.0", "one point oh");
        let refused = Manifest::parse(&format!("{text}memory_mib = 0\ncall_seconds = 0\n")).unwrap_err();
        for name in ["`contract`", "`version`", "`memory_mib`", "`call_seconds`"] {
            assert!(refused.contains(name), "{name}: {refused}");
        }
    }
}
