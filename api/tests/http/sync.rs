//! The read cycle under an operator's control.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use engine::records::ehr::{Description, Ehr, EhrFuture, Fault, Page, PullAbility, Receipt, Resource, Write};
use serde_json::{Value, json};
use testing::until;

use crate::{filled::Filled, support::*};

const SYNC: &str = "/locations/1/sync";
const PATIENTS: u32 = 40;

async fn open() -> (ApiWorld, Arc<Filled>) {
    let ehr = Filled::new("Acme", MAIN, PATIENTS);
    (world_on([(MAIN, ehr.clone() as Arc<dyn Ehr>)]).await, ehr)
}

fn resource_state<'a>(state: &'a Value, resource: &str) -> &'a Value {
    let all = state["data"]["resources"].as_array().unwrap();
    all.iter().find(|it| it["resource"] == resource).unwrap()
}

#[actix_web::test]
async fn progress_is_shown_and_a_cycle_starts_on_request() {
    let (world, ehr) = open().await;
    let first = world.get(SYNC).ok().await;
    let patients = resource_state(&first, "patients");
    assert_eq!(
        (&patients["records"], &patients["estimate"], &patients["whole"], &patients["running"]),
        (&json!(PATIENTS), &json!(PATIENTS), &json!(true), &json!(false))
    );
    let known = world.engine.sync_state(location::ids::LocationId(MAIN)).await.unwrap().progress.len();
    assert_eq!(first["data"]["resources"].as_array().unwrap().len(), known);
    assert!(patients["ended_at"].is_string() && first["data"]["last_sync_at"].is_string());
    assert!(first["data"]["schedule_as_of"].as_str() <= first["data"]["last_sync_at"].as_str());
    assert!(first["data"]["next_cycle_at"].is_string() && first["data"]["reading"].is_null());
    assert_eq!((&first["data"]["writes_waiting"], &first["data"]["read_problem"]), (&json!(0), &Value::Null));
    ehr.touch(Resource::Patients, 2 * PATIENTS);
    world.post(SYNC, json!({})).ok().await;
    let more = |state: &Value| resource_state(state, "patients")["records"] == json!(PATIENTS + 1);
    world.until(SYNC, more).await;
}

#[actix_web::test]
async fn stopped_deletions_can_be_accepted() {
    let (world, ehr) = open().await;
    let accept = |resource: &str| world.post("/locations/1/sync/accept_deletions", json!({"resource": resource}));
    assert_eq!(
        accept("patient_alerts").fails(409).await,
        ["No deletions of this resource were stopped at the location."]
    );
    (1..PATIENTS).for_each(|n| ehr.remove(Resource::PatientAlerts, n));
    world.post(SYNC, json!({})).ok().await;
    let stopped = |state: &Value| resource_state(state, "patient_alerts")["deletions_stopped"] == json!(true);
    let state = world.until(SYNC, stopped).await;
    assert_eq!(
        state["data"]["read_problem"],
        "patient_alerts: the EHR shows 39 of 40 records deleted; nothing was deleted here"
    );
    assert_eq!(state["data"]["problems"][0]["resource"], "patient_alerts");
    assert_shown_in_fleet(&world, &state).await;
    accept("patient_alerts").ok().await;
    let let_go = |state: &Value| {
        let alerts = resource_state(state, "patient_alerts");
        alerts["deletions_stopped"] == json!(false) && alerts["records"] == json!(1)
    };
    world.until(SYNC, let_go).await;
    world.until(SYNC, |state| state["data"]["read_problem"].is_null()).await;
}

/// Other records are read, and the last known version of the unreadable one stays.
#[actix_web::test]
async fn a_record_that_cannot_be_read_is_shown_until_it_can() {
    let (world, ehr) = open().await;
    let before = world.get(SYNC).ok().await;
    let alerts = resource_state(&before, "patient_alerts");
    assert_eq!((&alerts["skipped"], &alerts["skipped_records"]), (&json!(0), &json!([])));
    for n in 0..12 {
        ehr.set_unreadable(Resource::PatientAlerts, n, true);
    }
    world.post(SYNC, json!({})).ok().await;
    let state = world.until(SYNC, |state| resource_state(state, "patient_alerts")["skipped"] == json!(12)).await;
    let shown = resource_state(&state, "patient_alerts");
    assert_eq!(shown["records"], json!(PATIENTS - 12));
    let last = shown["skipped_records"].as_array().unwrap();
    assert_eq!((last.len(), &last[0]["reason"]), (10, &json!("it has no name")));
    assert_eq!(last[0]["foreign_id"], "Acme-0-PatientAlerts-0");
    assert_eq!((&shown["deletions_stopped"], &state["data"]["read_problem"]), (&json!(false), &Value::Null));
    ehr.set_unreadable(Resource::PatientAlerts, 3, false);
    world.post(SYNC, json!({})).ok().await;
    world.until(SYNC, |state| resource_state(state, "patient_alerts")["skipped"] == json!(11)).await;
}

