//! Rehearsal in the sandbox, over HTTP and on the hosted simulated EHR: every state and message of the specification
//! that a well-behaved practice never shows. `GET /docs/sandbox` promises it.

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use engine::{simulated::ControlError, store::MemoryStore};
use sandbox_ehr::{Change, Control, OffsetFrom, Profile, records::Resource};
use sandbox_host::InProcessEhr;
use serde_json::{Value, json};
use tempfile::TempDir;
use testing::until;
use tests::harness::{
    http_client::Caller,
    process::{self, Installation, LOCATIONS, Process, SUBDOMAIN, binary, path},
    webhook_receiver::WebhookReceiver,
};

const MAIN_STREET: u32 = LOCATIONS[0].0;
const LAKESIDE: u32 = LOCATIONS[1].0;
/// Time limit: up to one minute until the next whole minute, plus processing.
const A_MINUTE_AND: Duration = Duration::from_secs(110);

struct Sandbox {
    installation: Installation,
    client: Caller,
    operator: Caller,
    _process: Process,
    _dir: TempDir,
}

/// `rules` are additional tables of the configuration.
async fn sandbox(rules: &str) -> Sandbox {
    let dir = tempfile::tempdir().unwrap();
    let program = binary();
    let installation = Installation::new(program, dir.path(), "sandbox:", rules).unwrap();
    let process = installation.start().await.unwrap();
    let (mut client, operator) = (installation.sign_in().await.unwrap(), installation.operator().await.unwrap());
    process::first_sync(&mut client).await.unwrap();
    Sandbox { installation, client, operator, _process: process, _dir: dir }
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp_millis(runtime::clock::now().0).unwrap()
}

fn text(at: DateTime<Utc>) -> String {
    at.format("%FT%TZ").to_string()
}

fn booking(slot_token: &str, last_name: &str, more: Value) -> Value {
    let mut patient = json!({"first_name": "Rae", "last_name": last_name, "date_of_birth": "1988-08-08",
        "phone_number": "+1 555 010 8899", "email": "rae@mail.example"});
    patient.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"slot_token": slot_token, "idempotency_key": uuid::Uuid::new_v4().to_string(), "patient": patient})
}

impl Sandbox {
    /// Returns an open slot. Clients that search each time get one that is free.
    async fn slot(&mut self) -> String {
        let search = path("/intent/booking/search", MAIN_STREET);
        let (status, found) = self.client.post(&search, &json!({"days": 14, "limit": 1})).await.unwrap();
        assert_eq!(status, 200, "{found}");
        found["slots"][0]["slot_token"].as_str().unwrap().to_owned()
    }

    async fn book(&mut self, last_name: &str, more: Value) -> (u16, Value) {
        let slot = self.slot().await;
        let book = path("/intent/booking/book", MAIN_STREET);
        self.client.post(&book, &booking(&slot, last_name, more)).await.unwrap()
    }

    /// Returns the accepted booking once it is no longer pending.
    async fn outcome(&mut self, (status, booked): (u16, Value)) -> Value {
        assert_eq!((status, &booked["booking"]["ehr_writeback"]), (200, &json!("pending")), "{booked}");
        let booking_ref = booked["booking"]["booking_ref"].as_str().unwrap();
        let status = format!("/intent/booking/status?subdomain={SUBDOMAIN}&booking_ref={booking_ref}");
        until("an end of pending", async || {
            let (_, now) = self.client.get(&status).await.unwrap();
            (now["booking"]["ehr_writeback"] != "pending").then(|| now["booking"].clone())
        })
        .await
    }

    /// Registers a patient with this last name at Main Street.
    async fn register(&mut self, last_name: &str) -> Value {
        self.register_as("Rae", last_name).await
    }

