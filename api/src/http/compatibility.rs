//! Compatibility options for clients written for other systems. Strict by default.

use std::collections::BTreeMap;

use actix_web::http::header::HeaderName;

use crate::values::versions::Version;

/// The rules of `[compatibility]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compatibility {
    /// Additional version headers, in order of precedence after `Svc-Api-Version`.
    pub version_headers: Vec<HeaderName>,
    /// Additional version names, for any of these headers.
    pub version_values: BTreeMap<String, Version>,
    /// Version of calls that name none; `None` refuses them.
    pub default_version: Option<Version>,
    /// Accepts an API key in place of a bearer token.
    pub raw_keys: bool,
    /// Refused first products of User-Agents. Empty and missing User-Agents are refused too. `None` disables the rule.
    pub refused_user_agents: Option<Vec<String>>,
}

impl Default for Compatibility {
    fn default() -> Compatibility {
        Compatibility {
            version_headers: Vec::new(),
            version_values: BTreeMap::new(),
            default_version: None,
            raw_keys: false,
            refused_user_agents: Some(DEFAULT_AGENTS.iter().map(|agent| (*agent).to_owned()).collect()),
        }
    }
}

impl Compatibility {
    pub(crate) fn version(&self, name: &str) -> Option<Version> {
        Version::named(name).or_else(|| self.version_values.get(name).copied())
    }
}

/// Default products of common HTTP libraries, which do not identify the application.
pub(crate) const DEFAULT_AGENTS: [&str; 21] = [
    "curl",
    "Wget",
    "python-requests",
    "Python-urllib",
    "Python",
    "aiohttp",
    "python-httpx",
    "Go-http-client",
    "okhttp",
    "axios",
    "node-fetch",
    "undici",
    "node",
    "Java",
    "Java-http-client",
    "Apache-HttpClient",
    "Ruby",
    "Faraday",
    "reqwest",
    "GuzzleHttp",
    "libwww-perl",
];
