use std::sync::atomic::Ordering;

use actix_web::http::Method;
use engine::records::ehr::Write;
use serde_json::{Value, json};
use testing::until;

use crate::support::*;

const POST: &str = "/appointments?subdomain=acme&location_id=1";
const TAKEN: &str = "Unfortunately this time is no longer available, please go back and choose another time.";

/// Body of a booking at 15:00 UTC on the Monday of the tests, within working hours in New York and Chicago.
fn appt(world: &ApiWorld, fields: Value) -> Value {
    let start = format!("{}T15:00:00Z", world.monday());
    let mut appt = json!({"patient_id": PAT, "provider_id": ANNA, "operatory_id": CHAIR_1, "start_time": start});
    fields.as_object().unwrap().iter().for_each(|(name, value)| appt[name] = value.clone());
    json!({ "appt": appt })
}

#[actix_web::test]
async fn a_new_appointment_is_written_to_the_practice() {
    let world = world().await;
    world.books.open.store(true, Ordering::SeqCst);
    let body = appt(
        &world,
        json!({"appointment_type_id": CLEANING, "note": "Gently", "referrer": "website",
        "is_new_clients_patient": true, "descriptor_ids": [1]}),
    );
    let made = world.post(POST, body).answers(201).await;
    let warning = "descriptor_ids stay here only: they are not written to the health record system.";
    assert_eq!(made["description"], json!(warning));
    let made = made["data"].clone();
    assert_eq!(made["stripe_client_secret"], Value::Null);
    let made = &made["appt"];
    assert_eq!(made["end_time"], json!(format!("{}T16:00:00.000Z", world.monday())), "as long as its type");
    assert_eq!((&made["operatory_id"], &made["provider_name"]), (&json!(CHAIR_1), &json!("Anna Abel")));
    assert_eq!((&made["note"], &made["referrer"]), (&json!("Gently"), &json!("website")));
    assert_eq!((&made["is_new_clients_patient"], &made["is_guardian"]), (&json!(true), &json!(false)));
    assert_eq!((&made["foreign_id"], &made["foreign_id_type"]), (&Value::Null, &json!("nex")));
    let path = format!("/appointments/{}?subdomain=acme", made["id"]);
    let written = world.until(&path, |it| it["data"]["foreign_id"].is_string()).await;
    assert_eq!(written["data"]["ehr_writeback"], json!("confirmed"));
    let Write::CreateAppointment(appointment) = &world.books.written(MAIN)[0] else {
        panic!("something else was written")
    };
    assert_eq!((appointment.patient.as_deref(), appointment.operatory.as_deref()), (Some("pat"), Some("chair 1")));
    assert_eq!(
        (appointment.appointment_type.as_deref(), appointment.note.as_deref()),
        (Some("cleaning"), Some("Gently"))
    );
    let descriptors =
        world.get(&format!("/appointments/{}/appointment_descriptors?subdomain=acme", made["id"])).ok().await;
    assert_eq!((&descriptors["count"], &descriptors["data"][0]["code"]), (&json!(1), &json!("NP")));
    let other = format!("/appointments/{}/appointment_descriptors?subdomain=acme&descriptor_type=colour", made["id"]);
    assert_eq!(world.get(&other).ok().await["count"], json!(0));
    let included = world.get(&format!("{path}&include[]=descriptors")).ok().await;
    assert_eq!(each(&included["data"]["descriptors"], "id"), [1]);
}

/// The EHR refuses the last name.
#[actix_web::test]
async fn records_of_a_patient_that_the_ehr_refused_are_refused() {
    let world = world().await;
    let new = json!({"provider": {"provider_id": ANNA}, "patient": {
        "first_name": "Rosa", "last_name": "Refused", "email": "rosa@example.com",
        "bio": {"date_of_birth": "1990-01-01", "phone_number": "555 010 9090"},
    }});
    let create = || world.post("/patients?subdomain=acme&location_id=1", new.clone());
    let id = create().answers(201).await["data"]["user"]["id"].clone();
    let writes = "/write_requests?subdomain=acme&location_id=1";
    world.until(writes, |list| each(&list["data"], "status") == ["failed"]).await;
    let expected = format!(
        "appt.patient_id {id} is of a patient that the health record system refused (nobody is called so). Correct \
         the data, create the patient again with POST /patients, and send the new id."
    );
    assert_eq!(world.post(POST, appt(&world, json!({"patient_id": id}))).fails(400).await, [expected]);
    let change = world.request(Method::PATCH, &format!("/patients/{id}?subdomain=acme&location_id=1"));
    let change = change.json(json!({"patient": {"first_name": "Nina"}})).version("v3.1.0");
    let expected = format!(
        "Patient with id {id} is one that the health record system refused (nobody is called so). Correct the data, \
         create the patient again with POST /patients, and send the new id."
    );
    assert_eq!(change.fails(400).await, [expected], "waiting for the health record system would not help");
    assert_ne!(create().answers(201).await["data"]["user"]["id"], id, "a refused patient is no duplicate");
}