    async fn register_as(&mut self, first_name: &str, last_name: &str) -> Value {
        let provider = self.first(&path("/providers", MAIN_STREET)).await["id"].clone();
        let patient = json!({"provider": {"provider_id": provider}, "patient": {"first_name": first_name, "last_name": last_name,
            "email": "rae@mail.example", "bio": {"date_of_birth": "1988-08-08", "phone_number": "+1 555 010 8899"}}});
        let (status, made) = self.client.post(&path("/patients", MAIN_STREET), &patient).await.unwrap();
        assert_eq!(status, 201, "{made}");
        made["data"]["user"]["id"].clone()
    }

    /// Registers a patient and waits until the EHR has them. Returns both ids.
    async fn known(&mut self, last_name: &str) -> (Value, String) {
        let id = self.register(last_name).await;
        let one = format!("/patients/{id}?subdomain={SUBDOMAIN}");
        let foreign_id = until("the patient is in the EHR", async || {
            let (_, shown) = self.client.get(&one).await.unwrap();
            shown["data"]["foreign_id"].as_str().map(str::to_owned)
        })
        .await;
        (id, foreign_id)
    }

    async fn list(&mut self, path: &str) -> Vec<Value> {
        let (status, list) = self.client.get(&format!("{path}&per_page=200")).await.unwrap();
        assert_eq!(status, 200, "{list}");
        list["data"].as_array().unwrap().clone()
    }

    async fn first(&mut self, path: &str) -> Value {
        self.list(path).await.remove(0)
    }

    async fn control(&mut self, control: Value) -> (u16, Value) {
        self.operator.post(&format!("/locations/{MAIN_STREET}/simulated_ehr"), &control).await.unwrap()
    }

    /// Changes switches of the EHR and waits until the engine knows its new capabilities.
    async fn switch(&mut self, switches: Value, known: impl Fn(&Value) -> bool) {
        let (status, done) = self.control(json!({"switch": switches})).await;
        assert_eq!(status, 200, "{done}");
        let capabilities = format!("/locations/{MAIN_STREET}/capabilities?subdomain={SUBDOMAIN}");
        until("the switch to be known", async || {
            let (_, shown) = self.client.get(&capabilities).await.unwrap();
            known(&shown["data"]["ehr"]).then_some(())
        })
        .await;
    }

    /// Starts a receiver subscribed to appointments and their writeback.
    async fn receiver(&mut self) -> WebhookReceiver {
        let receiver = WebhookReceiver::start().unwrap();
        let (_, made) = self.client.post("/webhook_endpoints", &json!({"target_url": receiver.url})).await.unwrap();
        let wanted = json!({"resource_type": "Appointment", "event": "appointment_insertion"});
        let subscriptions =
            format!("/webhook_endpoints/{}/webhook_subscriptions?subdomain={SUBDOMAIN}", made["data"]["id"]);
        let (status, made) = self.client.post(&subscriptions, &wanted).await.unwrap();
        assert_eq!(status, 201, "{made}");
        receiver
    }

    /// Lets staff clear a chair, opens working hours there, and books the time.
    async fn appointment(&mut self, patient: &Value, start: DateTime<Utc>) -> Value {
        let provider = self.first(&path("/providers", MAIN_STREET)).await["id"].clone();
        let chair = self.first(&path("/operatories", MAIN_STREET)).await["id"].clone();
        let end = start + TimeDelta::minutes(5);
        let span = format!("&start={}&end={}", text(start - TimeDelta::hours(12)), text(end));
        let there = self.list(&format!("{}{span}", path("/appointments", MAIN_STREET))).await;
        let in_chair = there.iter().filter(|it| it["operatory_id"] == chair).map(|it| &it["foreign_id"]);
        let ids: Vec<&Value> = in_chair.collect();
        let (status, cleared) = self.control(json!({"delete": {"resource": "appointments", "ids": ids}})).await;
        assert_eq!(status, 200, "{cleared}");
        self.open(&provider, &chair, start, json!([])).await;
        let appt = json!({"appt": {"patient_id": patient, "provider_id": provider, "operatory_id": chair,
            "start_time": text(start), "end_time": text(end)}});
        until("the chair to be seen as free", async || {
            let (status, made) = self.client.post(&path("/appointments", MAIN_STREET), &appt).await.unwrap();
            (status == 201).then(|| made["data"]["appt"].clone())
        })
        .await
    }

