use engine::records::ehr::Write;
use serde_json::{Value, json};

use crate::{filled::Filled, support::*};

const LIST: &str = "/patients?subdomain=acme&location_id=1";
const CREATE: &str = "/patients?subdomain=acme&location_id=1";

fn new(first: &str, last: &str) -> Value {
    json!({
        "provider": {"provider_id": ANNA},
        "patient": {"first_name": first, "last_name": last, "email": "new@example.com", "bio": {
            "date_of_birth": "1985-06-07", "phone_number": "555-010-7777", "cell_phone_number": "555 010 8888",
            "gender": "Other", "weight": 70, "race": "unknown", "insurance_name": "Gold", "custom_contact_number": "9",
            "street_address": "3 New Street", "city": "Springfield", "state": "NY", "zip_code": "10001", "ssn": "123-45-6789",
        }},
    })
}

async fn foreign(world: &ApiWorld, rest: &str) -> Vec<Value> {
    each(&world.get(&format!("{LIST}&per_page=100&{rest}")).ok().await["data"], "foreign_id")
}

#[actix_web::test]
async fn all_patients_are_listed() {
    let world = world().await;
    let list = world.get(&format!("{LIST}&per_page=100")).ok().await;
    let one = list["data"].as_array().unwrap().iter().find(|it| it["foreign_id"] == "ada").unwrap();
    assert_eq!((&one["name"], &one["chart_id"]), (&json!("Ada Maria Lübke"), &json!("C-7")));
    assert_eq!(one["bio"]["cell_phone_number"], json!("(555) 010-2030"));
    assert_eq!((&one["hipaa"]["privacy"], one.get("ssn")), (&Value::Null, None));
    assert_eq!(list["data"].as_array().unwrap().len(), 4);
    let v2 = world.get(&format!("{LIST}&per_page=2&page=2")).version("v2").ok().await;
    assert_eq!((&v2["count"], v2["data"]["patients"].as_array().unwrap().len()), (&json!(4), 2));
}

#[actix_web::test]
async fn filters_narrow_the_list() {
    let world = world().await;
    assert_eq!(foreign(&world, "sort=-id").await, ["lead", "ada", "quinn", "pat"].map(Value::from));
    assert_eq!(foreign(&world, "name=pres%20q").await, ["quinn"]);
    assert_eq!(foreign(&world, "name=LUBKE").await, ["ada"], "whatever the case and the accents");
    assert_eq!(
        foreign(&world, "name=-").await,
        [""; 0],
        "`no patient has that name` (the same text in file_records.rs is the reason of a refused write, and stays)"
    );
    assert_eq!(foreign(&world, "email=ADA@example.com").await, ["ada"]);
    assert_eq!(foreign(&world, "phone_number=5550102030").await, ["ada"]);
    for name in ["date_of_birth", "dob", "birth_date", "birthdate"] {
        assert_eq!(foreign(&world, &format!("{name}=1980-05-06")).await, ["pat"], "{name}");
    }
    assert_eq!(foreign(&world, "inactive=true").await, ["quinn"]);
    assert_eq!(foreign(&world, "inactive=false").await.len(), 3);
    assert_eq!(foreign(&world, "new_patient=true").await, ["ada"]);
    assert_eq!(foreign(&world, "new_patient=false&inactive=false").await, ["pat", "lead"]);
    assert_eq!(foreign(&world, "non_patient=true").await, ["lead"]);
    assert_eq!(foreign(&world, "foreign_id=ada").await, ["ada"]);
    assert_eq!(foreign(&world, "updated_since=2190-01-01T00:00:00Z").await, [""; 0]);
    assert_eq!(foreign(&world, "updated_since=2020-01-01T00:00:00Z&sort=updated_at").await.len(), 4);
}

#[actix_web::test]
async fn location_strict_limits_the_list_to_the_location() {
    let world = world().await;
    let made = world.post(CREATE, new("Nora", "Slow")).answers(201).await;
    let id = made["data"]["user"]["id"].clone();
    let ids = async |location: u32, rest: &str| {
        let path = format!("/patients?subdomain=acme&location_id={location}&per_page=100&{rest}");
        each(&world.get(&path).ok().await["data"], "id")
    };
    assert!(ids(SECOND, "").await.contains(&id), "one EHR, one list");
    assert!(ids(MAIN, "location_strict=true").await.contains(&id));
    assert!(!ids(SECOND, "location_strict=true").await.contains(&id));
    // An appointment makes a person a patient of that location, too.
    assert!(!ids(SECOND, "location_strict=true").await.contains(&json!(PAT)));
    let slot = world.offers(SECOND, 1).await.swap_remove(0);
    let appt = json!({"patient_id": PAT, "provider_id": slot["provider_id"], "operatory_id": slot["operatory_id"],
        "start_time": slot["start_iso"]});
    world.post("/appointments?subdomain=acme&location_id=2", json!({ "appt": appt })).answers(201).await;
    assert!(ids(SECOND, "location_strict=true").await.contains(&json!(PAT)));
    let rivals = world.get(&format!("/patients?subdomain=rival&location_id={RIVAL}")).key(RIVAL_KEY).ok().await;
    assert_eq!(rivals["data"], json!([]));
}