#[actix_web::test]
async fn without_an_operatory_the_first_free_one_is_taken() {
    let world = world().await;
    let none = appt(&world, json!({"operatory_id": null, "provider_id": BEN}));
    let made = world.post(POST, none.clone()).answers(201).await;
    assert_eq!(made["data"]["appt"]["operatory_id"], json!(CHAIR_2));
    assert_eq!(world.post(POST, none).fails(400).await, [TAKEN]);
    let second = "/appointments?subdomain=acme&location_id=2";
    let missing = world.post(second, appt(&world, json!({"operatory_id": null}))).fails(400).await;
    assert_eq!(missing, ["operatory_id is missing: this location books by operatory."]);
    world.post(second, appt(&world, json!({"operatory_id": SECONDS_CHAIR}))).answers(201).await;
}

#[actix_web::test]
async fn fields_without_effect_are_named() {
    let world = world().await;
    let mut body = appt(&world, json!({}));
    body["appointments_per_timeslot"] = json!(2);
    let made = world.post(&format!("{POST}&notify_patient=true"), body.clone()).answers(201).await;
    let description = made["description"].as_str().unwrap();
    assert!(description.contains("appointments_per_timeslot has no effect:"), "{description}");
    assert!(description.contains("Note that following parameters are ignored: notify_patient."), "{description}");
    body["appointments_per_timeslot"] = json!(6);
    assert_eq!(world.post(POST, body).fails(400).await, ["appointments_per_timeslot must be between 1 and 5."]);
}

#[actix_web::test]
async fn a_guardian_books_for_a_dependent() {
    let world = world().await;
    let child = json!({"first_name": "Kim", "last_name": "Present", "bio": {"date_of_birth": "2019-01-02", "gender": "Female"}});
    let refused = world.post(POST, appt(&world, json!({"is_guardian": true, "patient": child}))).fails(422).await;
    assert_eq!(refused, ["The practice requires more patient data: phone_number"], "neither of them has one");
    let nora = nora(&world, "New").await;
    let ben =
        json!({"patient_id": nora, "is_guardian": true, "patient": child, "provider_id": BEN, "operatory_id": CHAIR_2});
    let made = world.post(POST, appt(&world, ben.clone())).answers(201).await["data"]["appt"].clone();
    assert_eq!(made["is_guardian"], json!(true));
    let path = format!("/appointments/{}?subdomain=acme&include[]=guarantor", made["id"]);
    let one = world.get(&path).ok().await["data"]["patient"].clone();
    assert_eq!((&one["name"], &one["guarantor"]["name"]), (&json!("Kim Present"), &json!("Nora New")));
    // The same child in a second booking is the same patient.
    let mut again = appt(&world, ben);
    again["appt"]["start_time"] = json!(format!("{}T18:00:00Z", world.monday()));
    let again = world.post(POST, again).answers(201).await;
    assert_eq!(again["data"]["appt"]["patient_id"], made["patient_id"]);
    let half = world.post(POST, appt(&world, json!({"patient": {"first_name": "Kim"}}))).fails(400).await;
    assert_eq!(half, ["appt.patient.last_name is missing.", "appt.patient.bio.date_of_birth is missing."]);
}

/// Creates a patient with a phone number by a booking at the first location.
async fn nora(world: &ApiWorld, last_name: &str) -> Value {
    let slot = world.offers(MAIN, 1).await[0].clone();
    let book = json!({"slot_token": slot["slot_token"], "idempotency_key": "k", "patient": {"first_name": "Nora",
        "last_name": last_name, "date_of_birth": "1990-01-01", "phone_number": "555-010-1234", "email": "nora@example.com"}});
    world.post("/intent/booking/book?subdomain=acme", book).ok().await;
    world.get("/patients?subdomain=acme&location_id=1&name=nora").ok().await["data"][0]["id"].clone()
}

