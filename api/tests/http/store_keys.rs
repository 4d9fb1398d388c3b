//! Rotation of the store key on a running server.

use std::{collections::BTreeSet, path::Path};

use engine::{
    setup::BackupRules,
    store::{EmbeddedStore, StoreConfig, StoreKeys},
};
use serde_json::json;
use testing::until;

use crate::support::*;

async fn world_in(dir: &Path) -> ApiWorld {
    let file = dir.join("store.key");
    let config = StoreConfig {
        floor_bytes: 0,
        ..StoreConfig::new(dir.join("store"), StoreKeys::load_or_create(&file).unwrap())
    };
    let mut setup = setup();
    let folder = dir.join("backups");
    std::fs::create_dir_all(&folder).unwrap();
    setup.engine.backup = Some(BackupRules { folder, every: None, keep: 9 });
    // Threads of the previous engine may still hold the store.
    let store = until("the store opens", async || EmbeddedStore::open(config.clone())).await;
    world_kept_in(setup, std::sync::Arc::new(store), file).await
}

async fn gauge(world: &ApiWorld) -> Option<u64> {
    let text = world.get("/metrics").reply().await.text;
    let value = text.lines().find_map(|line| line.strip_prefix("practice_sync_store_values_to_reseal "));
    value.map(|value| value.parse().unwrap())
}

async fn keys(world: &ApiWorld) -> (Vec<String>, serde_json::Value) {
    let shown = world.get("/store/keys").ok().await;
    let keys = shown["data"]["keys"].as_array().unwrap().clone();
    assert_eq!((&keys[0]["seals"], &shown["data"]["failed"]), (&json!(true), &json!(null)), "{shown}");
    assert!(keys[1..].iter().all(|key| key["seals"] == false), "{shown}");
    (keys.iter().map(|key| key["id"].as_str().unwrap().to_owned()).collect(), shown["data"]["values_left"].clone())
}

async fn all_are_sealed_anew(world: &ApiWorld) {
    until("no values left", async || keys(world).await.1 == json!(0)).await;
}

async fn backed_up(world: &ApiWorld) -> String {
    let name = world.post("/backups", json!({})).ok().await["data"]["name"].as_str().unwrap().to_owned();
    until("the end of the backup", async || {
        let now = world.get("/backups").ok().await;
        assert_eq!(now["data"]["failed"], json!(null));
        now["data"]["under_way"].is_null()
    })
    .await;
    name
}

#[actix_web::test]
async fn a_key_is_rotated_during_bookings_and_removed_once_unused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("store.key");
    let world = world_in(dir.path()).await;
    let first = "00000000".to_owned();
    assert_eq!(keys(&world).await, (vec![first.clone()], json!(0)));
    assert_eq!(gauge(&world).await, Some(0));
    let backup = backed_up(&world).await;
    let problems = world.delete(&format!("/store/keys/{first}")).fails(409).await;
    assert!(problems[0].contains("seals new values"), "{problems:?}");
    for unknown in ["12345678", "first"] {
        world.delete(&format!("/store/keys/{unknown}")).fails(404).await;
    }

    let answer = world.post("/store/keys", json!({})).ok().await;
    let newest = answer["data"]["keys"][0]["id"].as_str().unwrap().to_owned();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.lines().last().unwrap().starts_with(&newest) && text.lines().count() == 2);
    let secret = text.lines().last().unwrap().split(' ').nth(1).unwrap();
    assert!(!answer.to_string().contains(secret));
    let token = &world.offers(MAIN, 1).await[0]["slot_token"];
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999"});
    let body = json!({"slot_token": token, "idempotency_key": "k", "patient": patient});
    let booked = world.post("/intent/booking/book?subdomain=acme", body).ok().await;
    all_are_sealed_anew(&world).await;
    assert_eq!(gauge(&world).await, Some(0));

    // The earlier backup needs the first key.
    let problems = world.delete(&format!("/store/keys/{first}")).fails(409).await;
    assert!(problems[0].contains(&backup) && problems[0].contains("move it away"), "{problems:?}");
    std::fs::remove_file(dir.path().join("backups").join(&backup)).unwrap();
    backed_up(&world).await;
    world.delete(&format!("/store/keys/{first}")).ok().await;
    assert_eq!(keys(&world).await, (vec![newest.clone()], json!(0)));
    assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), format!("{newest} {secret}"));

    // After a restart the store has one key and all data.
    world.engine.stop().await;
    drop(world);
    let world = world_in(dir.path()).await;
    assert_eq!(keys(&world).await, (vec![newest], json!(0)));
    let reference = booked["booking"]["booking_ref"].as_str().unwrap();
    let status = world.get(&format!("/intent/booking/status?subdomain=acme&booking_ref={reference}")).ok().await;
    assert_eq!(status["booking"]["booking_ref"], reference);
}

/// A process that ends during the rotation leaves two keys; the next process continues by itself.
#[actix_web::test]
async fn an_interrupted_rotation_resumes_after_a_start() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("store.key");
    world_in(dir.path()).await.engine.stop().await;
    let two = StoreKeys::load(&file).unwrap().and_a_new_one().unwrap();
    two.save(&file).unwrap();
    let world = world_in(dir.path()).await;
    all_are_sealed_anew(&world).await;
    let newest = two.newest().to_string();
    assert_eq!(keys(&world).await.0, [newest.clone(), "00000000".to_owned()]);
    // A folder without backups may be a disk that is not mounted.
    let refused = world.delete("/store/keys/00000000").fails(409).await;
    assert!(refused[0].contains("Mount its disk"), "{refused:?}");
    backed_up(&world).await;
    world.delete("/store/keys/00000000").ok().await;
    let again = world.post("/store/keys", json!({})).ok().await;
    assert_eq!(again["data"]["keys"][1]["id"], newest.as_str());
}

#[actix_web::test]
async fn only_operators_manage_keys_and_a_store_in_memory_has_none() {
    let world = world().await;
    for refused in [
        world.get("/store/keys").key(MAIN_KEY).fails(401).await,
        world.post("/store/keys", json!({})).operator(OPERATOR).fails(403).await,
        world.delete("/store/keys/00000000").operator(VIEWER).fails(403).await,
    ] {
        assert_eq!(refused.len(), 1);
    }
    let notes: BTreeSet<String> =
        [world.get("/store/keys").fails(422).await, world.post("/store/keys", json!({})).fails(422).await]
            .concat()
            .into_iter()
            .collect();
    assert!(notes.len() == 1 && notes.iter().all(|it| it.contains("in memory")), "{notes:?}");
    assert_eq!(gauge(&world).await, None);
}