    /// Creates ten minutes of working hours in Main Street's local time.
    async fn open(&mut self, provider: &Value, operatory: &Value, start: DateTime<Utc>, types: Value) {
        let local = start.with_timezone(&chrono_tz::America::New_York);
        let hour = json!({"working_hour": {"provider_id": provider, "operatory_id": operatory,
            "specific_date": local.format("%F").to_string(), "begin_time": local.format("%H:%M").to_string(),
            "end_time": (local + TimeDelta::minutes(10)).format("%H:%M").to_string(), "appointment_type_ids": types}});
        let (status, made) = self.client.post(&path("/working_hours", MAIN_STREET), &hour).await.unwrap();
        assert_eq!(status, 201, "{made}");
    }
}

async fn event(receiver: &WebhookReceiver, name: &str) -> Value {
    let bodies =
        || receiver.messages().into_iter().map(|message| serde_json::from_slice::<Value>(&message.body).unwrap());
    until(name, async || bodies().find(|body| body["event_name"] == name)).await
}

#[actix::test]
async fn booking_refused_by_the_ehr_fails_with_a_message() {
    let mut sandbox = sandbox("").await;
    let receiver = sandbox.receiver().await;
    let booked = sandbox.book("Sandbox-Reject", json!({})).await;
    let failed = sandbox.outcome(booked).await;
    let reason = "the simulated EHR refuses what is written for a patient of this name";
    assert_eq!((&failed["ehr_writeback"], &failed["failure_reason"]), (&json!("failed"), &json!(reason)));
    let message = event(&receiver, "appointment_insertion.failed").await;
    assert_eq!(message["data"]["appointment"]["id"], failed["appointment_id"]);
    assert_eq!(message["data"]["failure_reason"], reason);
    assert_eq!(sandbox.installation.panics().unwrap(), [""; 0]);
}

#[actix::test]
async fn a_communication_log_fails() {
    let mut sandbox = sandbox("").await;
    let (patient, _) = sandbox.known("sandbox-reject").await;
    let mut client = sandbox.installation.sign_in().await.unwrap().at("v3.1.0");
    let log = json!({"communication_log": {"patient_id": patient, "note": "Called.", "mode": "phone"}});
    let (status, made) = client.post(&path("/communication_logs", MAIN_STREET), &log).await.unwrap();
    assert_eq!((status, &made["data"]["status"]), (202, &json!("pending")), "{made}");
    let id = made["data"]["id"].as_str().unwrap();
    let one = format!("/communication_logs/{id}?subdomain={SUBDOMAIN}");
    let ended = until("an end of pending", async || {
        let (_, shown) = client.get(&one).await.unwrap();
        (shown["data"]["status"] != "pending").then(|| shown["data"].clone())
    })
    .await;
    assert_eq!(ended["status"], "failed");
    assert!(ended["failure_reason"].is_string(), "{ended}");
}

