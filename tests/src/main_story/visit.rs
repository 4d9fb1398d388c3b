//! The life of one visit over the intents: booked, confirmed, rescheduled twice and cancelled, by its reference and by
//! visit tokens. After each step, the EHR itself must have exactly the visit that clients see.

use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::{
    client::{moment, text},
    practice::{LOCATION, RULES, StoryPractice, StoryVisit},
};
use crate::harness::{
    http_client::Caller,
    intents::{BOOK, CANCEL, CONFIRM, FIND, RESCHEDULE, find, reschedule, settled},
    process::{self, Installation, path},
};

/// Maximum number of slots of the story's search.
const SLOTS: usize = 100;
const LAST_NAME: &str = "Ångström-Visit";

/// A free slot of the story's provider and operatory.
struct VisitSlot {
    token: String,
    start: DateTime<Utc>,
}

/// Runs the story on a practice of the main story. `program` is the product.
pub async fn run_visit_story(program: &Path, practice: impl StoryPractice) {
    let dir = tempfile::tempdir().expect("a folder for the product");
    let served = practice.served(practice.address());
    let installation =
        Installation::serving(program, dir.path(), &served, RULES).expect("its configuration can be written");
    let _process = installation.start().await.expect("the product starts");
    let mut caller = installation.sign_in().await.expect("the key is good").at("v3.1.0");
    process::first_sync(&mut caller).await.expect("the practice is read");
    let (status, types) = caller.get(&path("/appointment_types", LOCATION)).await.expect("the product answers");
    assert_eq!(status, 200, "{types}");
    let search = json!({"start_date": practice.first_day().to_string(), "days": 3,
        "appointment_type_id": types["data"][0]["id"]});
    let mut story = VisitLife { caller, location: LOCATION, search };
    story
        .run(async |last_name: &str| {
            let patients = practice.patients().await;
            let here: Vec<_> = patients.into_iter().filter(|patient| patient.last_name == last_name).collect();
            let mut visits = practice.visits().await;
            visits.retain(|visit| here.iter().any(|patient| patient.id == visit.patient));
            visits
        })
        .await;
    assert_eq!(installation.panics().expect("its log can be read"), [""; 0]);
}

/// The story's client.
pub struct VisitLife {
    pub caller: Caller,
    pub location: u32,
    /// The fields of the search for slots, at least three of which one provider and operatory must have.
    pub search: Value,
}

impl VisitLife {
    /// Runs the story. `in_ehr` returns the visits of the patients with a last name from the EHR, including cancelled
    /// ones.
    pub async fn run(&mut self, in_ehr: impl AsyncFn(&str) -> Vec<StoryVisit>) {
        let [first, second, third] = self.slots().await;
        let patient = person();
        let body =
            json!({"slot_token": first.token, "idempotency_key": "visit-1", "patient": patient, "note": "läuft ☺"});
        let booked = self.post(BOOK, &body).await["booking"].clone();
        let (visit, id) = (text(&booked["booking_ref"]), booked["appointment_id"].clone());
        self.is_confirmed(&visit, first.start).await;
        one_live(&in_ehr, first.start).await;

        let answer = self.post(CONFIRM, &json!({"booking_ref": visit})).await;
        assert_eq!(answer["ok"], true, "{answer}");
        self.is_confirmed(&visit, first.start).await;
        assert!(one_live(&in_ehr, first.start).await.confirmed, "the EHR can take a confirmation");

        let body = reschedule(&visit, &second.token, "visit-2");
        for replay in [false, true] {
            let answer = self.post(RESCHEDULE, &body).await;
            assert_eq!(answer["replay"], replay, "{answer}");
            let moved = &answer["booking"];
            assert_eq!((&moved["booking_ref"], &moved["appointment_id"]), (&json!(visit), &id), "{answer}");
        }
        self.is_rescheduled(&visit, first.start, second.start).await;
        one_live(&in_ehr, second.start).await;

        let token = self.find(&patient, &visit, second.start).await;
        let body = json!({"visit_token": token, "slot_token": third.token, "idempotency_key": "visit-3"});
        let answer = self.post(RESCHEDULE, &body).await;
        assert_eq!(answer["booking"]["appointment_id"], id, "{answer}");
        self.is_rescheduled(&visit, second.start, third.start).await;
        one_live(&in_ehr, third.start).await;

        let token = self.find(&patient, &visit, third.start).await;
        let body = json!({"visit_token": token, "reason": "feels better already"});
        let answer = self.post(CANCEL, &body).await;
        assert_eq!(answer["booking"]["booking_status"], "cancelled", "{answer}");
        let last = settled(&mut self.caller, &visit).await;
        assert_eq!(last["cancellation_writeback"], "confirmed", "{last}");
        let visits = in_ehr(LAST_NAME).await;
        assert!(!visits.is_empty() && visits.iter().all(|visit| visit.cancelled), "{visits:?}");
        let found = self.post(FIND, &find(&patient)).await;
        assert_eq!(found["visits"], json!([]), "a cancelled visit is not found: {found}");
    }