#[actix_web::test]
async fn wrong_values_are_named_all_at_once() {
    let world = world().await;
    let query = "sort=name&phone_number=12&date_of_birth=x&inactive=maybe&location_strict=2";
    let mut errors = world.get(&format!("{LIST}&{query}")).fails(400).await;
    errors.sort();
    let expected = [
        "date_of_birth must be a date in the form YYYY-MM-DD.",
        "inactive must be true or false.",
        "location_strict must be true or false.",
        "phone_number must be a phone number.",
        "sort must be one of id, -id, updated_at, -updated_at.",
    ];
    assert_eq!(errors, expected);
    assert_eq!(world.get("/patients?subdomain=acme").fails(400).await, ["location_id is missing."]);
}

#[actix_web::test]
async fn a_new_patient_is_written_to_the_ehr_and_confirmed() {
    let world = world().await;
    let made = world.post(CREATE, new("Nora", "New")).answers(201).await["data"]["user"].clone();
    assert_eq!(
        (&made["foreign_id"], &made["foreign_id_type"], &made["name"]),
        (&Value::Null, &json!("nex"), &json!("Nora New"))
    );
    assert_eq!(made["bio"]["street_address"], json!("3 New Street"));
    let path = format!("/patients/{}?subdomain=acme", made["id"]);
    world.data_until(&path, |it| !it["foreign_id"].is_null()).await;
    let sent = world.books.all();
    let Some(Write::CreatePatient(patient)) = sent.first() else { panic!("{sent:?}") };
    assert_eq!((patient.provider.as_deref(), patient.ssn.as_deref()), (Some("anna"), Some("123-45-6789")));
    assert_eq!(patient.primary_phone.as_deref(), Some("555-010-7777"));
    assert_eq!((patient.cell_phone.as_deref(), &patient.home_phone), (Some("555 010 8888"), &None));
    for (name, value) in
        [("weight", "70"), ("race", "unknown"), ("insurance_name", "Gold"), ("custom_contact_number", "9")]
    {
        assert!(patient.extra.contains(&(name.into(), value.into())), "{name}: {:?}", patient.extra);
    }
}

#[actix_web::test]
async fn the_only_number_of_a_new_patient_is_written_as_the_cell_phone() {
    let world = world().await;
    let mut body = new("Nora", "New");
    body["patient"]["bio"]["cell_phone_number"] = Value::Null;
    let made = world.post(CREATE, body).answers(201).await["data"]["user"].clone();
    let path = format!("/patients/{}?subdomain=acme", made["id"]);
    world.data_until(&path, |it| !it["foreign_id"].is_null()).await;
    let sent = world.books.all();
    let Some(Write::CreatePatient(told)) = sent.first() else { panic!("{sent:?}") };
    assert_eq!((told.cell_phone.as_deref(), &told.primary_phone), (Some("555-010-7777"), &None));
}

#[actix_web::test]
async fn an_existing_patient_is_refused_or_returned() {
    let world = world().await;
    let id = world.post(CREATE, new("Nora", "New")).answers(201).await["data"]["user"]["id"].clone();
    let expected = format!("A patient with that information already exists -id={id}");
    assert_eq!(world.post(CREATE, new("nora", "NEW")).fails(400).await, [expected]);
    let mut again = new("Nora", "New");
    again["return_existing_if_match"] = json!(true);
    assert_eq!(world.post(CREATE, again).answers(200).await["data"]["user"]["id"], id);
    let mut other = new("Nora", "New");
    other["patient"]["bio"]["phone_number"] = json!("555-010-0001");
    other["patient"]["bio"]["cell_phone_number"] = Value::Null;
    world.post(CREATE, other).answers(201).await;
}

#[actix_web::test]
async fn an_idempotency_key_creates_one_patient() {
    let world = world().await;
    let ask = |body| world.post(CREATE, body).with("Idempotency-Key", "k-1");
    let first = ask(new("Nora", "New")).answers(201).await;
    let second = ask(new("Nora", "New")).reply().await;
    assert_eq!((second.status.as_u16(), second.header("Idempotent-Replay")), (201, Some("true")));
    assert_eq!(second.json()["data"]["user"]["id"], first["data"]["user"]["id"]);
    ask(new("Nina", "New")).fails(409).await;
}

