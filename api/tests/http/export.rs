//! The export of a location: complete, resumable, limited to the permissions of the key, and harmless if its client
//! does not read.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use actix_web::{dev::ServerHandle, http::Method, rt::task::spawn_blocking};
use api::server;
use engine::{
    lists::Position,
    records::{document::DocumentKind, ehr::Resource},
    simulated::NoSimulatedEhrs,
    store::{self, Batch},
};
use framework::{
    access::keys::{ApiKey, Grants},
    http::{endpoint::Success, rules::HttpRules},
    values::versions::Version,
};
use location::{ids::LocationId, time::Timestamp};
use serde_json::{Value, json};
use testing::until;

use crate::{
    everywhere::{CallParameters, guarded, wide},
    filled::Filled,
    support::*,
};

const PATH: &str = "/export?subdomain=acme&location_id=1";
/// Records of each resource for an export of several pages.
const SEVERAL_PAGES: u32 = 20;
/// Records of each resource for an export that does not fit into the buffers of a connection.
const MANY: u32 = 100;
/// Upper limit of unread bytes per export: a page and its last record.
const MAX_UNREAD: u64 = 512 << 10;

/// Records by resource and id.
type Records = BTreeMap<(String, u64), Value>;

async fn filled(of_each: u32) -> (ApiWorld, Arc<Filled>) {
    let ehr = Filled::new("Acme", MAIN, of_each);
    (world_on([(MAIN, Arc::clone(&ehr) as _)]).await, ehr)
}

async fn lines(ask: ApiRequest<'_>) -> Vec<Value> {
    let reply = ask.reply().await;
    assert_eq!((reply.status.as_u16(), reply.is_lines()), (200, true), "{}", reply.text);
    reply.lines()
}

/// Returns the records of lines. Each appears once.
fn records(lines: &[Value]) -> Records {
    let mut records = Records::new();
    for line in lines.iter().filter(|line| line["data"].is_object()) {
        let before = records.insert(named(line), line["data"].clone());
        assert_eq!(before, None, "{line} is repeated");
    }
    records
}

fn named(row: &Value) -> (String, u64) {
    (row["resource"].as_str().unwrap().to_owned(), row["id"].as_u64().unwrap())
}

/// Returns the records that all changes since the first one leave.
async fn changed(world: &ApiWorld, location: u32, key: &str) -> Records {
    let cursors = world.api.cursors.bound_to("/changes", vec![("location_id", &location.to_string())]);
    let (mut since, mut records) = (cursors.seal(Position::id(0), Timestamp(0)), Records::new());
    loop {
        let path = format!("/changes?subdomain=acme&location_id={location}&per_page=1000&since={since}");
        let page = world.get(&path).key(key).ok().await;
        for row in page["data"].as_array().unwrap() {
            match row["record"].is_null() {
                true => records.remove(&named(row)),
                false => records.insert(named(row), row["record"].clone()),
            };
        }
        since = page["page_info"]["end_cursor"].as_str().unwrap().to_owned();
        if page["page_info"]["has_next_page"] == json!(false) {
            return records;
        }
    }
}

fn resume_lines(lines: &[Value]) -> Vec<usize> {
    (0..lines.len()).filter(|at| lines[*at]["type"] == "resume").collect()
}

fn resuming(line: &Value) -> String {
    format!("{PATH}&cursor={}", line["cursor"].as_str().unwrap())
}

#[actix_web::test]
async fn an_export_has_the_records_that_all_changes_leave() {
    let world = world().await;
    world.books.remove(Resource::Payments, "payment 2");
    world.sync(MAIN).await;
    world.patch("/appointments/1?subdomain=acme", json!({"appt": {"note": "Hello"}})).ok().await;
    for key in [ACME_KEY, MAIN_KEY] {
        let exported = lines(world.get(PATH).key(key)).await;
        let found = records(&exported);
        assert_eq!(found, changed(&world, MAIN, key).await, "{key}");
        assert_eq!(found[&("appointments".to_owned(), 1)]["note"], "Hello");
        let end = exported.last().unwrap();
        assert_eq!((&end["type"], &end["count"]), (&json!("end"), &json!(found.len())), "{end}");
        let patients: Vec<&Value> = exported.iter().filter(|line| line["resource"] == "patients").collect();
        assert!(!patients.is_empty() && patients.iter().all(|line| line["type"] == "patient"), "{patients:?}");
    }
    let exported = lines(world.get("/export?subdomain=acme&location_id=2")).await;
    assert_eq!(records(&exported), changed(&world, SECOND, ACME_KEY).await);
}

