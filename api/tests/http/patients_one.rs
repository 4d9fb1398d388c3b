use std::sync::atomic::Ordering;

use actix_web::http::Method;
use engine::records::ehr::{EhrAppointment, EhrPatient, EhrRecord, Write};
use location::time::{DAY, MINUTE, SECOND as ONE_SECOND, Timestamp};
use serde_json::{Value, json};
use testing::until;

use crate::{file_records, support::*};

#[actix_web::test]
async fn a_patient_includes_requested_records() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let plain = world.get(&format!("/patients/{ada}?subdomain=acme&location_id=1")).ok().await;
    assert_eq!(plain["description"], json!("Note that following parameters are ignored: location_id."));
    assert_eq!(plain["data"]["name"], json!("Ada Maria Lübke"));
    assert!(plain["data"]["location_ids"].is_array());
    assert_eq!((plain["data"].get("children"), plain["data"].get("address")), (None, None));
    let includes = [
        "upcoming_appts",
        "last_visited_appointment",
        "children",
        "guarantor",
        "procedures",
        "insurance_coverages",
        "adjustments",
        "charges",
        "payments",
        "patient_alerts",
        "appointments",
        "address",
        "provider",
    ];
    let include: String = includes.iter().map(|name| format!("&include[]={name}")).collect();
    let all = world.get(&format!("/patients/{ada}?subdomain=acme{include}")).ok().await;
    assert_eq!(all["description"], Value::Null);
    let data = &all["data"];
    for name in includes {
        assert!(data.get(name).is_some(), "{name}");
    }
    assert_eq!((&data["guarantor"]["first_name"], &data["provider"]["name"]), (&json!("Ada"), &json!("Anna Abel")));
    assert_eq!((&data["children"], &data["upcoming_appts"]), (&json!([]), &json!([])));
    assert_eq!(data["last_visited_appointment"], Value::Null);
    assert_eq!(each(&data["procedures"], "code"), ["D1110"]);
    assert_eq!(each(&data["patient_alerts"], "note"), ["Afraid of heights"]);
    assert_eq!(data["address"]["line_1"], json!("2 Side Street"));
    let coverage = &data["insurance_coverages"][0];
    assert_eq!(coverage["plan"]["name"], json!("Gold"));
    let alone = world.get(&format!("/insurance_coverages/{}?subdomain=acme", coverage["id"])).ok().await;
    assert_eq!(coverage["subscriber"], alone["data"]["subscriber"]);
    assert!(coverage["subscriber"]["name"].is_string(), "{coverage}");
    assert_eq!((data.get("preferred_locale"), &data["appointments"]), (Some(&Value::Null), &json!([])));
    for name in ["adjustments", "charges", "payments"] {
        assert_eq!(data[name].as_array().unwrap().len(), 1, "{name}");
    }
}

#[actix_web::test]
async fn children_and_upcoming_appointments_are_included() {
    let world = world().await;
    let data = world
        .get(&format!(
            "/patients/{PAT}?subdomain=acme&include[]=children&include[]=upcoming_appts&include[]=guarantor&include[]=provider&include[]=address"
        ))
        .ok()
        .await["data"]
        .clone();
    assert_eq!(each(&data["children"], "first_name"), ["Quinn"]);
    assert_eq!(each(&data["upcoming_appts"], "provider_name"), ["Anna Abel"]);
    let all = world.get(&format!("/patients/{PAT}?subdomain=acme&include[]=appointments")).ok().await;
    assert_eq!(all["data"]["appointments"], data["upcoming_appts"]);
    assert_eq!((&data["guarantor"], &data["provider"], &data["address"]), (&Value::Null, &Value::Null, &Value::Null));
}

#[actix_web::test]
async fn records_of_the_ledger_need_the_grant() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let path = format!("/patients/{ada}?subdomain=acme&include[]=charges&include[]=payments&include[]=procedures");
    let one = world.get(&path).key(MAIN_KEY).ok().await;
    assert_eq!(
        one["description"],
        json!("Withheld because the API key lacks the grant `financial`: procedures.fee, charges, payments.")
    );
    assert_eq!((one["data"].get("charges"), each(&one["data"]["procedures"], "code")), (None, vec![json!("D1110")]));
}

