//! Webhook messages to many endpoints on one sink. Events are durable before their messages are sent, outcomes
//! afterwards. The comparison is a plain client that posts the same bodies to the same sink with the same
//! concurrency.

use std::{
    collections::BTreeMap,
    error::Error,
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use runtime::{clock, metrics::Metrics};
use serde_json::{Map, Value, json};
use setup::WebhookRules;
use store::{Batch, Direction, Store, counters::Ids};
use webhooks::{
    attempt::Sender,
    catalogue::{Event, EventName, WriteOutcome},
    delivery_log::DeliveryLog,
    dispatcher::Dispatcher,
    doorbell::Doorbell,
    egress::{Egress, Reach, install_crypto},
    limits,
    model::Owner,
    outbox::{CommittedEvent, Enqueued, Outbox},
    registry::{EndpointRegistry, NewSubscription},
    sign::SecretKey,
    subscriptions::Everyone,
};

use super::{
    options::{BenchResult, Options},
    practices,
    report::{self, Aim, BenchReport},
    servers::BenchServer,
};
use crate::harness::fixtures;

const OWNERS: usize = 10;
/// Events committed ahead of deliveries, so that the dispatcher always has work and commits overlap with deliveries.
const AHEAD: u64 = 20;

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    let endpoints = OWNERS * limits::MAX_ENDPOINTS_PER_OWNER;
    report.section(
        "webhooks",
        format!(
            "{} events, each to {endpoints} endpoints on one sink in a process of its own; at most {} under way; the store and the \
             client in one process, as in the product",
            options.events,
            limits::CONCURRENCY
        ),
    );
    let sink = BenchServer::start(&["sink"])?;
    actix_rt::System::new().block_on(async {
        let bare = bare(sink.address, endpoints * options.events).await?;
        report.number("bare client loop, posts per second", bare, "", Aim::None);
        let dir = tempfile::Builder::new().prefix("bench-webhooks").tempdir_in(&options.dir)?;
        let delivered = delivered(dir.path(), sink.address, options.events).await?;
        report.number("practice-sync, deliveries per second", delivered, "", Aim::None);
        report.number("practice-sync / bare", delivered / bare, "", report::at_least(0.5, 0.55));
        Ok(())
    })
}

/// Returns a record in the format of messages.
fn data(event: usize) -> Map<String, Value> {
    let texts = (0..40).map(|n| (format!("field_{n}"), json!(format!("some value of an appointment {n}"))));
    let mut appointment: Map<String, Value> = texts.collect();
    appointment.insert("id".to_owned(), json!(event));
    Map::from_iter([("appointment".to_owned(), Value::Object(appointment))])
}

/// Returns the body of a message.
fn body() -> Vec<u8> {
    let message = json!({"resource_type": "appointment", "event_name": "appointment_insertion.complete",
        "event_time": "2026-12-01T14:30:00Z", "data": data(1), "delivery_errors": []});
    message.to_string().into_bytes()
}

async fn bare(sink: SocketAddr, posts: usize) -> Result<f64, Box<dyn Error>> {
    install_crypto();
    let client = reqwest::Client::builder()
        .tls_certs_only([])
        .no_proxy()
        .http1_only()
        .pool_max_idle_per_host(limits::CONCURRENCY)
        .build()?;
    let (url, body) = (format!("http://{sink}/hook"), body());
    let next = Arc::new(AtomicUsize::new(0));
    let since = Instant::now();
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..limits::CONCURRENCY {
        let (client, url, body, next) = (client.clone(), url.clone(), body.clone(), next.clone());
        clients.spawn(async move {
            while next.fetch_add(1, Ordering::Relaxed) < posts {
                let request = client.post(&url).header("content-type", "application/json").body(body.clone());
                request.send().await?.bytes().await?;
            }
            Ok::<(), reqwest::Error>(())
        });
    }
    while let Some(ended) = clients.join_next().await {
        ended??;
    }
    Ok(posts as f64 / since.elapsed().as_secs_f64())
}

