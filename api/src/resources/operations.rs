//! For the operator: is it alive, is it ready, what are its numbers. Nothing here tells about a practice or a patient.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{CONTENT_TYPE, RETRY_AFTER},
    web::Data,
};
use engine::{Engine, records::sync_state::AdapterStatus};
use location::time::SECOND;
use serde_json::{Value, json};

use super::adapter_costs;
use crate::{
    access::api::Api,
    http::{
        errors::{ApiError, HttpResult},
        metrics::{CLASSES, RequestMetrics, Series, family, histogram, sample},
        tls::Certificates,
    },
    memory,
};

pub(crate) async fn healthz(_: HttpRequest) -> HttpResult {
    Ok(HttpResponse::Ok().json(json!({ "status": "ok" })))
}

/// Ready even when an adapter is not: that closes its own locations, which is said, and no others.
pub(crate) async fn readyz(request: HttpRequest) -> HttpResult {
    let engine = &api(&request)?.engine;
    if let Err(reason) = engine.ready() {
        return Ok(HttpResponse::ServiceUnavailable()
            .insert_header((RETRY_AFTER, "5"))
            .json(json!({ "status": "not ready", "reason": reason })));
    }
    let adapters = engine.adapters_not_ready();
    let named = |status| -> Vec<Value> {
        let those = adapters.iter().filter(|adapter| adapter.status == status);
        those.map(|adapter| json!({ "name": adapter.name, "reason": adapter.reason })).collect()
    };
    let mut ready = json!({ "status": "ready" });
    if let Some(nodes) = engine.nodes() {
        ready["node"] = json!({ "name": nodes.name, "view": nodes.view, "members": nodes.members });
    }
    if let Some(alarm) = engine.alarm() {
        ready["alarm"] = alarm.into();
    }
    for (name, status) in
        [("adapters_preparing", AdapterStatus::Preparing), ("adapters_refused", AdapterStatus::Refused)]
    {
        let named = named(status);
        if !named.is_empty() {
            ready[name] = named.into();
        }
    }
    Ok(HttpResponse::Ok().json(ready))
}

