//! Every read of a patient's record adds an entry to the audit trail before the response is sent.

use std::{
    cell::Cell,
    fs::File,
    io,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use actix_web::{http::Method, rt::task::JoinHandle, web::Data};
use audit::{Disk, Filter, RealDisk, Rules, Trail};
use engine::{
    setup::BackupRules,
    store::{EmbeddedStore, MemoryStore, Store, StoreConfig, StoreKeys},
};
use framework::{
    access::{api::Api, audited, keys::ApiKey, token_uses},
    values::secret::Secret,
};
use location::ids::LocationId;
use serde_json::{Value, json};
use tempfile::TempDir;
use testing::until;

use crate::support::*;

const SECRET: [u8; 32] = [9; 32];

/// A world with an audit trail and a named first key.
struct Watched {
    world: ApiWorld,
    folder: Arc<TempDir>,
    disk: Arc<Failing>,
    seen: Cell<usize>,
    following: JoinHandle<()>,
}

/// A disk that fails on demand.
#[derive(Default)]
struct Failing(AtomicBool);

impl Disk for Failing {
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        if self.0.load(Ordering::SeqCst) { Err(io::ErrorKind::StorageFull.into()) } else { RealDisk.write(file, bytes) }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        RealDisk.sync(file)
    }
}

impl Deref for Watched {
    type Target = ApiWorld;

    fn deref(&self) -> &ApiWorld {
        &self.world
    }
}

const NAME: &str = "of the first key";

async fn watched() -> Watched {
    watched_in(world().await, Arc::new(tempfile::tempdir().unwrap()))
}

fn watched_in(mut world: ApiWorld, folder: Arc<TempDir>) -> Watched {
    let disk = Arc::new(Failing::default());
    let trail = Trail::open_on(folder.path(), &SECRET, Rules::default(), disk.clone()).unwrap();
    let named = |key: ApiKey| if key.name == ACME_KEY { ApiKey { name: NAME.to_owned(), ..key } } else { key };
    let keys: Vec<ApiKey> = keys().into_iter().map(named).collect();
    let api = Api::new(world.engine.clone(), keys, &Secret::from_bytes([7; 32]), free_rates());
    api.replace_operators(operators());
    world.api = Data::new(api.with_audit(trail));
    let following = follow_changes(&world);
    Watched { world, folder, disk, seen: Cell::new(0), following }
}

impl Watched {
    async fn all_is_audited(&self) {
        until("an entry of every change", async || self.engine.audit_follower().waiting() == 0).await;
    }

    /// Loads the first location, as a service does after its start, and waits for the entries of its changes.
    async fn audits_earlier_changes(&self) {
        self.engine.sync_state(LocationId(MAIN)).await.unwrap();
        self.all_is_audited().await;
    }

    /// Ends the process without an orderly unload of the locations.
    fn vanishes(self) {
        let Watched { world: ApiWorld { api, engine, .. }, following, .. } = self;
        following.abort();
        std::mem::forget(engine);
        drop(api);
    }

    /// Returns the entries since the last call.
    fn entries(&self) -> Vec<Value> {
        let mut lines = Vec::new();
        audit::export(self.folder.path(), &SECRET, Filter::default(), &mut lines).unwrap();
        let all: Vec<Value> =
            lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        let new = all[self.seen.get()..].to_vec();
        self.seen.set(all.len());
        new
    }

    /// Returns the entries of the first key since the last call, one text per id.
    fn noted(&self) -> Vec<String> {
        let own = self.entries().into_iter().filter(|entry| entry["actor"]["key"] == NAME);
        let changes_of = |entry: Value| -> Vec<String> {
            let what = format!("{} {}", entry["action"].as_str().unwrap(), entry["record"].as_str().unwrap());
            entry["ids"].as_array().unwrap().iter().map(|id| format!("{what} {id}")).collect()
        };
        own.flat_map(changes_of).collect()
    }
}

fn reads(record: &str, rows: &Value) -> Vec<String> {
    each(rows, "id").iter().map(|id| format!("read {record} {id}")).collect()
}

