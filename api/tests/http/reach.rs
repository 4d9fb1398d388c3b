//! Isolation of a key for some locations from records of other locations and EHRs.

use serde_json::{Value, json};

use crate::support::*;

const AT_SECOND: &str = "subdomain=acme&location_id=2";

#[actix_web::test]
async fn records_of_other_locations_are_not_shown() {
    let world = world().await;
    let pat = PAT;
    let log = json!({"communication_log": {"patient_id": pat, "note": "Called"}});
    let log = world.post(&format!("/communication_logs?{AT_SECOND}"), log).version("v3.1.0").answers(202).await;
    let log = format!("/communication_logs/{}?subdomain=acme", log["data"]["id"].as_str().unwrap());

    let items = "/medical_history/items?subdomain=acme&location_id=1&category=allergies&search_term=latex";
    let latex = world.get(items).version("v3.1.0").ok().await["data"][0]["id"].clone();
    let history = json!({"patient_id": pat, "allergies": [{"item_id": latex, "note": "gloves"}]});
    world.post(&format!("/medical_history/patient_items?{AT_SECOND}"), history).version("v3.1.0").answers(201).await;
    let of_patient =
        format!("/medical_history/patient_items?subdomain=acme&location_id=1&patient_id={pat}&category=allergies");

    let payment = json!({"payment": {"patient_id": pat, "transaction_id": "T-1", "amount": 5, "payment_type_id": 1}});
    world.post(&format!("/payments?{AT_SECOND}"), payment).answers(202).await;
    let patient = format!("/patients/{pat}?subdomain=acme&include[]=payments");
    let ours = |it: &Value| {
        let all = it["data"]["payments"].as_array().unwrap().clone();
        all.iter().filter(|it| it["transaction_id"] == "T-1").count()
    };

    world.get(&log).version("v3.1.0").ok().await;
    assert_eq!(world.get(&of_patient).version("v3.1.0").ok().await["count"], json!(1));
    assert_eq!(ours(&world.get(&patient).ok().await), 1);

    world.get(&log).version("v3.1.0").key(MAIN_FULL_KEY).fails(404).await;
    assert_eq!(world.get(&of_patient).version("v3.1.0").key(MAIN_FULL_KEY).ok().await["count"], json!(0));
    assert_eq!(ours(&world.get(&patient).key(MAIN_FULL_KEY).ok().await), 0);
}

#[actix_web::test]
async fn providers_and_types_are_those_of_the_ehrs_in_reach() {
    let world = world().await;
    assert_eq!(world.get("/providers?subdomain=acme").key(BARE_KEY).ok().await["data"], json!([]));
    let one = format!("/providers/{ANNA}?subdomain=acme");
    assert_eq!(world.get(&one).key(BARE_KEY).fails(404).await, [format!("Provider with id {ANNA} not found")]);
    let types = async |key: &str, rest: &str| {
        each(&world.get(&format!("/appointment_types?subdomain=acme{rest}")).key(key).ok().await["data"], "id")
    };
    assert_eq!(types(BARE_KEY, "").await, Vec::<Value>::new());
    assert_eq!(types(ACME_KEY, &format!("&location_id={BARE}")).await, Vec::<Value>::new());
    assert!(types(ACME_KEY, "&location_id=1").await.contains(&json!(CLEANING)));
    world.get(&format!("/appointment_types/{CLEANING}?subdomain=acme&location_id={BARE}")).fails(404).await;
    let search = json!({"appointment_type_id": CLEANING});
    world.post(&format!("/intent/booking/search?subdomain=acme&location_id={BARE}"), search).answers(404).await;
}

