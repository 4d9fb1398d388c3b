//! Configurable settings of the HTTP edge. Fixed limits are in `values::limits`.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, thread::available_parallelism, time::Duration};

use actix_web::http::header::HeaderValue;
use ipnet::IpNet;
use location::time::{DAY, HOUR, MINUTE, Millis};

use super::compatibility::Compatibility;

/// Settings of the HTTP edge.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpRules {
    pub listen: SocketAddr,
    /// Address of the operators' listener.
    pub operators: SocketAddr,
    /// `None` for plain HTTP.
    pub tls: Option<TlsFiles>,
    pub operators_tls: Option<TlsFiles>,
    pub workers: usize,
    pub max_connections: usize,
    /// Maximum connections per address. Trusted proxies are exempt.
    pub max_connections_per_address: usize,
    /// Maximum connections of workstations.
    pub max_workstations: usize,
    pub keep_alive: Duration,
    pub header_timeout: Duration,
    pub body_timeout: Duration,
    pub shutdown_timeout: Duration,
    /// Time during which the server reports not ready before it stops.
    pub drain: Duration,
    pub max_body: usize,
    /// Limit in bytes for large responses that clients have not read yet.
    pub max_response_bytes: u64,
    pub token_production: Millis,
    pub token_sandbox: Millis,
    pub slot_token: Millis,
    pub compatibility: Compatibility,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Origins of web pages that may call.
    pub cors_origins: Vec<HeaderValue>,
    /// Limit of calls with rejected credentials, per address; 0 disables it.
    pub refused_per_minute: u32,
    pub rate_limits: RateRules,
}

/// PEM files of a TLS listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Server certificate, followed by the intermediate certificates.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Calls per API key; 0 disables a limit.
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
            operators: SocketAddr::from(([127, 0, 0, 1], 8081)),
            tls: None,
            operators_tls: None,
            // The maximum that the configuration accepts.
            workers: available_parallelism().map_or(2, |cores| cores.get().min(256)),
            max_connections: 10_000,
            max_connections_per_address: 1_000,
            max_workstations: 8_000,
            keep_alive: Duration::from_secs(75),
            header_timeout: Duration::from_secs(5),
            body_timeout: Duration::from_secs(10),
            shutdown_timeout: Duration::from_secs(10),
            drain: Duration::ZERO,
            max_body: 1024 * 1024,
            max_response_bytes: 256 << 20,
            token_production: HOUR,
            token_sandbox: DAY,
            slot_token: 30 * MINUTE,
            compatibility: Compatibility::default(),
            trusted_proxies: Vec::new(),
            cors_origins: Vec::new(),
            refused_per_minute: 60,
            rate_limits: RateRules::default(),
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