#[actix::test]
async fn pending_appointment_times_out_at_its_start_with_a_message() {
    let mut sandbox = sandbox("").await;
    let receiver = sandbox.receiver().await;
    let patient = sandbox.register("Sandbox-Timeout").await;
    // The next whole minute at least 20 seconds ahead.
    let start = (now() + TimeDelta::seconds(20)).duration_trunc(TimeDelta::minutes(1)).unwrap();
    let made = sandbox.appointment(&patient, start + TimeDelta::minutes(1)).await;
    assert_eq!(made["ehr_writeback"], "pending");
    let waiting = tokio::time::timeout(A_MINUTE_AND, async {
        while receiver.messages().is_empty() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    waiting.await.expect("the time passes");
    let message = event(&receiver, "appointment_insertion.timed_out").await;
    assert_eq!(message["data"]["appointment"]["id"], made["id"]);
    let one = format!("/appointments/{}?subdomain={SUBDOMAIN}", made["id"]);
    // The wait may exceed `keep_alive`, so the first connection may be closed.
    let mut client = sandbox.installation.sign_in().await.unwrap();
    let (_, shown) = client.get(&one).await.unwrap();
    assert_eq!((&shown["data"]["ehr_writeback"], &shown["data"]["foreign_id"]), (&json!("failed"), &Value::Null));
}

#[actix::test]
async fn booking_fails_if_staff_booked_the_operatory_first() {
    let mut sandbox = sandbox("").await;
    let slot = sandbox.slot().await;
    let book = path("/intent/booking/book", MAIN_STREET);
    let first = booking(&slot, "Sandbox-Slot-Taken", json!({}));
    let booked = sandbox.client.post(&book, &first).await.unwrap();
    let failed = sandbox.outcome(booked).await;
    assert_eq!(
        (&failed["ehr_writeback"], &failed["failure_reason"]),
        (&json!("failed"), &json!("the operatory is occupied at that time"))
    );
    // After the staff's change was read, the slot is taken for all clients.
    sandbox.control(json!({"behave": {}})).await;
    until("the chair to be seen as taken", async || {
        let again = booking(&slot, "Sandbox-Reject", json!({}));
        let (status, refused) = sandbox.client.post(&book, &again).await.unwrap();
        (status == 409 && refused["reason"] == "slot_taken" && !refused["alternatives"][0].is_null()).then_some(())
    })
    .await;
}

#[actix::test]
async fn new_patients_are_refused_or_need_more_fields() {
    let mut sandbox = sandbox("").await;
    let booked = sandbox.book("Sandbox-Not-Accepted", json!({})).await;
    let failed = sandbox.outcome(booked).await;
    assert_eq!(failed["failure_reason"], "the practice takes no new patients");
    let booked = sandbox.book("Sandbox-More-Fields", json!({})).await;
    let failed = sandbox.outcome(booked).await;
    assert_eq!(failed["failure_reason"], "the EHR needs a field that is not given");
    let booked = sandbox.book("Sandbox-More-Fields", json!({"gender": "Female"})).await;
    let taken = sandbox.outcome(booked).await;
    assert_eq!(taken["ehr_writeback"], "confirmed");

    let fields = json!({"required_patient_fields": ["gender"]});
    sandbox.switch(fields, |ehr| ehr["required_patient_fields"] == json!(["gender"])).await;
    let (status, refused) = sandbox.book("Wells", json!({})).await;
    assert_eq!(
        (status, &refused["reason"], &refused["missing_fields"]),
        (422, &json!("patient_fields_required"), &json!(["gender"]))
    );
    sandbox.switch(json!({"refuse_new_patients": true}), |ehr| ehr["accepts_new_patients"] == false).await;
    let (status, refused) = sandbox.book("Wells", json!({"gender": "Female"})).await;
    assert_eq!((status, &refused["reason"]), (422, &json!("new_patient_not_supported")));
}

#[actix::test]
async fn appointments_for_invalid_patients_or_types_are_refused() {
    let mut sandbox = sandbox("").await;
    let provider = sandbox.first(&path("/providers", MAIN_STREET)).await["id"].clone();
    let chair = sandbox.first(&path("/operatories", MAIN_STREET)).await["id"].clone();
    // A time at night, without other appointments.
    let night = (now() + TimeDelta::days(40)).duration_trunc(TimeDelta::days(1)).unwrap() + TimeDelta::hours(7);
    let appt = |patient: &Value, more: Value| {
        let mut appt = json!({"patient_id": patient, "provider_id": provider, "operatory_id": chair,
            "start_time": text(night), "end_time": text(night + TimeDelta::minutes(5))});
        appt.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "appt": appt })
    };
    let (unconverted, foreign_id) = sandbox.known("Sandbox-Unconverted").await;
    assert!(foreign_id.ends_with("_np"), "{foreign_id}");
    let main_street = path("/appointments", MAIN_STREET);
    let refused = sandbox.client.post(&main_street, &appt(&unconverted, json!({}))).await.unwrap();
    let message = "Cannot create an appointment where the patient attribute new_patient=true";
    assert_eq!((refused.0, &refused.1["error"]), (400, &json!([message])));

    let late = sandbox.register("Sandbox-Timeout").await;
    let elsewhere = sandbox.first(&path("/operatories", LAKESIDE)).await["id"].clone();
    let there = appt(&late, json!({"operatory_id": elsewhere}));
    let refused = sandbox.client.post(&path("/appointments", LAKESIDE), &there).await.unwrap();
    assert_eq!((refused.0, &refused.1["error"]), (404, &json!([format!("Patient with id {late} not found")])));

    let types = sandbox.list(&format!("/appointment_types?subdomain={SUBDOMAIN}")).await;
    sandbox.open(&provider, &chair, night, json!([types[0]["id"]])).await;
    let (patient, _) = sandbox.known("Wells").await;
    let other = appt(&patient, json!({"appointment_type_id": types[1]["id"]}));
    let refused = sandbox.client.post(&main_street, &other).await.unwrap();
    let message = "Provided appointment_type_id was not found to be configured for the requested slot";
    assert_eq!((refused.0, &refused.1["error"]), (400, &json!([message])));
    let right = appt(&patient, json!({"appointment_type_id": types[0]["id"]}));
    let (status, made) = sandbox.client.post(&main_street, &right).await.unwrap();
    assert_eq!(status, 201, "{made}");
}

