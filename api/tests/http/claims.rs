use serde_json::json;

use crate::support::*;

const PATH: &str = "/claims?subdomain=acme&location_id=1";

#[actix_web::test]
async fn claims_are_listed_and_filtered() {
    let world = world().await;
    for (filter, expected) in [
        ("", vec![1, 2]),
        ("patient_id=1", vec![1]),
        ("provider_id=2", vec![2]),
        ("guarantor_id=1", vec![1]),
        ("date_of_service=2026-01-12", vec![2]),
        ("updated_since=2190-01-01T00:00:00Z", vec![]),
        ("updated_since=2020-01-01T00:00:00Z", vec![1, 2]),
        ("sort=-id", vec![2, 1]),
    ] {
        assert_eq!(each(&world.get(&format!("{PATH}&{filter}")).ok().await["data"], "id"), expected, "{filter}");
    }
    assert_eq!(
        world.get(&format!("{PATH}&date_of_service=January")).fails(400).await,
        ["date_of_service must be a date in the form YYYY-MM-DD."]
    );
    assert_eq!(world.get(PATH).key(MAIN_KEY).fails(403).await, ["You don't have access to perform this action."]);
}

#[actix_web::test]
async fn a_claim_includes_requested_records() {
    let world = world().await;
    let all: String = ["patient", "provider", "guarantor", "charges", "charge_payouts"]
        .map(|name| format!("&include[]={name}"))
        .concat();
    let one = world.get(&format!("/claims/1?subdomain=acme{all}")).ok().await["data"].clone();
    assert_eq!((&one["status"], &one["sent_at"]), (&json!("sent"), &json!("2023-11-14T22:13:20.000Z")));
    assert_eq!((&one["patient"]["id"], &one["charges"][0]["id"]), (&json!(PAT), &json!(1)));
    assert_eq!(one["charge_payouts"][0]["charge_id"], json!(1));
    assert_eq!(one["totals"]["amount_billed_to_insurance"]["amount"], json!("90.00"));
    assert_eq!(world.get("/claims/77?subdomain=acme").fails(404).await, ["Claim with id 77 not found"]);
}

/// v2.2.2 uses the older field names in every response with a charge.
#[actix_web::test]
async fn charges_of_a_claim_have_the_form_of_the_version() {
    let world = world().await;
    let path = "/claims/1?subdomain=acme&include[]=charges";
    let older = world.get(path).version("v2.2.2").ok().await["data"]["charges"][0].clone();
    assert_eq!(older, world.get("/charges/1?subdomain=acme").version("v2.2.2").ok().await["data"]);
    assert_eq!((&older["value"], &older["date"]), (&older["fee"], &json!("2026-01-10")));
    let newer = world.get(path).ok().await["data"]["charges"][0].clone();
    assert_eq!((newer.get("value"), newer.get("notes")), (None, None));
}