    async fn post(&mut self, route: &str, body: &Value) -> Value {
        let (status, answer) = self.caller.post(&path(route, self.location), body).await.expect("the product answers");
        assert_eq!(status, 200, "{route}: {answer}");
        answer
    }

    /// Returns three slots of one provider and operatory that do not overlap.
    async fn slots(&mut self) -> [VisitSlot; 3] {
        let mut search = self.search.clone();
        search["limit"] = json!(SLOTS);
        let found = self.post("/intent/booking/search", &search).await;
        let all = found["slots"].as_array().expect("slots");
        let column = |slot: &Value| (slot["provider_id"].clone(), slot["operatory_id"].clone());
        let columns = all.iter().map(column);
        let three = |wanted: (Value, Value)| {
            let mut slots: Vec<VisitSlot> = Vec::new();
            let mut free_from = DateTime::<Utc>::MIN_UTC;
            for slot in all.iter().filter(|slot| column(slot) == wanted) {
                let start = moment(&slot["start_iso"]);
                if start >= free_from {
                    let minutes = slot["duration_minutes"].as_i64().expect("a number");
                    free_from = start + TimeDelta::minutes(minutes);
                    slots.push(VisitSlot { token: text(&slot["slot_token"]), start });
                }
            }
            slots.truncate(3);
            <[VisitSlot; 3]>::try_from(slots).ok()
        };
        columns.into_iter().find_map(three).unwrap_or_else(|| panic!("no provider has three free slots: {found}"))
    }

    /// Waits until the EHR has the last change of the visit.
    async fn is_confirmed(&mut self, visit: &str, start: DateTime<Utc>) -> Value {
        let last = settled(&mut self.caller, visit).await;
        assert_eq!((&last["ehr_writeback"], &last["failure_reason"]), (&json!("confirmed"), &Value::Null), "{last}");
        assert_eq!(moment(&last["start_iso"]), start, "{last}");
        last
    }

    async fn is_rescheduled(&mut self, visit: &str, from: DateTime<Utc>, to: DateTime<Utc>) {
        let last = self.is_confirmed(visit, to).await;
        let change = &last["reschedule"];
        assert_eq!((&change["status"], &change["failure_reason"]), (&json!("confirmed"), &Value::Null), "{last}");
        assert_eq!((moment(&change["from_iso"]), moment(&change["to_iso"])), (from, to), "{last}");
    }

    /// Finds the visit by its patient's data and returns its token.
    async fn find(&mut self, patient: &Value, visit: &str, start: DateTime<Utc>) -> String {
        let found = self.post(FIND, &find(patient)).await;
        let visits = found["visits"].as_array().expect("visits");
        assert_eq!(visits.len(), 1, "{found}");
        assert_eq!((&visits[0]["booking_ref"], moment(&visits[0]["start_iso"])), (&json!(visit), start), "{found}");
        let can = &visits[0]["can"];
        assert_eq!((&can["reschedule"], &can["cancel"]), (&json!(true), &json!(true)), "{found}");
        let token = text(&visits[0]["visit_token"]);
        assert!(token.starts_with("vis_"), "{found}");
        token
    }
}

/// Returns the only live visit of the patient in the EHR, which must be at this time.
async fn one_live(in_ehr: &impl AsyncFn(&str) -> Vec<StoryVisit>, start: DateTime<Utc>) -> StoryVisit {
    let visits = in_ehr(LAST_NAME).await;
    let mut live: Vec<StoryVisit> = visits.into_iter().filter(|visit| !visit.cancelled).collect();
    assert_eq!(live.len(), 1, "{live:?}");
    assert_eq!(live[0].start, start, "{live:?}");
    live.remove(0)
}

fn person() -> Value {
    json!({"first_name": "Zoë", "last_name": LAST_NAME, "date_of_birth": "1990-02-28",
        "phone_number": "+1 555 010 7799", "email": "visit@mail.example", "gender": "Female"})
}
