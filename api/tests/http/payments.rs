use std::{future::Future, task::Poll};

use engine::records::ehr::{Resource, Write};
use serde_json::{Value, json};

use crate::support::*;

const PATH: &str = "/payments?subdomain=acme&location_id=1";

fn payment(fields: Value) -> Value {
    let mut payment = json!({"patient_id": PAT, "amount": 12.5, "payment_type_id": 1, "transaction_id": "tx-1"});
    fields.as_object().unwrap().iter().for_each(|(name, value)| payment[name] = value.clone());
    json!({ "payment": payment })
}

#[actix_web::test]
async fn payments_are_listed_and_filtered() {
    let world = world().await;
    let list = world.get(PATH).ok().await;
    assert_eq!(each(&list["data"], "id"), [1, 2]);
    let one = &list["data"][0];
    assert_eq!(one["payment_amount"], json!({"amount": "20.00", "currency": "USD"}));
    assert_eq!(
        (&one["transaction_id"], &one["paid_at"], &one["charge_id"]),
        (&json!("T1"), &json!("2026-01-12"), &json!(1))
    );
    assert_eq!((&one["foreign_id"], one.get("patient")), (&json!("payment 1"), None));
    for (filter, expected) in [
        ("patient_id=1", vec![1]),
        ("provider_id=2", vec![2]),
        ("guarantor_id=1", vec![1]),
        ("charge_id=1", vec![1]),
        ("claim_id=1", vec![1]),
        ("transaction_id=T1", vec![1]),
        ("transaction_id=t", vec![]),
        ("updated_since=2190-01-01T00:00:00Z", vec![]),
        ("updated_since=2020-01-01T00:00:00Z", vec![1, 2]),
        ("sort=-id", vec![2, 1]),
        ("sort=-updated_at", vec![2, 1]),
        ("provider_id=1&patient_id=77", vec![]),
    ] {
        assert_eq!(each(&world.get(&format!("{PATH}&{filter}")).ok().await["data"], "id"), expected, "{filter}");
    }
    let second = world.get("/payments?subdomain=acme&location_id=2").ok().await;
    assert_eq!(each(&second["data"], "id"), [1, 2], "locations of one data source share its ledger");
    for elsewhere in ["/payments?subdomain=acme&location_id=7", "/payments?subdomain=rival&location_id=5"] {
        let key = if elsewhere.contains("rival") { RIVAL_KEY } else { ACME_KEY };
        assert_eq!(world.get(elsewhere).key(key).ok().await["data"], json!([]));
    }
    assert_eq!(world.get(&format!("{PATH}&sort=amount&patient_id=x")).fails(400).await.len(), 2);
}

#[actix_web::test]
async fn a_payment_includes_requested_records() {
    let world = world().await;
    let all: String = ["patient", "provider", "guarantor", "claim", "charge", "payment_plan", "payment_type"]
        .map(|name| format!("&include[]={name}"))
        .concat();
    let one = world.get(&format!("/payments/1?subdomain=acme{all}")).ok().await["data"].clone();
    assert_eq!((&one["patient"]["name"], &one["guarantor"]["name"]), (&json!("Pat Present"), &json!("Pat Present")));
    assert_eq!((&one["provider"]["name"], &one["claim"]["status"]), (&json!("Anna Abel"), &json!("sent")));
    assert_eq!(one["charge"]["claim_ids"], json!([1]));
    let claim = &one["claim"];
    assert_eq!(claim["payment_estimate_total"], json!({"amount": "70.00", "currency": "USD"}));
    for field in ["finalized_at", "subscription_id", "write_off_total", "write_off_estimate_total"] {
        assert_eq!(claim.get(field), Some(&Value::Null), "{field}");
    }
    for person in ["patient", "guarantor"] {
        assert!(one[person]["location_ids"].is_array(), "{person}");
        assert_eq!(one[person].get("preferred_locale"), Some(&Value::Null), "{person}");
    }
    assert_eq!(one["charge"]["payment_estimate_total"], json!({"amount": "70.00", "currency": "USD"}));
    assert_eq!((&one["payment_plan"]["id"], &one["payment_type"]["name"]), (&json!(1), &json!("Cash")));
    let none = world.get(&format!("/payments/2?subdomain=acme{all}")).ok().await["data"].clone();
    assert_eq!(
        (&none["patient"]["first_name"], &none["charge"], &none["provider"]["name"]),
        (&json!("Ada"), &Value::Null, &json!("Ben Brand"))
    );
    assert_eq!(world.get("/payments/77?subdomain=acme").fails(404).await, ["Payment with id 77 not found"]);
    assert_eq!(
        world.get("/payments/1?subdomain=rival").key(RIVAL_KEY).fails(404).await,
        ["Payment with id 1 not found"]
    );
    assert_eq!(world.get("/payments/x?subdomain=acme").fails(400).await, ["id must be an integer."]);
    assert!(
        world.get("/payments/1?subdomain=acme&include[]=tooth").fails(400).await[0]
            .starts_with("include[] must be one of")
    );
}