#[actix_web::test]
async fn refusals_have_the_specified_messages() {
    let world = world().await;
    let post = |fields: Value| world.post(POST, appt(&world, fields));
    let block = post(json!({"unavailable": true, "patient_id": null})).answers(400).await;
    assert_eq!(block["error"], json!(["Missing parameter appt[patient_id] with unavailable: true"]));
    assert_eq!(block["reason"], "unavailable_not_supported");
    assert_eq!(post(json!({"patient_id": 77})).fails(404).await, ["Patient with id 77 not found"]);
    post(json!({})).answers(201).await;
    assert_eq!(post(json!({})).fails(400).await, [TAKEN]);
    let night = json!({"start_time": format!("{}T03:00:00Z", world.monday())});
    assert_eq!(post(night.clone()).fails(400).await, [TAKEN]);
    assert_eq!(
        post(night).version("v2.2.2").fails(400).await,
        ["Time slot is not during working hours, please choose another time"]
    );
    assert_eq!(post(json!({"provider_id": 77})).fails(404).await, ["Provider with id 77 not found"]);
    assert_eq!(post(json!({"operatory_id": 77})).fails(404).await, ["Operatory with id 77 not found"]);
    assert_eq!(
        post(json!({"appointment_type_id": RIVALS_TYPE})).fails(404).await,
        ["Appointment Type with id 3 not found"]
    );
    assert_eq!(post(json!({"descriptor_ids": [77]})).fails(404).await, ["Appointment Descriptor with id 77 not found"]);
    let wrong = json!({"patient_id": 77, "provider_id": 78, "operatory_id": 79, "appointment_type_id": RIVALS_TYPE,
        "descriptor_ids": [80, 81]});
    let all = [
        "Patient with id 77",
        "Provider with id 78",
        "Operatory with id 79",
        "Appointment Type with id 3",
        "Appointment Descriptor with id 80",
        "Appointment Descriptor with id 81",
    ];
    let reply = post(wrong).reply().await;
    assert_eq!((reply.status.as_u16(), &reply.json()["reason"]), (404, &json!("not_found")));
    assert_eq!(reply.json()["error"], json!(all.map(|it| format!("{it} not found"))), "all at once");
    // Working hours that accept only one type.
    let tuesday = world.monday().add_days(5).to_string();
    let hour = json!({"working_hour": {"provider_id": ANNA, "operatory_id": CHAIR_1, "begin_time": "10:00", "end_time": "12:00",
        "specific_date": tuesday, "appointment_type_ids": [CLEANING]}});
    world.post("/working_hours?subdomain=acme&location_id=1", hour).answers(201).await;
    let other_type = json!({"start_time": format!("{tuesday}T15:30:00Z"), "appointment_type_id": CHECKUP});
    assert_eq!(
        post(other_type).fails(400).await,
        ["Provided appointment_type_id was not found to be configured for the requested slot"]
    );
}

#[actix_web::test]
async fn patients_unknown_to_the_locations_ehr_cannot_be_booked() {
    let world = world().await;
    // The EHR of the first location never receives this patient.
    let nora = nora(&world, "Slow").await;
    let elsewhere = appt(&world, json!({"patient_id": nora, "operatory_id": SECONDS_CHAIR}));
    assert_eq!(
        world.post("/appointments?subdomain=acme&location_id=2", elsewhere).fails(404).await,
        [format!("Patient with id {nora} not found")]
    );
    // The location without an EHR has no patients of the other locations.
    let bare = "/appointments?subdomain=acme&location_id=7";
    let of_pat = appt(&world, json!({"operatory_id": null}));
    assert_eq!(world.post(bare, of_pat).fails(400).await, ["Patient with ID 1 not found in location 7"]);
    let of_nora = appt(&world, json!({"patient_id": nora, "operatory_id": null}));
    assert_eq!(
        world.post(bare, of_nora).fails(400).await,
        ["Cannot create an appointment where the patient belongs to a location from a different EHR"]
    );
    // The practice shows this patient on a first appointment only.
    let una = world.get("/patients?subdomain=real&location_id=6&name=una").key(REAL_KEY).ok().await;
    let una = appt(&world, json!({"patient_id": una["data"][0]["id"], "provider_id": 4, "operatory_id": 5}));
    let real = "/appointments?subdomain=real&location_id=6";
    assert_eq!(
        world.post(real, una).key(REAL_KEY).fails(400).await,
        ["Cannot create an appointment where the patient attribute new_patient=true"]
    );
}