#[actix_web::test]
async fn missing_fields_of_a_new_patient_are_named() {
    let world = world().await;
    let expected = [
        "provider.provider_id is missing.",
        "patient.first_name is missing.",
        "patient.last_name is missing.",
        "patient.email is missing.",
        "patient.bio.date_of_birth is missing.",
        "patient.bio.phone_number is missing.",
    ];
    assert_eq!(world.post(CREATE, json!({})).fails(400).await, expected);
    let mut wrong = new("Nora", "New");
    wrong["patient"]["email"] = json!("nora");
    wrong["patient"]["bio"]["gender"] = json!("X1");
    wrong["patient"]["bio"]["weight"] = json!("heavy");
    let expected = [
        "patient.email must be an email address.",
        "patient.bio.gender must be one of Male, Female, Other.",
        "patient.bio.weight must be an integer.",
    ];
    assert_eq!(world.post(CREATE, wrong).fails(400).await, expected);
    for ssn in ["abc", "1"] {
        let mut odd = new("Nora", "New");
        odd["patient"]["bio"]["ssn"] = json!(ssn);
        let expected = ["patient.bio.ssn must have 9 digits, such as 000-00-0000."];
        assert_eq!(world.post(CREATE, odd).fails(400).await, expected, "{ssn}");
    }
    let mut nobody = new("Nora", "New");
    nobody["provider"]["provider_id"] = json!(RIVALS_PROVIDER);
    assert_eq!(world.post(CREATE, nobody).fails(404).await, [format!("Provider with id {RIVALS_PROVIDER} not found")]);
}

/// The date at the location counts if the query names a location; otherwise the latest current date of any zone.
#[actix_web::test]
async fn a_future_date_of_birth_is_refused() {
    let world = world().await;
    let now = chrono::DateTime::from_timestamp_millis(world.engine.now().0).unwrap();
    let today = |zone: chrono_tz::Tz| now.with_timezone(&zone).date_naive();
    let day = chrono::Days::new(1);
    let wrong =
        |field: &str, today: chrono::NaiveDate| [format!("{field} must not be in the future: today is {today}.")];
    let here = today(chrono_tz::Tz::America__New_York);
    let (tomorrow, mut unborn) = ((here + day).to_string(), new("Nora", "New"));
    unborn["patient"]["bio"]["date_of_birth"] = json!(tomorrow);
    assert_eq!(world.post(CREATE, unborn.clone()).fails(400).await, wrong("patient.bio.date_of_birth", here));
    let ada = format!("/patients/{}?subdomain=acme&location_id=1", world.patient("ada").await);
    let change = json!({"patient": {"date_of_birth": tomorrow}});
    let change = world.patch(&ada, change).version("v3.1.0").fails(400).await;
    assert_eq!(change, wrong("patient.date_of_birth", here));
    let child = json!({"first_name": "Kim", "last_name": "Present", "bio": {"date_of_birth": tomorrow}});
    let start = format!("{}T15:00:00Z", world.monday());
    let visit = json!({"appt": {"patient_id": PAT, "provider_id": ANNA, "start_time": start, "patient": child}});
    let visit = world.post("/appointments?subdomain=acme&location_id=1", visit).fails(400).await;
    assert_eq!(visit, wrong("appt.patient.bio.date_of_birth", here));
    let subscription = json!({"name": "Sue Sub", "date_of_birth": tomorrow});
    let coverage = json!({"plan_id": 1, "patient_id": PAT, "insurance_subscription": subscription});
    let coverage = world.post("/insurance_coverages?subdomain=acme&location_id=1", coverage).version("v3.1.0");
    let field = "insurance_coverage.insurance_subscription.date_of_birth";
    assert_eq!(coverage.fails(400).await, wrong(field, here));
    let latest = today(chrono_tz::Tz::Pacific__Kiritimati);
    let patient = json!({"date_of_birth": (latest + day).to_string()});
    let booking = json!({"slot_token": "t", "idempotency_key": "k", "patient": patient});
    let booking = world.post("/intent/booking/book?subdomain=acme", booking).fails(400).await;
    assert_eq!(booking, wrong("patient.date_of_birth", latest));
    unborn["patient"]["bio"]["date_of_birth"] = json!(here.to_string());
    world.post(CREATE, unborn).answers(201).await;
}