#[actix_web::test]
async fn slots_of_a_provider_with_hours_without_an_ehr_are_found_by_a_key_without_the_ehr() {
    let world = world().await;
    let (at_bare, monday) = (format!("subdomain=acme&location_id={BARE}"), world.monday());
    let hour = json!({"working_hour": {"provider_id": ANNA, "begin_time": "09:00", "end_time": "12:00",
        "days": ["Monday"]}});
    world.post(&format!("/working_hours?{at_bare}"), hour).answers(201).await;
    let slots = format!("/available_slots?subdomain=acme&start_date={monday}&days=1&lids[]={BARE}");
    let found = world.get(&format!("{slots}&pids[]={ANNA}")).key(BARE_KEY).ok().await["data"].clone();
    assert_eq!(found[0]["slots"].as_array().unwrap().len(), 6);
    let missing = [format!("Provider with id {BEN} not found")];
    assert_eq!(world.get(&format!("{slots}&pids[]={BEN}")).key(BARE_KEY).fails(404).await, missing);
    let search = json!({"provider_ids": [ANNA], "start_date": monday.to_string(), "limit": 1});
    let found = world.post(&format!("/intent/booking/search?{at_bare}"), search).key(BARE_KEY).ok().await;
    assert_eq!(found["slots"][0]["provider_id"], json!(ANNA));
}

/// Bookings without an EHR are not written back (specification 1 and 3).
#[actix_web::test]
async fn a_location_without_an_ehr_takes_bookings() {
    let world = world().await;
    let at_bare = format!("subdomain=acme&location_id={BARE}");
    let here = world.get(&format!("/providers?{at_bare}")).ok().await;
    assert_eq!(here["data"], json!([]), "all have hours elsewhere");
    let hour = json!({"working_hour": {"provider_id": ANNA, "begin_time": "09:00", "end_time": "12:00",
        "days": ["Monday"]}});
    world.post(&format!("/working_hours?{at_bare}"), hour).answers(201).await;
    assert_eq!(each(&world.get(&format!("/providers?{at_bare}")).ok().await["data"], "id"), [ANNA]);
    // The same holds for a key without access to an EHR.
    for path in ["/providers?subdomain=acme".to_owned(), format!("/providers?{at_bare}")] {
        assert_eq!(each(&world.get(&path).key(BARE_KEY).ok().await["data"], "id"), [ANNA]);
    }
    world.get(&format!("/providers/{ANNA}?subdomain=acme")).key(BARE_KEY).ok().await;
    world.get(&format!("/providers/{BEN}?subdomain=acme")).key(BARE_KEY).fails(404).await;
    let search = json!({"start_date": world.monday().to_string(), "limit": 1});
    let found = world.post(&format!("/intent/booking/search?{at_bare}"), search).ok().await;
    let body = json!({
        "slot_token": found["slots"][0]["slot_token"], "idempotency_key": "bare",
        "patient": {"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-01-02", "phone_number": "555-010-4444"},
    });
    let made = world.post(&format!("/intent/booking/book?{at_bare}"), body).ok().await["booking"].clone();
    assert_eq!((&made["booking_status"], &made["ehr_writeback"]), (&json!("confirmed"), &json!("pending")));
    let path = format!("/appointments/{}?subdomain=acme", made["appointment_id"]);
    let shown = world.get(&path).ok().await["data"].clone();
    assert_eq!(shown["ehr_writeback"], json!("pending"));
    let patient = format!("/patients/{}?{at_bare}", shown["patient_id"]);
    let known =
        world.patch(&patient, json!({"patient": {"email": "mia@example.com"}})).version("v3.1.0").ok().await["data"]
            .clone();
    assert_eq!(known["email"], json!("mia@example.com"));
    assert_eq!(world.get(&patient).ok().await["data"]["email"], json!("mia@example.com"));
    // The appointment is never written to another system: it is changed and cancelled in the engine.
    let start = format!("{}T11:00:00-0{}:00", world.monday(), &shown["timezone_offset"].as_str().unwrap()[2..3]);
    let change = json!({"appt": {"start_time": start, "note": "Call first", "confirmed": true}});
    let changed = world.patch(&path, change).ok().await["data"]["appt"].clone();
    let seen = world.get(&path).ok().await["data"].clone();
    for it in [&changed, &seen] {
        assert_eq!((&it["note"], &it["confirmed"]), (&json!("Call first"), &json!(true)));
        assert!(it["start_time_with_tz"].as_str().unwrap().contains("T11:00:00"), "{it}");
    }
    let cancelled = world.patch(&path, json!({"appt": {"cancelled": true}})).ok().await;
    assert_eq!(cancelled["data"]["appt"]["cancelled"], json!(true));
    let again = world.patch(&path, json!({"appt": {"cancelled": true}})).ok().await;
    assert_eq!(again["data"]["appt"]["cancelled"], json!(true));
}