#[actix_web::test]
async fn payments_deleted_by_the_practice_are_shown_on_request() {
    let world = world().await;
    world.books.remove(Resource::Payments, "payment 2");
    world.sync(MAIN).await;
    assert_eq!(each(&world.get(PATH).ok().await["data"], "id"), [1]);
    let all = world.get(&format!("{PATH}&include_deleted=true")).ok().await;
    assert!(all["data"][1]["deleted_at"].is_string() && all["data"][0]["deleted_at"].is_null(), "{all}");
}

#[actix_web::test]
async fn a_payment_is_written_to_the_ledger_and_confirmed() {
    let world = world().await;
    let body = payment(json!({
        "paid_at": "2026-12-02T03:30:00Z", "notes": "Thanks", "charge_splits": {"1": 10, "2": "2.50"}, "provider_splits": {"1": 12.5},
    }));
    let answer = world.post(PATH, body).answers(202).await;
    assert_eq!(answer["description"], "2026-12-02T03:30:00.000Z is on 2026-12-01 in the location's time zone.");
    let made = answer["data"].clone();
    assert_eq!(made["payment_amount"], json!({"amount": "12.50", "currency": "USD"}));
    assert_eq!(
        (&made["paid_at"], &made["description"]),
        (&json!("2026-12-01"), &json!("Thanks")),
        "the date in New York"
    );
    assert_eq!(
        (&made["foreign_id"], &made["location_id"], &made["payment_type_id"]),
        (&Value::Null, &json!(1), &json!(1))
    );
    let path = format!("/payments/{}?subdomain=acme", made["id"]);
    let written = world.until(&path, |it| it["data"]["foreign_id"].is_string()).await;
    let Write::Record(_, entry) = &world.books.written(MAIN)[0] else { panic!("not an entry") };
    assert_eq!((&entry.fields()["patient"], &entry.fields()["payment_type"]), (&json!("pat"), &json!("cash")));
    let splits = json!([
        {"id": "charge 1", "amount": {"amount": "10.00", "currency": "USD"}},
        {"id": "charge 2", "amount": {"amount": "2.50", "currency": "USD"}},
    ]);
    assert_eq!(entry.fields()["charge_splits"], splits);
    assert_eq!(entry.fields()["provider_splits"][0]["id"], json!("anna"));
    // The next pull shows the same record.
    world.sync(MAIN).await;
    let synced = world.get(&path).ok().await;
    assert_eq!(synced["data"]["foreign_id"], written["data"]["foreign_id"]);
    assert_eq!(each(&world.get(&format!("{PATH}&charge_id=2")).ok().await["data"], "id"), [made["id"].clone()]);
    assert_eq!(each(&world.get("/payments?subdomain=acme&location_id=2").ok().await["data"], "id"), [1, 2]);
    let plain =
        world.post(PATH, payment(json!({"paid_at": "2026-12-02", "transaction_id": "tx-2"}))).answers(202).await;
    assert_eq!(plain["data"]["paid_at"], json!("2026-12-02"), "a date is a date in every zone");
}

