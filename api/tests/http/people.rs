//! Identity of persons: the comparison of names, the parser of telephone numbers, and valid dates of birth.

use std::sync::Arc;

use engine::setup::country::CountryCode;
use location::ids::LocationId;
use serde_json::{Value, json};

use crate::support::*;

const PATIENTS: &str = "/patients?subdomain=acme&location_id=1";
const BOOK: &str = "/intent/booking/book?subdomain=acme";

fn person(first: &str, last: &str, phone: &str) -> Value {
    json!({
        "provider": {"provider_id": ANNA},
        "patient": {"first_name": first, "last_name": last, "email": "new+tag@example.com",
            "bio": {"date_of_birth": "1985-06-07", "phone_number": phone}},
    })
}

async fn create_patient(world: &ApiWorld, path: &str, person: Value) -> Value {
    world.post(path, person).answers(201).await["data"]["user"]["id"].clone()
}

/// Returns the ids in a list of patients.
async fn found(world: &ApiWorld, location: u32, query: &str) -> Vec<Value> {
    let path = format!("/patients?subdomain=acme&location_id={location}&per_page=100&{query}");
    each(&world.get(&path).ok().await["data"], "id")
}

#[actix_web::test]
async fn spellings_of_one_name_are_one_patient_for_every_call() {
    let world = world().await;
    let all: [&[(&str, &str)]; 3] = [
        &[
            ("D'Shaun", "O'Neill"),
            ("D’Shaun", "ONeill"),
            ("DSHAUN", "O Neill"),
            ("d shaun", "o’neill"),
            ("D-Shaun", "Oʼneill"),
        ],
        &[("José", "Muñoz-García"), ("Jose\u{301}", "MUNOZ GARCIA"), ("JOSE", "mun\u{303}ozgarcia")],
        &[("Zoë", "van der Berg"), ("Zoe", "Vanderberg"), ("ZOE\u{308}", "Van-Der-Berg")],
    ];
    for (n, spellings) in all.iter().enumerate() {
        let phone = format!("212-555-010{n}");
        let id = create_patient(&world, PATIENTS, person(spellings[0].0, spellings[0].1, &phone)).await;
        for (first, last) in *spellings {
            let expected = [format!("A patient with that information already exists -id={id}")];
            assert_eq!(world.post(PATIENTS, person(first, last, &phone)).fails(400).await, expected, "{first} {last}");
            let offer = world.offers(MAIN, 1).await.remove(0);
            let patient = json!({"first_name": first, "last_name": last, "date_of_birth": "1985-06-07",
                "phone_number": format!("+1 {phone} x7")});
            let body = json!({"slot_token": offer["slot_token"], "idempotency_key": format!("{first} {last}"),
                "patient": patient});
            let booking = world.post(BOOK, body).ok().await["booking"].clone();
            assert_eq!((&booking["patient_id"], &booking["patient_matched"]), (&id, &json!(true)), "{first} {last}");
            let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
            for query in [
                format!("last_name={}", encoded(last)),
                format!("first_name={}", encoded(first)),
                format!("name={}", encoded(&format!("{last} {first}"))),
            ] {
                assert_eq!(found(&world, MAIN, &query).await, std::slice::from_ref(&id), "{query} of {first} {last}");
            }
        }
        for other in [person("Dave", spellings[0].1, &phone), person(spellings[0].0, spellings[0].1, "212-555-0199")] {
            assert_ne!(create_patient(&world, PATIENTS, other).await, id);
        }
        let mut younger = person(spellings[0].0, spellings[0].1, &phone);
        younger["patient"]["bio"]["date_of_birth"] = json!("1985-06-08");
        assert_ne!(create_patient(&world, PATIENTS, younger).await, id, "the date of birth decides");
    }
}

