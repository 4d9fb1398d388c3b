//! Pairing codes, workstations, and the gate of an EHR that opens only at a workstation, without sockets.

use serde_json::{Value, json};

use crate::support::*;

const CODES: &str = "/locations/1/pairing_codes";
const WORKSTATIONS: &str = "/locations/1/workstations";
const INSTALL: &str = "5b1c1c0e-6a35-4a0e-9a55-0d7a6a6f0001";

async fn code(world: &ApiWorld) -> String {
    world.post(CODES, json!({})).ok().await["data"]["code"].as_str().unwrap().to_owned()
}

fn pairing<'w>(world: &'w ApiWorld, code: &str, install: &str) -> ApiRequest<'w> {
    let ask = world.post("/workstations/pair", json!({"code": code, "name": "Front desk 1", "install": install}));
    ask.without("Authorization").without("Svc-Api-Version")
}

#[actix_web::test]
async fn a_code_is_exchanged_for_a_token_once() {
    let world = world_gated().await;
    let code = code(&world).await;
    assert_eq!(code.len(), 9, "{code}");
    let paired = pairing(&world, &code, INSTALL).answers(201).await;
    assert!(paired["token"].as_str().unwrap().starts_with("psw_"));
    assert_eq!(paired["location"], json!({"id": 1, "name": "Place 1"}));
    let ehr =
        json!({"origin": "https://cloud.example", "base_path": "/app", "paths": ["/api/"], "probe": "/api/session"});
    assert_eq!(paired["ehr"], ehr);
    assert_eq!(pairing(&world, &code, INSTALL).fails(404).await, ["Pairing code not found"]);
}

#[actix_web::test]
async fn codes_are_accepted_as_typed() {
    let world = world_gated().await;
    let typed = code(&world).await.to_lowercase().replace('-', " ");
    pairing(&world, &format!(" {typed} "), INSTALL).answers(201).await;
}

#[actix_web::test]
async fn an_enrolment_code_has_a_limit_of_pairings() {
    let world = world_gated().await;
    let made = world.post(CODES, json!({"uses": 2, "expires_in_hours": 72})).ok().await;
    let code = made["data"]["code"].as_str().unwrap();
    assert_eq!((code.len(), &made["data"]["uses"]), (26, &json!(2)));
    for (n, status) in [(1, 201), (2, 201), (3, 404)] {
        pairing(&world, code, &format!("5b1c1c0e-6a35-4a0e-9a55-0d7a6a6f000{n}")).answers(status).await;
    }
    assert_eq!(world.get(WORKSTATIONS).ok().await["count"], 2);
    for wrong in [
        json!({"uses": 0, "expires_in_hours": 1}),
        json!({"uses": 1_001, "expires_in_hours": 1}),
        json!({"uses": 1, "expires_in_hours": 721}),
        json!({"uses": "many", "expires_in_hours": 1}),
    ] {
        world.post(CODES, wrong).fails(400).await;
    }
    let half = ["uses and expires_in_hours must be sent together or not at all."];
    assert_eq!(world.post(CODES, json!({"uses": 5})).fails(422).await, half);
    assert_eq!(world.post(CODES, json!({"expires_in_hours": 5})).fails(422).await, half);
}

#[actix_web::test]
async fn wrong_codes_look_alike_and_are_rate_limited() {
    let world = world_gated().await;
    let right = code(&world).await;
    let mut refused = 0;
    for n in 0..12 {
        let reply = pairing(&world, &format!("WRNG-222{}", char::from(b'2' + n % 8)), INSTALL).reply().await;
        match reply.status.as_u16() {
            404 => assert_eq!(reply.json()["error"], json!(["Pairing code not found"])),
            429 => {
                refused += 1;
                let wait: u64 = reply.header("Retry-After").unwrap().parse().unwrap();
                assert!((1..=60).contains(&wait), "{wait}");
            }
            other => panic!("{other}: {}", reply.text),
        }
    }
    assert!(
        refused >= 1,
        "`guesses are not limited` (tests/tests/workstations/leases.rs has the same text, outside of these folders)"
    );
    // The attempts of a guesser block the right code, too.
    assert_eq!(pairing(&world, &right, INSTALL).reply().await.status, 429);
}

#[actix_web::test]
async fn a_pairing_body_is_validated_like_others() {
    let world = world_gated().await;
    let missing = ["code is missing.", "name is missing.", "install is missing."];
    let ask = || pairing(&world, "x", INSTALL);
    assert_eq!(ask().json(json!({})).fails(400).await, missing);
    ask().json(json!({"code": "K7QM-2XRD", "name": "x", "install": "not a uuid"})).fails(400).await;
    ask().json(json!({"code": "x".repeat(65), "name": "x", "install": INSTALL})).fails(400).await;
    ask().bytes("{").fails(400).await;
    assert_eq!(ask().with("Content-Type", "text/plain").reply().await.status, 415);
    assert_eq!(ask().with("Content-Encoding", "gzip").reply().await.status, 415);
    ask().bytes(" ".repeat(2 << 20)).fails(413).await;
    // A bearer token is ignored.
    let code = code(&world).await;
    pairing(&world, &code, INSTALL).with("Authorization", "Bearer nonsense").answers(201).await;
}

