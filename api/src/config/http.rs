//! The tables `[http]`, `[operators]`, `[compatibility]` and `[rate_limits]`.

use location::time::{DAY, HOUR, MINUTE, SECOND};

use super::{compatibility, reader::Section, tls};
use crate::{
    http::{cors, proxies, rules::HttpRules},
    routes::table,
};

/// Minimum of the default for connections per address, which is a tenth of all connections.
const LEAST_SHARE: usize = 100;

pub(super) fn read(root: &Section<'_, '_>) -> HttpRules {
    let mut http = HttpRules::default();
    edge(&root.about("The edge of the server.").settings("http"), &mut http);
    operators(
        &root
            .about(
                "Where operators call: `/metrics` and their calls are served there and nowhere else, and API keys open nothing there. Keep it \
                 on loopback or in the operators' network.",
            )
            .settings("operators"),
        &mut http,
    );
    compatibility::read(
        &root
            .about(
                "What is accepted so that clients that were written for another system need not change. A \
                 deviation is accepted for all clients, so it hides the mistakes of the others.",
            )
            .settings("compatibility"),
        &mut http.compatibility,
    );
    rate_limits(
        &root
            .about(
                "Each limit is a bucket of that many calls that refills all the time: in the first minute nearly \
                 twice as many pass.",
            )
            .settings("rate_limits"),
        &mut http,
    );
    http
}

fn operators(s: &Section<'_, '_>, http: &mut HttpRules) {
    let address = |text: &str| text.parse().map_err(|_| "must be an address such as 127.0.0.1:8081".to_owned());
    http.operators_tls = tls::read(s);
    s.about("The address of the operators' listener; must differ from that of `[http]`.").at_start().setting(
        "listen",
        address,
        &mut http.operators,
    );
    if let Some(at) = s.at_of("listen").filter(|_| http.operators == http.listen && http.listen.port() != 0) {
        s.problems.add(at, "`listen` of [operators] must be another address than that of [http]");
    }
}

fn edge(s: &Section<'_, '_>, http: &mut HttpRules) {
    let address = |text: &str| text.parse().map_err(|_| "must be an address such as 127.0.0.1:8080".to_owned());
    http.tls = tls::read(s);
    s.about("The address of the client listener.").at_start().setting("listen", address, &mut http.listen);
    s.about("Threads that answer requests.").at_start().cores("workers", 1..=256, &mut http.workers);
    s.about("Open connections over all workers; more wait to be accepted.").at_start().knob(
        "max_connections",
        1..=1_000_000,
        &mut http.max_connections,
    );
    http.max_connections_per_address = (http.max_connections / 10).max(LEAST_SHARE).min(http.max_connections);
    s.about(
        "Of them, those of one address, or of one /64 network of IPv6, at each listener; more are closed at once. By default a \
         tenth, at least 100. Addresses of `trusted_proxies` have no such limit.",
    )
    .knob("max_connections_per_address", 1..=1_000_000, &mut http.max_connections_per_address);
    // Default: four fifths of all connections.
    http.max_workstations = http.max_connections * 4 / 5;
    s.about("Of them, those that workstations may hold open; by default four of five.").at_start().knob(
        "max_workstations",
        0..=1_000_000,
        &mut http.max_workstations,
    );
    if let Some(asked) = s.at_of("max_workstations").filter(|_| http.max_workstations >= http.max_connections) {
        s.problems.add(asked, "`max_workstations` must leave some of `max_connections` to API clients");
    }
    s.about("How long an idle connection stays open.").at_start().std_duration(
        "keep_alive",
        0..=HOUR,
        &mut http.keep_alive,
    );
    s.about("How long a client may take to send the head of a request.").at_start().std_duration(
        "header_timeout",
        SECOND..=5 * MINUTE,
        &mut http.header_timeout,
    );
    s.about(
        "How long a client may take to send a body. It may keep responses waiting for as long, and longer by their size at \
         16 KiB a second; then its connection is closed.",
    )
    .std_duration(
        "body_timeout",
        100..=5 * MINUTE,
        &mut http.body_timeout,
    );
    s.about("How long a stop may take: requests under way end first, then the engine.").at_start().std_duration(
        "shutdown_timeout",
        0..=HOUR,
        &mut http.shutdown_timeout,
    );
    s.about(
        "How long a stop drains first: `/readyz` answers 503, and everything else is served as before, until load balancers send no more \
         calls. `shutdown_timeout` begins after it. With 0s `/readyz` answers 503 for the last second before the port closes.",
    )
    .std_duration("drain", 0..=HOUR, &mut http.drain);
    s.about("Bytes of a request's body.").knob("max_body", 1_024..=64 * 1024 * 1024, &mut http.max_body);
    s.about(
        "Bytes of all responses over 16 KiB that clients have not taken yet. At more, a GET of a client is answered with 503. \
         Texts of the program, such as /openapi.json, do not count.",
    )
    .knob("max_response_bytes", 1024 * 1024..=64 * 1024 * 1024 * 1024, &mut http.max_response_bytes);
    s.about("Lifetime of a bearer token of production.").duration(
        "token_production",
        MINUTE..=DAY,
        &mut http.token_production,
    );
    s.about("Lifetime of a bearer token of the sandbox.").duration(
        "token_sandbox",
        MINUTE..=30 * DAY,
        &mut http.token_sandbox,
    );
    s.about("How long a slot token can be booked.").duration("slot_token", MINUTE..=DAY, &mut http.slot_token);
    let trusted = s
        .about("Addresses and networks whose `X-Forwarded-For` is believed.")
        .texts_as("trusted_proxies", proxies::trusted);
    http.trusted_proxies = trusted.unwrap_or_default();
    http.cors_origins = s
        .about("Origins whose web pages may call, such as `https://app.example.com`.")
        .texts_as("cors_origins", cors::origin)
        .unwrap_or_default();
    s.about(
        "Calls of one address with keys or tokens that are not accepted; more are answered with 429. 0 \
         switches the limit off.",
    )
    .knob("refused_per_minute", 0..=1_000_000, &mut http.refused_per_minute);
}

fn rate_limits(s: &Section<'_, '_>, http: &mut HttpRules) {
    s.about("Calls per API key over all its locations. 0 switches the limit off.").knob(
        "per_second",
        0..=1_000_000,
        &mut http.rate_limits.per_second,
    );
    s.about("The same per minute.").knob("per_minute", 0..=60_000_000, &mut http.rate_limits.per_minute);
    if let Some(s) = s.about("Stricter limits for single endpoints.").table("endpoints") {
        s.about(
            "Calls per second to this endpoint per API key. By default 10 of `GET /appointments`, `GET /available_slots`, \
             `GET /appointment_slots` and `POST /intent/booking/search`.",
        )
        .note_any("\"GET /appointments\"", "0 to 1,000,000", "10");
        for endpoint in s.keys() {
            if !table::endpoints().any(|known| known == endpoint.value) {
                let problem =
                    format!("unknown endpoint `{}`; endpoints are written as in \"GET /appointments\"", endpoint.value);
                s.problems.add(endpoint.at, problem);
            }
            let mut limit = 0;
            s.knob(&endpoint.value, 0..=1_000_000, &mut limit);
            http.rate_limits.endpoints.insert(endpoint.value, limit);
        }
    }
}
