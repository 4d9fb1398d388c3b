//! Books for a patient with unique names while EHR and webhook receivers misbehave and the log level is `trace`. The
//! names must not appear in logs, metrics, traces, refusals, views of viewers, or unencrypted on disk.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use sandbox_ehr::{Behaviours, Control, Down, HowDown};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use testing::until;
use tests::harness::{
    ehr_server::EhrServer,
    fixtures,
    http_client::{Caller, Connection, request},
    process::{self, HASTY, Installation, LOCATIONS, binary, path},
    trace_collector::TraceCollector,
};

const VIEWER: &str = "pso_of_a_viewer";
/// Searched without regard to case.
const CANARIES: [&str; 6] =
    ["Quazzelina", "Zyxwoffel", "quazz.zyx@mail.example", "5550987643", "1931-02-27", "Wyvernmole Lane"];
/// Excludes client libraries that log all sent bytes at a level unsuitable for production.
const LOG: &str =
    "trace,h2=info,hyper=info,hyper_util=info,reqwest=info,actix_http=info,mio=info,want=info,rustls=info";

fn patient() -> Value {
    json!({
        "first_name": CANARIES[0], "last_name": CANARIES[1], "email": CANARIES[2], "phone_number": format!("+1 {}", CANARIES[3]),
        "date_of_birth": CANARIES[4], "street_address": CANARIES[5],
    })
}

/// Returns the canaries found in a text.
fn found(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    CANARIES.into_iter().filter(|canary| text.contains(&canary.to_lowercase())).collect()
}

fn assert_clean(what: &str, text: &str) {
    let canaries = found(text);
    let near = |canary: &&str| {
        let lower = text.to_lowercase();
        let at = lower.find(&canary.to_lowercase())?;
        let line = lower[..at].rfind('\n').map_or(0, |at| at + 1);
        Some(lower[line..].lines().next()?.chars().take(600).collect::<String>())
    };
    let lines: Vec<String> = canaries.iter().filter_map(near).collect();
    assert!(canaries.is_empty(), "{what} shows {canaries:?}: {lines:#?}");
}

fn files_below(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() { all.extend(files_below(&path)?) } else { all.push(path) }
    }
    Ok(all)
}

/// Books an appointment for the patient.
async fn book(caller: &mut Caller, key: &str, offer: &str) -> (u16, Value) {
    let body = json!({"slot_token": offer, "idempotency_key": key, "note": format!("for {}", CANARIES[1]), "patient": patient()});
    caller.post(&path("/intent/booking/book", LOCATIONS[0].0), &body).await.unwrap()
}