#[actix_web::test]
async fn an_entry_names_the_caller_and_the_records_read() {
    let world = watched().await;
    let shown = world.get(&format!("/patients/{PAT}?subdomain=acme")).with("X-Request-Id", "of-the-test").reply().await;
    assert_eq!(shown.status, 200);
    let entries = world.entries();
    let patient = entries.iter().find(|entry| entry["record"] == "patient").unwrap();
    for (name, expected) in [
        ("actor", json!({"key": NAME})),
        ("action", json!("read")),
        ("ids", json!([PAT])),
        ("institution", json!(1)),
        ("route", json!("GET /patients/{id}")),
        ("status", json!("200")),
    ] {
        assert_eq!(patient[name], expected, "{name}: {patient}");
    }
    let list = format!("/patients?subdomain=acme&location_id={MAIN}");
    world.get(&list).ok().await;
    assert_eq!(world.entries()[0]["location"], json!(MAIN));
    // A refused request shows no record.
    world.get("/patients/4711?subdomain=acme").fails(404).await;
    assert_eq!(world.entries(), Vec::<Value>::new());
}

#[actix_web::test]
async fn records_are_not_sent_if_their_entry_cannot_be_written() {
    let world = watched().await;
    let path = format!("/patients/{PAT}?subdomain=acme");
    world.disk.0.store(true, Ordering::SeqCst);
    let refused = world.get(&path).reply().await;
    assert_eq!(refused.status, 503);
    assert!(refused.header("Retry-After").is_some() && refused.json()["data"].is_null(), "{}", refused.text);
    assert_eq!(refused.json()["reason"], "audit_unavailable");
    assert!(refused.text.contains("audit trail cannot be written"), "{}", refused.text);
    // A change that cannot be audited is refused.
    let change = json!({"patient": {"email": "untold@example.com"}});
    let patient = format!("/patients/{PAT}?subdomain=acme&location_id={MAIN}");
    let unchanged = world.patch(&patient, change).version("v3.1.0").reply().await;
    assert_eq!((unchanged.status.as_u16(), &unchanged.json()["reason"]), (503, &json!("audit_unavailable")));
    // Endpoints without records of patients still work.
    world.get("/locations").ok().await;
    world.disk.0.store(false, Ordering::SeqCst);
    let shown = until("the patient is shown again", async || {
        let shown = world.get(&path).reply().await;
        (shown.status == 200).then_some(shown)
    })
    .await;
    assert_ne!(shown.json()["data"]["email"], json!("untold@example.com"));
    audit::verify(world.folder.path(), &SECRET).unwrap();
}

fn email(address: &str) -> (String, Value) {
    let path = format!("/patients/{PAT}?subdomain=acme&location_id={MAIN}");
    (path, json!({"patient": {"email": address}}))
}

/// The change commits together with its caller. Its entry follows once the disk of the trail accepts writes, and until
/// then other changes are refused.
#[actix_web::test]
async fn the_entry_of_a_change_outlasts_a_disk_that_fails() {
    let world = watched().await;
    world.disk.0.store(true, Ordering::SeqCst);
    let (path, change) = email("first@example.com");
    assert_eq!(world.patch(&path, change).version("v3.1.0").reply().await.status, 200);
    until("changes are refused", async || {
        let (path, change) = email("second@example.com");
        world.patch(&path, change).version("v3.1.0").reply().await.status == 503
    })
    .await;
    assert_eq!(world.patch(&path, email("third@example.com").1).version("v3.1.0").reply().await.status, 503);
    assert!(world.engine.audit_follower().waiting() > 0);
    assert_eq!(world.entries(), Vec::<Value>::new());
    world.disk.0.store(false, Ordering::SeqCst);
    world.all_is_audited().await;
    let entries = world.entries();
    let update = entries.iter().find(|entry| entry["action"] == "update").unwrap();
    assert_eq!((&update["status"], &update["ids"]), (&json!("committed"), &json!([PAT])), "{update}");
    assert_eq!(update["decisions"][0][0], json!(MAIN), "{update}");
}

