//! A practice's day against a real GNU Health server: the parts specific to GNU Health. The main story is in
//! `tests/src/main_story`.

mod losses;
mod practice;
mod visits;

use adapter_conformance::flaky_proxy::{InjectedFault, When};
use serde_json::{Value, json};
use testing::until;
use tests::harness::{
    ehr_server::gnuhealth::{LOGIN, PASSWORD, RECEPTION, moment, today},
    in_process::LOCATION,
};

use practice::{GnuHealthHarness, number};

const NINE: i64 = 9 * 60;
const TEN: i64 = 10 * 60;
/// All open half hours.
const ALL_OPEN: [&str; 8] = ["09:00", "09:30", "10:00", "10:30", "11:00", "11:30", "12:00", "12:30"];

fn zoe() -> Value {
    json!({"first_name": "Zoë", "last_name": "Ångström-D’Arc", "date_of_birth": "1990-02-28", "phone_number": "+1 555 010 7788",
        "email": "zoe@mail.example", "gender": "Female"})
}

#[actix::test]
async fn booking_and_its_changes_are_visible_on_both_sides() {
    let Some(mut practice) = GnuHealthHarness::open(LOGIN).await else { return };
    the_first_pull_shows_the_practice(&mut practice).await;
    let id = a_new_patient_books(&mut practice).await;
    we_move_it(&mut practice, id).await;
    we_confirm_check_in_and_note(&mut practice).await;
    we_cancel_it_and_the_patient_books_again(&mut practice, id).await;
    staff_cancel_one_and_book_one(&mut practice).await;
    practice.close().await;
}

