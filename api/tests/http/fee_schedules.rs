use serde_json::json;

use crate::support::*;

#[actix_web::test]
async fn schedules_are_listed_with_their_fees() {
    let world = world().await;
    let ids = async |path: &str| each(&world.get(path).ok().await["data"], "id");
    let path = "/fee_schedules?subdomain=acme&location_id=1";
    assert_eq!(ids(path).await, [1, 3], "without a flag a schedule is in use");
    assert_eq!(ids(&format!("{path}&active=false")).await, [2]);
    assert_eq!(ids(&format!("{path}&updated_since=2190-01-01T00:00:00Z")).await.len(), 0);
    let one = world.get("/fee_schedules/1?subdomain=acme&include[]=procedure_fees").ok().await["data"].clone();
    assert_eq!(each(&one["procedure_fees"], "code"), ["D0120", "D1110"]);
    assert_eq!(world.get("/fee_schedules/1?subdomain=acme").ok().await["data"].get("procedure_fees"), None);
    assert_eq!(world.get("/fee_schedules/77?subdomain=acme").fails(404).await, ["Fee Schedule with id 77 not found"]);
    let fees = "/fee_schedule_procedures?subdomain=acme&location_id=1";
    assert_eq!(ids(fees).await, [1, 2, 3]);
    assert_eq!(ids(&format!("{fees}&fee_schedule_id=2")).await, [3]);
    let first = world.get(fees).ok().await["data"][0].clone();
    assert_eq!((&first["fee"]["amount"], &first["fee_schedule_id"]), (&json!("55.50"), &json!(1)));
    for path in [path, fees] {
        world.get(path).key(MAIN_KEY).fails(403).await;
    }
}
