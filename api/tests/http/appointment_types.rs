use serde_json::json;

use crate::support::*;

#[actix_web::test]
async fn all_of_the_institution_are_listed() {
    let world = world().await;
    let list = world.get("/appointment_types?subdomain=acme&location_id=1").ok().await;
    assert_eq!((each(&list["data"], "id"), &list["count"]), (vec![json!(1), json!(2)], &json!(2)));
    assert_eq!(each(&list["data"], "minutes"), [60, 30]);
    assert_eq!(each(&list["data"], "parent_type"), ["Institution", "Institution"]);
    let note = world.get("/appointment_types?subdomain=acme&include[]=descriptors").ok().await["description"].clone();
    assert_eq!(note, json!("Note that following parameters are ignored: include."));
    assert_eq!(world.get("/appointment_types").fails(400).await, ["subdomain is missing."]);
}
