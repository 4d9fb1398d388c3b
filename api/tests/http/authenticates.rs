use std::{io, sync::Arc};

use actix_web::http::Method;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::*;

#[actix_web::test]
async fn a_key_is_exchanged_for_a_valid_token() {
    let world = world().await;
    for (key, lifetime, path) in
        [(ACME_KEY, 24 * 3600, "/locations?subdomain=acme"), (REAL_KEY, 3600, "/locations?subdomain=real")]
    {
        let made = world.request(Method::POST, "/authenticates").with("Authorization", key).answers(201).await;
        assert_eq!((&made["code"], &made["error"]), (&json!(true), &json!([])));
        let token = made["data"]["token"].as_str().unwrap();
        let claims = world.api.tokens.verify(token, world.engine.now()).unwrap();
        assert_eq!(claims.exp - claims.iat, lifetime);
        let found = world.get(path).with("Authorization", &format!("Bearer {token}")).ok().await;
        assert_eq!(found["code"], json!(true));
    }
}

#[actix_web::test]
async fn anything_but_the_raw_key_is_refused() {
    let world = world().await;
    let token = world.token(ACME_KEY);
    let bearer = format!("Bearer {ACME_KEY}");
    for wrong in [&bearer, &token, &token[7..], "", "nonsense", &ACME_KEY.to_uppercase(), &"x".repeat(5_000)] {
        let errors = world.request(Method::POST, "/authenticates").with("Authorization", wrong).fails(401).await;
        assert_eq!(errors, ["Invalid Credentials"]);
    }
    let errors = world.request(Method::POST, "/authenticates").without("Authorization").fails(401).await;
    assert_eq!(errors, ["Invalid Credentials"]);
}

#[actix_web::test]
async fn parameters_are_ignored_with_a_warning() {
    let world = world().await;
    let made =
        world.request(Method::POST, "/authenticates?subdomain=acme").with("Authorization", ACME_KEY).answers(201).await;
    assert_eq!(made["description"], Value::from("Note that following parameters are ignored: subdomain."));
}

/// A log that the test can read.
#[derive(Clone, Default)]
struct ReadableLog(Arc<Mutex<Vec<u8>>>);

impl io::Write for ReadableLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[actix_web::test]
async fn wrong_keys_are_logged_without_the_key() {
    let world = world().await;
    let lines = ReadableLog::default();
    let writer = lines.clone();
    let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let reading = tracing::subscriber::set_default(log);
    for wrong in ["psk_guessed", "psk_of_nobody"] {
        let ask = world.request(Method::POST, "/authenticates").with("Authorization", wrong).from("192.0.2.7");
        ask.fails(401).await;
    }
    world.get("/locations?subdomain=acme").with("Authorization", "Bearer psk_token").from("192.0.2.8").fails(401).await;
    drop(reading);
    let text = String::from_utf8(lines.0.lock().clone()).unwrap();
    let warned = |address: &str| {
        let about = |line: &&str| line.contains("WARN") && line.contains(&format!("address={address}"));
        text.lines().filter(about).count()
    };
    assert_eq!((warned("192.0.2.7"), warned("192.0.2.8")), (2, 1), "{text}");
    assert!(!text.contains("psk_"), "{text}");
}
