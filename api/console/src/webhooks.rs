//! The webhook endpoints of all organisations, their status, and the deliveries of one endpoint.

use std::hash::{DefaultHasher, Hash, Hasher};

use actix_web::web::Path;
use endpoints::resources::{
    operators::webhooks::{Health, endpoint, without_secrets},
    webhook::webhook_deliveries::record_of,
};
use engine::{
    EngineError,
    store::Direction,
    webhooks::{
        delivery::{Delivery, DeliveryError, State},
        delivery_id::creation_time,
        model::{Endpoint, EndpointId},
    },
};
use framework::values::words::WireEnum;
use location::InstitutionId;
use uuid::Uuid;

use crate::prelude::*;

/// Deliveries per page, and maximum number of deliveries scanned for one page.
const PAGE: usize = 50;
const LOOKED_AT: usize = 2_000;

pub(super) struct EndpointRow {
    pub id: EndpointId,
    pub owner: String,
    pub target: String,
    pub badge: Badge,
    pub failing: Option<RelativeTime>,
    pub waiting: u64,
    pub dropped: u64,
    pub subscriptions: usize,
}

#[derive(Template)]
#[template(path = "console/webhooks.html")]
struct WebhooksPage {
    frame: PageFrame,
    rows: Vec<EndpointRow>,
    only_failing: bool,
    behind: Option<LagRow>,
}

/// The changes on this node whose messages are not enqueued yet.
struct LagRow {
    changes: u64,
    oldest: RelativeTime,
}

#[derive(Template)]
#[template(path = "console/delivery.html")]
struct DeliveryPage {
    frame: PageFrame,
    endpoint: EndpointId,
    row: DeliveryRow,
    ended: Option<RelativeTime>,
    /// The last failed attempts, newest first.
    failures: Vec<DeliveryError>,
    /// `None` if the operator's role may not see the body.
    body: Option<String>,
    operates: bool,
}

#[derive(Template)]
#[template(path = "console/webhook.html")]
struct WebhookPage {
    frame: PageFrame,
    row: EndpointRow,
    status: String,
    statuses: [&'static str; 4],
    deliveries: Vec<DeliveryRow>,
    older: Option<String>,
    operates: bool,
}

struct DeliveryRow {
    id: Uuid,
    event: String,
    /// `None` for a message without a record, or if the operator's role may not see the record.
    record: Option<String>,
    institution: Option<InstitutionId>,
    location: Option<u32>,
    badge: Badge,
    attempts: u32,
    code: Option<u16>,
    reason: String,
    made: RelativeTime,
    next: Option<RelativeTime>,
}

impl EndpointRow {
    fn new(api: &Api, it: &Endpoint, now: Timestamp) -> EndpointRow {
        let known = api.engine.webhooks().subscriptions();
        let backlog = known.backlogs.for_endpoint(it.id);
        let badge = match Health::from_endpoint(it) {
            health @ (Health::Inactive | Health::Failing) => Badge::bad(health.word()),
            health @ Health::Active => Badge::good(health.word()),
        };
        let shown = without_secrets(&it.target_url);
        EndpointRow {
            id: it.id,
            owner: it.owner.0.clone(),
            // The ellipsis shows that secrets were removed.
            target: if shown.len() < it.target_url.len() { format!("{shown}?…") } else { shown.to_owned() },
            badge,
            failing: it.failing_since.map(|at| RelativeTime::new(at, now)),
            waiting: backlog.waiting(),
            dropped: backlog.overflow.map_or(0, |it| it.events),
            subscriptions: known.subscriptions_of(it.id).iter().filter(|it| it.active).count(),
        }
    }
}

fn hash<'e>(api: &Api, endpoints: impl Iterator<Item = &'e Endpoint>) -> u64 {
    let (mut hasher, known) = (DefaultHasher::new(), api.engine.webhooks().subscriptions());
    for it in endpoints {
        (it.id.0, it.active, it.updated_at.0, it.failing_since.map(|at| at.0)).hash(&mut hasher);
        let backlog = known.backlogs.for_endpoint(it.id);
        (backlog.waiting(), backlog.overflow.map(|it| it.events)).hash(&mut hasher);
    }
    hasher.finish()
}