/// A client cannot name a tool.
#[actix_web::test]
async fn entries_of_tool_calls_name_the_tool() {
    let world = watched().await;
    let call = async |tool: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": arguments});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let result = world.post("/mcp", message).ok().await["result"].clone();
        assert_eq!(result["isError"], json!(false), "{result}");
        result["structuredContent"]["facts"].clone()
    };
    let slot = world.offers(MAIN, 1).await[0]["slot_token"].clone();
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999"});
    let booked = call("book", json!({"location_id": MAIN, "slot_token": slot, "patient": patient})).await;
    let reference = booked["booking"]["booking_ref"].as_str().unwrap();
    call("booking_status", json!({"location_id": MAIN, "booking_ref": reference})).await;
    world.all_is_audited().await;
    let entries = world.entries();
    for (route, tool) in [("POST /intent/booking/book", "book"), ("GET /intent/booking/status", "booking_status")] {
        let mut of_route = entries.iter().filter(|entry| entry["route"] == route).peekable();
        assert!(of_route.peek().is_some() && of_route.all(|entry| entry["tool"] == tool), "{tool}: {entries:?}");
    }
    let status = format!("/intent/booking/status?subdomain=acme&booking_ref={reference}");
    world.get(&status).with("X-Node-Tool", "book").ok().await;
    let entries = world.entries();
    let [read] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((&read["action"], read.get("tool")), (&json!("read"), None), "{read}");
}

/// The handlers of some records name no change; the committed decision does.
#[actix_web::test]
async fn each_change_of_a_record_has_one_entry() {
    let world = watched().await;
    let path = format!("/working_hours?subdomain=acme&location_id={MAIN}");
    let hour = json!({"provider_id": BEN, "operatory_id": CHAIR_2, "begin_time": "18:00", "end_time": "20:00", "days": ["Sunday"]});
    let made = world.post(&path, json!({"working_hour": hour})).answers(201).await["data"]["id"].clone();
    world.all_is_audited().await;
    let entries = world.entries();
    let changes: Vec<_> = entries.iter().filter(|entry| entry["action"] != "read").collect();
    let [written] = changes.as_slice() else { panic!("{entries:?}") };
    assert_eq!((&written["action"], &written["ids"]), (&json!("write"), &json!([made])), "{written}");
    assert_eq!(written["status"], "committed", "{written}");
    assert_eq!(written["actor"], json!({"key": NAME}), "{written}");
}

/// Returns the path and the body of a request that saves an item of a patient's medical history.
async fn history_item(world: &ApiWorld) -> (&'static str, Value) {
    let items = "/medical_history/items?subdomain=acme&location_id=1&category=allergies&search_term=latex";
    let (patient, item) = (world.patient("ada").await, world.one_of(items).await["id"].clone());
    let body = json!({"patient_id": patient, "allergies": [{"item_id": item, "note": "gloves"}]});
    ("/medical_history/patient_items?subdomain=acme&location_id=1", body)
}

#[actix_web::test]
async fn an_item_of_a_medical_history_has_one_entry() {
    let world = watched().await;
    let (path, body) = history_item(&world).await;
    world.entries();
    let made = world.post(path, body).version("v3.1.0").answers(201).await;
    world.all_is_audited().await;
    let entries = world.entries();
    let changes: Vec<_> = entries.iter().filter(|entry| entry["action"] != "read").collect();
    let [created] = changes.as_slice() else { panic!("{entries:?}") };
    assert_eq!((&created["record"], &created["status"]), (&json!("Patient Medical History Item"), &json!("committed")));
    assert_eq!(created["ids"], json!([made["data"][0]["id"]]), "{created}");
}

/// The call reads the patient before it saves the item. The entry of that read is refused after the commit.
#[actix_web::test]
async fn a_committed_change_is_answered_if_the_entries_of_its_reads_are_refused() {
    let world = watched().await;
    let (path, body) = history_item(&world).await;
    world.disk.0.store(true, Ordering::SeqCst);
    world.post(path, body).version("v3.1.0").answers(201).await;
    world.disk.0.store(false, Ordering::SeqCst);
    world.all_is_audited().await;
    let entries = world.entries();
    assert!(entries.iter().any(|entry| entry["record"] == "Patient Medical History Item"), "{entries:?}");
}