async fn the_first_pull_shows_the_practice(practice: &mut GnuHealthHarness) {
    let providers = practice.list("/providers").await;
    let names: Vec<_> = providers.iter().map(|p| format!("{} {}", p["first_name"], p["last_name"])).collect();
    assert_eq!(names, [r#""Åsa" "Lindqvist""#, r#""Tomasz" "Żółkowski""#, r#""Mai" "Nguyễn""#]);
    let patients = practice.list("/patients").await;
    assert_eq!(patients.len(), 6);
    let inactive: Vec<_> = patients.iter().filter(|p| p["inactive"] == true).map(|p| &p["foreign_id"]).collect();
    assert_eq!(inactive, ["6"]);
    let zoe = patients.iter().find(|p| p["foreign_id"] == "1").unwrap();
    assert_eq!(
        (&zoe["first_name"], &zoe["middle_name"], &zoe["last_name"]),
        (&json!("Zoë"), &json!("Ann"), &json!("Łopata-O’Brien"))
    );
    assert_eq!((&zoe["email"], &zoe["chart_id"]), (&json!("patient0@mail.example"), &json!("C-0")));
    assert_eq!(
        (&zoe["address"]["line_1"], &zoe["address"]["city"]),
        (&json!("1 Rue de l’Été"), &json!("Montréal")),
        "{zoe}"
    );
    assert!(practice.list("/operatories").await.is_empty(), "its appointments name no room");
    let types = practice.list("/appointment_types").await;
    assert_eq!((&types[0]["name"], &types[0]["minutes"]), (&json!("Check-up – kurz"), &json!(30)));
    assert_eq!(practice.times("1", 0).await, ALL_OPEN);
    assert_eq!(practice.times("2", 0).await, ALL_OPEN[1..], "staff took the first place");
    let capabilities = practice.get("/locations/7/capabilities").await["data"]["ehr"].clone();
    assert_eq!(
        (&capabilities["name"], &capabilities["has_operatories"]),
        (&json!("GNU Health"), &json!(false)),
        "{capabilities}"
    );
}

async fn a_new_patient_books(practice: &mut GnuHealthHarness) -> u64 {
    let booking = practice.book("1", 0, "10:00", "story-1", &zoe()).await;
    let id = booking["appointment_id"].as_u64().unwrap();
    practice.written(id).await;
    let there = check_in_ehr(practice, id, 1, practice.at(0, TEN)).await;
    assert!(there["comments"].as_str().unwrap().starts_with("läuft ☺\n\n[practice-sync ps-7-"), "{there}");
    let fields = ["party.name", "party.lastname", "party.gender", "party.dob", "party.contact_mechanisms.value"];
    let patient = practice.server.one("gnuhealth.patient", json!([["id", "=", there["patient"]]]), &fields).await;
    let person = &patient["party."];
    assert_eq!(
        (&person["name"], &person["lastname"], &person["gender"]),
        (&json!("Zoë"), &json!("Ångström-D’Arc"), &json!("f"))
    );
    let contacts = person["contact_mechanisms."].to_string();
    assert!(contacts.contains("zoe@mail.example") && contacts.contains("555"), "{contacts}");
    // The appointment took the free place's record instead of adding another one.
    assert_eq!(free_places(practice, 1, practice.at(0, TEN)).await, 0);
    assert_eq!(practice.times("1", 0).await, without(&["10:00"]));
    // Reading back finds the same appointment and the same patient, without changes in the feed.
    let cursor = practice.get("/changes").await["cursor"].clone();
    practice.sync().await;
    let since = format!("/changes?since={}", cursor.as_str().unwrap_or_default());
    let changed = practice.get(&since).await;
    let touched: Vec<&Value> =
        changed["data"].as_array().unwrap().iter().filter(|c| c["resource"] != "working_hours").collect();
    assert!(touched.iter().all(|change| change["action"] != "created"), "{touched:?}");
    assert_eq!(practice.list("/patients").await.len(), 7);
    assert_eq!(practice.times("1", 0).await, without(&["10:00"]));
    id
}

async fn we_move_it(practice: &mut GnuHealthHarness, id: u64) {
    let change = json!({"appt": {"start_time": practice.iso(1, NINE), "end_time": practice.iso(1, NINE + 30)}});
    practice.patch(&format!("/appointments/{id}"), change).await;
    practice.idle().await;
    check_in_ehr(practice, id, 1, practice.at(1, NINE)).await;
    assert_eq!(free_places(practice, 1, practice.at(0, TEN)).await, 1, "the place it left is free again");
    assert_eq!(free_places(practice, 1, practice.at(1, NINE)).await, 0);
    practice.sync().await;
    assert_eq!(practice.times("1", 0).await, ALL_OPEN);
    assert_eq!(practice.times("1", 1).await, ALL_OPEN[1..]);
}

async fn we_confirm_check_in_and_note(practice: &mut GnuHealthHarness) {
    let booking = practice.book("3", 0, "09:30", "story-door", &zoe()).await;
    let id = booking["appointment_id"].as_u64().unwrap();
    practice.written(id).await;
    let path = format!("/appointments/{id}");
    practice.patch(&path, json!({"appt": {"note": "in a wheelchair"}})).await;
    practice.idle().await;
    practice.patch(&path, json!({"appt": {"confirmed": true}})).await;
    practice.idle().await;
    practice.patch(&path, json!({"appt": {"checkin_at": practice.iso(0, NINE + 25)}})).await;
    practice.idle().await;
    let there = practice.in_ehr(id).await;
    assert_eq!(
        (&there["state"], &there["checked_in_date"]),
        (&json!("checked_in"), &moment(practice.at(0, NINE + 25))),
        "{there}"
    );
    assert!(there["comments"].as_str().unwrap().starts_with("in a wheelchair\n\n["), "{there}");
    let failed: Vec<Value> = practice.list("/write_requests?status=failed").await;
    assert!(failed.is_empty(), "{failed:?}");
}

async fn we_cancel_it_and_the_patient_books_again(practice: &mut GnuHealthHarness, id: u64) {
    let booking_ref = practice.appointment(id).body.booking.unwrap().booking_ref;
    practice
        .post("/intent/booking/cancel", json!({"booking_ref": booking_ref, "reason": "feels better already"}))
        .await;
    practice.idle().await;
    let off = practice.in_ehr(id).await;
    assert_eq!(off["state"], "user_cancelled");
    assert!(off["comments"].as_str().unwrap().contains("reason=feels%20better%20already"), "{off}");
    practice.sync().await;
    assert!(practice.appointment(id).cancelled);
    let again = practice.book("1", 0, "10:00", "story-2", &zoe()).await["appointment_id"].as_u64().unwrap();
    practice.written(again).await;
    assert_eq!(practice.appointment(again).patient_id, practice.appointment(id).patient_id, "the same person");
    check_in_ehr(practice, again, 1, practice.at(0, TEN)).await;
}

async fn staff_cancel_one_and_book_one(practice: &mut GnuHealthHarness) {
    let id = practice.book("2", 0, "11:00", "story-3", &zoe()).await["appointment_id"].as_u64().unwrap();
    practice.written(id).await;
    let foreign = number(practice.appointment(id).foreign_id.as_deref().unwrap());
    practice.server.write("gnuhealth.appointment", foreign, json!({"state": "center_cancelled"})).await;
    // The staff's appointment was not read yet. The booking is accepted, and the check before the write refuses it.
    let late = practice.offers("2", 0).await.remove("12:00").unwrap();
    let theirs = json!({"patient": 2, "healthprof": 2, "institution": 1, "state": "confirmed", "comments": null,
        "appointment_date": moment(practice.at(0, 12 * 60 + 15)), "appointment_date_end": moment(practice.at(0, 12 * 60 + 45))});
    practice.server.create("gnuhealth.appointment", theirs).await;
    let body = json!({"slot_token": late, "idempotency_key": "story-late", "patient": zoe()});
    let booked = practice.post("/intent/booking/book", body).await;
    practice.idle().await;
    let refused = practice.appointment(booked["booking"]["appointment_id"].as_u64().unwrap()).body.booking.unwrap();
    assert_eq!(refused.failure_reason.as_deref(), Some("the provider has another appointment at that time"));
    practice.sync().await;
    assert!(practice.appointment(id).cancelled);
    let times = practice.times("2", 0).await;
    assert!(!times.iter().any(|time| ["12:00", "12:30"].contains(&time.as_str())), "{times:?}");
}

/// Returns the appointment in the EHR after checking its professional, its time and its length of half an hour.
async fn check_in_ehr(practice: &GnuHealthHarness, id: u64, professional: i64, start: i64) -> Value {
    let there = practice.in_ehr(id).await;
    assert_eq!(there["healthprof"], professional, "{there}");
    assert_eq!(
        (&there["appointment_date"], &there["appointment_date_end"]),
        (&moment(start), &moment(start + 1_800)),
        "{there}"
    );
    assert_eq!(there["state"], "confirmed", "{there}");
    there
}

async fn free_places(practice: &GnuHealthHarness, professional: i64, start: i64) -> usize {
    let domain =
        json!([["state", "=", "free"], ["healthprof", "=", professional], ["appointment_date", "=", moment(start)]]);
    practice.server.search("gnuhealth.appointment", domain, &["id"]).await.len()
}

fn without(taken: &[&str]) -> Vec<&'static str> {
    ALL_OPEN.into_iter().filter(|time| !taken.contains(time)).collect()
}

#[actix::test]
async fn patients_history_logs_coverage_and_payments_reach_the_ehr_once() {
    let Some(mut practice) = GnuHealthHarness::open(LOGIN).await else { return };
    let provider = practice.our_id("/providers", "1").await;
    let zoe = practice.our_id("/patients", "1").await;
    let body = json!({"provider": {"provider_id": provider}, "patient": {"first_name": "Þóra", "last_name": "Made-Here",
        "email": "thora@mail.example", "bio": {"date_of_birth": "1971-05-06", "phone_number": "+1 555 010 3000", "gender": "Female",
        "address_line_1": "5 Harbour Road", "city": "Springfield", "state": "NY", "zip_code": "10001"}}});
    let made = practice.post("/patients", body).await["data"]["user"]["id"].clone();
    practice.idle().await;
    practice
        .patch(
            &format!("/patients/{made}"),
            json!({"patient": {"email": "new@mail.example", "last_name": "Changed-Here"}}),
        )
        .await;
    practice.idle().await;
    let fields = [
        "primary_care_doctor",
        "party.name",
        "party.lastname",
        "party.contact_mechanisms.value",
        "party.addresses.city",
        "party.addresses.subdivision.code",
    ];
    let there =
        practice.server.one("gnuhealth.patient", json!([["party.lastname", "=", "Changed-Here"]]), &fields).await;
    let text = there["party."].to_string();
    assert_eq!(there["primary_care_doctor"], 1);
    for part in ["Þóra", "new@mail.example", "Springfield", "US-NY"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("thora@"), "{text}");

    let allergies = practice.list("/medical_history/items?category=allergies").await;
    let latex =
        allergies.iter().find(|item| item["name"] == "Latex allergy").unwrap_or_else(|| panic!("{allergies:?}"))["id"]
            .clone();
    let drugs = practice.list("/medical_history/items?category=medications").await;
    let items = json!({"patient_id": zoe, "allergies": [{"item_id": latex, "note": "since childhood"}],
        "medications": [{"item_id": drugs[0]["id"], "note": "twice a day"}]});
    practice.post("/medical_history/patient_items", items).await;
    practice.idle().await;
    let disease = ["pathology.name", "extra_info", "is_allergy", "is_active"];
    let condition = practice.server.one("gnuhealth.patient.disease", json!([["patient", "=", 1]]), &disease).await;
    assert_eq!(condition["pathology."]["name"], "Latex allergy");
    assert!(condition["extra_info"].as_str().unwrap().starts_with("since childhood"), "{condition}");
    practice.server.one("gnuhealth.patient.medication", json!([["patient", "=", 1]]), &["notes"]).await;

    practice.proxy.injector.set(When::Nth(2), InjectedFault::LoseReply);
    let log = json!({"communication_log": {"patient_id": zoe, "note": "Reminded by text", "mode": "text", "direction": "sent"}});
    practice.post("/communication_logs", log).await;
    practice.idle().await;
    let note = practice.server.one("ir.note", json!([["resource", "=", "gnuhealth.patient,1"]]), &["message"]).await;
    assert!(
        note["message"].as_str().unwrap().starts_with("Reminded by text\n"),
        "exactly one, though its reply was lost: {note}"
    );
    practice.proxy.injector.clear();

    let plans = practice.list("/insurance_plans").await;
    let premier =
        plans.iter().find(|plan| plan["name"] == "Delta Premier").unwrap_or_else(|| panic!("{plans:?}"))["id"].clone();
    let coverage = json!({"insurance_coverage": {"plan_id": premier, "patient_id": zoe, "subscriber_num": "S-1", "priority": 1,
        "effective_date": "2026-01-01", "subscription_relation": "spouse", "subscriber_id": zoe}});
    practice.post("/insurance_coverages", coverage).await;
    practice.idle().await;
    let insured = practice
        .server
        .one("gnuhealth.insurance", json!([["number", "=", "S-1"]]), &["plan_id", "notes", "party"])
        .await;
    assert_eq!(insured["plan_id"], 1);

    let failed = practice.list("/write_requests?status=failed").await;
    assert!(failed.is_empty(), "{failed:?}");
    pays(&mut practice, &zoe).await;
    practice.sync().await;
    practice.sync().await;
    assert_eq!(practice.list("/payments").await.len(), 1, "read back it is the same payment");
    assert_eq!(
        practice.list(&format!("/medical_history/patient_items?patient_id={zoe}&category=allergies")).await.len(),
        1
    );
    practice.close().await;
}

async fn pays(practice: &mut GnuHealthHarness, zoe: &Value) {
    assert_eq!(practice.list("/charges").await.len(), 1);
    let types = practice.list("/payment_types").await;
    let card =
        types.iter().find(|kind| kind["name"] == "Credit card").unwrap_or_else(|| panic!("{types:?}"))["id"].clone();
    let pay = |amount: &str| {
        json!({"payment": {"patient_id": zoe, "amount": amount, "currency": "USD", "payment_type_id": card,
            "transaction_id": format!("tx-{amount}"), "paid_at": today(), "notes": "at the desk"}})
    };
    practice.post("/payments", pay("20.00")).await;
    practice.idle().await;
    let invoice =
        practice.server.search("account.invoice", json!([]), &["state", "amount_to_pay", "payment_lines"]).await[0]
            .clone();
    assert_eq!(invoice["amount_to_pay"]["decimal"], "75.00", "{invoice}");
    assert_eq!(invoice["payment_lines"].as_array().unwrap().len(), 1);
    // More than the open amount: the EHR's books remain unchanged.
    practice.post("/payments", pay("500.00")).await;
    practice.idle().await;
    let failed = practice.list("/write_requests?status=failed").await;
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["reason"], "the patient has no open invoice over so much in this currency");
    let invoice = practice.server.search("account.invoice", json!([]), &["amount_to_pay"]).await[0].clone();
    assert_eq!(invoice["amount_to_pay"]["decimal"], "75.00", "{invoice}");
}