#[actix_web::test]
async fn an_idempotency_key_creates_one_payment() {
    let world = world().await;
    let post = |amount: f64| world.post(PATH, payment(json!({ "amount": amount }))).with("Idempotency-Key", "k-1");
    let first = post(1.0).answers(202).await;
    let again = post(1.0).reply().await;
    assert_eq!((again.status.as_u16(), again.header("Idempotent-Replay")), (202, Some("true")));
    assert_eq!(again.json()["data"]["id"], first["data"]["id"]);
    post(2.0).fails(409).await;
}

#[actix_web::test]
async fn a_payment_the_practice_refuses_is_not_on_the_ledger() {
    let world = world().await;
    let made = world.post(PATH, payment(json!({"transaction_id": "REFUSE"}))).answers(202).await;
    world.until(PATH, |list| each(&list["data"], "id") == [1, 2]).await;
    let one = world.get(&format!("/payments/{}?subdomain=acme", made["data"]["id"])).ok().await;
    assert_eq!(one["data"]["foreign_id"], Value::Null);
}

#[actix_web::test]
async fn refusals_have_the_specified_messages() {
    let world = world().await;
    let fails = async |path: &str, fields: Value| world.post(path, payment(fields)).fails(400).await;
    assert_eq!(fails(PATH, json!({"patient_id": 77})).await, ["Patient with ID 77 not found in location 1"]);
    let wrong_type = |id: u32| format!("Payment Type with id {id} not found in location 1");
    assert_eq!(fails(PATH, json!({"payment_type_id": 77})).await, [wrong_type(77)]);
    assert_eq!(fails(PATH, json!({"payment_type_id": 2})).await, [wrong_type(2)], "not in use any more");
    assert_eq!(fails(PATH, json!({"payment_type_id": 3})).await, [wrong_type(3)], "of another practice");
    let rivals = "/payments?subdomain=rival&location_id=5";
    assert_eq!(
        world.post(rivals, payment(json!({}))).key(RIVAL_KEY).fails(400).await,
        ["Patient with ID 1 not found in location 5", "Payment Type with id 1 not found in location 5"]
    );
    // A patient that the EHR does not have yet.
    let slot = world.offers(MAIN, 1).await[0].clone();
    let book = json!({"slot_token": slot["slot_token"], "idempotency_key": "k", "patient": {"first_name": "Nora", "last_name": "Slow",
        "date_of_birth": "1990-01-01", "phone_number": "555-010-1234", "email": "nora@example.com"}});
    world.post("/intent/booking/book?subdomain=acme", book).ok().await;
    let found = world.get("/patients?subdomain=acme&location_id=1&name=slow").ok().await;
    assert_eq!(
        fails(PATH, json!({"patient_id": found["data"][0]["id"]})).await,
        ["Something went wrong. Please try again or contact our support team."]
    );
    assert_eq!(fails(PATH, json!({"charge_splits": {"77": 1}})).await, ["Charge with id 77 not found in location 1"]);
    assert_eq!(fails(PATH, json!({"provider_splits": {"3": 1}})).await, ["Provider with id 3 not found in location 1"]);
    assert_eq!(world.get(PATH).key(MAIN_KEY).fails(403).await, ["You don't have access to perform this action."]);
    world.post(PATH, payment(json!({}))).key(MAIN_KEY).fails(403).await;
}