#[actix::test]
async fn patient_data_does_not_leak_into_logs_metrics_or_files() {
    let (ehr, dir) = (EhrServer::start(fixtures::small_profile(31)).unwrap(), tempfile::tempdir().unwrap());
    let program = binary();
    let collector = TraceCollector::start().unwrap();
    let rules = format!("{HASTY}{}", collector.table());
    let installation = Installation::new(program, dir.path(), &ehr.url(), &rules).unwrap();
    let viewer = format!(
        "[[operators]]\nname = \"viewer\"\nsha256 = \"{}\"\nrole = \"viewer\"\n",
        hex::encode(Sha256::digest(VIEWER))
    );
    let keys = dir.path().join("keys.toml");
    fs::write(&keys, fs::read_to_string(&keys).unwrap() + &viewer).unwrap();
    let installation = installation.with_variable("RUST_LOG", LOG.to_owned());
    let process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    let mut offers = process::offers(&mut caller, LOCATIONS[0].0, 20).await.unwrap();
    // No receiver listens on this port.
    let hook = json!({"target_url": "http://127.0.0.1:9/hook"});
    let (status, made) = caller.post("/webhook_endpoints", &hook).await.unwrap();
    assert_eq!(status, 201, "{made}");
    let subscription = json!({"resource_type": "Appointment", "event": "appointment_insertion", "webhook_endpoint_id": made["data"]["id"]});
    let route =
        format!("/webhook_endpoints/{}/webhook_subscriptions?subdomain={}", made["data"]["id"], process::SUBDOMAIN);
    let (status, subscribed) = caller.post(&route, &subscription).await.unwrap();
    assert_eq!(status, 201, "{subscribed}");

    // One write succeeds, one loses its replies, one is refused, and one finds the EHR down.
    let (status, booked) = book(&mut caller, "canary-1", &offers.pop().unwrap()).await;
    assert_eq!(status, 200, "{booked}");
    assert!(!found(&booked.to_string()).is_empty() || booked["booking"]["appointment_id"].is_u64(), "{booked}");
    let troubles = [
        Behaviours { lose_next_replies: 3, ..Behaviours::default() },
        Behaviours {
            required_patient_fields: vec!["insurance".into()],
            refuse_duplicate_patients: true,
            ..Behaviours::default()
        },
        Behaviours { down: Some(Down { until_ms: i64::MAX, how: HowDown::Unavailable }), ..Behaviours::default() },
        Behaviours { throttle_next: 5, ..Behaviours::default() },
    ];
    for (n, trouble) in troubles.into_iter().enumerate() {
        ehr.ehr().control(Control::Behave(trouble)).unwrap();
        let (status, booked) = book(&mut caller, &format!("canary-trouble-{n}"), &offers.pop().unwrap()).await;
        assert_eq!(status, 200, "{booked}");
        tokio::time::sleep(std::time::Duration::from_millis(700)).await;
        ehr.ehr().control(Control::Behave(Behaviours::default())).unwrap();
    }

    // Refusals name the field but not its value.
    let at = |route: &str| path(route, LOCATIONS[0].0);
    let mut refusals = Vec::new();
    for (field, wrong) in [
        ("first_name", json!(CANARIES[0].repeat(60))),
        ("date_of_birth", json!(format!("{} or so", CANARIES[4]))),
        ("email", json!(format!("{} {}", CANARIES[2], CANARIES[2]))),
        ("phone_number", json!(format!("{}x{}", CANARIES[3], CANARIES[1]))),
    ] {
        let mut body = json!({"slot_token": offers[0], "patient": patient()});
        body["patient"][field] = wrong;
        let (status, refused) = caller.post(&at("/intent/booking/book"), &body).await.unwrap();
        assert!([400, 422].contains(&status), "{field}: {status} {refused}");
        refusals.push(refused.to_string());
    }
    // Searches by valid and invalid query values.
    for query in [
        format!("&name={}", CANARIES[1]),
        format!("&email={}", CANARIES[2]),
        format!("&phone_number={}", CANARIES[3]),
        format!("&date_of_birth={}", CANARIES[4]),
    ] {
        let (status, _) = caller.get(&format!("{}{query}", at("/patients"))).await.unwrap();
        assert!([200, 400].contains(&status), "{query}: {status}");
        let (status, refused) = caller.get(&format!("{}{query}&per_page=none", at("/patients"))).await.unwrap();
        assert_eq!(status, 400, "{query}");
        refusals.push(refused.to_string());
    }
    for path in [format!("/patients/{}", CANARIES[1]), format!("/{}", CANARIES[0])] {
        let (_, refused) = caller.get(&format!("{path}?subdomain={}", process::SUBDOMAIN)).await.unwrap();
        refusals.push(refused.to_string());
    }
    // Calls of an agent's tools: twice the same booking, one with a wrong date, and a search.
    let booking =
        json!({"slot_token": offers.pop().unwrap(), "patient": patient(), "note": format!("for {}", CANARIES[1])});
    let mut wrong = booking.clone();
    wrong["patient"]["date_of_birth"] = json!(format!("{} or so", CANARIES[4]));
    let sought = json!({"patient": {"last_name": CANARIES[1], "date_of_birth": CANARIES[4], "email": CANARIES[2]}});
    for (tool, arguments, is_error) in [
        ("book", booking.clone(), false),
        ("book", booking, false),
        ("book", wrong, true),
        ("find_visits", sought, false),
    ] {
        let mut params = json!({"name": tool, "arguments": arguments});
        params["arguments"]["location_id"] = json!(LOCATIONS[0].0);
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let (status, answered) = caller.post("/mcp", &call).await.unwrap();
        assert_eq!((status, &answered["result"]["isError"]), (200, &json!(is_error)), "{tool}: {answered}");
        refusals.extend(is_error.then(|| answered.to_string()));
    }
    assert_clean("a refusal", &refusals.join("\n"));

    until("the writes to end", async || {
        let (_, listed) = caller.get(&at("/write_requests")).await.ok()?;
        let open = |it: &Value| ["queued", "sending", "parked"].contains(&it["status"].as_str().unwrap_or_default());
        let all = listed["data"].as_array()?;
        (all.len() > 4 && !all.iter().any(open)).then_some(())
    })
    .await;

    // Responses to a viewer.
    let mut viewer = Caller::operator(installation.operators, VIEWER).await.unwrap();
    for route in [
        format!("/locations/{}/sync", LOCATIONS[0].0),
        "/operator".to_owned(),
        "/adapters".to_owned(),
        format!("/sync_status?subdomain={}", process::SUBDOMAIN),
    ] {
        let (status, shown) = viewer.get(&route).await.unwrap();
        assert_eq!(status, 200, "{route}: {shown}");
        assert_clean(&route, &shown.to_string());
    }
    assert_eq!(viewer.get(&at("/write_requests")).await.unwrap().0, 403);
    assert_clean("/metrics", &installation.metrics().await.unwrap());
    for open in ["/readyz", "/docs", "/openapi.json"] {
        let mut connection = Connection::open(installation.address).await.unwrap();
        let shown = connection.send(&request("GET", open, &[], &[])).await.unwrap();
        assert_clean(open, &String::from_utf8_lossy(&shown.body));
    }
    process.stop().unwrap();
    let log = installation.log().unwrap();
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "the log has too few lines");
    assert_clean("the log", &log);
    assert!(collector.spans().iter().any(|span| span.name == "ehr_call"), "the traces have too few spans");
    assert_clean("the traces", &collector.text());
    for file in files_below(&dir.path().join("data")).unwrap() {
        assert_clean(&file.display().to_string(), &String::from_utf8_lossy(&fs::read(&file).unwrap()));
    }
    ehr.stop().await;
}