/// Decisions: `description` names each withheld field. The subscriber of a plan is shown.
#[actix_web::test]
async fn each_withheld_amount_is_named() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let withheld = |fields: &str| json!(format!("Withheld because the API key lacks the grant `financial`: {fields}."));
    let path = format!("/patients/{ada}?subdomain=acme&include[]=insurance_coverages&include[]=procedures");
    for version in ["v3.0.0", "v2.2.2"] {
        let one = world.get(&path).key(MAIN_KEY).version(version).ok().await;
        let fields = "insurance_coverages.plan.annual_max_individual, procedures.fee";
        assert_eq!(one["description"], withheld(fields), "{version}");
        let plan = &one["data"]["insurance_coverages"][0]["plan"];
        assert_eq!((&plan["annual_max_individual"], &plan["name"]), (&Value::Null, &json!("Gold")));
        assert_eq!((&plan["payer_id"], &plan["group_num"]), (&json!("P1"), &json!("G1")));
        assert_eq!(one["data"]["procedures"][0]["fee"], Value::Null);
    }
    let shown = world.get(&path).ok().await;
    assert_eq!(
        (&shown["description"], &shown["data"]["procedures"][0]["fee"]["amount"]),
        (&Value::Null, &json!("105.00"))
    );
    let plan = &shown["data"]["insurance_coverages"][0]["plan"];
    assert_eq!(plan["annual_max_individual"]["amount"], json!("1500.00"));
    let procedure = world.get("/procedures?subdomain=acme").ok().await["data"][0]["id"].clone();
    let treatment = world.get("/treatment_plans?subdomain=acme").ok().await["data"][0]["id"].clone();
    let plain = "/patients/1?subdomain=acme";
    for (path, fields) in [
        ("/procedures?subdomain=acme".to_owned(), "fee"),
        (format!("/procedures/{procedure}?subdomain=acme"), "fee"),
        ("/treatment_plans?subdomain=acme".to_owned(), "procedures.fee"),
        (format!("/treatment_plans/{treatment}?subdomain=acme"), "procedures.fee"),
        ("/appointments/1?subdomain=acme&include[]=procedures".to_owned(), "procedures.fee"),
        ("/changes?subdomain=acme&location_id=1".to_owned(), "record.fee, record.procedures.fee"),
        ("/changes?subdomain=acme&location_id=1&resource[]=procedures".to_owned(), "record.fee"),
    ] {
        assert_eq!(world.get(&path).key(MAIN_KEY).ok().await["description"], withheld(fields), "{path}");
        assert_eq!(world.get(&path).ok().await["description"], Value::Null, "{path}");
    }
    let unrelated = "/changes?subdomain=acme&location_id=1&resource[]=patients";
    for path in [plain, unrelated] {
        assert_eq!(world.get(path).key(MAIN_KEY).ok().await["description"], Value::Null, "{path}");
    }
}

#[actix_web::test]
async fn an_unknown_patient_is_not_found() {
    let world = world().await;
    assert_eq!(world.get("/patients/4711?subdomain=acme").fails(404).await, ["Patient with id 4711 not found"]);
    let rivals = world.get(&format!("/patients/{PAT}?subdomain=rival")).key(RIVAL_KEY).fails(404).await;
    assert_eq!(rivals, [format!("Patient with id {PAT} not found")]);
    assert_eq!(world.get("/patients/x?subdomain=acme").fails(400).await, ["id must be an integer."]);
    let wrong = world.get(&format!("/patients/{PAT}?subdomain=acme&include[]=secrets")).fails(400).await;
    assert!(wrong[0].starts_with("include[] must be one of upcoming_appts, "), "{wrong:?}");
}

fn patch<'w>(world: &'w ApiWorld, id: u64, patient: Value) -> ApiRequest<'w> {
    let path = format!("/patients/{id}?subdomain=acme&location_id=1");
    world.request(Method::PATCH, &path).json(json!({"patient": patient})).version("v3.1.0")
}

#[actix_web::test]
async fn a_change_is_written_to_the_ehr() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let change = json!({
        "last_name": "Lovelace", "middle_name": "", "email": "ada.l@example.com", "date_of_birth": "03/25/1990",
        "gender": "Other", "work_phone_number": "555 010 4040", "work_phone_extension": "12", "ssn": "078051120",
        "address": {"line_2": "Upstairs", "region": "NY"},
    });
    let data = patch(&world, ada, change).ok().await["data"].clone();
    assert_eq!((&data["name"], &data["middle_name"]), (&json!("Ada Lovelace"), &Value::Null));
    assert_eq!((&data["date_of_birth"], &data["gender"]), (&json!("1990-03-25"), &json!("Other")));
    assert_eq!((&data["address"]["line_1"], &data["address"]["line_2"]), (&json!("2 Side Street"), &json!("Upstairs")));
    assert_eq!((&data["cell_phone_number"], data.get("ssn")), (&json!("(555) 010-2030"), None));
    until("the write", async || !world.books.all().is_empty()).await;
    let sent = world.books.all();
    let [Write::UpdatePatient(patient, Some(before))] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(
        (patient.id.as_str(), patient.last_name.as_str(), patient.ssn.as_deref()),
        ("ada", "Lovelace", Some("078051120"))
    );
    assert_eq!(
        (before.id.as_str(), before.last_name.as_str()),
        ("ada", "Lübke"),
        "what the EHR had: the rest is staff's"
    );
}