#[actix_web::test]
async fn an_idempotency_key_creates_one_appointment() {
    let world = world().await;
    let post = |fields: Value| world.post(POST, appt(&world, fields)).with("Idempotency-Key", "k-1");
    let first = post(json!({})).answers(201).await;
    let again = post(json!({})).reply().await;
    assert_eq!((again.status.as_u16(), again.header("Idempotent-Replay")), (201, Some("true")));
    assert_eq!(again.json()["data"]["appt"]["id"], first["data"]["appt"]["id"]);
    post(json!({"note": "other"})).fails(409).await;
}

#[actix_web::test]
async fn wrong_values_are_named() {
    let world = world().await;
    let missing = ["appt.patient_id is missing.", "appt.provider_id is missing.", "appt.start_time is missing."];
    assert_eq!(world.post(POST, json!({})).fails(400).await, missing);
    let backwards = json!({"end_time": "2026-01-01T00:00:00Z"});
    assert_eq!(world.post(POST, appt(&world, backwards)).fails(400).await, ["appt.end_time must be after start_time."]);
    let past = json!({"start_time": "2020-01-06T15:00:00Z"});
    assert_eq!(world.post(POST, appt(&world, past)).fails(400).await, ["appt.start_time is in the past."]);
}

#[actix_web::test]
async fn invalid_times_are_refused() {
    let world = world().await;
    let monday = world.monday();
    let fails = async |fields: Value| world.post(POST, appt(&world, fields)).fails(400).await;
    let length = "appt.end_time must be 5 minutes to 12 hours after start_time.";
    let uneven = json!({"start_time": format!("{monday}T15:00:07.500Z"), "end_time": format!("{monday}T15:30:01Z")});
    assert_eq!(
        fails(uneven).await,
        ["appt.start_time must be a whole minute.", "appt.end_time must be a whole minute."]
    );
    assert_eq!(fails(json!({"end_time": format!("{monday}T15:04:00Z")})).await, [length]);
    assert_eq!(fails(json!({"end_time": format!("{}T03:01:00Z", monday.add_days(1))})).await, [length]);
    let far = json!({"start_time": format!("{}T15:00:00Z", monday.add_days(731))});
    assert_eq!(fails(far).await, ["appt.start_time must not be more than 730 days ahead."]);
    // The length of an appointment may differ from the length of its type.
    let short = json!({"appointment_type_id": CLEANING, "end_time": format!("{monday}T15:05:00Z")});
    let made = world.post(POST, appt(&world, short)).answers(201).await;
    assert_eq!(made["description"], json!("The appointment lasts 5 minutes; its type, Cleaning, takes 60."));

    let change =
        async |fields: Value| world.patch("/appointments/1?subdomain=acme", json!({ "appt": fields })).fails(400).await;
    assert_eq!(
        change(json!({"start_time": format!("{monday}T15:00:30Z")})).await,
        ["appt.start_time must be a whole minute."]
    );
    assert_eq!(change(json!({"start_time": "2020-01-06T15:00:00Z"})).await, ["appt.start_time is in the past."]);
    let long = json!({"start_time": format!("{monday}T03:00:00Z"), "end_time": format!("{monday}T16:00:00Z")});
    assert_eq!(change(long).await, [length]);
}

