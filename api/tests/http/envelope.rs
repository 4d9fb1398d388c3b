//! The common form of all responses.

use serde_json::json;

use crate::support::*;

#[actix_web::test]
async fn success_and_failure_have_one_shape() {
    let world = world().await;
    let list = world.get("/appointment_types?subdomain=acme").ok().await;
    assert_eq!((&list["code"], &list["description"], &list["error"]), (&json!(true), &json!(null), &json!([])));
    assert_eq!(list["count"], json!(2));
    assert_eq!(list.get("page_info"), None);
    let page = world.get("/operatories?subdomain=acme&location_id=1").ok().await;
    assert_eq!(page.get("count"), None);
    assert!(page["page_info"].is_object());
    let failure = world.get("/operatories?subdomain=acme").answers(400).await;
    assert_eq!(
        failure,
        json!({"code": false, "reason": "invalid_request", "description": null, "error": ["location_id is missing."], "data": null})
    );
}

#[actix_web::test]
async fn every_answer_has_a_request_id() {
    let world = world().await;
    let asked = world.get("/locations").with("X-Request-Id", "support-42");
    assert_eq!(asked.reply().await.header("X-Request-Id"), Some("support-42"));
    for path in ["/locations", "/nothing", "/healthz", "/operatories"] {
        let given = "<script>alert(1)</script>";
        let reply = world.get(path).with("X-Request-Id", given).reply().await;
        assert_eq!(reply.header("X-Request-Id").unwrap().len(), 36, "{path}");
    }
}

#[actix_web::test]
async fn ignored_parameters_are_named_everywhere() {
    let world = world().await;
    for path in [
        "/locations?a=1&b=2",
        "/locations/1?a=1&b=2",
        "/operatories?subdomain=acme&location_id=1&a=1&b=2",
        "/providers?subdomain=acme&a=1&b=2",
        "/appointment_types?subdomain=acme&a=1&b=2",
        "/sync_status?a=1&b=2",
        "/available_slots?subdomain=acme&start_date=2026-12-01&days=1&lids[]=1&a=1&b=2",
        "/appointments?subdomain=acme&start=2026-12-01&end=2026-12-02&a=1&b=2",
        "/appointments/1?subdomain=acme&a=1&b=2",
        "/webhook_endpoints?a=1&b=2",
    ] {
        let description = world.get(path).ok().await["description"].clone();
        let note = "Note that following parameters are ignored: a, b.";
        assert!(description.as_str().is_some_and(|text| text.ends_with(note)), "{path}: {description}");
    }
    // The specification gives this text for the list of appointments.
    let list = "/appointments?subdomain=acme&start=2026-12-01&end=2026-12-02&include[]=patient";
    assert_eq!(
        world.get(list).ok().await["description"],
        json!("Note that following parameters are ignored: include.")
    );
    // `lids=1,2` is not a valid array.
    let slots = "/available_slots?subdomain=acme&start_date=2026-12-01&days=1&lids[0]=1&lids=1,2";
    let description = world.get(slots).ok().await["description"].clone();
    assert!(description.as_str().unwrap().contains("ignored: lids."), "{description}");
}