async fn read_activity(world: &ApiWorld, id: u64) -> (bool, String) {
    let patient = world.get(&format!("/patients/{id}?subdomain=acme")).ok().await["data"].clone();
    (patient["inactive"].as_bool().unwrap(), patient["updated_at"].as_str().unwrap().to_owned())
}

#[actix_web::test]
async fn fields_unknown_to_the_ehr_are_named() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let reply = patch(&world, ada, json!({"work_phone_extension": "77", "last_name": "Lovelace"})).ok().await;
    let expected = "work_phone_extension stays here: the health record system has no field for it.";
    assert_eq!((&reply["description"], &reply["data"]["work_phone_extension"]), (&json!(expected), &json!("77")));
    let reply = patch(&world, ada, json!({"last_name": "Byron"})).ok().await;
    assert_eq!(reply["description"], Value::Null, "once, when it is sent");
    let body = json!({"provider": {"provider_id": ANNA}, "patient": {
        "first_name": "Rosa", "last_name": "Race", "email": "rosa@example.com",
        "bio": {"date_of_birth": "1990-01-01", "phone_number": "555 010 9090", "race": "unknown"},
    }});
    let made = world.post("/patients?subdomain=acme&location_id=1", body).answers(201).await;
    assert_eq!(made["description"], "race stays here: the health record system has no field for it.");
}

#[actix_web::test]
async fn a_patient_missing_from_two_passes_is_inactive_until_the_ehr_shows_it_again() {
    let world = world().await;
    let ada = world.patient("ada").await;
    world.books.hidden.lock().push("ada".to_owned());
    world.sync(1).await;
    let gone = read_activity(&world, ada).await;
    assert!(gone.0);
    world.sync(1).await;
    assert_eq!(read_activity(&world, ada).await, gone, "it is deactivated once");
    world.books.hidden.lock().clear();
    world.sync(1).await;
    assert!(!read_activity(&world, ada).await.0);
}

#[actix_web::test]
async fn changes_by_staff_are_merged_into_a_pending_change() {
    let world = world().await;
    let ada = world.patient("ada").await;
    world.books.locked.store(true, Ordering::SeqCst);
    patch(&world, ada, json!({"email": "ours@example.com"})).ok().await;
    let known = file_records::patients().into_iter().find(|it| it.id == "ada").unwrap();
    let theirs = Some("theirs@example.com".to_owned());
    world.books.edit(EhrRecord::Patient(EhrPatient { first_name: "Adele".into(), email: theirs.clone(), ..known }));
    world.sync(1).await;
    let shown = world.get(&format!("/patients/{ada}?subdomain=acme")).ok().await["data"].clone();
    assert_eq!((&shown["first_name"], &shown["email"]), (&json!("Adele"), &json!("ours@example.com")));
    world.books.locked.store(false, Ordering::SeqCst);
    world.sync(1).await;
    let done = |all: &Value| each(&all["data"], "status").iter().all(|status| *status == "done");
    world.until("/write_requests?subdomain=acme&location_id=1", done).await;
    let sent = world.books.all();
    let [Write::UpdatePatient(patient, Some(before))] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((patient.first_name.as_str(), patient.email.as_deref()), ("Adele", Some("ours@example.com")));
    assert_eq!((before.first_name.as_str(), &before.email), ("Adele", &theirs));
}

#[actix_web::test]
async fn a_value_restored_by_staff_is_a_change() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let changed = patch(&world, ada, json!({"last_name": "Lovelace"})).ok().await["data"].clone();
    assert_eq!(changed["last_name"], "Lovelace");
    let done = |all: &Value| each(&all["data"], "status").iter().all(|status| *status == "done");
    world.until("/write_requests?subdomain=acme&location_id=1", done).await;
    // The EHR of this test keeps its first name for the patient, as if staff had changed the name back.
    world.sync(1).await;
    let shown = world.get(&format!("/patients/{ada}?subdomain=acme")).ok().await["data"].clone();
    assert_eq!(shown["last_name"], "Lübke");
}