#[actix_web::test]
async fn an_extension_is_accepted_and_not_part_of_the_number() {
    let world = world().await;
    let id = create_patient(&world, PATIENTS, person("Nora", "New", "212-555-0399 x45")).await;
    let expected = [format!("A patient with that information already exists -id={id}")];
    for written in [
        "212-555-0399",
        "2125550399",
        "+1-212-555-0399;ext=45",
        "tel:+1-212-555-0399;ext=46",
        "(212) 555-0399 ext. 7",
        "(212) 555-0399 Extension 7",
        "1 212 555 0399 #8",
        "212.555.0399,9",
        "011 1 212 555 0399",
    ] {
        assert_eq!(world.post(PATIENTS, person("Nora", "New", written)).fails(400).await, expected, "{written}");
        let encoded = written.replace('+', "%2B").replace('#', "%23").replace(';', "%3B").replace(' ', "%20");
        assert_eq!(
            found(&world, MAIN, &format!("phone_number={encoded}")).await,
            std::slice::from_ref(&id),
            "{written}"
        );
    }
    assert_eq!(found(&world, MAIN, "phone=+1+212+555+0399").await, std::slice::from_ref(&id));
    assert_eq!(found(&world, MAIN, "phone=%2B442125550399").await, [Value::Null; 0], "of another country");
    let shown = world.get(&format!("/patients/{id}?subdomain=acme")).ok().await["data"].clone();
    assert!(shown.to_string().contains("212-555-0399 x45"), "shown as it was sent: {shown}");
    for wrong in ["call me", "212-555-0399 or mail", "555 x0399555", "212-555-0399 ext. 123456789012"] {
        let expected = ["patient.bio.phone_number must be a phone number."];
        assert_eq!(world.post(PATIENTS, person("Nora", "New", wrong)).fails(400).await, expected, "{wrong}");
    }
}

#[actix_web::test]
async fn a_national_number_belongs_to_the_country_of_the_location() {
    let mut setup = setup();
    let second = setup.locations.get_mut(&LocationId(SECOND)).unwrap();
    Arc::make_mut(second).country_code = Some(CountryCode::parse("GB").unwrap());
    let world = world_set_up(setup, free_rates()).await;
    let path = format!("/patients?subdomain=acme&location_id={SECOND}");
    let id = create_patient(&world, &path, person("Nora", "New", "+44 20 7946 0958")).await;
    for written in ["020 7946 0958", "(020) 7946-0958 x3", "+44 (0)20 7946 0958", "0044 20 7946 0958"] {
        let expected = [format!("A patient with that information already exists -id={id}")];
        assert_eq!(world.post(&path, person("Nora", "New", written)).fails(400).await, expected, "{written}");
        let encoded = written.replace('+', "%2B").replace(' ', "%20");
        assert_eq!(
            found(&world, SECOND, &format!("phone_number={encoded}")).await,
            std::slice::from_ref(&id),
            "{written}"
        );
    }
    assert_eq!(found(&world, MAIN, "phone_number=%2B442079460958").await, [id]);
    assert_eq!(found(&world, MAIN, "phone_number=02079460958").await, [Value::Null; 0], "no number of the US");
}

#[actix_web::test]
async fn an_unescaped_plus_in_a_query_is_a_plus() {
    let world = world().await;
    let id = create_patient(&world, PATIENTS, person("Nora", "New", "212-555-0399")).await;
    for query in ["email=new+tag@example.com", "email=new%2Btag%40example.com", "email=NEW+TAG%40example.com"] {
        assert_eq!(found(&world, MAIN, query).await, std::slice::from_ref(&id), "{query}");
    }
    assert_eq!(found(&world, MAIN, "email=new-tag@example.com").await, [Value::Null; 0]);
}

#[actix_web::test]
async fn a_date_of_birth_before_1880_is_refused() {
    let world = world().await;
    let born = |date: &str| {
        let mut person = person("Nora", "New", "212-555-0399");
        person["patient"]["bio"]["date_of_birth"] = json!(date);
        person
    };
    for date in ["1879-12-31", "1800-01-01", "1753-01-01", "12/31/1879"] {
        let expected = ["patient.bio.date_of_birth must be between the years 1880 and 2199."];
        assert_eq!(world.post(PATIENTS, born(date)).fails(400).await, expected, "{date}");
    }
    let id = create_patient(&world, PATIENTS, born("1880-01-01")).await;
    assert_eq!(found(&world, MAIN, "date_of_birth=1880-01-01").await, [id]);
    assert_eq!(found(&world, MAIN, "date_of_birth=2199-01-01").await, [Value::Null; 0]);
}
