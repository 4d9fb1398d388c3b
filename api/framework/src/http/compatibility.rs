//! Compatibility options for clients written for other systems. Strict by default.

use std::collections::BTreeMap;

use actix_web::http::header::HeaderName;

use crate::values::versions::Version;

location::settings! {
    /// The rules of `[compatibility]`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Compatibility("compatibility") {
        /// Additional version headers, in order of precedence after `Svc-Api-Version`.
        version_headers: Vec<HeaderName> = Vec::new();
        /// Additional version names, for any of these headers.
        version_values: BTreeMap<String, Version> = BTreeMap::new();
        default_version: Option<Version> = None, optional(Version::parse) =>
            reload, "The version of calls that name none; unset, they are refused. Off: a client without a version \
                     would change its behaviour with this line.";
        raw_keys: bool = false, flag() =>
            reload, "An API key is accepted where a bearer token is due, with `Bearer` or without. Off: a key does \
                     not expire, and is sent with every call.";
        /// Refused first products of User-Agents. Empty and missing User-Agents are refused too. `None` disables the
        /// rule.
        refused_user_agents: Option<Vec<String>> = Some(DEFAULT_AGENTS.map(str::to_owned).into());
    }
}

impl Compatibility {
    pub fn version(&self, name: &str) -> Option<Version> {
        Version::named(name).or_else(|| self.version_values.get(name).copied())
    }
}

/// Default products of common HTTP libraries, which do not identify the application.
pub const DEFAULT_AGENTS: [&str; 21] = [
    "curl", "Wget", "python-requests", "Python-urllib", "Python", "aiohttp", "python-httpx", "Go-http-client",
    "okhttp", "axios", "node-fetch", "undici", "node", "Java", "Java-http-client", "Apache-HttpClient", "Ruby",
    "Faraday", "reqwest", "GuzzleHttp", "libwww-perl",
];
