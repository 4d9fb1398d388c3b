use actix_web::http::Method;
use serde_json::{Value, json};

use crate::support::*;

#[actix_web::test]
async fn a_key_becomes_a_token_that_works() {
    let world = world().await;
    for (key, lifetime, path) in
        [(ACME_KEY, 24 * 3600, "/locations?subdomain=acme"), (REAL_KEY, 3600, "/locations?subdomain=real")]
    {
        let made = world.ask(Method::POST, "/authenticates").with("Authorization", key).answers(201).await;
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
        let errors = world.ask(Method::POST, "/authenticates").with("Authorization", wrong).fails(401).await;
        assert_eq!(errors, ["Invalid Credentials"]);
    }
    let errors = world.ask(Method::POST, "/authenticates").without("Authorization").fails(401).await;
    assert_eq!(errors, ["Invalid Credentials"]);
}

#[actix_web::test]
async fn parameters_are_ignored_with_a_warning() {
    let world = world().await;
    let made =
        world.ask(Method::POST, "/authenticates?subdomain=acme").with("Authorization", ACME_KEY).answers(201).await;
    assert_eq!(made["description"], Value::from("Note that following parameters are ignored: subdomain."));
}