#[actix::test]
async fn full_write_queue_returns_503_until_the_ehr_recovers() {
    // One booking queues two writes: the patient and the appointment.
    let mut sandbox = sandbox("[defaults.write]\nmax_queue = 2").await;
    let down = json!({"switch": {"down": {"until_ms": 4_102_444_800_000_i64, "how": "unavailable"}}});
    let (status, state) = sandbox.control(down).await;
    assert_eq!((status, &state["data"]["switches"]["down"]["how"]), (200, &json!("unavailable")), "{state}");
    let booked = sandbox.book("Wells", json!({})).await;
    let (status, refused) = sandbox.book("Waters", json!({})).await;
    assert_eq!((status, &refused["error"]), (503, &json!(["Gateway Time-out"])), "{refused}");
    let (status, state) = sandbox.control(json!({"behave": {}})).await;
    assert_eq!((status, &state["data"]["switches"]["down"]), (200, &Value::Null), "{state}");
    let taken = sandbox.outcome(booked).await;
    assert_eq!(taken["ehr_writeback"], "confirmed");
}

#[actix::test]
async fn writes_are_parked_while_credentials_are_refused_or_the_breaker_is_open() {
    let mut sandbox = sandbox("").await;
    let (status, state) = sandbox.control(json!({"switch": {"token": "another"}})).await;
    assert_eq!(status, 200, "{state}");
    sandbox.register("Wells").await;
    let parked = format!("{}&status=parked", path("/write_requests", MAIN_STREET));
    until("a parked write", async || (sandbox.list(&parked).await.len() == 1).then_some(())).await;
    sandbox.control(json!({"behave": {}})).await;
    let done = format!("{}&status=done", path("/write_requests", MAIN_STREET));
    until("the write to be done", async || (sandbox.list(&done).await.len() == 1).then_some(())).await;
    for first_name in ["Ann", "Bea", "Cem"] {
        sandbox.register_as(first_name, "Sandbox-Timeout").await;
    }
    until("three parked writes", async || (sandbox.list(&parked).await.len() == 3).then_some(())).await;
}