/// The front desk's login may book but not read histories.
#[actix::test]
async fn forbidden_writes_fail_with_the_ehrs_message() {
    let Some(mut practice) = GnuHealthHarness::open(RECEPTION).await else { return };
    let booking = practice.book("1", 0, "09:00", "desk-1", &zoe()).await;
    practice.written(booking["appointment_id"].as_u64().unwrap()).await;
    let reads = practice.get("/locations/7/capabilities").await["data"]["ehr"]["reads"].to_string();
    assert!(
        reads.contains("patients") && !reads.contains("patient_history_items") && !reads.contains("payments"),
        "{reads}"
    );
    let conditions = practice.list("/medical_history/items?category=conditions").await;
    let patient = practice.our_id("/patients", "2").await;
    let items = json!({"patient_id": patient, "conditions": [{"item_id": conditions[0]["id"], "note": "secret of the patient"}]});
    practice.post("/medical_history/patient_items", items).await;
    practice.idle().await;
    let failed = practice.list("/write_requests?status=failed").await;
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["reason"], "You are not allowed to access “Patient Conditions History”.");
    practice.close().await;
}

/// Setting a user's password ends all sessions of the user.
#[actix::test]
async fn ended_session_is_reopened() {
    let Some(mut practice) = GnuHealthHarness::open(LOGIN).await else { return };
    let user = practice.server.one("res.user", json!([["login", "=", LOGIN]]), &["id"]).await["id"].as_i64().unwrap();
    let mut requests = Vec::new();
    for (n, time) in ["09:00", "10:00"].into_iter().enumerate() {
        practice.proxy.injector.clear();
        let person = json!({"first_name": "Let", "last_name": format!("In-{n}"), "date_of_birth": "1980-01-01",
            "phone_number": format!("+1 555 010 440{n}"), "email": format!("in{n}@mail.example"), "gender": "Other"});
        let booking = practice.book("1", 0, time, &format!("session-{n}"), &person).await;
        let id = booking["appointment_id"].as_u64().unwrap();
        practice.written(id).await;
        check_in_ehr(&practice, id, 1, practice.at(0, NINE + i64::try_from(n).unwrap() * 60)).await;
        requests.push(practice.proxy.injector.requests());
        practice.server.write("res.user", user, json!({"password": PASSWORD})).await;
    }
    assert_eq!(requests[1], requests[0] + 2, "one request was turned away, one opened a session");

    practice.server.write("res.user", user, json!({"password": "an0ther-of-the-clinic"})).await;
    let id = practice.book("1", 0, "11:00", "session-2", &zoe()).await["appointment_id"].as_u64().unwrap();
    let problem = async || practice.engine.sync_state(LOCATION).await.unwrap().write_reason;
    until("a problem of writing", problem).await;
    assert_eq!(practice.appointment(id).foreign_id, None);
    practice.server.write("res.user", user, json!({"password": PASSWORD})).await;
    practice.sync().await;
    practice.written(id).await;
    practice.close().await;
}
