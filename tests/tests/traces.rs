//! Traces received by a collector. A booking's trace contains its request, the later write and the webhook message.
//! An unavailable collector has no effect.

use std::{collections::BTreeSet, path::Path, time::Duration};

use sandbox_ehr::{Behaviours, Control};
use serde_json::json;
use testing::until;
use tests::harness::{
    ehr_server::EhrServer,
    fixtures,
    http_client::{Caller, Connection, request},
    process::{self, HASTY, Installation, LOCATIONS, SUBDOMAIN, binary, path},
    trace_collector::{CollectedSpan, TraceCollector},
    webhook_receiver::WebhookReceiver,
};

const CALLERS_TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLERS_SPAN: &str = "00f067aa0ba902b7";

fn program() -> &'static Path {
    binary()
}

/// Sends a request with additional headers.
async fn call(at: &Installation, caller: &Caller, method: &str, path: &str, of: &[(&str, &str)], body: &str) -> u16 {
    let mut connection = Connection::open(at.address).await.unwrap();
    let mut headers = vec![("authorization", caller.authorization()), ("svc-api-version", "v3.0.0")];
    headers.push(("content-type", "application/json"));
    headers.extend(of);
    connection.send(&request(method, path, &headers, body.as_bytes())).await.unwrap().status
}

/// Subscribes a receiver to the location's appointments.
async fn subscribe(caller: &mut Caller, receiver: &WebhookReceiver) {
    let (_, made) = caller.post("/webhook_endpoints", &json!({"target_url": receiver.url})).await.unwrap();
    let id = &made["data"]["id"];
    let subscription =
        json!({"resource_type": "Appointment", "event": "appointment_insertion", "webhook_endpoint_id": id});
    let route = format!("/webhook_endpoints/{id}/webhook_subscriptions?subdomain={SUBDOMAIN}");
    let (status, subscribed) = caller.post(&route, &subscription).await.unwrap();
    assert_eq!(status, 201, "{subscribed}");
}

async fn book(at: &Installation, caller: &mut Caller, request: &str) {
    let offer = process::offers(caller, LOCATIONS[0].0, 1).await.unwrap().remove(0);
    book_offer(at, caller, &offer, request, 1).await;
}

async fn book_offer(at: &Installation, caller: &Caller, offer: &str, request: &str, person: u64) {
    let body = process::booking(offer, request, person, "").to_string();
    let route = path("/intent/booking/book", LOCATIONS[0].0);
    assert_eq!(call(at, caller, "POST", &route, &[("x-request-id", request)], &body).await, 200);
}

fn named<'a>(spans: &'a [CollectedSpan], name: &str) -> impl Iterator<Item = &'a CollectedSpan> {
    spans.iter().filter(move |span| span.name == name)
}

#[actix::test]
async fn a_booking_is_one_trace_from_its_request_to_the_ehr_and_the_webhook() {
    const BOOKING: &str = "booking-to-follow";
    let (ehr, dir) = (EhrServer::start(fixtures::small_profile(31)).unwrap(), tempfile::tempdir().unwrap());
    let collector = TraceCollector::start().unwrap();
    let receiver = WebhookReceiver::start().unwrap();
    let rules = format!("{HASTY}{}", collector.table());
    let at = Installation::new(program(), dir.path(), &ehr.url(), &rules).unwrap();
    let process = at.start().await.unwrap();
    let mut caller = at.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    subscribe(&mut caller, &receiver).await;
    book(&at, &mut caller, BOOKING).await;

    let spans = until("the whole trace of the booking", async || {
        let spans = collector.spans_for_request(BOOKING);
        let pushed = named(&spans, "adapter_call").any(|call| call.field("call") == Some("push"));
        let complete = ["POST /intent/booking/book", "turn", "commit", "ehr_call", "webhook"];
        (pushed && complete.iter().all(|name| named(&spans, name).count() > 0)).then_some(spans)
    })
    .await;
    let ids: BTreeSet<&str> = spans.iter().map(|span| span.id.as_str()).collect();
    assert_eq!(ids.len(), spans.len(), "{spans:#?}");
    let (tops, below): (Vec<&CollectedSpan>, Vec<&CollectedSpan>) =
        spans.iter().partition(|span| span.parent.is_empty());
    assert_eq!(tops.len(), 1, "{spans:#?}");
    assert_eq!(
        (&*tops[0].name, tops[0].field("http.response.status_code")),
        ("POST /intent/booking/book", Some("200"))
    );
    assert!(below.iter().all(|span| ids.contains(&*span.parent)), "{spans:#?}");
    let push = named(&spans, "adapter_call").find(|call| call.field("call") == Some("push")).unwrap();
    assert_eq!((push.field("adapter"), push.field("outcome")), (Some("sandbox"), Some("answered")));
    let above = spans.iter().find(|span| span.id == push.parent).unwrap();
    assert_eq!((&*above.name, above.field("request")), ("ehr_call", Some(BOOKING)));
    assert_eq!(named(&spans, "webhook").next().unwrap().field("outcome"), Some("200"));

    // A caller's trace context becomes the parent of our span. Spans are exported before the process ends.
    let traceparent = format!("00-{CALLERS_TRACE}-{CALLERS_SPAN}-01");
    let route = format!("{}&name=Nobody", path("/patients", LOCATIONS[0].0));
    assert_eq!(call(&at, &caller, "GET", &route, &[("traceparent", &traceparent)], "").await, 200);
    let unknown = format!("/patients/4711?subdomain={SUBDOMAIN}");
    assert_eq!(call(&at, &caller, "GET", &unknown, &[("x-request-id", "the-last")], "").await, 404);
    process.stop().unwrap();
    let callers = collector.spans_for_request(&format!("{CALLERS_TRACE}-{CALLERS_SPAN}"));
    let of_caller: Vec<_> = callers.iter().map(|span| (&*span.trace, &*span.parent, &*span.name)).collect();
    assert_eq!(of_caller, [(CALLERS_TRACE, CALLERS_SPAN, "GET /patients")]);
    assert_eq!(collector.spans_for_request("the-last")[0].name, "GET /patients/{id}");
    // Spans contain routes instead of paths and no queries. Probes have no spans.
    let text = collector.text();
    assert!(!text.contains("/4711") && !text.contains("Nobody") && !text.contains(SUBDOMAIN), "{text}");
    assert!(collector.spans().iter().all(|span| !span.name.contains("readyz")));
    ehr.stop().await;
}

