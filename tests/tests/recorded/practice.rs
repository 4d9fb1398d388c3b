//! The server whose answers are recorded, and its records: those of a simulated EHR with a fixed seed, and one of every
//! kind that clients write. The first day of the practice is a Monday, and its zone has no daylight saving time, so
//! that weekdays and offsets are always the same. Ids are the same because writes are made one after the other, and the
//! engine reads only on request.

use std::{collections::BTreeMap, path::Path};

use chrono::{DateTime, NaiveDate, TimeDelta};
use runtime::clock;
use sandbox_ehr::{OffsetFrom, Profile};
use serde_json::{Value, json};
use tempfile::TempDir;
use testing::until;
use tests::harness::{
    ehr_server::EhrServer,
    fixtures,
    http_client::Caller,
    process::{self, Installation, LocationConfig, Process, SUBDOMAIN, ServedEhr},
};

pub const LOCATION: u32 = 101;
const FOREIGN_ID: &str = "main-street";
const ZONE: chrono_tz::Tz = chrono_tz::America::Phoenix;
const EAST_SECONDS: i32 = -7 * 3_600;
/// No read cycle begins without a request.
const RULES: &str = r#"
[defaults.write]
settle = "100ms"
[defaults.pull]
every = "1d"
[defaults.quota]
per_minute = 1000000
burst = 100000
"#;
/// A patient of the EHR with an alert, coverage, documents and an invoiced treatment.
const TREATED: (u32, &str) = (2, "P-00002");
/// A patient of the EHR with a payment plan, and their child.
const FAMILY: [u32; 2] = [5, 6];

pub struct Practice {
    pub installation: Installation,
    ehr: EhrServer,
    client: Caller,
    process: Process,
    dir: TempDir,
    /// The practice's first day, a Monday.
    pub first_day: NaiveDate,
    /// Start of the server in milliseconds since 1970.
    pub started: i64,
    /// Position in the feed of changes before clients wrote.
    pub before_writes: String,
    pub booking_ref: String,
    /// Ids of records to read, by the path of their list.
    pub known: BTreeMap<String, Vec<String>>,
}

/// Configures a server with the practice's location.
pub fn installation(program: &Path, dir: &Path, base_url: String) -> Installation {
    let location = LocationConfig {
        id: LOCATION,
        foreign_id: FOREIGN_ID.to_owned(),
        zone: ZONE,
        map_by_operatory: false,
        adapter_config: String::new(),
    };
    let served = ServedEhr { adapter: "sandbox", base_url, source: String::new(), locations: vec![location] };
    Installation::serving(program, dir, &served, RULES).unwrap()
}

impl Practice {
    /// Starts a server and waits for its first read cycle.
    pub async fn start(program: &Path) -> Practice {
        let (started, day) = (clock::now().0, next_monday());
        let ehr = EhrServer::start(profile(day)).unwrap();
        let first_day = DateTime::from_timestamp(i64::from(day) * 86_400, 0).unwrap().date_naive();
        write_appointments_of_staff(&ehr, first_day);
        let dir = tempfile::tempdir().unwrap();
        let installation = installation(program, dir.path(), ehr.url());
        let process = installation.start().await.unwrap();
        let mut client = installation.sign_in().await.unwrap().at("v3.1.0");
        process::first_sync(&mut client).await.unwrap();
        Practice {
            installation,
            ehr,
            client,
            process,
            dir,
            first_day,
            started,
            before_writes: String::new(),
            booking_ref: String::new(),
            known: BTreeMap::from([("/locations".to_owned(), vec![LOCATION.to_string()])]),
        }
    }

    /// Stops the server and returns the folder of the installation.
    pub async fn stop(self) -> TempDir {
        self.process.stop().unwrap();
        self.ehr.stop().await;
        assert_eq!(self.installation.panics().unwrap(), [""; 0]);
        self.dir
    }

    pub fn authorization(&self) -> &str {
        self.client.authorization()
    }

    /// Returns a time of the practice as text.
    pub fn time(&self, days: i64, utc: &str) -> String {
        time(self.first_day, days, utc)
    }