/// Prometheus text format.
pub(crate) async fn metrics(request: HttpRequest) -> HttpResult {
    let api = api(&request)?;
    let numbers = api.engine.metrics();
    let mut text = String::new();
    let version = env!("CARGO_PKG_VERSION");
    family(&mut text, "build_info", "gauge", "Always 1; the label names the version.");
    sample(&mut text, &format!("build_info{{version=\"{version}\"}}"), 1);
    answers(&mut text, &api.metrics);
    backups(&mut text, &api.engine);
    certificates(&mut text, &api.certificates);
    let untold = "Changes whose entry is not on the disk of the audit trail yet.";
    family(&mut text, "changes_without_audit_entry", "gauge", untold);
    sample(&mut text, "changes_without_audit_entry", api.engine.untold().waiting() as u64);
    if let Some(left) = api.engine.values_to_reseal() {
        family(
            &mut text,
            "store_values_to_reseal",
            "gauge",
            "Values that are not sealed with the newest key of the store yet.",
        );
        sample(&mut text, "store_values_to_reseal", left);
    }
    if let Some((nodes, peers)) = api.engine.nodes().zip(api.peers.as_ref()) {
        let (forwarded, failed) = peers.counts();
        let of_node = [
            ("node_members", "gauge", "Nodes that are members, as this one knows.", nodes.members.len() as u64),
            ("node_serving", "gauge", "1 while this node has a place among the others.", u64::from(nodes.is_serving)),
            ("node_view", "counter", "Times that members came or went.", nodes.view),
            ("node_institutions", "gauge", "Institutions that live on this node.", numbers.institutions_here),
            ("node_came_total", "counter", "Institutions that moved to this node.", numbers.institutions_came),
            ("node_left_total", "counter", "Institutions that moved away from this node.", numbers.institutions_left),
            ("forwarded_total", "counter", "Calls handed on to the node that has the institution.", forwarded),
            ("forwarded_failed_total", "counter", "Calls handed on that got no answer.", failed),
        ];
        for (name, kind, help, value) in of_node {
            family(&mut text, name, kind, help);
            sample(&mut text, name, value);
        }
    }
    adapter_costs::write(&mut text, api.engine.adapter_costs());
    let engine = [
        ("locations_active", "gauge", "Locations in memory.", numbers.locations_active),
        ("commits_total", "counter", "Durable commits.", numbers.commits),
        ("commands_total", "counter", "Commands decided by locations.", numbers.commands),
        ("refused_busy_total", "counter", "Commands refused because a mailbox was full.", numbers.refused_busy),
        ("adapter_calls_total", "counter", "Calls to health record systems.", numbers.adapter_calls),
        ("adapter_faults_total", "counter", "Calls to health record systems that failed.", numbers.adapter_faults),
        ("writes_queued", "gauge", "Writes that wait for a health record system.", numbers.writes_queued),
        (
            "writes_parked",
            "gauge",
            "Waiting writes that a closed gate or an open circuit breaker holds back.",
            numbers.writes_parked,
        ),
        ("writes_failed_total", "counter", "Writes that failed for good.", numbers.writes_failed),
        ("oldest_write_seconds", "gauge", "Age of the oldest waiting write.", numbers.oldest_write_seconds),
        (
            "oldest_read_seconds",
            "gauge",
            "Age of the last complete read cycle, at the location where it is oldest.",
            numbers.oldest_read_seconds,
        ),
        ("locations_not_reading", "gauge", "Locations whose read status is red.", numbers.locations_not_reading),
        ("locations_not_writing", "gauge", "Locations whose write status is red.", numbers.locations_not_writing),
        (
            "records_skipped",
            "gauge",
            "Records that could not be read and are left out, at most 100 of a resource of a location.",
            numbers.records_skipped,
        ),
        ("webhooks_delivered_total", "counter", "Webhook messages delivered.", numbers.webhooks_delivered),
        ("webhooks_failed_total", "counter", "Webhook deliveries that failed.", numbers.webhooks_failed),
        ("webhooks_waiting", "gauge", "Webhook deliveries that wait to be sent.", numbers.webhooks_waiting),
        (
            "webhooks_overflowed_total",
            "counter",
            "Events dropped because a webhook queue was full.",
            numbers.webhooks_overflowed,
        ),
        (
            "webhook_endpoints_failing",
            "gauge",
            "Active webhook endpoints whose last message failed.",
            numbers.webhook_endpoints_failing,
        ),
        ("workstations_connected", "gauge", "Workstations connected.", numbers.workstations_connected),
        ("gates_open", "gauge", "Locations whose gate is open.", numbers.gates_open),
        (
            "workstation_answers_refused_total",
            "counter",
            "Answers of workstations that were refused.",
            numbers.workstation_answers_refused,
        ),
        (
            "store_damaged",
            "gauge",
            "1 when values of the store are known to be lost or damaged.",
            numbers.store_damaged,
        ),
        ("store_free_bytes", "gauge", "Free space on the store's disk.", numbers.store_free_bytes),
        ("store_batches_waiting", "gauge", "Batches that wait to be committed.", numbers.store_batches_waiting),
    ];
    for (name, kind, help, value) in engine {
        family(&mut text, name, kind, help);
        sample(&mut text, name, value);
    }
    let durations = [
        ("turn_seconds", "From a location taking up a request until it is answered.", numbers.turns),
        ("commit_wait_seconds", "The part of a turn that waits for its commit.", numbers.commit_waits),
        ("webhook_send_seconds", "From sending a webhook message until its answer.", numbers.webhook_sends),
    ];
    for (name, help, seen) in durations {
        family(&mut text, name, "histogram", help);
        histogram(&mut text, name, "", &seen);
    }
    process(&mut text);
    family(&mut text, "store_commit_seconds", "gauge", "Duration of the last group of commits.");
    sample(&mut text, "store_commit_seconds", numbers.store_commit_micros as f64 / 1e6);
    Ok(HttpResponse::Ok().insert_header((CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")).body(text))
}

/// What the process has of the machine, where the system tells (Linux).
fn process(text: &mut String) {
    if let Some(bytes) = memory::resident() {
        family(text, "process_resident_bytes", "gauge", "Memory of the process, in bytes.");
        sample(text, "process_resident_bytes", bytes);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        family(text, "process_open_files", "gauge", "Open files and connections of the process.");
        sample(text, "process_open_files", open.count());
    }
}

/// Nothing where no backups are made.
fn backups(text: &mut String, engine: &Engine) {
    let Some((newest, failed)) = engine.backup_numbers() else { return };
    let newest = newest.map_or(0, |newest| newest.0 / SECOND);
    family(
        text,
        "backup_last_seconds",
        "gauge",
        "When the newest backup was written, in seconds since 1970; 0: there is none.",
    );
    sample(text, "backup_last_seconds", newest);
    family(text, "backups_failed_total", "counter", "Backups of the store that failed.");
    sample(text, "backups_failed_total", failed);
}

/// Nothing where no listener speaks TLS.
fn certificates(text: &mut String, certificates: &Certificates) {
    let mut shown = certificates.all().peekable();
    if shown.peek().is_some() {
        let help = "When the TLS certificate of a listener expires, in seconds since 1970.";
        family(text, "tls_certificate_expires_seconds", "gauge", help);
    }
    for certificate in shown {
        let name = format!("tls_certificate_expires_seconds{{listener=\"{}\"}}", certificate.listener);
        sample(text, &name, certificate.expires().0 / SECOND);
    }
}

fn answers(text: &mut String, metrics: &RequestMetrics) {
    let histograms = metrics.histograms();
    family(text, "http_responses_total", "counter", "Responses by status class.");
    for class in CLASSES {
        let count: u64 = histograms.iter().filter(|(series, _)| series.class == class).map(|(_, it)| it.count).sum();
        sample(text, &format!("http_responses_total{{class=\"{class}\"}}"), count);
    }
    family(text, "http_seconds_total", "counter", "Total time spent on responses, in seconds.");
    sample(text, "http_seconds_total", histograms.values().map(|it| it.seconds).sum::<f64>());
    family(text, "http_limited_total", "counter", "Responses with status 429, by limit.");
    for (limit, count) in metrics.by_limit() {
        sample(text, &format!("http_limited_total{{limit=\"{limit}\"}}"), count);
    }
    family(text, "http_request_seconds", "histogram", "Response time by route and status class.");
    for (Series { method, path, class }, seen) in histograms {
        let labels = format!("method=\"{method}\",route=\"{path}\",class=\"{class}\"");
        histogram(text, "http_request_seconds", &labels, &seen);
    }
}

fn api(request: &HttpRequest) -> Result<&Data<Api>, ApiError> {
    request.app_data::<Data<Api>>().ok_or(ApiError::Internal)
}
