use engine::records::ehr::{EhrPatient, EhrRecord};
use serde_json::json;

use crate::support::*;

#[actix_web::test]
async fn guarantor_balances_are_listed() {
    let world = world().await;
    for (id, guarantor) in [("kim", Some("pat".to_owned())), ("lou", None)] {
        let named =
            EhrPatient { id: id.into(), first_name: id.into(), last_name: "Young".into(), ..Default::default() };
        world.books.edit(EhrRecord::Patient(EhrPatient { guarantor, ..named }));
    }
    world.sync(MAIN).await;
    let [kim, lou] = ["kim", "lou"].map(|name| format!("/patients?subdomain=acme&location_id=1&name={name}"));
    let [kim, lou] = [world.one_of(&kim).await["id"].clone(), world.one_of(&lou).await["id"].clone()];
    let ids = async |filter: &str| {
        let path = format!("/guarantor_balances?subdomain=acme&location_id=1&{filter}");
        each(&world.get(&path).ok().await["data"], "id")
    };
    assert_eq!(ids("").await, [1, 3], "zero is left out, unknown is not zero");
    assert_eq!(ids("show_zero_balances=true").await, [1, 2, 3]);
    assert_eq!(ids("guarantor_id=1").await, [1]);
    assert_eq!(ids(&format!("patient_id={PAT}")).await, [1], "who answers for themselves");
    assert_eq!(ids(&format!("patient_id={kim}")).await, [1], "whose guarantor owes");
    assert_eq!(ids(&format!("patient_id={lou}")).await.len(), 0, "who owes nothing");
    assert_eq!(ids("patient_id=4711").await.len(), 0);
    assert_eq!(ids("updated_since=2190-01-01T00:00:00Z").await.len(), 0);
    assert_eq!(ids("sort=-id").await, [3, 1]);
    let one = world.get("/guarantor_balances/1?include[]=guarantor").ok().await["data"].clone();
    assert_eq!((&one["guarantor"]["id"], &one["total_balance_under_30"]["amount"]), (&json!(PAT), &json!("70.00")));
    assert_eq!(
        world.get("/guarantor_balances/1").key(RIVAL_KEY).fails(404).await,
        ["Guarantor Balance with id 1 not found"]
    );
}

#[actix_web::test]
async fn insurance_balances_are_listed() {
    let world = world().await;
    let ids = async |filter: &str| {
        let path = format!("/insurance_balances?subdomain=acme&location_id=1&{filter}");
        each(&world.get(&path).ok().await["data"], "id")
    };
    assert_eq!(ids("").await, [1, 2]);
    assert_eq!(ids("patient_id=1").await, [1]);
    assert_eq!(ids("guarantor_id=1").await, [1]);
    assert_eq!(ids("updated_since=2190-01-01T00:00:00Z").await.len(), 0);
    let one = world.get("/insurance_balances/1?subdomain=acme").ok().await["data"].clone();
    assert_eq!(one["estimated_amount_under_30"]["amount"], json!("70.00"));
    assert_eq!(
        world.get("/insurance_balances/77?subdomain=acme").fails(404).await,
        ["Insurance Balance with id 77 not found"]
    );
}