#[actix::test]
async fn clients_set_switches_and_only_operators_act_as_staff() {
    let mut sandbox = sandbox("").await;
    let simulated = format!("/locations/{MAIN_STREET}/simulated_ehr");
    let (status, seen) = sandbox.client.post(&simulated, &json!({"switch": {"delay_ms": 5}})).await.unwrap();
    assert_eq!((status, &seen["data"]["switches"]["delay_ms"]), (200, &json!(5)), "{seen}");
    let staff = json!({"delete": {"resource": "appointments", "ids": ["A-1"]}});
    let (status, refused) = sandbox.client.post(&simulated, &staff).await.unwrap();
    assert_eq!((status, &refused["reason"]), (403, &json!("role_missing")));
    let chair = sandbox.first(&path("/operatories", MAIN_STREET)).await;
    let night = (now() + TimeDelta::days(40)).duration_trunc(TimeDelta::days(1)).unwrap() + TimeDelta::hours(7);
    let block = json!({"staff_books": {"appointment": {"location": LOCATIONS[0].1, "operatory": chair["foreign_id"],
        "blocked": true, "start": text(night), "end": text(night + TimeDelta::minutes(30))}}});
    let (status, done) = sandbox.control(block.clone()).await;
    assert_eq!(status, 200, "{done}");
    let id = done["data"]["changes"][0]["saved"]["id"].clone();
    let span = format!("&start={}&end={}", text(night), text(night + TimeDelta::hours(1)));
    let calendar = format!("{}{span}", path("/appointments", MAIN_STREET));
    let shown = until("the block to be read", async || {
        let (_, list) = sandbox.client.get(&calendar).await.unwrap();
        list["data"].as_array().unwrap().iter().find(|it| it["foreign_id"] == id).cloned()
    })
    .await;
    assert_eq!(shown["unavailable"], true);
    let (status, refused) = sandbox.control(block).await;
    assert_eq!((status, &refused["error"]), (409, &json!(["The EHR refuses it: slot_taken."])));
    let (status, done) = sandbox.control(json!({"delete": {"resource": "appointments", "ids": [id]}})).await;
    assert_eq!((status, &done["data"]["changes"]), (200, &json!([{"deleted": id}])));
    let unknown = json!({"staff_edits": {"resource": "patients", "id": "P-99999", "fields": {}}});
    assert_eq!(sandbox.control(unknown).await.0, 404);
    for (wrong, expected) in [
        (json!({}), 422),
        (json!({"behave": {}, "switch": {}}), 422),
        (json!({"switch": {"dwn": null}}), 400),
        (json!({"delete": {}}), 400),
    ] {
        let (status, refused) = sandbox.control(wrong.clone()).await;
        assert_eq!(status, expected, "{wrong}: {refused}");
    }
    let (status, state) = sandbox.operator.get(&simulated).await.unwrap();
    assert_eq!((status, &state["data"]["changes"]), (200, &json!([])), "{state}");
    assert_eq!(state["data"]["switches"]["throttle_next"], 0);
}

#[actix::test]
async fn changes_that_cannot_be_stored_are_rolled_back() {
    let open = |store: &Arc<MemoryStore>| {
        let offset = || vec![OffsetFrom { from: 0, seconds: 0 }];
        InProcessEhr::open(store.clone(), 1, Profile::demo(1, 20_000, offset(), offset())).unwrap()
    };
    let (resource, percent) = (Resource::Patients, 2);
    let elsewhere = open(&Arc::default()).apply(Control::MassDelete { resource, percent }).await.unwrap();
    let ids = elsewhere.iter().map(|change| match change {
        Change::Deleted { id, .. } => id.clone(),
        Change::Saved { .. } => panic!("nothing is saved here"),
    });
    let ids: Vec<String> = ids.collect();
    let delete = |id: &String| Control::Delete { resource, ids: vec![id.clone()] };
    let store = Arc::default();
    let ehr = open(&store);
    store.set_full(true);
    assert!(matches!(ehr.apply(delete(&ids[0])).await, Err(ControlError::Commit(_))));
    assert!(ehr.view(resource, &ids[0]).await.is_some());
    store.set_full(false);
    ehr.apply(delete(&ids[1])).await.unwrap();
    for ehr in [ehr, open(&store)] {
        let there = [ehr.view(resource, &ids[0]).await.is_some(), ehr.view(resource, &ids[1]).await.is_some()];
        assert_eq!(there, [true, false]);
    }
}