    /// Writes one record of every kind as a client.
    pub async fn write_records(&mut self) {
        self.before_writes = self.get("/changes").await["page_info"]["end_cursor"].as_str().unwrap().to_owned();
        let provider = self.first("/providers").await["id"].clone();
        let operatory = self.first("/operatories").await["id"].clone();
        let kind = self.first("/appointment_types").await["id"].clone();
        let patient = self.write_patient(&provider).await;
        self.write_appointment(&patient, &provider, &operatory, &kind).await;
        self.write_insurance(&patient).await;
        self.write_ledger(&provider).await;
        self.write_care(&patient).await;
        self.write_hours(&provider, &operatory, &kind).await;
        self.write_webhooks().await;
        self.book().await;
        let [parent, child] = FAMILY;
        for id in [parent, child, TREATED.0] {
            self.remember("/patients", &json!(id));
        }
    }

    /// Runs two read cycles, so that all written records are read.
    pub async fn read_twice(&mut self) {
        let mut operator = self.installation.operator().await.unwrap();
        for _ in 0..2 {
            let before = self.last_sync().await;
            let sync = format!("/locations/{LOCATION}/sync?subdomain={SUBDOMAIN}");
            let (status, answer) = operator.post(&sync, &json!({})).await.unwrap();
            assert!((200..300).contains(&status), "{status} {answer}");
            until("a read cycle", async || self.last_sync().await != before).await;
        }
    }

    async fn last_sync(&mut self) -> Value {
        self.get(&format!("/locations/{LOCATION}")).await["data"]["last_sync_time"].clone()
    }

    async fn write_patient(&mut self, provider: &Value) -> Value {
        let patient = json!({"provider": {"provider_id": provider}, "patient": {
            "first_name": "Réa", "last_name": "Wells", "email": "rea@mail.example",
            "bio": {"date_of_birth": "1988-08-08", "phone_number": "+1 555 010 8899", "gender": "Female",
                "street_address": "1 Main Street", "city": "Springfield", "state": "NY", "zip_code": "10001"}}});
        let made = self.post("/patients", patient).await;
        let id = made["user"]["id"].clone();
        self.patch(&format!("/patients/{id}"), json!({"patient": {"middle_name": "J."}})).await;
        self.remember("/patients", &id);
        id
    }

    async fn write_appointment(&mut self, patient: &Value, provider: &Value, operatory: &Value, kind: &Value) {
        let appt = json!({"appt": {"patient_id": patient, "provider_id": provider, "operatory_id": operatory,
            "appointment_type_id": kind, "start_time": self.time(42, "15:00"), "end_time": self.time(42, "15:30"),
            "note": "Please call before.", "descriptor_ids": [1]}});
        let id = self.post("/appointments", appt).await["appt"]["id"].clone();
        let change = json!({"appt": {"confirmed": true, "note": "Called."}});
        self.patch(&format!("/appointments/{id}"), change).await;
        self.remember("/appointments", &id);
        let kind = json!({"location_id": LOCATION, "appointment_type": {"name": "Whitening and exam", "minutes": 75,
            "parent_id": LOCATION, "parent_type": "Location", "bookable_online": true,
            "emr_appt_descriptor_ids": [1]}});
        let made = self.post("/appointment_types", kind).await;
        self.remember("/appointment_types", &made["id"]);
    }

    async fn write_insurance(&mut self, patient: &Value) {
        let plan = json!({"insurance_plan": {"name": "Acme Dental", "payer_id": "12345", "group_num": "G-100",
            "employer_name": "Acme Inc.", "address": "1 Claims Way", "city": "Springfield", "state": "NY",
            "zip_code": "10001", "country_code": "US"}});
        let plan = self.post("/insurance_plans", plan).await["id"].clone();
        self.remember("/insurance_plans", &plan);
        let coverage = json!({"insurance_coverage": {"patient_id": patient, "plan_id": plan, "priority": "primary",
            "subscriber_id": patient, "subscriber_num": "S-100", "subscription_relation": "self",
            "effective_date": "2020-01-01"}});
        let made = self.post("/insurance_coverages", coverage).await;
        self.remember("/insurance_coverages", &made["id"]);
    }

