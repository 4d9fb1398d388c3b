//! Liveness, readiness and metrics for operators. Nothing in them identifies a practice or a patient.

use std::sync::atomic::Ordering;

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{CONTENT_TYPE, RETRY_AFTER},
    web::{self, Data},
};
use engine::{Engine, records::AdapterStatus};
use framework::{
    access::authentication::for_operators,
    http::{connections::Connections, metrics::Families, tls::Certificates},
};

use super::operators::adapter_costs;
use crate::{memory, prelude::*};

pub async fn healthz(_: HttpRequest) -> HttpResult {
    Ok(HttpResponse::Ok().json(json!({ "status": "ok" })))
}

/// Reports readiness. An unusable adapter is reported, but the server stays ready, because only the adapter's own
/// locations are closed.
pub async fn readyz(request: HttpRequest) -> HttpResult {
    let api = api(&request)?;
    let engine = &api.engine;
    // A client's own connection counts as one in use.
    let is_exhausted = for_operators(&request) && api.connections.is_exhausted();
    let is_draining = api.draining.load(Ordering::Relaxed) || api.leaving.load(Ordering::Relaxed);
    let draining = || Err("the server stops: it drains, and closes its port then".to_owned());
    let exhausted = || Err("all connections of the clients' listener are in use (`max_connections`)".to_owned());
    let ready = engine
        .ready()
        .map_err(|reason| reason.to_string())
        .and_then(|()| if is_exhausted { exhausted() } else { Ok(()) })
        .and_then(|()| if is_draining { draining() } else { Ok(()) });
    if let Err(reason) = ready {
        let mut not_ready = json!({ "status": "not ready", "reason": reason });
        if for_operators(&request) {
            not_ready["instance"] = api.instance.as_str().into();
        }
        return Ok(HttpResponse::ServiceUnavailable().insert_header((RETRY_AFTER, "5")).json(not_ready));
    }
    let adapters = engine.adapters_not_ready();
    let named = |status| -> Vec<Value> {
        let those = adapters.iter().filter(|adapter| adapter.status == status);
        those.map(|adapter| json!({ "name": adapter.name, "reason": adapter.reason })).collect()
    };
    let mut ready = json!({ "status": "ready" });
    if for_operators(&request) {
        ready["instance"] = api.instance.as_str().into();
    }
    if let Some(nodes) = engine.nodes() {
        ready["node"] = json!({ "name": nodes.name, "view": nodes.view, "members": nodes.members });
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

/// Returns the metrics in Prometheus text format. It runs on the blocking pool, because many locations take long and
/// the only worker may have to answer probes.
pub async fn metrics(request: HttpRequest) -> HttpResult {
    let api = api(&request)?.clone();
    let text = web::block(move || render_metrics(&api)).await.map_err(|_| ApiError::internal())??;
    Ok(HttpResponse::Ok().insert_header((CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")).body(text))
}

fn render_metrics(api: &Api) -> Result<String, ApiError> {
    let n = api.engine.metrics();
    let mut families = Families::default();
    let version = [(vec![("version", env!("CARGO_PKG_VERSION"))], 1.0)];
    families.add("build_info", "Always 1; the label names the version.", version);
    api.metrics.collect(&mut families);
    connections(&mut families, api);
    backups(&mut families, &api.engine);
    certificates(&mut families, &api.certificates);
    let help = "Changes whose entry is not on the disk of the audit trail yet.";
    families.one("changes_without_audit_entry", help, api.engine.audit_follower().waiting() as f64);
    if let Some(left) = api.engine.values_to_reseal() {
        let help = "Values that are not sealed with the newest key of the store yet.";
        families.one("store_values_to_reseal", help, left as f64);
    }
    if let Some((nodes, peers)) = api.engine.nodes().zip(api.peers.as_ref()) {
        let (forwarded, failed) = peers.counts();
        families.all([
            ("node_members", "Nodes that are members, as this one knows.", nodes.members.len() as u64),
            ("node_serving", "1 while this node has a place among the others.", u64::from(nodes.is_serving)),
            ("node_view", "Times that members came or went.", nodes.view),
            ("node_institutions", "Institutions that live on this node.", n.institutions_here),
            ("node_came_total", "Institutions that moved to this node.", n.institutions_came),
            ("node_left_total", "Institutions that moved away from this node.", n.institutions_left),
            ("forwarded_total", "Calls handed on to the node that has the institution.", forwarded),
            ("forwarded_failed_total", "Calls handed on that got no answer.", failed),
        ]);
    }
    adapter_costs::collect(&mut families, &api.engine.adapter_costs());
    families.extend(api.engine.durations());
    families.all([
        ("locations_active", "Locations in memory.", n.locations_active),
        ("commits_total", "Durable commits.", n.commits),
        ("commands_total", "Commands decided by locations.", n.commands),
        ("refused_busy_total", "Commands refused because a mailbox was full.", n.refused_busy),
        ("adapter_calls_total", "Calls to health record systems.", n.adapter_calls),
        ("adapter_faults_total", "Calls to health record systems that failed.", n.adapter_faults),
        ("writes_queued", "Writes that wait for a health record system.", n.writes_queued),
        ("writes_parked", "Waiting writes that a closed gate or an open circuit breaker holds back.", n.writes_parked),
        ("writes_failed_total", "Writes that failed for good.", n.writes_failed),
        ("oldest_write_seconds", "Age of the oldest waiting write.", n.oldest_write_seconds),
        (
            "oldest_read_seconds",
            "Age of the last complete read cycle, at the location where it is oldest.",
            n.oldest_read_seconds,
        ),
        (
            "oldest_schedule_seconds",
            "Age of the last complete read of the appointments, at the location where it is oldest.",
            n.oldest_schedule_seconds,
        ),
        ("locations_not_reading", "Locations whose read status is red.", n.locations_not_reading),
        ("locations_not_writing", "Locations whose write status is red.", n.locations_not_writing),
        (
            "records_skipped",
            "Records that could not be read and are left out, at most 100 of a resource of a location.",
            n.records_skipped,
        ),
        ("webhooks_delivered_total", "Webhook messages delivered.", n.webhooks_delivered),
        ("webhooks_failed_total", "Webhook deliveries that failed.", n.webhooks_failed),
        ("webhooks_waiting", "Webhook deliveries that wait to be sent.", n.webhooks_waiting),
        ("webhooks_overflowed_total", "Events dropped because a webhook queue was full.", n.webhooks_overflowed),
        (
            "webhook_endpoints_failing",
            "Active webhook endpoints whose last message failed.",
            n.webhook_endpoints_failing,
        ),
        ("webhook_changes_waiting", "Changes whose webhook messages are not enqueued yet.", n.webhook_changes_waiting),
        ("webhook_oldest_change_seconds", "Age of the oldest of these changes.", n.webhook_oldest_change_seconds),
        ("workstations_connected", "Workstations connected.", n.workstations_connected),
        ("gates_open", "Locations whose gate is open.", n.gates_open),
        (
            "workstation_answers_refused_total",
            "Answers of workstations that were refused.",
            n.workstation_answers_refused,
        ),
        ("store_damaged", "1 when values of the store are known to be lost or damaged.", n.store_damaged),
        ("store_free_bytes", "Free space on the store's disk.", n.store_free_bytes),
        ("store_batches_waiting", "Batches that wait to be committed.", n.store_batches_waiting),
    ]);
    process(&mut families);
    let seconds = n.store_commit_micros as f64 / 1e6;
    families.one("store_commit_seconds", "Duration of the last group of commits.", seconds);
    families.text().map_err(|error| {
        tracing::error!(%error, "/metrics cannot be written");
        ApiError::internal()
    })
}

/// Adds the resources used by the process, if the system reports them (Linux).
fn process(families: &mut Families) {
    if let Some(bytes) = memory::resident() {
        families.one("process_resident_bytes", "Memory of the process, in bytes.", bytes as f64);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        let help = "Open files and connections of the process.";
        families.one("process_open_files", help, open.count() as f64);
    }
}

/// Adds the connections of both listeners, and the response bytes that clients have not read yet.
fn connections(families: &mut Families, api: &Api) {
    let listeners = [("http", &api.connections), ("operators", &api.operators_connections)];
    let mut add = |name, help, count: &dyn Fn(&Connections) -> u64| {
        let values = listeners.map(|(listener, of)| (vec![("listener", listener)], count(of) as f64));
        families.add(name, help, values);
    };
    add("http_connections", "Open connections.", &|of| of.open() as u64);
    add("http_connections_limit", "Connections that the listener accepts.", &|of| of.limit as u64);
    let help = "Connections closed at once, since their address has its share.";
    add("http_connections_refused_total", help, &Connections::refused);
    let help = "Connections closed because the client did not read its responses.";
    add("http_connections_cut_total", help, &Connections::cut);
    let bytes = &api.response_bytes;
    let help = "Bytes of large responses that clients have not taken yet.";
    families.one("http_response_bytes", help, bytes.in_flight() as f64);
    let help = "Responses answered with 503, since too many bytes were in flight.";
    families.one("http_responses_refused_total", help, bytes.refused() as f64);
}

/// Adds nothing if no backups are configured.
fn backups(families: &mut Families, engine: &Engine) {
    let Some((newest, failed)) = engine.backup_numbers() else { return };
    let newest = newest.map_or(0, |newest| newest.0 / SECOND);
    let help = "When the newest backup was written, in seconds since 1970; 0: there is none.";
    families.one("backup_last_seconds", help, newest as f64);
    families.one("backups_failed_total", "Backups of the store that failed.", failed as f64);
}

/// Adds nothing if no listener uses TLS.
fn certificates(families: &mut Families, certificates: &Certificates) {
    let help = "When the TLS certificate of a listener expires, in seconds since 1970.";
    let shown = certificates.all().map(|of| (vec![("listener", of.listener)], (of.expires().0 / SECOND) as f64));
    families.add("tls_certificate_expires_seconds", help, shown);
}

fn api(request: &HttpRequest) -> Result<&Data<Api>, ApiError> {
    request.app_data::<Data<Api>>().ok_or_else(ApiError::internal)
}