#[actix_web::test]
async fn changes_are_written_to_the_practice() {
    let world = world().await;
    let path = "/appointments/1?subdomain=acme";
    let at = format!("{}T16:00:00Z", world.monday());
    let change =
        json!({"appt": {"confirmed": true, "checkin_at": "2026-12-01T14:00:00Z", "note": "Late", "start_time": at}});
    let changed = world.patch(path, change).ok().await["data"]["appt"].clone();
    assert_eq!((&changed["confirmed"], &changed["note"]), (&json!(true), &json!("Late")));
    assert!(["pending", "confirmed"].map(|state| json!(state)).contains(&changed["ehr_writeback"]), "{changed}");
    world.until(path, |shown| shown["data"]["ehr_writeback"] == json!("confirmed")).await;
    assert_eq!(
        (&changed["checkin_at"], &changed["operatory_id"]),
        (&json!("2026-12-01T14:00:00.000Z"), &json!(CHAIR_1))
    );
    assert_eq!(changed["start_time"], json!(format!("{}T16:00:00.000Z", world.monday())));
    until("four writes", async || world.books.written(MAIN).len() == 4).await;
    let written = world.books.written(MAIN);
    let has = |wanted: fn(&Write) -> bool| written.iter().any(wanted);
    assert!(
        has(|it| matches!(it, Write::RescheduleAppointment(..)))
            && has(|it| matches!(it, Write::ConfirmAppointment(_)))
    );
    assert!(has(|it| matches!(it, Write::CheckInAppointment(_))) && has(|it| matches!(it, Write::NoteAppointment(_))));
    let nothing = world.patch(path, json!({"appt": {}})).ok().await;
    assert_eq!(nothing["data"]["appt"]["note"], json!("Late"));
}

#[actix_web::test]
async fn an_appointment_is_cancelled() {
    let world = world().await;
    let path = "/appointments/1?subdomain=acme";
    let both = json!({"appt": {"cancelled": true, "note": "x"}});
    assert_eq!(world.patch(path, both).fails(400).await, ["appt.cancelled cannot be combined with other changes."]);
    let cancelled = world.patch(path, json!({"appt": {"cancelled": true}})).ok().await["data"]["appt"].clone();
    assert!(cancelled["cancelled"] == json!(true) && cancelled["cancelled_at"].is_string(), "{cancelled}");
    world.patch(path, json!({"appt": {"cancelled": true}})).ok().await;
    let after = world.patch(path, json!({"appt": {"confirmed": true}})).fails(400).await;
    assert_eq!(after, ["The appointment is cancelled and can no longer be changed."]);
}

#[actix_web::test]
async fn a_change_that_names_another_location_is_refused() {
    let world = world().await;
    let change = json!({"appt": {"note": "x"}});
    let elsewhere = format!("/appointments/1?subdomain=acme&location_id={SECOND}");
    let refused = world.patch(&elsewhere, change.clone()).fails(404).await;
    assert_eq!(refused, [format!("Appointment with id 1 not found in location {SECOND}")]);
    world.patch(&format!("/appointments/1?subdomain=acme&location_id={MAIN}"), change).ok().await;
}

#[actix_web::test]
async fn invalid_changes_are_refused() {
    let world = world().await;
    let made = world.post(POST, appt(&world, json!({}))).answers(201).await["data"]["appt"]["id"].clone();
    let unsynced = "Cannot update appointment because it is not synced with the PMS and/or a live client";
    let path = format!("/appointments/{made}?subdomain=acme");
    for change in [json!({"confirmed": true}), json!({"operatory_id": CHAIR_1, "note": "x"})] {
        assert_eq!(world.patch(&path, json!({ "appt": change })).fails(400).await, [unsynced]);
    }
    // A pending write is cancelled, as by /intent/booking/cancel.
    let cancelled = world.patch(&path, json!({"appt": {"cancelled": true}})).ok().await;
    assert_eq!(cancelled["data"]["appt"]["cancelled"], json!(true), "{cancelled}");
    let change = json!({"subdomain": "acme", "appt": {"confirmed": true}});
    assert_eq!(
        world.patch("/appointments/1", change).fails(403).await,
        ["You don't have access to perform this action."],
        "scope belongs into the query"
    );
    let one = "/appointments/1?subdomain=acme";
    assert_eq!(world.patch(one, json!({})).fails(400).await, ["appt is missing."]);
    assert_eq!(
        world.patch(one, json!({"appt": {"end_time": "2020-01-01T00:00:00Z"}})).fails(400).await,
        ["appt.end_time must be after start_time."]
    );
    assert_eq!(
        world.patch(one, json!({"appt": {"operatory_id": 77}})).fails(404).await,
        ["Operatory with id 77 not found"]
    );
    assert_eq!(world.patch(one, json!({"appt": {"operatory_id": CHAIR_2}})).fails(400).await, [TAKEN]);
    assert_eq!(
        world.patch("/appointments/77?subdomain=acme", json!({"appt": {}})).fails(404).await,
        ["Appointment with id 77 not found"]
    );
}
