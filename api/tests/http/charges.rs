use serde_json::{Value, json};

use crate::support::*;

const PATH: &str = "/charges?subdomain=acme&location_id=1";

#[actix_web::test]
async fn charges_are_listed_and_filtered() {
    let world = world().await;
    let procedure = world.get("/charges/1?subdomain=acme").ok().await["data"]["procedure_id"].clone();
    let of_procedure = format!("procedure_id={procedure}");
    for (filter, expected) in [
        ("", vec![1, 2]),
        ("patient_id=1", vec![1]),
        ("provider_id=2", vec![2]),
        ("guarantor_id=1", vec![1, 2]),
        (of_procedure.as_str(), vec![1]),
        ("updated_since=2190-01-01T00:00:00Z", vec![]),
        ("updated_since=2020-01-01T00:00:00Z", vec![1, 2]),
        ("sort=-id", vec![2, 1]),
    ] {
        assert_eq!(each(&world.get(&format!("{PATH}&{filter}")).ok().await["data"], "id"), expected, "{filter}");
    }
    let list = world.get(&format!("{PATH}&include[]=claim_payouts")).ok().await;
    let payout = &list["data"][0]["claim_payouts"][0];
    assert_eq!((&payout["claim_id"], &payout["insurance_payment"]["amount"]), (&json!(1), &json!("0.10")));
    assert_eq!(list["data"][1]["claim_payouts"], json!([]));
    assert_eq!(world.get(PATH).key(MAIN_KEY).fails(403).await, ["You don't have access to perform this action."]);
    let pages = world.get("/charges?subdomain=acme&location_id=1&page=2&per_page=1").version("v2").ok().await;
    assert_eq!((&pages["count"], each(&pages["data"], "id")), (&json!(2), vec![json!(2)]));
}

#[actix_web::test]
async fn a_charge_includes_requested_records() {
    let world = world().await;
    let all: String = ["patient", "provider", "guarantor", "procedure", "claims", "claim_payouts", "totals"]
        .map(|name| format!("&include[]={name}"))
        .concat();
    let one = world.get(&format!("/charges/1?subdomain=acme{all}")).ok().await["data"].clone();
    assert_eq!(one["fee"], json!({"amount": "90.00", "currency": "USD"}));
    assert_eq!(
        (&one["patient"]["id"], &one["provider"]["id"], &one["guarantor"]["id"]),
        (&json!(PAT), &json!(ANNA), &json!(PAT))
    );
    assert_eq!((&one["claims"][0]["id"], &one["totals"]["write_off"]["amount"]), (&json!(1), &json!("5.00")));
    let plain = world.get("/charges/1?subdomain=acme").ok().await["data"].clone();
    for name in ["patient", "claims", "totals", "procedure"] {
        assert_eq!(plain.get(name), None);
    }
    let bare = world.get(&format!("/charges/2?subdomain=acme{all}")).ok().await["data"].clone();
    assert_eq!((&bare["procedure"], &bare["claims"]), (&Value::Null, &json!([])));
    assert_eq!(world.get("/charges/77?subdomain=acme").fails(404).await, ["Charge with id 77 not found"]);
}