#[actix_web::test]
async fn invalid_changes_are_refused() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let wrong = json!({
        "first_name": "", "email": "a b@c", "date_of_birth": "soon", "gender": "femail", "cell_phone_number": "",
        "home_phone_number": null, "address": "here",
    });
    let expected = [
        "patient.first_name must not be empty.",
        "patient.email must be an email address.",
        "patient.date_of_birth must be a date in the form YYYY-MM-DD.",
        "patient.gender must be one of Male, Female, Other.",
        "patient.cell_phone_number must not be empty.",
        "patient.home_phone_number must not be empty.",
        "patient.address must be an object.",
    ];
    assert_eq!(patch(&world, ada, wrong).fails(400).await, expected);
    assert_eq!(patch(&world, ada, Value::Null).fails(400).await, ["patient is missing."]);
    assert_eq!(patch(&world, 4711, json!({})).fails(404).await, ["Patient with id 4711 not found"]);
    patch(&world, ada, json!({"first_name": "A"})).version("v3.0.0").fails(404).await;
    let unchanged = patch(&world, ada, json!({"gender": "Female"})).ok().await;
    assert_eq!(unchanged["data"]["gender"], json!("Female"));
    assert!(world.books.all().is_empty());
}

#[actix_web::test]
async fn a_patient_unknown_to_the_ehr_cannot_be_changed() {
    let world = world().await;
    let body = json!({
        "provider": {"provider_id": ANNA},
        "patient": {"first_name": "Nora", "last_name": "Slow", "email": "n@example.com",
            "bio": {"date_of_birth": "1985-06-07", "phone_number": "555-010-7777"}},
    });
    let made = world.post("/patients?subdomain=acme&location_id=1", body).answers(201).await;
    let id = made["data"]["user"]["id"].as_u64().unwrap();
    let refused = patch(&world, id, json!({"first_name": "Nina"})).fails(422).await;
    assert_eq!(refused, ["The patient is not in the health record system yet; try again later."]);
}

/// Ids are not in the order of times: the next visit may be the last one created.
#[actix_web::test]
async fn the_next_appointment_is_found_among_very_many() {
    let world = world().await;
    let far = world.engine.now().plus(90 * DAY);
    let visit = |n: i64, start: Timestamp| EhrAppointment {
        id: format!("visit {n}"),
        patient: Some("pat".into()),
        provider: Some("anna".into()),
        operatory: Some("chair 1".into()),
        start: start.0 / ONE_SECOND,
        end: start.plus(10 * MINUTE).0 / ONE_SECOND,
        ..EhrAppointment::default()
    };
    for n in 0..1_010 {
        world.books.edit(EhrRecord::Appointment(visit(n, far.plus(n * 15 * MINUTE))));
    }
    let next = world.engine.now().plus(2 * DAY);
    world.books.edit(EhrRecord::Appointment(visit(9_999, next)));
    world.sync(MAIN).await;
    let answer = world.get(&format!("/patients/{PAT}?subdomain=acme&include[]=upcoming_appts")).ok().await;
    let coming = answer["data"]["upcoming_appts"].as_array().unwrap();
    let starts: Vec<&str> = coming.iter().map(|it| it["start_time"].as_str().unwrap()).collect();
    assert!(starts.is_sorted() && starts.len() == 1_000, "{} appointments", starts.len());
    let shown = chrono::DateTime::parse_from_rfc3339(starts[0]).unwrap().timestamp();
    assert_eq!(shown, next.0 / ONE_SECOND, "the next visit comes first");
    assert!(answer["description"].as_str().unwrap().contains("A list ends after 1000 records"));
}

#[actix_web::test]
async fn v3_1_0_has_one_patient() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let changed = patch(&world, ada, json!({})).ok().await["data"].clone();
    assert!(changed["cell_phone_number"].is_string() && changed.get("bio").is_none());
    let one = format!("/patients/{ada}?subdomain=acme");
    assert_eq!(world.get(&one).version("v3.1.0").ok().await["data"], changed);
    let list = world.get("/patients?subdomain=acme&location_id=1&per_page=100").version("v3.1.0").ok().await;
    assert!(list["data"].as_array().unwrap().contains(&changed));
    let along = world.get(&format!("{one}&include[]=provider&include[]=procedures")).version("v3.1.0").ok().await;
    let along = &along["data"];
    assert_eq!((&along["provider"]["name"], &along["date_of_birth"]), (&json!("Anna Abel"), &changed["date_of_birth"]));
    assert_eq!(each(&along["procedures"], "code"), ["D1110"]);
    for version in ["v3.0.0", "v2.2.2"] {
        let before = world.get(&one).version(version).ok().await;
        assert!(before["data"]["bio"].is_object() && before["data"].get("cell_phone_number").is_none(), "{version}");
    }
}