/// Asserts that the fleet shows a location as its own status does.
async fn assert_shown_in_fleet(world: &ApiWorld, state: &Value) {
    let state = &state["data"];
    let fleet = world.get(&format!("/fleet?location_ids[]={}", state["location_id"])).ok().await;
    assert_eq!(fleet["data"].as_array().map(Vec::len), Some(1));
    for field in ["read_problem", "write_problem", "problems", "writes_waiting", "writes_failed"] {
        assert_eq!(fleet["data"][0][field], state[field], "{field}");
    }
}

#[actix_web::test]
async fn the_fleet_is_listed_in_pages_and_loads_no_location() {
    let world = world().await;
    let (mut rows, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.get(&format!("/fleet?per_page=3&end_cursor={cursor}")).ok().await;
        rows.extend(page["data"].as_array().unwrap().clone());
        cursor = page["page_info"]["end_cursor"].as_str().unwrap().to_owned();
        if page["page_info"]["has_next_page"] == false {
            break;
        }
    }
    let rows = Value::from(rows);
    assert_eq!(each(&rows, "id"), [1, 2, 3, 4, 5, 6, 7]);
    let expected = ["active", "active", "pending", "closed", "active", "active", "active"];
    assert_eq!(each(&rows, "status"), expected);
    let of = |location: u32| &rows[location as usize - 1];
    assert_eq!((&of(MAIN)["writes_waiting"], &of(MAIN)["problems"]), (&json!(0), &json!([])));
    let unknown = json!({
        "id": BARE, "name": of(BARE)["name"], "subdomain": "acme", "status": "active", "sync_source_id": null,
        "read_problem": null, "write_problem": null, "problems": [], "writes_waiting": null, "writes_failed": 0,
    });
    assert_eq!(*of(BARE), unknown, "nothing has loaded it");
    world.get(&format!("/locations/{BARE}/sync")).ok().await;
    let rival = world.get("/fleet?subdomain=rival").ok().await["data"].clone();
    assert_eq!(each(&rival, "id"), [RIVAL]);
    let loaded = world.get(&format!("/fleet?location_ids[]={BARE}")).ok().await;
    assert_eq!(loaded["data"][0]["writes_waiting"], 0);
}

#[actix_web::test]
async fn the_fleet_has_the_problems_of_paused_and_damaged_locations() {
    let world = world_damaged(MAIN).await;
    world.get(SYNC).ok().await;
    assert_shown_in_fleet(&world, &world.get(SYNC).ok().await).await;
    let paused = world.post(&format!("/locations/{SECOND}/pause"), json!({})).ok().await;
    assert_eq!(paused["data"]["problems"].as_array().map(Vec::len), Some(2));
    assert_shown_in_fleet(&world, &paused).await;
}

#[actix_web::test]
async fn a_location_without_a_health_record_system_reads_nothing() {
    let world = world().await;
    let alone = world.get(&format!("/locations/{BARE}/sync")).ok().await;
    assert_eq!(
        (&alone["data"]["resources"], &alone["data"]["next_cycle_at"], &alone["data"]["last_sync_at"]),
        (&json!([]), &Value::Null, &Value::Null)
    );
    assert_eq!(world.get("/locations/77/sync").fails(404).await, ["Location with id 77 not found"]);
    assert_eq!(
        world.post("/locations/1/sync/accept_deletions", json!({"resource": "teeth"})).fails(400).await[0]
            .split(" of ")
            .next(),
        Some("resource must be one")
    );
    world.get(SYNC).key(MAIN_KEY).fails(401).await;
}

/// An unreachable EHR: `describe` fails, or, if the EHR describes itself, `pull`.
struct Down {
    describes: bool,
    up: AtomicBool,
}

impl Down {
    fn new(describes: bool) -> Arc<Down> {
        Arc::new(Down { describes, up: AtomicBool::new(false) })
    }
}