/// Returns the number of endpoints whose last message was not delivered, including endpoints deactivated for that
/// reason.
pub(crate) fn failing(api: &Api) -> usize {
    let all = api.engine.webhooks().subscriptions().endpoints();
    all.iter().filter(|it| it.failing_since.is_some()).count()
}

/// Returns a hash that changes with the endpoints, their backlogs, and the changes without messages.
pub(crate) fn version(api: &Api) -> u64 {
    let all = api.engine.webhooks().subscriptions().endpoints();
    let mut hasher = DefaultHasher::new();
    hash(api, all.iter().map(|it| &**it)).hash(&mut hasher);
    api.engine.webhook_lag().map(|lag| (lag.changes, lag.oldest.0)).hash(&mut hasher);
    hasher.finish()
}

/// Returns a hash for the endpoints with subscriptions in an institution.
pub(super) fn version_of(api: &Api, institution: InstitutionId) -> u64 {
    let known = api.engine.webhooks().subscriptions();
    let all = known.endpoints();
    let hears = |it: &&Endpoint| known.subscriptions_of(it.id).iter().any(|it| it.institution_id == institution);
    hash(api, all.iter().map(|it| &**it).filter(hears))
}

/// Returns a hash that changes with the endpoint and its newest deliveries.
pub(super) fn version_of_one(api: &Api, id: EndpointId) -> Result<u64, ConsoleError> {
    let newest = api.engine.webhook_log().page(id, None, Direction::Backward, PAGE).map_err(EngineError::from)?;
    let mut hasher = DefaultHasher::new();
    hash(api, std::iter::once(&*endpoint(api, id)?)).hash(&mut hasher);
    newest.iter().for_each(|it| (it.id, word(it).text, it.attempts()).hash(&mut hasher));
    Ok(hasher.finish())
}

pub(super) fn list_for_institution(api: &Api, institution: InstitutionId, now: Timestamp) -> Vec<EndpointRow> {
    let known = api.engine.webhooks().subscriptions();
    let hears = |it: &Endpoint| known.subscriptions_of(it.id).iter().any(|it| it.institution_id == institution);
    known.endpoints().iter().filter(|it| hears(it)).map(|it| EndpointRow::new(api, it, now)).collect()
}

pub(crate) async fn list(visit: ConsoleRequest) -> Result<HttpResponse, ConsoleError> {
    let (api, now) = (&visit.api, visit.api.engine.now());
    let live = live_address("/console/webhooks", version(api));
    let endpoints = api.engine.webhooks().subscriptions().endpoints();
    let only_failing = visit.query_value("state") == Some("failing");
    let shown = endpoints.iter().filter(|it| !only_failing || it.failing_since.is_some());
    let mut rows: Vec<EndpointRow> = shown.map(|it| EndpointRow::new(api, it, now)).collect();
    rows.sort_by_key(|it| (it.badge.color != "bad", std::cmp::Reverse(it.waiting), it.id));
    let frame = PageFrame { live: Some(live), ..visit.frame("webhooks", "Webhooks") };
    let behind = api.engine.webhook_lag();
    let behind = behind.map(|lag| LagRow { changes: lag.changes, oldest: RelativeTime::new(lag.oldest, now) });
    visit.show("GET /console/webhooks", &WebhooksPage { frame, rows, only_failing, behind }).await
}

pub(crate) async fn show(visit: ConsoleRequest, id: Path<String>) -> Result<HttpResponse, ConsoleError> {
    let missing = || ApiError::not_found(format!("Webhook endpoint with id {}", *id));
    let id = EndpointId(id.parse().map_err(|_| missing())?);
    let page = read_blocking(&visit, move |visit| async move { read(&visit, id) }).await?;
    visit.show("GET /console/webhooks/{id}", &page).await
}