#[actix_web::test]
async fn wrong_values_are_named() {
    let world = world().await;
    assert_eq!(
        world.post(PATH, json!({})).fails(400).await,
        ["payment.patient_id is missing.", "payment.amount is missing.", "payment.transaction_id is missing."]
    );
    let fails = async |fields: Value| world.post(PATH, payment(fields)).fails(400).await;
    assert_eq!(fails(json!({"amount": 0})).await, ["payment.amount must not be zero."]);
    assert_eq!(
        fails(json!({"amount": 1, "charge_splits": {"1": 2}})).await,
        ["payment.charge_splits must not add up to more than payment.amount."]
    );
    let split = "must not be negative: it is a part of payment.amount.";
    for (splits, wrong) in [
        (json!({"charge_splits": {"1": 1000, "2": -990}}), format!("payment.charge_splits.2 {split}")),
        (json!({"charge_splits": {"1": -5}}), format!("payment.charge_splits.1 {split}")),
        (json!({"provider_splits": {"1": "-0.01"}}), format!("payment.provider_splits.1 {split}")),
    ] {
        assert_eq!(fails(splits).await, [wrong]);
    }
    assert_eq!(
        fails(json!({"charge_splits": {"one": 2}})).await,
        ["payment.charge_splits has an id that must be an integer."]
    );
    assert_eq!(
        fails(json!({"provider_splits": {"99999999999": 1}})).await,
        [
            "payment.provider_splits must hold the ids of providers.",
            "Provider with id 99999999999 not found in location 1"
        ]
    );
    assert_eq!(
        fails(json!({"charge_splits": [1]})).await,
        [r#"payment.charge_splits must be an object such as {"12": 125.50}."#]
    );
    for unknown in ["dollars", "XXX", "ABC", ""] {
        assert_eq!(
            fails(json!({ "currency": unknown })).await,
            ["payment.currency must be an ISO currency code such as USD."],
            "{unknown}"
        );
    }
    assert_eq!(
        fails(json!({"amount": "10.50", "currency": "JPY"})).await,
        ["payment.amount must have at most 0 decimals: JPY has no more."]
    );
    assert_eq!(
        fails(json!({"amount": "10.505"})).await,
        ["payment.amount must have at most 2 decimals: USD has no more."]
    );
    assert_eq!(
        fails(json!({"amount": -10, "charge_splits": {"1": 10}})).await,
        ["payment.charge_splits.1 must not be above zero: it is a part of payment.amount."]
    );
    assert_eq!(fails(json!({"transaction_id": " "})).await, ["payment.transaction_id must not be empty."]);
    assert_eq!(
        fails(json!({"paid_at": "soon"})).await,
        ["payment.paid_at must be a date-time such as 2026-12-01T14:30:00Z."]
    );
}

#[actix_web::test]
async fn a_payment_has_one_sign_however_it_is_entered() {
    let world = world().await;
    let negative = json!({"amount": -138, "charge_splits": {"1": -37, "2": "-100"}, "provider_splits": {"1": -138}});
    let made = world.post(PATH, payment(negative)).answers(202).await["data"].clone();
    assert_eq!(made["payment_amount"], json!({"amount": "138.00", "currency": "USD"}));
    let path = format!("/payments/{}?subdomain=acme", made["id"]);
    let written = world.until(&path, |it| it["data"]["foreign_id"].is_string()).await;
    assert_eq!(written["data"]["payment_amount"]["amount"], json!("138.00"));
    let Write::Record(_, entry) = &world.books.written(MAIN)[0] else { panic!("not an entry") };
    assert_eq!(entry.fields()["amount"]["amount"], json!("138.00"));
    let parts = each(&entry.fields()["charge_splits"], "amount");
    assert_eq!((&parts[0]["amount"], &parts[1]["amount"]), (&json!("37.00"), &json!("100.00")));
    assert_eq!(entry.fields()["provider_splits"][0]["amount"]["amount"], json!("138.00"));
    let positive = json!({"amount": "138.00", "charge_splits": {"2": 100, "1": 37}, "provider_splits": {"1": 138}});
    let again = world.post(PATH, payment(positive)).reply().await;
    assert_eq!((again.status.as_u16(), again.header("Idempotent-Replay")), (202, Some("true")), "the same payment");
    let yen = json!({"amount": 1200, "currency": "jpy", "transaction_id": "tx-yen"});
    let yen = world.post(PATH, payment(yen)).answers(202).await;
    assert_eq!(yen["data"]["payment_amount"], json!({"amount": "1200", "currency": "JPY"}));
}

/// Charge 1 is Pat's, charge 2 is Ada's and paid by Pat; Quinn is Pat's child.
#[actix_web::test]
async fn splits_are_of_charges_of_the_family() {
    let world = world().await;
    let (ada, quinn) = (world.patient("ada").await, world.patient("quinn").await);
    let other = |kind: &str, charge: u32| {
        format!(
            "{kind}.charge_splits must hold charges of the patient or their family: charge {charge} is of another patient."
        )
    };
    let pay = |patient: u64, splits: Value| {
        let number = format!("{patient} {splits}");
        world.post(PATH, payment(json!({"patient_id": patient, "charge_splits": splits, "transaction_id": number})))
    };
    pay(ada, json!({"2": 1})).answers(202).await;
    pay(quinn, json!({"1": 1, "2": 1})).answers(202).await;
    assert_eq!(pay(ada, json!({"1": 1, "2": 1})).fails(400).await, [other("payment", 1)]);
    let both = [other("payment", 1), "Charge with id 77 not found in location 1".to_owned()];
    assert_eq!(pay(ada, json!({"1": 1, "77": 1})).fails(400).await, both);
    let adjustment =
        json!({"adjustment": {"patient_id": ada, "amount": 5, "transaction_id": "a", "charge_splits": {"1": 1}}});
    let refused = world.post("/adjustments?subdomain=acme&location_id=1", adjustment).fails(400).await;
    assert_eq!(refused, [other("adjustment", 1)]);
    let entries = world.get(&format!("{PATH}&patient_id={ada}")).ok().await["data"].as_array().unwrap().len();
    assert_eq!(entries, 2, "one of the practice and one of here");
}

#[actix_web::test]
async fn a_transaction_is_paid_once() {
    let world = world().await;
    let first = world.post(PATH, payment(json!({}))).answers(202).await["data"].clone();
    let path = format!("/payments/{}?subdomain=acme", first["id"]);
    world.until(&path, |it| it["data"]["foreign_id"].is_string()).await;
    let again = world.post(PATH, payment(json!({"amount": "12.50"}))).with("Idempotency-Key", "other").reply().await;
    assert_eq!((again.status.as_u16(), again.header("Idempotent-Replay")), (202, Some("true")));
    let again = again.json();
    assert_eq!(again["data"]["id"], first["id"]);
    assert!(again["data"]["foreign_id"].is_string(), "in its current state");
    let other = format!("Payment with id {} was created with the same transaction_id and other data.", first["id"]);
    for fields in [
        json!({"amount": 13}),
        json!({"payment_type_id": null}),
        json!({"notes": "more"}),
        json!({"charge_splits": {"1": 1}}),
        json!({"currency": "CAD"}),
        json!({"paid_at": "2026-01-01"}),
    ] {
        assert_eq!(world.post(PATH, payment(fields.clone())).fails(409).await, [other.as_str()], "{fields}");
    }
    // Payments entered by the practice under that number, other numbers, and adjustments are independent.
    for fields in [json!({"transaction_id": "T1"}), json!({"transaction_id": "TX-1"})] {
        let made = world.post(PATH, payment(fields)).reply().await;
        assert_eq!((made.status.as_u16(), made.header("Idempotent-Replay")), (202, None));
    }
    let adjustment = json!({"adjustment": {"patient_id": PAT, "amount": 12.5, "transaction_id": "tx-1"}});
    world.post("/adjustments?subdomain=acme&location_id=1", adjustment).answers(202).await;
}

#[actix_web::test]
async fn a_transaction_sent_many_times_at_once_is_paid_once() {
    let world = world().await;
    let mut posts: Vec<_> = (0..16).map(|_| Box::pin(world.post(PATH, payment(json!({}))).reply())).collect();
    let mut replies = Vec::new();
    std::future::poll_fn(|cx| {
        posts.retain_mut(|post| match post.as_mut().poll(cx) {
            Poll::Ready(reply) => {
                replies.push(reply);
                false
            }
            Poll::Pending => true,
        });
        if posts.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let ids: std::collections::BTreeSet<String> =
        replies.iter().map(|it| it.json()["data"]["id"].to_string()).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(replies.iter().filter(|it| it.header("Idempotent-Replay").is_none()).count(), 1);
    let all = world.get(&format!("{PATH}&transaction_id=tx-1")).ok().await;
    assert_eq!(all["data"].as_array().unwrap().len(), 1);
}