/// Measures from the first event's commit to the last outcome's.
async fn delivered(dir: &Path, sink: SocketAddr, events: usize) -> Result<f64, Box<dyn Error>> {
    let store = practices::store(dir)?;
    let egress = Arc::new(Egress::new(Reach::PublicAndLoopback)?);
    let ids = Arc::new(Ids::new(store.clone()));
    let registry =
        EndpointRegistry::load(store.clone(), ids, egress.clone(), WebhookRules::default(), Arc::new(Everyone), None)?;
    let endpoints = register(&registry, sink).await?;
    let (doorbell, metrics) = (Arc::new(Doorbell::default()), Arc::new(Metrics::default()));
    let outbox = Outbox::new(registry.subscriptions().clone(), doorbell.clone());
    let sender = Sender {
        store: store.clone(),
        registry: registry.clone(),
        egress,
        metrics: metrics.clone(),
        clock: Arc::new(clock::now),
        random: Arc::new(clock::random_u64),
    };
    let dispatcher = Dispatcher::start(sender, doorbell)?;
    let waiting = || registry.subscriptions().backlogs.waiting();
    let since = Instant::now();
    for event in 0..events {
        happened(&*store, &outbox, event).await?;
        while waiting() > AHEAD * endpoints as u64 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    while waiting() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let took = since.elapsed();
    dispatcher.stop(Duration::from_secs(10)).await;
    let (sent, failed) = (metrics.webhooks_delivered.get(), metrics.webhooks_failed.get());
    if sent != (endpoints * events) as u64 || failed > 0 {
        let why = why_failed(DeliveryLog { store, registry: registry.clone(), outbox })?;
        return Err(format!("{sent} messages delivered, {failed} attempts failed: {why:?}").into());
    }
    Ok(sent as f64 / took.as_secs_f64())
}

/// Counts the delivery errors by code.
fn why_failed(log: DeliveryLog) -> Result<BTreeMap<String, usize>, Box<dyn Error>> {
    let mut why = BTreeMap::new();
    for endpoint in log.registry.subscriptions().endpoints() {
        for delivery in log.page(endpoint.id, None, Direction::Forward, usize::MAX)? {
            let codes = delivery.delivery_errors.into_iter().map(|error| error.code);
            codes.for_each(|code| *why.entry(code).or_default() += 1);
        }
    }
    Ok(why)
}

async fn register(registry: &Arc<EndpointRegistry>, sink: SocketAddr) -> Result<usize, Box<dyn Error>> {
    let now = clock::now();
    for number in 0..OWNERS * limits::MAX_ENDPOINTS_PER_OWNER {
        let owner = Owner(format!("owner {}", number % OWNERS));
        let secret = SecretKey::from_entropy(clock::random());
        let made = registry.create_endpoint(&owner, &format!("http://{sink}/hook"), true, secret, None, now).await?;
        let new = NewSubscription {
            payload: None,
            location_id: None,
            institution_id: fixtures::INSTITUTION,
            resource_type: "Appointment",
            event: "appointment_insertion",
            active: true,
            api_version: "v3.0.0",
        };
        registry.create_subscription(&owner, made.record.id, new, None, now).await?;
    }
    Ok(OWNERS * limits::MAX_ENDPOINTS_PER_OWNER)
}

async fn happened(store: &dyn Store, outbox: &Outbox, event: usize) -> BenchResult {
    let name = EventName::written(Event::AppointmentInsertion, WriteOutcome::Complete).ok_or("no such event")?;
    let data = data(event);
    let mut batch = Batch::new();
    let (institution, time, subdomain) = (fixtures::INSTITUTION, clock::now(), "practice");
    let (location, origin, is_newer) = (None, None, false);
    let committed = CommittedEvent { institution, subdomain, location, name, time, data: &data, origin, is_newer };
    let mut enqueued = Enqueued::default();
    for to in outbox.recipients(institution, name, u64::MAX) {
        let new_id = || uuid::Uuid::from_bytes(clock::random());
        outbox.enqueue(&to.subscriptions, &mut batch, &committed, time, new_id, &mut enqueued);
    }
    store.commit(batch).await?;
    outbox.committed(enqueued);
    Ok(())
}