    async fn write_ledger(&mut self, provider: &Value) {
        let charge = self.first("/charges").await;
        let split = |id: &Value, amount: &str| json!({ id.to_string(): amount });
        let kind = self.first("/payment_types").await["id"].clone();
        let payment = json!({"payment": {"patient_id": charge["patient_id"], "payment_type_id": kind,
            "amount": "12.50", "currency": "USD", "paid_at": "2020-12-01T14:30:00Z", "notes": "At the desk.",
            "transaction_id": "tx-1042", "charge_splits": split(&charge["id"], "12.50"),
            "provider_splits": split(provider, "12.50")}});
        let made = self.post("/payments", payment).await;
        self.remember("/payments", &made["id"]);
        let kind = self.first("/adjustment_types").await["id"].clone();
        let adjustment = json!({"adjustment": {"patient_id": charge["patient_id"], "adjustment_type_id": kind,
            "amount": "-2.50", "currency": "USD", "adjusted_at": "2020-12-01T14:30:00Z", "notes": "Courtesy.",
            "transaction_id": "ad-7", "charge_splits": split(&charge["id"], "-2.50")}});
        let made = self.post("/adjustments", adjustment).await;
        self.remember("/adjustments", &made["id"]);
    }

    async fn write_care(&mut self, patient: &Value) {
        let log = json!({"communication_log": {"patient_id": patient, "note": "Called.", "mode": "phone",
            "direction": "sent", "occurred_at": "2020-06-01T14:30:00Z"}});
        let made = self.post("/communication_logs", log).await;
        self.remember("/communication_logs", &made["id"]);
        let form = self.first("/form_schemas").await["id"].clone();
        let response = json!({"form_response": {"patient_id": patient, "form_schema_id": form,
            "patient_submitted_data": {"full_name": "Réa Wells", "smoker": "no"}}});
        self.post("/form_responses", response).await;
        let items = self.get("/medical_history/items?category=allergies").await;
        let item = json!({"item_id": items["data"][0]["id"], "active": true, "note": "Mild."});
        self.post("/medical_history/patient_items", json!({"patient_id": patient, "allergies": [item]})).await;
        let alerts = format!("/patients/{patient}/alerts");
        let alert = self.post(&alerts, json!({"patient_alert": {"note": "Very nervous."}})).await["id"].clone();
        self.patch(&format!("{alerts}/{alert}"), json!({"patient_alert": {"disabled": true}})).await;
        self.remember(&alerts, &alert);
    }

    async fn write_hours(&mut self, provider: &Value, operatory: &Value, kind: &Value) {
        let hours = |end: &str| {
            json!({"working_hour": {"provider_id": provider, "operatory_id": operatory, "days": ["Sunday"],
                "begin_time": "09:00", "end_time": end, "active": true, "appointment_type_ids": [kind]}})
        };
        let id = self.post("/working_hours", hours("12:00")).await["id"].clone();
        self.patch(&format!("/working_hours/{id}"), hours("13:00")).await;
        self.remember("/working_hours", &id);
        self.remember("/availabilities", &id);
    }

    /// Registers an inactive endpoint, so that the number of attempts is always the same.
    async fn write_webhooks(&mut self) {
        let endpoint = json!({"active": false, "target_url": "https://hooks.example.com/practice"});
        let endpoint = self.post("/webhook_endpoints", endpoint).await["id"].clone();
        let subscription = json!({"active": true, "resource_type": "Appointment", "event": "appointment_insertion"});
        self.post(&format!("/webhook_endpoints/{endpoint}/webhook_subscriptions"), subscription).await;
    }