/// The process ends after the commit and before the entry. The next process adds the entry once.
#[actix_web::test]
async fn changes_left_unaudited_by_a_crash_are_audited_after_a_restart() {
    let (store, keys): (Arc<dyn Store>, _) = (Arc::new(MemoryStore::new()), tempfile::tempdir().unwrap());
    let life = async || {
        let world = world_kept_in(setup(), store.clone(), keys.path().join("store.key")).await;
        watched_in(world, Arc::new(tempfile::tempdir().unwrap()))
    };
    let first = life().await;
    first.disk.0.store(true, Ordering::SeqCst);
    let (path, change) = email("left@example.com");
    let changed = first.patch(&path, change).version("v3.1.0").with("X-Request-Id", "left-behind").reply().await;
    assert_eq!(changed.status, 200);
    first.vanishes();

    let second = life().await;
    second.audits_earlier_changes().await;
    let entries = second.entries();
    let [update] = entries.as_slice() else { panic!("{entries:?}") };
    for (name, expected) in [
        ("request_id", json!("left-behind")),
        ("actor", json!({"key": NAME})),
        ("action", json!("update")),
        ("record", json!("patient")),
        ("ids", json!([PAT])),
        ("institution", json!(1)),
        ("location", json!(MAIN)),
        ("route", json!("PATCH /patients/{id}")),
        ("status", json!("committed")),
    ] {
        assert_eq!(update[name], expected, "{name}: {update}");
    }
}

/// The position of the location is in the store, so another trail gets no entry either.
#[actix_web::test]
async fn changes_already_in_the_trail_are_not_audited_again() {
    let (store, keys): (Arc<dyn Store>, _) = (Arc::new(MemoryStore::new()), tempfile::tempdir().unwrap());
    let [kept, empty] = [(); 2].map(|()| Arc::new(tempfile::tempdir().unwrap()));
    let life = async |folder: &Arc<TempDir>| {
        let world = world_kept_in(setup(), store.clone(), keys.path().join("store.key")).await;
        watched_in(world, folder.clone())
    };
    let first = life(&kept).await;
    first.post(&format!("/locations/{MAIN}/pause"), json!({})).ok().await;
    first.all_is_audited().await;
    let entries = first.entries();
    let [pause] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((&pause["action"], &pause["record"]), (&json!("pause"), &json!("location")));
    first.vanishes();

    for (folder, entries) in [(&empty, 0), (&kept, 1)] {
        let next = life(folder).await;
        next.audits_earlier_changes().await;
        assert_eq!(next.entries().len(), entries);
        next.vanishes();
    }
}

/// A change without effect commits nothing. Its entry is that of the call.
#[actix_web::test]
async fn a_call_without_a_commit_leaves_an_entry_with_its_status() {
    let world = watched().await;
    let (path, change) = email("same@example.com");
    for (status, decisions) in [("committed", true), ("200", false)] {
        let changed = world.patch(&path, change.clone()).version("v3.1.0").reply().await;
        assert_eq!(changed.status, 200, "{}", changed.text);
        world.all_is_audited().await;
        let entries = world.entries();
        let updates: Vec<_> = entries.iter().filter(|entry| entry["action"] == "update").collect();
        let [update] = updates.as_slice() else { panic!("{entries:?}") };
        assert_eq!((&update["status"], update["decisions"].is_array()), (&json!(status), decisions), "{update}");
    }
}

#[actix_web::test]
async fn each_read_of_a_page_adds_its_entries() {
    let world = watched().await;
    for (list, record) in [
        ("/patients?subdomain=acme&location_id=1&per_page=100", "patient"),
        (
            "/appointments?subdomain=acme&location_id=1&start=2020-01-01T00:00:00Z&end=2040-01-01T00:00:00Z",
            "appointment",
        ),
        ("/clinical_notes?subdomain=acme&location_id=1", "Clinical Note"),
    ] {
        let rows = world.get(list).ok().await["data"].clone();
        let expected = reads(record, &rows);
        assert!(!expected.is_empty(), "{list}");
        assert_eq!(world.noted(), expected, "{list}");
        for _ in 0..2 {
            world.get(list).ok().await;
            assert_eq!(world.noted(), expected, "{list}, again");
        }
    }
}

