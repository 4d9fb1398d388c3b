//! Configurable settings of the HTTP edge. Fixed limits are in `values::limits`.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, thread::available_parallelism, time::Duration};

use actix_web::http::header::HeaderValue;
use ipnet::IpNet;
use location::{DAY, HOUR, MINUTE, Millis, SECOND, key_kinds::integer, keys::KeyReader};

use super::{compatibility::Compatibility, cors, proxies};

location::settings! {
    /// Settings of the HTTP edge.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HttpRules, HttpRules::check {
        tls: Option<TlsFiles> = None, inline() => restart, "`None` for plain HTTP.";
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8080)), from_str("must be an address such as 127.0.0.1:8080") =>
            restart, "The address of the client listener.";
        workers: usize = available_parallelism().map_or(2, |cores| cores.get().min(256)), cores(1..=256) =>
            restart, "Threads that answer requests.";
        max_connections: usize = 10_000, integer(1..=1_000_000) =>
            restart, "Open connections over all workers; more wait to be accepted.";
        max_connections_per_address: usize = 1_000, integer(1..=1_000_000) =>
            reload, "Maximum number of connections of one address, or of one /64 network of IPv6, at each listener; \
                     more are closed at once. By default a tenth of `max_connections`, at least 100. Addresses of \
                     `trusted_proxies` have no such limit.",
            |http| (http.max_connections / 10).max(100).min(http.max_connections);
        max_workstations: usize = 8_000, integer(0..=1_000_000) =>
            restart, "Maximum number of connections of workstations; by default four fifths of `max_connections`.",
            |http| http.max_connections * 4 / 5;
        keep_alive: Duration = Duration::from_secs(75), std_duration(0..=HOUR) =>
            restart, "How long an idle connection stays open.";
        header_timeout: Duration = Duration::from_secs(5), std_duration(SECOND..=5 * MINUTE) =>
            restart, "How long a client may take to send the head of a request.";
        body_timeout: Duration = Duration::from_secs(10), std_duration(100..=5 * MINUTE) =>
            reload, "How long a client may take to send a body. It may keep responses waiting for as long, and longer \
                     by their size at 16 KiB a second; then its connection is closed.";
        shutdown_timeout: Duration = Duration::from_secs(10), std_duration(0..=HOUR) =>
            restart, "How long a stop may take: requests in flight end first, then the engine.";
        drain: Duration = Duration::ZERO, std_duration(0..=HOUR) =>
            reload, "How long a stop drains first: `/readyz` answers 503, and everything else is served as before, \
                     until load balancers send no more calls. `shutdown_timeout` begins after it. With 0s `/readyz` \
                     answers 503 for the last second before the port closes.";
        max_body: usize = 1024 * 1024, integer(1_024..=64 * 1024 * 1024) => reload, "Bytes of a request's body.";
        max_response_bytes: u64 = 256 << 20, integer(1024 * 1024..=64 * 1024 * 1024 * 1024) =>
            reload, "Bytes of all responses over 16 KiB that clients have not read yet. Above this, a GET of a client \
                     is answered with 503. Documents of the server, such as /openapi.json, do not count.";
        token_production: Millis = HOUR, duration(MINUTE..=DAY) =>
            reload, "Lifetime of a bearer token of production.";
        token_sandbox: Millis = DAY, duration(MINUTE..=30 * DAY) =>
            reload, "Lifetime of a bearer token of the sandbox.";
        slot_token: Millis = 30 * MINUTE, duration(MINUTE..=DAY) => reload, "How long a slot token can be booked.";
        trusted_proxies: Vec<IpNet> = Vec::new(), texts(proxies::trusted) =>
            reload, "Addresses and networks whose `X-Forwarded-For` is trusted.";
        cors_origins: Vec<HeaderValue> = Vec::new(), texts(cors::origin) =>
            reload, "Origins whose web pages may call, such as `https://app.example.com`.";
        refused_per_minute: u32 = 60, integer(0..=1_000_000) =>
            reload, "Calls of one address with keys or tokens that are not accepted; more are answered with 429. 0 \
                     switches the limit off.";
        finds_per_minute: u32 = 60, integer(0..=1_000_000) =>
            reload, "Searches for the visits of a patient (`POST /intent/booking/find`) with one API key; more are \
                     answered with 429. 0 switches the limit off.";
        finds_per_contact: u32 = 10, integer(0..=1_000_000) =>
            reload, "The same per hour with one telephone number or e-mail address, over all API keys of an \
                     institution.";
        operators: OperatorRules = OperatorRules::default() => reload "operators", nested(),
            "Where operators call: `/metrics` and their calls are served there and nowhere else, and API keys open \
             nothing there. Keep it on loopback or in the operators' network.";
        compatibility: Compatibility = Compatibility::default() => reload "compatibility", nested(),
            "Deviations that are accepted so that clients of another system need not change. They are accepted for all \
             clients, so they hide the mistakes of the others.";
        rate_limits: RateRules = RateRules::default() => reload "rate_limits", nested(),
            "Each limit is a bucket of that many calls that refills all the time: in the first minute nearly twice as \
             many pass.";
    }

    /// The listener of the operators.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OperatorRules {
        tls: Option<TlsFiles> = None, inline() => restart, "`None` for plain HTTP.";
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8081)), from_str("must be an address such as 127.0.0.1:8081") =>
            restart, "The address of the operators' listener; must differ from that of `[http]`.";
    }

    /// Calls per API key; 0 disables a limit.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RateRules {
        per_second: u32 = 100, integer(0..=1_000_000) =>
            reload, "Calls per API key over all its locations. 0 switches the limit off.";
        per_minute: u32 = 2_000, integer(0..=60_000_000) => reload, "The same per minute.";
        /// Per second, by endpoint as in `GET /appointments`.
        endpoints: BTreeMap<String, u32> = SLOW_ENDPOINTS.map(|endpoint| (endpoint.to_owned(), 10)).into(),
            map(
                (
                    "\"GET /appointments\"",
                    "Calls per second to this endpoint per API key. By default 10 of `GET /appointments`, \
                     `GET /available_slots`, `GET /appointment_slots` and `POST /intent/booking/search`."
                ),
                |_| Ok(()),
                integer(0..=1_000_000).described("0 to 1,000,000", "10")
            ) => reload, "Stricter limits for single endpoints.";
    }

    /// PEM files of a TLS listener.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TlsFiles, TlsFiles::check {
        certificate: PathBuf = PathBuf::new(), path().without_default() =>
            restart "tls_certificate", "A PEM file with the certificate chain of the listener, which then uses TLS.";
        key: PathBuf = PathBuf::new(), path().without_default() =>
            restart "tls_key", "The certificate's private key, PEM.";
    }
}

const SLOW_ENDPOINTS: [&str; 4] =
    ["GET /appointments", "GET /available_slots", "GET /appointment_slots", "POST /intent/booking/search"];

impl HttpRules {
    fn check(&mut self, keys: &impl KeyReader) {
        if self.max_workstations >= self.max_connections {
            let problem = "`max_workstations` must leave some of `max_connections` to API clients";
            keys.problem(&[], &["max_workstations"], problem);
        }
    }
}

impl TlsFiles {
    /// Reports a file without the other one. Their contents are checked when they are loaded.
    fn check(&mut self, keys: &impl KeyReader) {
        match (keys.has_key("tls_certificate"), keys.has_key("tls_key")) {
            (true, false) => {
                let problem = "`tls_certificate` needs `tls_key`, the file with its private key";
                keys.problem(&[], &["tls_certificate"], problem);
            }
            (false, true) => {
                let problem = "`tls_key` needs `tls_certificate`, the file with the certificate of this key";
                keys.problem(&[], &["tls_key"], problem);
            }
            _ => {}
        }
    }
}