#[actix_web::test]
async fn patients_changed_since_a_time_are_listed_whatever_their_age() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let since = framework::values::times::utc(world.engine.now());
    let changed = async || {
        let path = format!("/patients?subdomain=acme&location_id=1&updated_since={since}");
        each(&world.get(&path).ok().await["data"], "id")
    };
    let path = format!("/patients/{ada}?subdomain=acme&location_id=1");
    for name in ["Adele", "Adriana"] {
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
        world.patch(&path, json!({"patient": {"first_name": name}})).version("v3.1.0").ok().await;
        assert_eq!(changed().await, [json!(ada)], "{name}");
    }
}

/// Each patient of a page has the same related records as in a separate request, for any number of patients.
#[actix_web::test]
async fn a_v2_page_has_the_related_records_of_every_patient() {
    let world = world_on([(MAIN, Filled::new("Acme", MAIN, 130).about_patients(110) as _)]).await;
    let kinds =
        ["insurance_coverages", "upcoming_appts", "appointments", "procedures", "charges", "payments", "adjustments"];
    let include: String = kinds.iter().map(|kind| format!("&include[]={kind}")).collect();
    let page = world.get(&format!("{LIST}&per_page=1000{include}&include[]=address")).version("v2").ok().await;
    assert_eq!((&page["description"], &page["count"]), (&Value::Null, &json!(130)));
    let rows = page["data"]["patients"].as_array().unwrap();
    assert_eq!(rows.len(), 130);
    for row in rows {
        let path = format!("/patients/{}?subdomain=acme{include}&include[]=address", row["id"]);
        let alone = world.get(&path).version("v2").ok().await["data"].clone();
        for kind in kinds.iter().chain(&["address"]) {
            assert_eq!(row[kind], alone[kind], "{kind} of {}", row["foreign_id"]);
        }
        assert_eq!(row["address"]["line_1"].as_str().map(|it| it.starts_with("Acme street")), Some(true));
    }
    for kind in kinds {
        let counts: Vec<usize> = rows.iter().map(|row| row[kind].as_array().unwrap().len()).collect();
        let with = |count: usize| counts.iter().filter(|it| **it == count).count();
        assert_eq!((with(2), with(1), with(0)), (20, 90, 20), "{kind}");
    }
    let plans = rows.iter().filter(|row| row["insurance_coverages"][0]["plan"]["name"].is_string());
    assert_eq!(plans.count(), 110);
    let next = world.get(&format!("{LIST}&per_page=60&page=3{include}")).version("v2").ok().await;
    assert_eq!(
        next["data"]["patients"].as_array().unwrap()[..],
        rows[120..].iter().map(without_address).collect::<Vec<_>>()
    );
}

fn without_address(row: &Value) -> Value {
    let mut row = row.clone();
    row.as_object_mut().unwrap().remove("address");
    row
}

#[actix_web::test]
async fn v2_includes_the_requested_related_records() {
    let world = world().await;
    let include = "&include[]=insurance_coverages&include[]=upcoming_appts&include[]=procedures&include[]=payments&include[]=address";
    let list = world.get(&format!("{LIST}&per_page=100{include}")).version("v2").ok().await;
    assert_eq!(list["description"], Value::Null);
    let of = |foreign: &str| {
        list["data"]["patients"].as_array().unwrap().iter().find(|it| it["foreign_id"] == foreign).unwrap().clone()
    };
    let (ada, pat) = (of("ada"), of("pat"));
    assert!(ada["location_ids"].is_array() && ada.get("preferred_locale") == Some(&Value::Null));
    assert_eq!(ada["insurance_coverages"][0]["plan"]["name"], json!("Gold"));
    assert_eq!((&ada["address"]["line_1"], &ada["procedures"][0]["code"]), (&json!("2 Side Street"), &json!("D1110")));
    assert_eq!(each(&pat["upcoming_appts"], "provider_name"), ["Anna Abel"]);
    let payment = &pat["payments"][0];
    assert_eq!(
        (&payment["value"], &payment["date"]),
        (&json!({"amount": "20.00", "currency": "USD"}), &json!("2026-01-12"))
    );
    assert_eq!(payment.get("notes"), Some(&Value::Null));
    let denied = world.get(&format!("{LIST}&per_page=100{include}")).key(MAIN_KEY).version("v2").ok().await;
    assert_eq!(denied["data"]["patients"][0].get("payments"), None);
    let newer = world.get(&format!("{LIST}&include[]=procedures")).ok().await;
    assert_eq!(newer["description"], json!("Note that following parameters are ignored: include."));
    let made = world.post(CREATE, new("Lo", "Cation")).answers(201).await;
    assert_eq!(made["data"]["user"]["location_ids"], json!([1]));
}