#[actix_web::test]
async fn every_endpoint_with_appointments_adds_entries() {
    let world = watched().await;
    world.get("/appointments/1?subdomain=acme").ok().await;
    assert!(world.noted().contains(&"read appointment 1".to_owned()));
    let changes = "/changes?subdomain=acme&location_id=1&resource[]=appointments";
    let now = world.get(changes).ok().await["page_info"]["end_cursor"].as_str().unwrap().to_owned();
    let token = &world.offers(MAIN, 1).await[0]["slot_token"];
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999"});
    let body = json!({"slot_token": token, "idempotency_key": "k", "patient": patient});
    let made = world.post("/intent/booking/book?subdomain=acme", body.clone()).ok().await;
    world.all_is_audited().await;
    let id = &made["booking"]["appointment_id"];
    assert_eq!(world.noted(), [format!("create appointment {id}")], "the response shows the created record");
    world.post("/intent/booking/book?subdomain=acme", body).ok().await;
    assert_eq!(world.noted(), [format!("read booking {id}")], "a replay shows the stored record");
    let feed = world.get(&format!("{changes}&since={now}")).ok().await;
    let lines = world.noted();
    let shown = feed["data"].as_array().unwrap().iter().filter(|row| !row["record"].is_null());
    let shown: Vec<String> = shown.map(|row| format!("read appointment {}", row["id"])).collect();
    assert!(!shown.is_empty());
    assert_eq!(lines, shown);
    let patient = world.get("/patients/1?subdomain=acme&include[]=upcoming_appts").ok().await;
    let coming = reads("appointment", &patient["data"]["upcoming_appts"]);
    assert!(!coming.is_empty());
    let lines = world.noted();
    assert!(coming.iter().all(|line| lines.contains(line)), "{lines:?}");
}

#[actix_web::test]
async fn a_group_adds_an_entry_for_each_booking() {
    let world = watched().await;
    let search =
        json!({"start_date": world.monday().to_string(), "appointment_type_id": CHECKUP, "party_size": 2, "limit": 1});
    let found = world.post("/intent/booking/search?subdomain=acme&location_id=1", search).ok().await;
    let booking = |index: usize, first_name: &str| {
        let patient = json!({"first_name": first_name, "last_name": "Meier", "date_of_birth": "2019-02-03", "phone_number": "+1 555 010 9999"});
        json!({"slot_token": found["groups"][0]["slots"][index]["slot_token"], "patient": patient})
    };
    let body = json!({"idempotency_key": "family", "bookings": [booking(0, "Mia"), booking(1, "Max")]});
    world.noted();
    let made = world.post("/intent/booking/book?subdomain=acme", body.clone()).ok().await;
    world.all_is_audited().await;
    let ids = each(&made["bookings"], "appointment_id");
    let entries = |action: &str| ids.iter().map(|id| format!("{action} {id}")).collect::<Vec<_>>();
    assert_eq!(world.noted(), entries("create appointment"));
    world.post("/intent/booking/book?subdomain=acme", body).ok().await;
    assert_eq!(world.noted(), entries("read booking"));
}

#[actix_web::test]
async fn a_not_modified_response_adds_its_entries_again() {
    let world = watched().await;
    for path in ["/patients/1?subdomain=acme", "/patients?subdomain=acme&location_id=1"] {
        let first = world.get(path).reply().await;
        let lines = world.noted();
        assert!(!lines.is_empty(), "{path}");
        for _ in 0..2 {
            let again = world.get(path).with("If-None-Match", first.header("ETag").unwrap()).reply().await;
            assert_eq!((again.status.as_u16(), world.noted()), (304, lines.clone()), "{path}");
        }
    }
}

/// The time is stored in the background, not by the request.
#[actix_web::test]
async fn the_last_use_of_a_token_survives_a_restart() {
    let (store, keys): (Arc<dyn Store>, _) = (Arc::new(MemoryStore::new()), tempfile::tempdir().unwrap());
    let life = async || world_kept_in(setup(), store.clone(), keys.path().join("store.key")).await;
    let last_used = async |world: &ApiWorld| {
        let all = world.get("/operators").ok().await["data"].clone();
        let of_viewer = all.as_array().unwrap().iter().find(|operator| operator["role"] == "viewer").unwrap().clone();
        of_viewer["last_used_at"].clone()
    };
    let first = life().await;
    assert_eq!(last_used(&first).await, Value::Null);
    first.get("/operator").with("Authorization", &format!("Bearer {VIEWER}")).ok().await;
    let used = last_used(&first).await;
    assert!(used.is_string());
    token_uses::note(&first.api).await;
    first.engine.stop().await;
    assert_eq!(last_used(&life().await).await, used);
}