    async fn book(&mut self) {
        let start_date = self.first_day + TimeDelta::days(36);
        let asked = json!({"start_date": start_date.to_string(), "days": 7, "limit": 1});
        let found = self.write("POST", "/intent/booking/search", asked).await;
        let booking = json!({"slot_token": found["slots"][0]["slot_token"], "idempotency_key": "recorded-booking",
            "patient": {"first_name": "Pat", "last_name": "Lee", "date_of_birth": "1990-04-12",
                "phone_number": "+1 555 010 9999", "email": "pat@mail.example"}});
        let booked = self.write("POST", "/intent/booking/book", booking).await;
        self.booking_ref = booked["booking"]["booking_ref"].as_str().unwrap().to_owned();
        self.remember("/appointments", &booked["booking"]["appointment_id"]);
    }

    /// Adds the id of a record to read.
    fn remember(&mut self, list: &str, id: &Value) {
        self.known.entry(list.to_owned()).or_default().push(id_text(id).unwrap());
    }

    async fn get(&mut self, path: &str) -> Value {
        let (status, answer) = self.client.get(&of_location(path)).await.unwrap();
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    async fn first(&mut self, list: &str) -> Value {
        self.get(list).await["data"][0].clone()
    }

    /// Creates a record and returns its `data`.
    async fn post(&mut self, path: &str, body: Value) -> Value {
        self.write("POST", path, body).await["data"].take()
    }

    async fn patch(&mut self, path: &str, body: Value) {
        self.write("PATCH", path, body).await;
    }

    /// Sends a change and waits until it is in the EHR.
    async fn write(&mut self, method: &str, path: &str, body: Value) -> Value {
        let to = of_location(path);
        let written = match method {
            "POST" => self.client.post(&to, &body).await,
            _ => self.client.patch(&to, &body).await,
        };
        let (status, answer) = written.unwrap();
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        until("the writes to be in the EHR", async || {
            let requests = self.get("/write_requests?per_page=200").await;
            let waiting = requests["data"].as_array().unwrap().iter().filter(|it| it["status"] != "done");
            let waiting: Vec<Value> = waiting.cloned().collect();
            if waiting.is_empty() { Ok(()) } else { Err(waiting) }
        })
        .await;
        answer
    }
}

/// Returns the text of an id in a path.
pub fn id_text(id: &Value) -> Option<String> {
    match id {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns a time of the practice, where 15:00 UTC is 8:00.
fn time(first_day: NaiveDate, days: i64, utc: &str) -> String {
    format!("{}T{utc}:00Z", first_day + TimeDelta::days(days))
}

/// Saves appointments of [`TREATED`] in the EHR: one that took place, a missed one and a cancelled one.
fn write_appointments_of_staff(ehr: &EhrServer, first_day: NaiveDate) {
    for (status, days) in [("done", -21), ("missed", -22), ("cancelled", 20)] {
        let (start, end) = (time(first_day, days, "15:00"), time(first_day, days, "15:30"));
        let mut appointment = json!({"location": FOREIGN_ID, "patient": TREATED.1, "provider": "D-00001",
            "operatory": "O-00001", "type": "T-00001", "start": start, "end": end, "status": status});
        match status {
            "done" => (appointment["arrived_at"], appointment["left_at"]) = (json!(start), json!(end)),
            "cancelled" => appointment["reason"] = json!("The patient is ill."),
            _ => {}
        }
        let control = json!({"staff_books": {"appointment": appointment, "force": true}});
        ehr.ehr().control(serde_json::from_value(control).unwrap()).unwrap();
    }
}

fn of_location(path: &str) -> String {
    let separator = if path.contains('?') { '&' } else { '?' };
    format!("{path}{separator}subdomain={SUBDOMAIN}&location_id={LOCATION}")
}

/// Returns the Monday after today in days since 1970, so that all future appointments are in the future.
fn next_monday() -> i32 {
    let today = fixtures::today();
    today + 7 - (today + 3).rem_euclid(7)
}

/// Returns a small practice with one location. Its appointments begin on its first day.
fn profile(day: i32) -> Profile {
    let offsets = vec![OffsetFrom { from: 0, seconds: EAST_SECONDS }];
    let mut profile = Profile::demo(37, day, offsets, Vec::new());
    profile.locations.truncate(1);
    profile.locations[0].operatories = 4;
    profile.patients = 40;
    profile.days_back = 0;
    profile.days_ahead = 5;
    profile
}
