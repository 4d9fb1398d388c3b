//! A client of the product's HTTP API, including an operator's requests.

use std::{collections::BTreeSet, time::SystemTime};

use chrono::{DateTime, Days, NaiveDate, TimeDelta, Utc};
use serde_json::{Value, json};

use super::practice::{LOCATION, Person, StoryVisit};
use crate::harness::{
    http_client::Caller,
    process::{self, Installation, SUBDOMAIN},
};
use testing::until;

/// Length of the story's calendar in days.
const DAYS: u64 = 14;

pub struct Client {
    caller: Caller,
    operator: Caller,
    /// The provider, and the operatory if there is one, of all bookings.
    column: Option<(Value, Value)>,
    /// Number of bookings, which makes their keys unique.
    booked: u32,
}

/// A free slot.
pub struct StoryOffer {
    pub start: DateTime<Utc>,
    pub end: DateTime<Utc>,
    token: String,
}

/// The client's record of a booking.
pub struct StoryBooking {
    pub id: u64,
    pub patient: u64,
    pub start: DateTime<Utc>,
    booking_ref: String,
    request: Value,
}

impl Client {
    pub async fn connect(installation: &Installation) -> Client {
        let caller = installation.sign_in().await.expect("the key is good").at("v3.1.0");
        let operator = installation.operator().await.expect("the operators' listener accepts connections");
        Client { caller, operator, column: None, booked: 0 }
    }

    /// Connects the client to a restarted process.
    pub async fn again(self, installation: &Installation) -> Client {
        Client { column: self.column, booked: self.booked, ..Client::connect(installation).await }
    }

    pub async fn first_sync(&mut self) {
        process::first_sync(&mut self.caller).await.expect("the practice is read");
    }

    pub async fn get(&mut self, path: &str) -> Value {
        let (status, answer) = self.caller.get(&full(path)).await.expect("the product answers");
        assert_eq!(status, 200, "{path}: {answer}");
        answer["data"].clone()
    }

    pub async fn post(&mut self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.caller.post(&full(path), body).await.expect("the product answers");
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }

    async fn list(&mut self, path: &str) -> Vec<Value> {
        let joined = if path.contains('?') { '&' } else { '?' };
        let list = self.get(&format!("{path}{joined}per_page=1000")).await;
        list.as_array().expect("a list").clone()
    }

    pub async fn patients(&mut self) -> BTreeSet<Person> {
        let all = self.list("/patients").await;
        all.iter().map(|it| Person { id: text(&it["foreign_id"]), last_name: text(&it["last_name"]) }).collect()
    }

    /// Returns our ids of a patient's and an appointment's foreign ids.
    pub async fn ids_of(&mut self, patient: &str, appointment: &str) -> (u64, u64) {
        let mut id = async |list: &str, foreign_id: &str| {
            let found = self.list(&format!("{list}foreign_id={foreign_id}")).await;
            assert_eq!(found.len(), 1, "{foreign_id}: {found:?}");
            found[0]["id"].as_u64().expect("an id")
        };
        let ever = "start=2000-01-01T00:00:00Z&end=2100-01-01T00:00:00Z";
        (id("/patients?", patient).await, id(&format!("/appointments?{ever}&"), appointment).await)
    }

    /// Returns a record without timestamps that change with other records, and without nested records.
    pub async fn record(&mut self, kind: &str, id: u64) -> Value {
        let mut record = self.get(&format!("/{kind}s/{id}")).await;
        for other in ["updated_at", "last_sync_time", "patient"] {
            record.as_object_mut().expect("a record").remove(other);
        }
        record
    }

    pub async fn patient(&mut self, id: u64) -> Value {
        self.get(&format!("/patients/{id}")).await
    }

    pub async fn appointment(&mut self, id: u64) -> Value {
        self.get(&format!("/appointments/{id}")).await
    }

    /// Returns the patients' appointments from this day on, by their ids in the EHR.
    pub async fn visits(&mut self, from: NaiveDate) -> Vec<StoryVisit> {
        let days = (from - Days::new(1), from + Days::new(DAYS));
        let path = format!("/appointments?start={}T00:00:00Z&end={}T00:00:00Z&unavailable=false", days.0, days.1);
        let mut visits = Vec::new();
        for it in self.list(&path).await {
            let patient = self.patient(it["patient_id"].as_u64().expect("the appointment has a patient")).await;
            visits.push(StoryVisit {
                id: text(&it["foreign_id"]),
                patient: text(&patient["foreign_id"]),
                start: moment(&it["start_time"]),
                confirmed: it["confirmed"] == true,
                cancelled: it["cancelled"] == true,
            });
        }
        visits
    }