/// Backups and changes of store keys belong to no location and no record.
#[actix_web::test]
async fn backups_and_changes_of_store_keys_leave_entries() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("backups");
    std::fs::create_dir(&folder).unwrap();
    let mut setup = setup();
    setup.engine.backup = Some(BackupRules { folder, every: None, keep: 9 });
    let file = dir.path().join("store.key");
    let keys = StoreKeys::load_or_create(&file).unwrap();
    let config = StoreConfig { floor_bytes: 0, ..StoreConfig::new(dir.path().join("store"), keys) };
    let store = Arc::new(EmbeddedStore::open(config).unwrap());
    let world = watched_in(world_kept_in(setup, store, file).await, Arc::new(tempfile::tempdir().unwrap()));
    let api = Arc::downgrade(&world.api.clone().into_inner());
    let _telling = actix_web::rt::spawn(audited::audit_backups(world.engine.backups_ended(), api));
    let mut entries = Vec::new();
    let mut entry = async |wanted: &str| {
        for _ in 0..500 {
            entries.extend(world.entries());
            if let Some(at) = entries.iter().position(|entry| entry["action"] == wanted) {
                return entries.swap_remove(at);
            }
            actix_web::rt::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("no entry of {wanted}: {entries:?}");
    };
    let first = world.post("/backups", json!({})).ok().await["data"]["name"].as_str().unwrap().to_owned();
    let (started, ended) = (entry("start backup").await, entry("end backup").await);
    assert_eq!((&started["actor"], &started["status"]), (&json!({"operator": ADMIN}), &json!("200")));
    assert_eq!((&ended["actor"], &ended["status"]), (&json!("service"), &json!("made")));
    let old = world.get("/store/keys").ok().await["data"]["keys"][0]["id"].as_str().unwrap().to_owned();
    world.post("/store/keys", json!({})).ok().await;
    let rotated = entry("rotate store key").await;
    assert_eq!((&rotated["record"], &rotated["route"]), (&json!("store"), &json!("POST /store/keys")));
    assert!(rotated.get("ids").is_none(), "{rotated}");
    world.until("/store/keys", |it| it["data"]["values_left"] == 0).await;
    // A backup needs the earlier key.
    world.delete(&format!("/store/keys/{old}")).fails(409).await;
    world.post("/backups", json!({})).ok().await;
    entry("end backup").await;
    std::fs::remove_file(dir.path().join("backups").join(first)).unwrap();
    world.delete(&format!("/store/keys/{old}")).ok().await;
    assert_eq!(entry("drop store key").await["status"], "200");
    assert!(entries.iter().all(|entry| entry["action"] != "drop store key"), "refused, nothing was changed");
}

#[actix_web::test]
async fn an_export_has_entries_of_its_start_its_records_and_its_end() {
    let world = watched().await;
    let path = format!("/export?subdomain=acme&location_id={MAIN}");
    let lines = world.get(&path).with("X-Request-Id", "of-the-export").reply().await.lines();
    let ended = async || {
        let mut entries = Vec::new();
        until("the entry of the end", async || {
            entries.extend(world.entries());
            entries.iter().any(|entry| entry["action"] == "end export")
        })
        .await;
        entries
    };
    let entries = ended().await;
    for entry in &entries {
        assert_eq!(
            (&entry["request_id"], &entry["actor"]),
            (&json!("of-the-export"), &json!({"key": NAME})),
            "{entry}"
        );
        assert_eq!((&entry["institution"], &entry["location"]), (&json!(1), &json!(MAIN)), "{entry}");
    }
    let (first, last) = (&entries[0], entries.last().unwrap());
    assert_eq!(
        (&first["action"], &first["record"], &first["ids"]),
        (&json!("export"), &json!("location"), &json!([MAIN]))
    );
    assert_eq!(last["status"], format!("complete, {} records", lines.last().unwrap()["count"]));
    let patients = lines.iter().filter(|line| line["type"] == "patient").map(|line| line["id"].clone());
    let read = entries.iter().filter(|entry| entry["record"] == "patient");
    let read = read.flat_map(|entry| entry["ids"].as_array().unwrap().clone());
    assert_eq!(read.collect::<Vec<_>>(), patients.collect::<Vec<_>>());
    world.request(Method::HEAD, &path).reply().await;
    // The stream ends before the entry of its start is written.
    let entries = ended().await;
    let end = entries.iter().find(|entry| entry["action"] == "end export").unwrap();
    assert_eq!(end["status"], "interrupted, 0 records");
}
