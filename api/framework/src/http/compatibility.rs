//! Compatibility options for clients written for other systems. Strict by default.

use std::collections::BTreeMap;

use actix_web::http::header::HeaderName;
use location::{
    key_kinds::{flag, parsed},
    keys::{ConfigKey, KeyReader},
};

use crate::values::versions::Version;

location::settings! {
    /// The rules of `[compatibility]`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Compatibility, Compatibility::check {
        version_headers: Vec<HeaderName> = Vec::new(), texts(version_header) =>
            reload, "Further headers that name the version, in the order of their precedence, after \
                     `Svc-Api-Version`. None by default, so that a client notices a version in a wrong header.";
        version_values: BTreeMap<String, Version> = BTreeMap::new(),
            map(
                ("NAME", "Such as `stable = \"v3.0.0\"`."),
                version_name,
                parsed(Version::parse).described("`v2.2.2`, `v3.0.0`, `v3.1.0`", "\"v3.0.0\"")
            ) => reload, "Further names of versions.";
        default_version: Option<Version> = None, parsed(Version::parse).optional() =>
            reload, "The version of calls that name none. By default they are refused, because a change of this key \
                     would change the behaviour of their clients.";
        raw_keys: bool = false, flag() =>
            reload, "Accepts an API key in place of a bearer token, with `Bearer` or without. Off by default: a key \
                     does not expire, and is then sent with every call.";
        /// Empty and missing User-Agents are refused too. `None` disables the rule.
        refused_user_agents: Option<Vec<String>> = Some(DEFAULT_AGENTS.map(str::to_owned).into()),
            texts(product).optional() =>
            reload, "First products of a User-Agent that are refused; by default those of common libraries.";
    }
}

/// Headers with a fixed meaning, which cannot name the version.
const RESERVED_HEADERS: [&str; 13] = [
    "accept", "authorization", "connection", "content-length", "content-type", "cookie", "host", "if-none-match",
    "transfer-encoding", "user-agent", "x-request-id", "svc-api-version", "idempotency-key",
];

fn version_header(text: &str) -> Result<HeaderName, String> {
    let name: HeaderName =
        text.parse().map_err(|_| "must be the name of a header, such as \"Api-Version\"".to_owned())?;
    match RESERVED_HEADERS.contains(&name.as_str()) {
        true => Err(format!("must not be `{text}`: this header is reserved")),
        false => Ok(name),
    }
}

fn version_name(name: &str) -> Result<(), String> {
    match Version::named(name) {
        Some(_) => Err(format!("`{name}` is the name of a version already")),
        None => Ok(()),
    }
}

/// Parses the name of a product. A trailing slash marks the end of the name.
fn product(agent: &str) -> Result<String, String> {
    Ok(agent.trim_end_matches('/').to_owned())
}

impl Compatibility {
    /// Reads the key that disables the rule of User-Agents.
    fn check(&mut self, keys: &impl KeyReader) {
        let mut user_agent_rule = true;
        let about = "Whether clients must name their application.";
        keys.read(ConfigKey::reload("user_agent_rule", about), &mut user_agent_rule, flag());
        if !user_agent_rule {
            self.refused_user_agents = None;
        }
    }
}

/// Default products of common HTTP libraries, which do not identify the application.
pub const DEFAULT_AGENTS: [&str; 21] = [
    "curl", "Wget", "python-requests", "Python-urllib", "Python", "aiohttp", "python-httpx", "Go-http-client",
    "okhttp", "axios", "node-fetch", "undici", "node", "Java", "Java-http-client", "Apache-HttpClient", "Ruby",
    "Faraday", "reqwest", "GuzzleHttp", "libwww-perl",
];