fn read(visit: &ConsoleRequest, id: EndpointId) -> Result<WebhookPage, ConsoleError> {
    let (api, now) = (&visit.api, visit.api.engine.now());
    let live = live_address(&format!("/console/webhooks/{id}"), version_of_one(api, id)?);
    let endpoint = endpoint(api, id)?;
    let status = visit.query_value("status").unwrap_or_default().to_owned();
    let mut from = visit.query_value("before").and_then(|id| id.parse::<Uuid>().ok());
    let (mut deliveries, mut looked_at, mut more) = (Vec::new(), 0, true);
    while more && deliveries.len() < PAGE && looked_at < LOOKED_AT {
        let page = api.engine.webhook_log().page(id, from, Direction::Backward, PAGE).map_err(EngineError::from)?;
        more = page.len() == PAGE;
        looked_at += page.len();
        for it in page {
            if deliveries.len() == PAGE {
                more = true;
                break;
            }
            from = Some(it.id);
            if status.is_empty() || word(&it).text == status {
                deliveries.push(row(visit, &it, now));
            }
        }
    }
    let older = from.filter(|_| more).map(|id| query(&[("status", &status), ("before", &id.to_string())]));
    Ok(WebhookPage {
        frame: PageFrame { live: Some(live), ..visit.frame("webhooks", format!("Webhook endpoint {id}")) },
        row: EndpointRow::new(api, &endpoint, now),
        statuses: ["pending", "delivered", "failed", "stopped"],
        status,
        deliveries,
        older,
        operates: visit.may(Role::Operator),
    })
}

/// Shows one delivery, with its body if the role may see records of patients.
pub(crate) async fn delivery(
    visit: ConsoleRequest,
    path: Path<(String, String)>,
) -> Result<HttpResponse, ConsoleError> {
    let (endpoint, id) = path.into_inner();
    let missing = || ApiError::not_found(format!("Webhook delivery with id {id}"));
    let known = endpoint.parse().ok().map(EndpointId).zip(id.parse::<Uuid>().ok());
    let (endpoint, id) = known.ok_or_else(missing)?;
    let page = read_blocking(&visit, move |visit| async move { read_delivery(&visit, endpoint, id) }).await?;
    visit.show("GET /console/webhooks/{id}/deliveries/{delivery}", &page).await
}

fn read_delivery(visit: &ConsoleRequest, id: EndpointId, delivery: Uuid) -> Result<DeliveryPage, ConsoleError> {
    let (api, now) = (&visit.api, visit.api.engine.now());
    let log = api.engine.webhook_log();
    let found = log.find(endpoint(api, id)?.id, delivery).map_err(EngineError::from)?;
    let found = found.ok_or_else(|| ApiError::not_found(format!("Webhook delivery with id {delivery}")))?;
    let body = match visit.sees_patients() {
        true => {
            visit.note("read", "webhook message", record_of(&found));
            let body = log.body(&found).map_err(EngineError::from)?;
            let shown =
                serde_json::from_slice::<serde_json::Value>(&body).and_then(|it| serde_json::to_string_pretty(&it));
            Some(shown.unwrap_or_else(|_| String::from_utf8_lossy(&body).into_owned()))
        }
        false => None,
    };
    let ended = match found.state {
        State::Pending { .. } => None,
        State::Delivered { at, .. } | State::Failed { at } | State::Stopped { at } => Some(RelativeTime::new(at, now)),
    };
    Ok(DeliveryPage {
        frame: visit.frame("webhooks", "Webhook message"),
        endpoint: id,
        row: row(visit, &found, now),
        ended,
        failures: found.delivery_errors.iter().rev().cloned().collect(),
        body,
        operates: visit.may(Role::Operator),
    })
}

fn word(it: &Delivery) -> Badge {
    match it.state {
        State::Pending { .. } => Badge::warn("pending"),
        State::Delivered { .. } => Badge::good("delivered"),
        State::Failed { .. } => Badge::bad("failed"),
        State::Stopped { .. } => Badge::plain("stopped"),
    }
}

fn row(visit: &ConsoleRequest, it: &Delivery, now: Timestamp) -> DeliveryRow {
    let next = if let State::Pending { next_attempt_at } = it.state { Some(next_attempt_at) } else { None };
    DeliveryRow {
        id: it.id,
        event: it.event_name.clone(),
        record: Some(it.record.clone()).filter(|record| visit.sees_patients() && !record.is_empty()),
        institution: it.institution_id,
        location: it.location_id.map(|id| id.0),
        badge: word(it),
        attempts: it.attempts(),
        code: it.last_status(),
        reason: it.last_error().map(|error| error.message.clone()).unwrap_or_default(),
        made: RelativeTime::new(creation_time(it.id), now),
        next: next.map(|at| RelativeTime::new(at, now)),
    }
}