    /// Returns the first free half hour of the story's provider and operatory.
    pub async fn offer(&mut self, from: NaiveDate) -> StoryOffer {
        let kind = self.list("/appointment_types").await[0]["id"].clone();
        let mut asked = json!({"start_date": from.to_string(), "days": 3, "appointment_type_id": kind});
        if let Some((provider, operatory)) = &self.column {
            asked["provider_ids"] = json!([provider]);
            asked["operatory_ids"] = if operatory.is_null() { json!([]) } else { json!([operatory]) };
        }
        let found = self.post("/intent/booking/search", &asked).await;
        let slot = found["slots"].get(0).unwrap_or_else(|| panic!("nothing is free: {found}"));
        self.column = Some((slot["provider_id"].clone(), slot["operatory_id"].clone()));
        let start = moment(&slot["start_iso"]);
        let end = start + TimeDelta::minutes(slot["duration_minutes"].as_i64().expect("a number"));
        StoryOffer { start, end, token: text(&slot["slot_token"]) }
    }

    pub async fn book(&mut self, offer: &StoryOffer, person: &Value) -> StoryBooking {
        self.booked += 1;
        let key = format!("main-story-{}", self.booked);
        let request = json!({"slot_token": offer.token, "idempotency_key": key, "patient": person, "note": "läuft ☺"});
        let answer = self.post("/intent/booking/book", &request).await;
        assert_eq!(answer["replay"], false, "{answer}");
        let made = &answer["booking"];
        let id = made["appointment_id"].as_u64().expect("an id");
        let patient = self.appointment(id).await["patient_id"].as_u64().expect("an id");
        StoryBooking { id, patient, start: offer.start, booking_ref: text(&made["booking_ref"]), request }
    }

    /// Repeats the request, which must return the same booking.
    pub async fn repeat_booking(&mut self, booking: &StoryBooking) {
        let again = self.post("/intent/booking/book", &booking.request).await;
        assert_eq!((&again["replay"], &again["booking"]["appointment_id"]), (&json!(true), &json!(booking.id)));
    }

    /// Returns the writeback state of a booking.
    pub async fn write_back(&mut self, booking: &StoryBooking) -> String {
        let path = format!("/intent/booking/status?booking_ref={}", booking.booking_ref);
        let (status, answer) = self.caller.get(&full(&path)).await.expect("the product answers");
        assert_eq!(status, 200, "{answer}");
        let booking = &answer["booking"];
        assert!(booking["failure_reason"].is_null(), "{booking}");
        text(&booking["ehr_writeback"])
    }

    pub async fn written(&mut self, booking: &StoryBooking) {
        until("the write-back", async || match self.write_back(booking).await.as_str() {
            "confirmed" => Some(()),
            "pending" => None,
            other => panic!("the write-back is {other}"),
        })
        .await;
    }

    pub async fn change(&mut self, appointment: u64, change: &Value) {
        let path = full(&format!("/appointments/{appointment}"));
        let (status, answer) = self.caller.patch(&path, &json!({"appt": change})).await.expect("the product answers");
        assert_eq!(status, 200, "{change}: {answer}");
    }

    pub async fn cancel(&mut self, booking: &StoryBooking) {
        let body = json!({"booking_ref": booking.booking_ref, "reason": "feels better already"});
        self.post("/intent/booking/cancel", &body).await;
    }

    async fn operation(&mut self, start: bool) -> Value {
        let path = full(&format!("/locations/{LOCATION}/sync"));
        let answer = if start { self.operator.post(&path, &json!({})).await } else { self.operator.get(&path).await };
        let (status, answer) = answer.expect("the product answers");
        assert!((200..300).contains(&status), "{answer}");
        answer["data"].clone()
    }

    /// Returns the time of the last read cycle.
    pub async fn last_read(&mut self) -> Value {
        self.operation(false).await["last_sync_at"].clone()
    }

    /// Runs a read cycle to its end. A running cycle may have read some resources too early. The requested cycle
    /// follows the running one, and is due until it starts.
    pub async fn sync(&mut self) {
        let before = self.last_read().await;
        self.operation(true).await;
        until("a read cycle", async || {
            let now = self.operation(false).await;
            let is_due =
                now["next_cycle_at"].is_null() || moment(&now["next_cycle_at"]) <= DateTime::from(SystemTime::now());
            (now["last_sync_at"] != before && !is_due).then_some(())
        })
        .await;
    }

    /// Waits until no write is pending.
    pub async fn idle(&mut self) {
        until("the end of the queue", async || (self.operation(false).await["writes_waiting"] == 0).then_some(()))
            .await;
        let failed = self.list("/write_requests?status=failed").await;
        assert!(failed.is_empty(), "{failed:?}");
    }
}

fn full(path: &str) -> String {
    let joined = if path.contains('?') { '&' } else { '?' };
    format!("{path}{joined}subdomain={SUBDOMAIN}&location_id={LOCATION}")
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// Parses a time of the API.
pub fn moment(value: &Value) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(&text(value)).expect("a time of ISO 8601").to_utc()
}

pub fn new_patient(first_name: &str, last_name: &str, n: u32) -> Value {
    json!({"first_name": first_name, "last_name": last_name, "date_of_birth": "1990-02-28",
        "phone_number": format!("+1 555 010 77{n:02}"), "email": format!("somebody{n}@mail.example"), "gender": "Female"})
}
