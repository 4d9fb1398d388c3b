//! The tables `[http]`, `[operators]` and `[rate_limits]`: the edge of the server.

use location::time::{DAY, HOUR, MINUTE, SECOND};

use super::{compatibility, reader::Section};
use crate::{
    http::{cors, proxies, rules::HttpRules},
    routes::table,
};

pub(super) fn read(root: &Section<'_, '_>) -> HttpRules {
    let mut http = HttpRules::default();
    edge(&root.settings("http"), &mut http);
    operators(&root.settings("operators"), &mut http);
    compatibility::read(&root.settings("compatibility"), &mut http.compatibility);
    rate_limits(&root.settings("rate_limits"), &mut http);
    http
}

fn operators(s: &Section<'_, '_>, http: &mut HttpRules) {
    let address = |text: &str| text.parse().map_err(|_| "must be an address such as 127.0.0.1:8081".to_owned());
    s.setting("listen", address, &mut http.operators);
    if let Some(at) = s.at_of("listen").filter(|_| http.operators == http.listen && http.listen.port() != 0) {
        s.problems.add(at, "`listen` of [operators] must be another address than that of [http]");
    }
}

fn edge(s: &Section<'_, '_>, http: &mut HttpRules) {
    let address = |text: &str| text.parse().map_err(|_| "must be an address such as 127.0.0.1:8080".to_owned());
    s.setting("listen", address, &mut http.listen);
    s.knob("workers", 1..=256, &mut http.workers);
    s.knob("max_connections", 1..=1_000_000, &mut http.max_connections);
    // Four of five, unless the file says how many.
    http.max_workstations = http.max_connections * 4 / 5;
    s.knob("max_workstations", 0..=1_000_000, &mut http.max_workstations);
    if let Some(asked) = s.at_of("max_workstations").filter(|_| http.max_workstations >= http.max_connections) {
        s.problems.add(asked, "`max_workstations` must leave some of `max_connections` to API clients");
    }
    s.std_duration("keep_alive", 0..=HOUR, &mut http.keep_alive);
    s.std_duration("header_timeout", SECOND..=5 * MINUTE, &mut http.header_timeout);
    s.std_duration("body_timeout", 100..=5 * MINUTE, &mut http.body_timeout);
    s.std_duration("shutdown_timeout", 0..=HOUR, &mut http.shutdown_timeout);
    s.knob("max_body", 1_024..=64 * 1024 * 1024, &mut http.max_body);
    s.knob("list_cache_bytes", 0..=16 * 1024 * 1024 * 1024, &mut http.list_cache_bytes);
    s.duration("token_production", MINUTE..=DAY, &mut http.token_production);
    s.duration("token_sandbox", MINUTE..=30 * DAY, &mut http.token_sandbox);
    s.duration("slot_token", MINUTE..=DAY, &mut http.slot_token);
    let trusted = s.texts_as("trusted_proxies", proxies::trusted);
    http.trusted_proxies = trusted.unwrap_or_default();
    http.cors_origins = s.texts_as("cors_origins", cors::origin).unwrap_or_default();
    s.knob("refused_per_minute", 0..=1_000_000, &mut http.refused_per_minute);
}

fn rate_limits(s: &Section<'_, '_>, http: &mut HttpRules) {
    s.knob("per_second", 0..=1_000_000, &mut http.rate_limits.per_second);
    s.knob("per_minute", 0..=60_000_000, &mut http.rate_limits.per_minute);
    if let Some(s) = s.table("endpoints") {
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
