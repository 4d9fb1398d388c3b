use engine::records::ehr::Write;
use serde_json::{Value, json};

use crate::support::*;

const PATH: &str = "/adjustments?subdomain=acme&location_id=1";

fn adjustment(fields: Value) -> Value {
    let mut adjustment = json!({"patient_id": PAT, "amount": -12.5, "adjustment_type_id": 1, "transaction_id": "tx-1"});
    fields.as_object().unwrap().iter().for_each(|(name, value)| adjustment[name] = value.clone());
    json!({ "adjustment": adjustment })
}

#[actix_web::test]
async fn adjustments_are_listed_and_filtered() {
    let world = world().await;
    let list = world.get(PATH).ok().await;
    assert_eq!(list["data"][0]["adjustment_amount"], json!({"amount": "-9.00", "currency": "USD"}));
    for (filter, expected) in [
        ("", vec![1, 2]),
        ("patient_id=1", vec![1]),
        ("provider_id=2", vec![2]),
        ("guarantor_id=1", vec![1]),
        ("charge_id=1", vec![1]),
        ("claim_id=1", vec![1]),
        ("updated_since=2190-01-01T00:00:00Z", vec![]),
        ("updated_since=2020-01-01T00:00:00Z", vec![1, 2]),
        ("sort=-id", vec![2, 1]),
    ] {
        assert_eq!(each(&world.get(&format!("{PATH}&{filter}")).ok().await["data"], "id"), expected, "{filter}");
    }
    let older = world.get(PATH).version("v2.2.2").ok().await["data"][0].clone();
    assert_eq!((&older["value"]["amount"], &older["directionality"]), (&json!("-9.00"), &json!("credit")));
    assert!(older["date"].is_string() && list["data"][0].get("value").is_none(), "{older}");
    assert_eq!(world.get(PATH).key(MAIN_KEY).fails(403).await, ["You don't have access to perform this action."]);
}

#[actix_web::test]
async fn an_adjustment_includes_requested_records() {
    let world = world().await;
    let all: String = ["patient", "provider", "guarantor", "claim", "charge", "adjustment_type"]
        .map(|name| format!("&include[]={name}"))
        .concat();
    let one = world.get(&format!("/adjustments/1?subdomain=acme{all}")).ok().await["data"].clone();
    assert_eq!((&one["patient"]["name"], &one["provider"]["name"]), (&json!("Pat Present"), &json!("Anna Abel")));
    assert_eq!((&one["claim"]["id"], &one["charge"]["id"]), (&json!(1), &json!(1)));
    assert_eq!((&one["guarantor"]["id"], &one["adjustment_type"]["action"]), (&json!(PAT), &json!("credit")));
    assert_eq!(world.get("/adjustments/77?subdomain=acme").fails(404).await, ["Adjustment with id 77 not found"]);
}

#[actix_web::test]
async fn an_adjustment_is_written_to_the_ledger() {
    let world = world().await;
    let made = world.post(PATH, adjustment(json!({"adjusted_at": "2026-12-01"}))).answers(202).await["data"].clone();
    assert_eq!((&made["adjusted_at"], &made["foreign_id"]), (&json!("2026-12-01"), &Value::Null));
    world
        .until(&format!("/adjustments/{}?subdomain=acme", made["id"]), |it| it["data"]["foreign_id"].is_string())
        .await;
    let Write::Record(_, entry) = &world.books.written(MAIN)[0] else { panic!("not an entry") };
    assert_eq!(
        (&entry.fields()["adjustment_type"], &entry.fields()["amount"]["amount"]),
        (&json!("courtesy"), &json!("-12.50"))
    );
}

#[actix_web::test]
async fn refusals_have_the_specified_messages() {
    let world = world().await;
    let fails = async |fields: Value| world.post(PATH, adjustment(fields)).fails(400).await;
    assert_eq!(fails(json!({"patient_id": 77})).await, ["Patient with ID 77 not found in location 1"]);
    assert_eq!(fails(json!({"adjustment_type_id": 77})).await, ["Adjustment Type with id 77 not found in location 1"]);
    assert_eq!(
        fails(json!({"patient_id": 77, "adjustment_type_id": 78})).await,
        ["Patient with ID 77 not found in location 1", "Adjustment Type with id 78 not found in location 1"]
    );
    assert_eq!(fails(json!({"adjustment_type_id": 2})).await, ["Adjustment Type with id 2 not found in location 1"]);
    assert_eq!(fails(json!({"amount": 0})).await, ["adjustment.amount must not be zero."]);
    assert_eq!(
        fails(json!({"amount": -10, "charge_splits": {"1": -1000, "2": 990}})).await,
        ["adjustment.charge_splits.2 must not be above zero: it is a part of adjustment.amount."]
    );
    assert_eq!(
        fails(json!({"amount": 10, "provider_splits": {"1": -5}})).await,
        ["adjustment.provider_splits.1 must not be negative: it is a part of adjustment.amount."]
    );
    let within = json!({"amount": -10, "charge_splits": {"1": -4, "2": 0}});
    world.post(PATH, adjustment(within)).answers(202).await;
    assert_eq!(fails(json!({"transaction_id": null})).await, ["adjustment.transaction_id is missing."]);
    let bare = "/adjustments?subdomain=acme&location_id=7";
    assert_eq!(world.post(bare, adjustment(json!({}))).fails(400).await, ["Patient with ID 1 not found in location 7"]);
}

#[actix_web::test]
async fn a_repeated_adjustment_is_entered_once() {
    let world = world().await;
    let first = world.post(PATH, adjustment(json!({}))).answers(202).await;
    let again = world.post(PATH, adjustment(json!({"amount": "-12.50"}))).reply().await;
    assert_eq!((again.status.as_u16(), again.header("Idempotent-Replay")), (202, Some("true")));
    assert_eq!(again.json()["data"]["id"], first["data"]["id"]);
    let other =
        format!("Adjustment with id {} was created with the same transaction_id and other data.", first["data"]["id"]);
    assert_eq!(world.post(PATH, adjustment(json!({"amount": 12.5}))).fails(409).await, [other], "a debit is no credit");
}
