//! What an operator lets in so that clients written for another system need not change. Strict unless the configuration says otherwise.

use std::collections::BTreeMap;

use actix_web::http::header::HeaderName;

use crate::values::versions::Version;

/// The rules of `[compatibility]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compatibility {
    /// Further headers that name the version. Those named first count first, and `Svc-Api-Version` before all of them.
    pub version_headers: Vec<HeaderName>,
    /// Further names of versions, for any of these headers.
    pub version_values: BTreeMap<String, Version>,
    /// The version of calls that name none. None: they are refused.
    pub default_version: Option<Version>,
    /// Whether an API key is accepted where a bearer token is due.
    pub raw_keys: bool,
    /// Products that User-Agents must not begin with; empty and missing ones are refused too. None: the rule is off.
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

/// The products common libraries name when no one names the application.
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
