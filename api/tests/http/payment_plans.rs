use serde_json::json;

use crate::support::*;

const PATH: &str = "/payment_plans?subdomain=acme&location_id=1";

#[actix_web::test]
async fn payment_plans_are_listed_and_filtered() {
    let world = world().await;
    for (filter, expected) in [
        ("", vec![1, 2]),
        ("patient_id=1", vec![1]),
        ("guarantor_id=1", vec![1]),
        ("updated_since=2190-01-01T00:00:00Z", vec![]),
        ("updated_since=2020-01-01T00:00:00Z", vec![1, 2]),
        ("sort=-id", vec![2, 1]),
    ] {
        assert_eq!(each(&world.get(&format!("{PATH}&{filter}")).ok().await["data"], "id"), expected, "{filter}");
    }
}

#[actix_web::test]
async fn a_payment_plan_needs_no_subdomain() {
    let world = world().await;
    let one = world.get("/payment_plans/1?include[]=patient&include[]=guarantor").ok().await["data"].clone();
    assert_eq!((&one["patient"]["id"], &one["guarantor"]["id"]), (&json!(PAT), &json!(PAT)));
    assert_eq!((&one["first_payment_due_date"], &one["active"]), (&json!("2026-02-01"), &json!(true)));
    assert_eq!(world.get("/payment_plans/1").key(RIVAL_KEY).fails(404).await, ["Payment Plan with id 1 not found"]);
    assert_eq!(
        world.get("/payment_plans/1").key(MAIN_KEY).fails(403).await,
        ["You don't have access to perform this action."]
    );
}