#[actix_web::test]
async fn an_export_has_the_records_of_all_lists() {
    let (world, _) = filled(4).await;
    let exported: BTreeSet<(String, u64)> =
        records(&lines(world.get(PATH).version("v3.1.0")).await).into_keys().collect();
    let pages = guarded().filter(|it| matches!(it.route.success, Success::Page(_)) && it.version == Version::V3_1_0);
    let mut compared = 0;
    for it in pages.filter(|it| it.route.role.is_none() && !it.route.path.contains('{')) {
        let list = it.route.path.trim_start_matches('/');
        if !exported.iter().any(|(resource, _)| resource == list) {
            continue;
        }
        let path = format!("{}&per_page=1000", wide(&it.path(&CallParameters::right())));
        let page = world.get(&path).version("v3.1.0").ok().await;
        let ids: Vec<u64> = each(&page["data"], "id").iter().filter_map(Value::as_u64).collect();
        for id in &ids {
            assert!(exported.contains(&(list.to_owned(), *id)), "{list} shows {id}, which the export lacks");
        }
        compared += usize::from(!ids.is_empty());
    }
    assert!(compared > 10, "only {compared} lists were compared");
}

#[actix_web::test]
async fn an_export_without_an_ehr_has_the_records_of_that_location() {
    let world = world().await;
    let at = |path: &str| format!("{path}?subdomain=acme&location_id={BARE}");
    let create = async |path: &str, body: Value| {
        world.post(&at(path), body).key(BARE_KEY).answers(201).await["data"]["id"].clone()
    };
    let provider = create("/providers", json!({"provider": {"first_name": "Ada", "last_name": "Weber"}})).await;
    let room = create("/operatories", json!({"operatory": {"name": "Room 1"}})).await;
    let hour = json!({"working_hour": {"provider_id": provider, "operatory_id": room, "begin_time": "09:00",
        "end_time": "12:00", "days": ["Monday"]}});
    create("/working_hours", hour).await;
    let search = json!({"start_date": world.monday().to_string(), "limit": 1});
    let found = world.post(&at("/intent/booking/search"), search).key(BARE_KEY).ok().await;
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-01-02", "phone_number": "555-010-4444"});
    let body = json!({"slot_token": found["slots"][0]["slot_token"], "idempotency_key": "k", "patient": patient});
    world.post(&at("/intent/booking/book"), body).key(BARE_KEY).ok().await;
    let exported = records(&lines(world.get(&at("/export")).key(BARE_KEY)).await);
    assert_eq!(exported, changed(&world, BARE, BARE_KEY).await);
    let resources: BTreeSet<&str> = exported.keys().map(|(resource, _)| resource.as_str()).collect();
    assert_eq!(resources, BTreeSet::from(["appointments", "operatories", "patients", "providers", "working_hours"]));
}

#[actix_web::test]
async fn an_export_resumed_at_any_line_has_the_rest() {
    let (world, _) = filled(SEVERAL_PAGES).await;
    let whole = lines(world.get(PATH)).await;
    let resumes = resume_lines(&whole);
    assert!(resumes.len() >= 3, "{resumes:?}");
    for at in resumes {
        assert_eq!(lines(world.get(&resuming(&whole[at]))).await, whole[at + 1..], "resumed after line {at}");
    }
    assert_eq!(whole.last().unwrap()["count"], json!(records(&whole).len()));
}

#[actix_web::test]
async fn referenced_people_rooms_and_types_come_before_other_records() {
    let (world, _) = filled(4).await;
    let exported = lines(world.get(PATH)).await;
    let first = |resource: &str| exported.iter().position(|line| line["resource"] == resource).unwrap();
    for (earlier, later) in [
        ("providers", "patients"),
        ("operatories", "appointments"),
        ("appointment_types", "appointments"),
        ("patients", "appointments"),
        ("patients", "charges"),
        ("charges", "payments"),
        ("payment_types", "payments"),
        ("adjustment_types", "adjustments"),
    ] {
        assert!(first(earlier) < first(later), "{earlier} after {later}");
    }
}

