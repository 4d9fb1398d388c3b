use serde_json::{Value, json};

use crate::support::*;

async fn endpoint(world: &World) -> Value {
    world.post("/webhook_endpoints", json!({"target_url": "https://hooks.example.com/in"})).answers(201).await["data"]
        .clone()
}

#[actix_web::test]
async fn an_endpoint_shows_its_secret_once() {
    let world = world().await;
    let made = endpoint(&world).await;
    assert!(made["secret_key"].as_str().unwrap().len() > 30);
    assert_eq!((&made["target_url"], &made["active"]), (&json!("https://hooks.example.com/in"), &json!(true)));
    let list = world.get("/webhook_endpoints").ok().await;
    assert_eq!((&list["count"], &list["data"][0]["secret_key"]), (&json!(1), &Value::Null));
    assert_eq!(world.get("/webhook_endpoints?active=false").ok().await["count"], json!(0));
    assert_eq!(
        world.get("/webhook_endpoints").key(RIVAL_KEY).ok().await["count"],
        json!(0),
        "other owners do not see it"
    );
}

#[actix_web::test]
async fn messages_leave_over_https_to_public_hosts_only() {
    let world = world().await;
    let post = async |url: Value| world.post("/webhook_endpoints", json!({ "target_url": url })).fails(400).await;
    assert_eq!(post(json!("http://hooks.example.com")).await, ["target_url must be a valid HTTPS URL."]);
    assert_eq!(post(json!("not a url")).await, ["target_url is not a valid URL."]);
    for private in
        ["https://127.0.0.1/", "https://localhost/", "https://10.0.0.1/", "https://[::1]/", "https://169.254.169.254/"]
    {
        assert_eq!(post(json!(private)).await, ["target_url must lead to a host on the public internet."], "{private}");
    }
    assert_eq!(post(json!(7)).await, ["target_url must be a string."]);
    assert_eq!(post(json!("")).await, ["target_url must not be empty."]);
    assert_eq!(
        post(json!("https://x.example/".to_owned() + &"x".repeat(3_000))).await,
        ["target_url must not be longer than 2048 characters."]
    );
    assert_eq!(world.post("/webhook_endpoints", json!({})).fails(400).await, ["target_url is missing."]);
}

#[actix_web::test]
async fn subscriptions_belong_to_an_endpoint_and_an_institution() {
    let world = world().await;
    let id = endpoint(&world).await["id"].clone();
    let path = format!("/webhook_endpoints/{id}/webhook_subscriptions?subdomain=acme");
    let wanted = json!({"resource_type": "appointment", "event": "appointment_insertion"});
    let made = world.post(&path, wanted.clone()).answers(201).await["data"].clone();
    assert_eq!((&made["resource_type"], &made["event"]), (&json!("Appointment"), &json!("appointment_insertion")));
    assert_eq!(
        (&made["webhook_endpoint_id"], &made["institution_id"], &made["active"]),
        (&id, &json!(1), &json!(true))
    );
    world.post(&path, wanted.clone()).fails(409).await;
    let list = world.get(&format!("{path}&resource_type=Appointment&event=appointment_insertion")).ok().await;
    assert_eq!((&list["count"], &list["data"][0]), (&json!(1), &made));
    assert_eq!(world.get(&format!("{path}&resource_type=Patient")).ok().await["count"], json!(0));

    // Scope belongs into the query, not the body.
    let bare = format!("/webhook_endpoints/{id}/webhook_subscriptions");
    let in_body = json!({"resource_type": "Appointment", "event": "appointment_updated", "subdomain": "acme"});
    assert_eq!(world.post(&bare, in_body).fails(403).await, ["You don't have access to perform this action."]);
    let rivals = path.replace("acme", "rival");
    assert_eq!(
        world.post(&rivals, wanted.clone()).key(RIVAL_KEY).fails(404).await,
        [format!("Webhook endpoint with id {id} not found")]
    );
    assert_eq!(
        world.get("/webhook_endpoints/77/webhook_subscriptions").fails(404).await,
        ["Webhook endpoint with id 77 not found"]
    );
}

#[actix_web::test]
async fn unknown_events_are_answered_with_the_known_ones() {
    let world = world().await;
    let id = endpoint(&world).await["id"].clone();
    let path = format!("/webhook_endpoints/{id}/webhook_subscriptions?subdomain=acme");
    let errors = world.post(&path, json!({"resource_type": "Tooth", "event": "x"})).fails(400).await;
    assert!(errors[0].contains("Appointment, Charge"), "{errors:?}");
    let errors =
        world.post(&path, json!({"resource_type": "Patient", "event": "appointment_created"})).fails(400).await;
    assert!(errors[0].contains("patient_created"), "{errors:?}");
    let errors = world.post(&path, json!({"event": 5, "active": "yes"})).fails(400).await;
    assert_eq!(errors, ["resource_type is missing.", "event must be a string.", "active must be true or false."]);
    let wrong_id = world.post("/webhook_endpoints/x/webhook_subscriptions?subdomain=acme", json!({})).fails(400).await;
    assert_eq!(wrong_id, ["id must be an integer."]);
}
