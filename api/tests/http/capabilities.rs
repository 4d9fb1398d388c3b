use serde_json::{Value, json};

use crate::support::*;

#[actix_web::test]
async fn capabilities_of_an_ehr_are_listed() {
    let world = world().await;
    let one = world.get("/locations/1/capabilities").ok().await["data"].clone();
    assert_eq!((&one["location_id"], &one["integrated"]), (&json!(MAIN), &json!(true)));
    let ehr = &one["ehr"];
    assert_eq!(
        (&ehr["name"], &ehr["hosting"], &ehr["needs_workstation"]),
        (&json!("Practice"), &json!("cloud"), &json!(false))
    );
    let reads = each(&ehr["reads"], "resource");
    assert!(reads.contains(&json!("payments")) && reads.contains(&json!("appointments")), "{reads:?}");
    let noticed = |resource: &str| {
        let all = ehr["reads"].as_array().unwrap();
        let it = all.iter().find(|it| it["resource"] == resource).unwrap();
        (it["deletions"].clone(), it["deletions_noticed"].clone())
    };
    assert_eq!(noticed("patients"), (json!(true), json!("by_absence")));
    assert_eq!(noticed("payments"), (json!(true), json!("reported")));
    assert!(ehr["writes"].as_array().unwrap().contains(&json!("create-payment")));
    assert_eq!(ehr["required_patient_fields"], json!(["first_name", "last_name", "date_of_birth", "phone_number"]));
    assert!(ehr["max_lengths"].is_object());
    let bare = world.get(&format!("/locations/{BARE}/capabilities?subdomain=acme")).ok().await["data"].clone();
    assert_eq!((&bare["integrated"], &bare["ehr"]), (&json!(false), &Value::Null));
    assert_eq!(world.get("/locations/5/capabilities").fails(404).await, ["Location with id 5 not found"]);
}
