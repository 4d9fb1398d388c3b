//! The configuration file: TOML, read with line numbers, unknown keys refused, all problems told at once.

mod file;
mod knobs;
mod reader;

use std::{
    collections::BTreeMap,
    fmt, fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use actix_web::http::header::HeaderValue;
use engine::setup::Setup;
use ipnet::IpNet;
use location::time::{DAY, HOUR, MINUTE, Millis};

use crate::{
    access::{directory::Statuses, keys::ApiKey},
    values::secret::Secret,
};

/// A complete file with every key, its default and its meaning.
pub const DEFAULT: &str = include_str!("default.toml");

/// What `serve` needs to know.
#[derive(Clone)]
pub struct Config {
    pub setup: Setup,
    pub http: HttpRules,
    pub keys: Vec<ApiKey>,
    pub data_dir: PathBuf,
    /// None: one is made in the data directory at the first start.
    pub secret: Option<Secret>,
    pub log: String,
}

/// What of a file takes effect while the service runs.
#[derive(Clone, Debug)]
pub struct Access {
    pub keys: Vec<ApiKey>,
    pub statuses: Statuses,
}

/// Knobs of the HTTP edge.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpRules {
    pub listen: SocketAddr,
    pub workers: usize,
    pub max_connections: usize,
    /// Of them, those that workstations may hold open.
    pub max_workstations: usize,
    pub keep_alive: Duration,
    pub header_timeout: Duration,
    pub body_timeout: Duration,
    pub shutdown_timeout: Duration,
    pub max_body: usize,
    /// Bytes of pages of lists kept for clients that poll; 0 keeps none.
    pub kept_pages: u64,
    pub token_production: Millis,
    pub token_sandbox: Millis,
    pub slot_token: Millis,
    /// Products that User-Agents must not begin with; empty and missing ones are refused too. None: the rule is off.
    pub refused_user_agents: Option<Vec<String>>,
    /// Whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Whose web pages may call.
    pub cors_origins: Vec<HeaderValue>,
    /// Calls of one address with a key or token that is not accepted; 0 switches the limit off.
    pub refused_per_minute: u32,
    pub rates: RateRules,
}

/// Calls per API key; 0 switches a limit off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateRules {
    pub per_second: u32,
    pub per_minute: u32,
    /// Per second, by endpoint as in `GET /appointments`.
    pub endpoints: BTreeMap<String, u32>,
}

impl Default for HttpRules {
    fn default() -> HttpRules {
        HttpRules {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            workers: 2,
            max_connections: 10_000,
            max_workstations: 8_000,
            keep_alive: Duration::from_secs(75),
            header_timeout: Duration::from_secs(5),
            body_timeout: Duration::from_secs(10),
            shutdown_timeout: Duration::from_secs(10),
            max_body: 1024 * 1024,
            kept_pages: 64 << 20,
            token_production: HOUR,
            token_sandbox: DAY,
            slot_token: 30 * MINUTE,
            refused_user_agents: Some(DEFAULT_AGENTS.iter().map(|agent| (*agent).to_owned()).collect()),
            trusted_proxies: Vec::new(),
            cors_origins: Vec::new(),
            refused_per_minute: 60,
            rates: RateRules::default(),
        }
    }
}

impl Default for RateRules {
    fn default() -> RateRules {
        let slow =
            ["GET /appointments", "GET /available_slots", "GET /appointment_slots", "POST /intent/booking/search"];
        RateRules {
            per_second: 100,
            per_minute: 2_000,
            endpoints: slow.into_iter().map(|endpoint| (endpoint.to_owned(), 10)).collect(),
        }
    }
}

/// The products common libraries name when no one names the application.
const DEFAULT_AGENTS: [&str; 21] = [
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

/// One thing wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub line: usize,
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: {}", path.display(), listed(problems))]
    Wrong { path: PathBuf, problems: Vec<Problem> },
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}

impl Config {
    /// Relative paths in the file count from its folder.
    pub fn load(path: &Path) -> Result<Config, ConfigError> {
        let (text, base) = read(path)?;
        Config::parse(&text, base).map_err(|problems| ConfigError::Wrong { path: path.to_path_buf(), problems })
    }

    /// The keys and the statuses of locations, whatever else is wrong in the file, and all that is. Only a file that is not TOML says
    /// nothing.
    pub fn access(path: &Path) -> Result<(Access, Vec<Problem>), ConfigError> {
        let (text, base) = read(path)?;
        file::read_access(&text, base).map_err(|problems| ConfigError::Wrong { path: path.to_path_buf(), problems })
    }

    pub fn parse(text: &str, base: &Path) -> Result<Config, Vec<Problem>> {
        file::read(text, base)
    }
}

fn read(path: &Path) -> Result<(String, &Path), ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_path_buf(), source };
    let text = fs::read_to_string(path).map_err(unreadable)?;
    Ok((text, path.parent().unwrap_or(Path::new(""))))
}

#[cfg(test)]
mod tests;