#[actix_web::test]
async fn changes_during_an_export_follow_its_cursor() {
    let (world, ehr) = filled(SEVERAL_PAGES).await;
    let whole = lines(world.get(PATH)).await;
    let first_page = &whole[..=resume_lines(&whole)[0]];
    ehr.touch(Resource::Patients, 3);
    world.sync(MAIN).await;
    let rest = lines(world.get(&resuming(first_page.last().unwrap()))).await;
    let end = rest.last().unwrap();
    assert_eq!(end["changes_cursor"], whole.last().unwrap()["changes_cursor"], "the position of the first start");
    let since = end["changes_cursor"].as_str().unwrap();
    let changes = world.get(&format!("/changes?subdomain=acme&location_id=1&since={since}")).ok().await;
    assert_eq!(each(&changes["data"], "resource"), ["patients"]);
    // A copy made of both has the current state. The name of a patient in other records is not a change of these.
    let mut copy = records(&[first_page, &rest[..]].concat());
    copy.extend(changes["data"].as_array().unwrap().iter().map(|row| (named(row), row["record"].clone())));
    let without_names = |mut records: Records| {
        records.values_mut().filter_map(Value::as_object_mut).for_each(|record| drop(record.remove("patient_name")));
        records
    };
    assert_eq!(without_names(copy), without_names(changed(&world, MAIN, ACME_KEY).await));
}

#[actix_web::test]
async fn an_export_respects_the_grants_of_the_key() {
    let (world, _) = filled(2).await;
    let exported = lines(world.get(PATH).key(MAIN_KEY)).await;
    let resources: BTreeSet<&str> = exported.iter().filter_map(|line| line["resource"].as_str()).collect();
    assert!(resources.contains("patients") && resources.contains("procedures"), "{resources:?}");
    for hidden in ["charges", "payments", "fee_schedules", "insurance_plans", "form_responses", "procedure_codes"] {
        assert!(!resources.contains(hidden), "{hidden}");
    }
    for procedure in exported.iter().filter(|line| line["resource"] == "procedures") {
        assert_eq!(procedure["data"]["fee"], Value::Null, "{procedure}");
    }
    world.get(PATH).key(MAIN_KEY).version("v3.1.0").fails(403).await;
    world.get(PATH).version("v2.2.2").fails(404).await;
}

#[actix_web::test]
async fn a_cursor_of_another_export_is_refused() {
    let (world, _) = filled(SEVERAL_PAGES).await;
    let whole = lines(world.get(PATH)).await;
    let path = resuming(&whole[resume_lines(&whole)[0]]);
    let message = "cursor is not one of an export of this location and its EHR, with this API key, its grants and \
                   this version. Start again without cursor.";
    let elsewhere = path.replace("location_id=1", "location_id=2");
    for ask in [
        world.get(&elsewhere),
        world.get(&path).key(MAIN_FULL_KEY),
        world.get(&path).version("v3.1.0"),
        world.get(&format!("{PATH}&cursor=abc")),
    ] {
        assert_eq!(ask.fails(400).await, [message]);
    }
    let poorer = |key: ApiKey| ApiKey { grants: Grants { financial: false, ..key.grants }, ..key };
    world.api.replace_keys(keys().into_iter().map(poorer).collect());
    assert_eq!(world.get(&path).fails(400).await, [message], "with fewer grants");
    world.api.replace_keys(keys());
    without_ehr(&world).await;
    assert_eq!(world.get(&path).fails(400).await, [message], "with another EHR");
}

/// Disconnects the exported location from its EHR, as versions allowed that did not store the EHR of its records.
pub async fn without_ehr(world: &ApiWorld) {
    let mut removal = Batch::new();
    removal.delete(store::keys::record(DocumentKind::EhrSite.byte(), 0, MAIN.into()));
    world.store.commit(removal).await.unwrap();
    let mut next = setup();
    next.locations.get_mut(&LocationId(MAIN)).map(Arc::make_mut).unwrap().source = None;
    world.api.reconfigure(next, &NoSimulatedEhrs).await.unwrap_or_else(|error| panic!("{error}"));
}

#[actix_web::test]
async fn an_export_of_a_stopping_or_full_server_ends_with_an_error() {
    let (world, _) = filled(2).await;
    world.api.replace_rules(HttpRules { max_response_bytes: 1, ..free_rates() });
    let full = lines(world.get(PATH)).await;
    world.api.replace_rules(free_rates());
    world.api.leaving.store(true, Ordering::Relaxed);
    let stopping = lines(world.get(PATH)).await;
    for lines in [full, stopping] {
        let [error] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!((&error["type"], &error["reason"]), (&json!("error"), &json!("unavailable")), "{error}");
        assert!(
            error["description"].as_str().unwrap().ends_with("Continue with the cursor of the last `resume` line.")
        );
    }
    assert_eq!(world.api.response_bytes.in_flight(), 0);
}

#[actix_web::test]
async fn a_head_request_has_no_body() {
    let (world, _) = filled(2).await;
    let reply = world.request(Method::HEAD, PATH).reply().await;
    assert_eq!((reply.status.as_u16(), reply.text.as_str(), reply.header("ETag")), (200, "", None));
}