#[actix_web::test]
async fn workstations_are_listed_and_revoked() {
    let world = world_gated().await;
    let code = code(&world).await;
    let paired = pairing(&world, &code, INSTALL).answers(201).await;
    let id = paired["workstation"].as_str().unwrap();
    let listed = world.get(WORKSTATIONS).ok().await;
    let one = &listed["data"][0];
    assert_eq!((&one["id"], &one["name"]), (&json!(id), &json!("Front desk 1")));
    assert_eq!(
        (&one["connected"], &one["logged_in"], &one["working"], &one["extension_version"]),
        (&json!(false), &Value::Null, &json!(false), &Value::Null)
    );
    assert_ne!(one["id"], INSTALL, "who reads the list could take the installation's place");
    assert!(!listed.to_string().contains("psw_"));
    // The workstation does not exist at another location of the same institution.
    world.delete(&format!("/locations/2/workstations/{id}")).fails(404).await;
    world.delete(&format!("{WORKSTATIONS}/{id}")).answers_nothing(204).await;
    assert_eq!(
        world.delete(&format!("{WORKSTATIONS}/{id}")).fails(404).await,
        [format!("Workstation with id {id} not found")]
    );
    assert_eq!(world.get(WORKSTATIONS).ok().await["count"], 0);
    world.delete(&format!("{WORKSTATIONS}/7")).fails(400).await;
}

#[actix_web::test]
async fn an_installation_that_is_paired_again_stays_one_workstation() {
    let world = world_gated().await;
    let (first, second) = (code(&world).await, code(&world).await);
    let before = pairing(&world, &first, INSTALL).answers(201).await;
    let after = pairing(&world, &second, INSTALL).answers(201).await;
    assert_eq!(before["workstation"], after["workstation"]);
    assert_ne!(before["token"], after["token"]);
    assert_eq!(world.get(WORKSTATIONS).ok().await["count"], 1);
}

#[actix_web::test]
async fn a_location_without_a_gate_has_no_workstations() {
    let world = world().await;
    let why = ["The location's health record system is not reached through workstations."];
    assert_eq!(world.post(CODES, json!({})).fails(422).await, why);
    assert_eq!(world.get(WORKSTATIONS).fails(422).await, why);
    assert_eq!(world.delete(&format!("{WORKSTATIONS}/{INSTALL}")).fails(422).await, why);
    assert_eq!(world.get("/locations/1/sync").ok().await["data"]["gate"], Value::Null);
    assert!(world.get("/locations/1").ok().await["data"].get("gate").is_none());
    let status = world.get("/sync_status?subdomain=acme").ok().await;
    assert!(status["data"].as_array().unwrap().iter().all(|it| it.get("gates").is_none()));
}

#[actix_web::test]
async fn only_operators_pair() {
    let world = world_gated().await;
    world.post(CODES, json!({})).key(MAIN_KEY).fails(401).await;
    world.get(WORKSTATIONS).key(MAIN_KEY).fails(401).await;
    world.post(CODES, json!({})).operator(VIEWER).fails(403).await;
    world.get(WORKSTATIONS).operator(VIEWER).ok().await;
}

#[actix_web::test]
async fn a_gate_without_a_workstation_is_shown_closed() {
    let world = world_gated().await;
    let closed = |gate: &Value| {
        assert_eq!((&gate["state"], &gate["location_id"]), (&json!("closed"), &json!(1)));
        assert_eq!((&gate["workstations_connected"], &gate["workstation_name"]), (&json!(0), &Value::Null));
        assert_eq!((&gate["writes_waiting"], &gate["oldest_write_seconds"]), (&json!(0), &Value::Null));
        assert!(gate["since"].is_string());
    };
    for version in ["v3.0.0", "v2.2.2"] {
        closed(&world.get("/locations/1").version(version).ok().await["data"]["gate"]);
        closed(&world.get("/locations/1/sync").version(version).ok().await["data"]["gate"]);
        let status = world.get("/sync_status?subdomain=acme&location_ids[]=1").version(version).ok().await;
        closed(&status["data"][0]["gates"][0]);
    }
}

/// Without an upgrade to a WebSocket the request is refused.
#[actix_web::test]
async fn a_request_without_a_handshake_is_refused() {
    let world = world_gated().await;
    let ask = || world.get("/workstations/connect").without("Authorization").without("Svc-Api-Version");
    ask().fails(400).await;
    let named = || ask().with("Sec-WebSocket-Protocol", "practice-sync.workstation.v1");
    assert!(named().fails(400).await[0].contains("handshake"));
    for origin in ["https://cloud.example", "http://localhost:3000", "null"] {
        named().with("Origin", origin).fails(403).await;
    }
    named().with("Origin", "chrome-extension://abcdefghijklmnop").fails(400).await;
}