impl Ehr for Down {
    fn describe(&self, _: Duration) -> EhrFuture<'_, Description> {
        let pulls = vec![PullAbility { resource: Resource::Providers, delta: false, deletions_by_absence: false }];
        let described = match self.describes {
            true => Ok(Description { name: "Down".into(), pulls, ..Description::default() }),
            false => Err(Fault::Unauthorized("401".into())),
        };
        Box::pin(async move { described })
    }

    fn pull(&self, _: Resource, _: Option<String>, _: u32, _: Duration) -> EhrFuture<'_, Page> {
        let page = match self.up.load(Ordering::SeqCst) {
            true => Ok(Page { last: true, ..Page::default() }),
            false => Err(Fault::RetryLater { reason: "connection refused".into(), after: None }),
        };
        Box::pin(async move { page })
    }

    fn push(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Receipt> {
        Box::pin(async { Err(Fault::Unsupported("nothing".into())) })
    }

    fn find(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Option<Receipt>> {
        Box::pin(async { Ok(None) })
    }
}

fn counted(metrics: &str, name: &str) -> u64 {
    let line = metrics.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[actix_web::test]
async fn an_ehr_that_was_never_reached_is_shown_with_the_cause() {
    for (describes, why) in [(false, "the EHR did not accept the credentials: 401"), (true, "connection refused")] {
        let world = world_unread_on([(MAIN, Down::new(describes) as Arc<dyn Ehr>)]).await;
        world.get(SYNC).ok().await;
        world.until(SYNC, |state| state["data"]["read_problem"] == why).await;
        let state = world.get(SYNC).ok().await["data"].clone();
        assert_eq!((&state["last_sync_at"], &state["next_cycle_at"]), (&Value::Null, &Value::Null), "{why}");
        assert_eq!(state["write_problem"], "the EHR was not reached yet");
        until("the same problems in the fleet", async || {
            let (fleet, state) = (world.get("/fleet?location_ids[]=1").ok().await, world.get(SYNC).ok().await);
            (fleet["data"][0]["problems"] == state["data"]["problems"]).then_some(())
        })
        .await;
        let standing = async || {
            let entry = world.get("/sync_status?location_ids[]=1").ok().await["data"][0].clone();
            let (read, write) = (entry["read_status"].clone(), entry["write_status"].clone());
            assert_eq!((read, write), (json!("red"), json!("red")), "{why}");
            (entry["read_status_at"].clone(), entry["write_status_at"].clone())
        };
        let since = standing().await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(standing().await, since, "since when, and not the time of the call");
        let metrics = world.get("/metrics").reply().await.text;
        let name = |what: &str| format!("practice_sync_adapter_{what}_total");
        assert!(counted(&metrics, &name("calls")) >= 1 && counted(&metrics, &name("faults")) >= 1, "{metrics}");
    }
}

#[actix_web::test]
async fn an_ehr_turns_green_once_it_is_reached() {
    let ehr = Down::new(true);
    let world = world_unread_on([(MAIN, ehr.clone() as Arc<dyn Ehr>)]).await;
    world.get(SYNC).ok().await;
    world.until(SYNC, |state| state["data"]["read_problem"] == "connection refused").await;
    ehr.up.store(true, Ordering::SeqCst);
    world.post(SYNC, json!({})).ok().await;
    // During a cycle the next one has no time yet.
    let green = |state: &Value| {
        let state = &state["data"];
        state["read_problem"].is_null() && state["next_cycle_at"].is_string() && state["last_sync_at"].is_string()
    };
    let state = world.until(SYNC, green).await;
    assert_eq!(state["data"]["write_problem"], Value::Null);
}

#[actix_web::test]
async fn reading_and_writing_are_paused_and_resumed() {
    let world = world().await;
    let (pause, resume) = ("/locations/1/pause", "/locations/1/resume");
    let paused = world.post(pause, json!({"writing": true})).ok().await;
    assert!(paused["data"]["writing_paused_since"].is_string() && paused["data"]["reading_paused_since"].is_null());
    assert_eq!(paused["data"]["write_problem"], "an operator paused writing");
    let status = world.get("/sync_status?subdomain=acme&write_status=red").ok().await;
    assert_eq!(status["data"][0]["locations"][0]["id"], json!(MAIN));
    let token = &world.offers(MAIN, 1).await[0]["slot_token"];
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999"});
    let body = json!({"slot_token": token, "idempotency_key": "k", "patient": patient});
    world.post("/intent/booking/book?subdomain=acme", body).ok().await;
    let writes = world.get("/write_requests?subdomain=acme&location_id=1").ok().await;
    assert!(each(&writes["data"], "status").iter().all(|status| status == "parked"), "{writes}");
    assert_eq!(world.books.written(MAIN).len(), 0);
    let both = world.post(pause, json!({})).ok().await;
    assert!(both["data"]["reading_paused_since"].is_string());
    assert_eq!(both["data"]["read_problem"], "an operator paused reading");
    let resumed = world.post(resume, json!({"reading": true, "writing": true})).ok().await;
    assert!(resumed["data"]["write_problem"].is_null() && resumed["data"]["read_problem"].is_null());
    until("the write", async || !world.books.written(MAIN).is_empty()).await;
    let nothing = world.post(pause, json!({"reading": false})).fails(422).await;
    assert_eq!(nothing, ["reading or writing must be true, or both must be left out."]);
}