/// The end of the first write starts the second one, in the turn of the first request.
#[actix::test]
async fn delayed_write_belongs_to_the_trace_of_its_own_request() {
    const BOOKINGS: [&str; 2] = ["the-first-of-two", "the-second-of-two"];
    let (ehr, dir) = (EhrServer::start(fixtures::small_profile(31)).unwrap(), tempfile::tempdir().unwrap());
    let collector = TraceCollector::start().unwrap();
    let one_at_a_time = HASTY.replace("concurrency = 8", "concurrency = 1");
    assert_ne!(one_at_a_time, HASTY);
    let rules = format!("{one_at_a_time}{}", collector.table());
    let at = Installation::new(program(), dir.path(), &ehr.url(), &rules).unwrap();
    let process = at.start().await.unwrap();
    let mut caller = at.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    let offers = process::offers(&mut caller, LOCATIONS[0].0, 2).await.unwrap();
    // Slow enough that the second booking arrives before the first is written.
    ehr.ehr().control(Control::Behave(Behaviours { delay_ms: 400, ..Behaviours::default() })).unwrap();
    for (request, (offer, person)) in BOOKINGS.into_iter().zip(offers.iter().zip(1..)) {
        book_offer(&at, &caller, offer, request, person).await;
    }

    let of = |span: &CollectedSpan, request: &str| span.field("request") == Some(request);
    let is_push = |span: &CollectedSpan| span.name == "adapter_call" && span.field("call") == Some("push");
    let spans = until("both bookings to be written", async || {
        let spans = collector.spans();
        let complete = BOOKINGS.into_iter().all(|request| {
            let mut calls = named(&spans, "ehr_call").filter(|call| of(call, request));
            let answered = named(&spans, "POST /intent/booking/book").any(|span| of(span, request));
            answered && calls.any(|call| spans.iter().any(|span| is_push(span) && span.parent == call.id))
        });
        complete.then_some(spans)
    })
    .await;
    for request in BOOKINGS {
        let top = named(&spans, "POST /intent/booking/book").find(|span| of(span, request)).unwrap();
        for call in named(&spans, "ehr_call").filter(|call| of(call, request)) {
            assert_eq!((&call.trace, &call.parent), (&top.trace, &top.id), "{spans:#?}");
            let below = spans.iter().filter(|span| span.parent == call.id);
            below.for_each(|span| assert_eq!(span.trace, top.trace, "{spans:#?}"));
        }
    }
    process.stop().unwrap();
    ehr.stop().await;
}

#[actix::test]
async fn unavailable_collector_delays_nothing() {
    let (ehr, dir) = (EhrServer::start(fixtures::small_profile(31)).unwrap(), tempfile::tempdir().unwrap());
    // Accepts connections and never answers.
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let endpoint = silent.local_addr().unwrap();
    let rules = format!("{HASTY}\n[traces]\nendpoint = \"http://{endpoint}\"\n");
    let at = Installation::new(program(), dir.path(), &ehr.url(), &rules)
        .unwrap()
        .with_variable("RUST_LOG", "warn".to_owned());
    let process = at.start().await.unwrap();
    let mut caller = at.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    book(&at, &mut caller, "untold").await;
    until("the message in the log", async || {
        at.log().unwrap().contains("traces do not reach their collector").then_some(())
    })
    .await;
    book(&at, &mut caller, "untold-too").await;
    assert!(process.stop().unwrap() < Duration::from_secs(20));
    assert_eq!(at.log().unwrap().matches("traces do not reach their collector").count(), 1);
    ehr.stop().await;
}