async fn serving(rules: HttpRules) -> (ApiWorld, SocketAddr, ServerHandle) {
    let (world, _) = filled(MANY).await;
    world.api.replace_rules(HttpRules { workers: 1, ..rules });
    let listener = server::listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let (server, address) = server::start(world.api.clone(), listener).unwrap();
    let handle = server.handle();
    actix_web::rt::spawn(server);
    (world, address, handle)
}

/// Starts an export that nothing reads yet.
fn asking(world: &ApiWorld, address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let token = world.token(ACME_KEY);
    let request = format!(
        "GET {PATH} HTTP/1.1\r\nHost: x\r\nUser-Agent: t/1\r\nSvc-Api-Version: v3.0.0\r\nAuthorization: {token}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Waits until the buffers of a connection are full.
async fn stalled(world: &ApiWorld) {
    let mut before = 0;
    until("an export waits for its client", async || {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = world.api.response_bytes.in_flight();
        now > 0 && std::mem::replace(&mut before, now) == now
    })
    .await;
}

async fn rest_of(mut stream: TcpStream) -> String {
    let read = move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    spawn_blocking(read).await.unwrap()
}

#[actix_web::test]
async fn a_client_that_does_not_read_holds_one_page_until_it_is_cut() {
    let (world, address, handle) = serving(HttpRules { body_timeout: Duration::from_secs(2), ..free_rates() }).await;
    let held = asking(&world, address);
    let mut most = 0;
    until("an export begins", async || {
        most = most.max(world.api.response_bytes.in_flight());
        most > 0
    })
    .await;
    // Reads and writes of others are answered meanwhile.
    world.get("/patients?subdomain=acme&location_id=1").ok().await;
    world.post("/webhook_endpoints", json!({"target_url": "https://receiver.example/hook"})).answers(201).await;
    assert_eq!(lines(world.get(PATH)).await.last().unwrap()["type"], "end");
    until("the connection is cut", async || {
        most = most.max(world.api.response_bytes.in_flight());
        world.api.connections.cut() == 1
    })
    .await;
    assert!(most <= 2 * MAX_UNREAD, "{most} bytes");
    until("its page is dropped", async || world.api.response_bytes.in_flight() == 0).await;
    drop(held);
    handle.stop(true).await;
}

#[actix_web::test]
async fn concurrent_exports_of_a_key_are_limited() {
    let (world, address, handle) = serving(free_rates()).await;
    let first = asking(&world, address);
    stalled(&world).await;
    let unread = world.api.response_bytes.in_flight();
    let second = asking(&world, address);
    until("both are in progress", async || world.api.response_bytes.in_flight() > unread).await;
    let refused = world.get(PATH).reply().await;
    assert_eq!(refused.json()["reason"], "too_many");
    assert!(refused.header("Retry-After").is_some(), "{:?}", refused.headers);
    assert_eq!(lines(world.get(PATH).key(MAIN_FULL_KEY)).await.last().unwrap()["type"], "end", "another key");
    drop(first);
    until("the first has ended", async || world.get(PATH).reply().await.status == 200).await;
    assert!(rest_of(second).await.contains(r#"{"type":"end","#), "the second is complete");
    handle.stop(true).await;
}

#[actix_web::test]
async fn an_export_of_a_revoked_key_ends_with_an_error() {
    let (world, address, handle) = serving(free_rates()).await;
    let without: Vec<ApiKey> = keys().into_iter().filter(|key| key.name != ACME_KEY).collect();
    let poorer = |key: ApiKey| ApiKey { grants: Grants::default(), ..key };
    for (changed, reason) in [(without, "key_revoked"), (keys().into_iter().map(poorer).collect(), "out_of_reach")] {
        let held = asking(&world, address);
        stalled(&world).await;
        world.api.replace_keys(changed);
        assert_eq!(error_of(held).await["reason"], reason);
        world.api.replace_keys(keys());
    }
    handle.stop(true).await;
}

#[actix_web::test]
async fn an_export_of_a_location_with_another_ehr_ends_with_an_error() {
    let (world, address, handle) = serving(free_rates()).await;
    let held = asking(&world, address);
    stalled(&world).await;
    without_ehr(&world).await;
    assert_eq!(error_of(held).await["reason"], "out_of_reach");
    handle.stop(true).await;
}

/// Returns the last line of an export, which is an error.
async fn error_of(stream: TcpStream) -> Value {
    let text = rest_of(stream).await;
    let last = text.lines().rfind(|line| line.starts_with('{')).unwrap();
    let error: Value = serde_json::from_str(last).unwrap();
    assert_eq!(error["type"], "error", "{error}");
    error
}
