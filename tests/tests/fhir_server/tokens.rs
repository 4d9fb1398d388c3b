//! A server that requires access tokens, which a test authorization server grants with a limited lifetime.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use actix_web::{
    App, HttpResponse, HttpServer,
    web::{self, Data, Form},
};
use adapter_host::Url;
use serde::Deserialize;
use serde_json::json;
use setup::{
    DataSource,
    login::{Login, OAuth, Proof, SigningKey},
};
use tests::harness::in_process::{
    fhir::{FhirHarness, TOKEN},
    visitor,
};

use crate::fhir_server::{NINE, checks::check_in_ehr};

/// A test key without any other use.
const KEY: &[u8] = include_bytes!("../../../engine/adapter-host/tests/adapter_host/keys/p384.pem");

#[derive(Deserialize)]
struct TokenRequest {
    grant_type: String,
    client_assertion: String,
}

/// Checks only that the assertion is a JWT; the tests of the host verify its content. The server rejects the first
/// granted token, as if revoked.
async fn token(asked: Form<TokenRequest>, granted: Data<AtomicUsize>) -> HttpResponse {
    if asked.grant_type != "client_credentials" || asked.client_assertion.split('.').count() != 3 {
        return HttpResponse::BadRequest().json(json!({"error": "invalid_request"}));
    }
    let token = if granted.fetch_add(1, Ordering::SeqCst) == 0 { "revoked" } else { TOKEN };
    HttpResponse::Ok().json(json!({"access_token": token, "token_type": "bearer", "expires_in": 300}))
}

#[actix::test]
async fn access_tokens_are_obtained_and_renewed() {
    let granted = Data::new(AtomicUsize::new(0));
    let shared = granted.clone();
    let server = HttpServer::new(move || App::new().app_data(shared.clone()).route("/token", web::post().to(token)))
        .workers(1)
        .disable_signals()
        .bind(("127.0.0.1", 0))
        .unwrap();
    let url = Url::parse(&format!("http://{}/token", server.addrs()[0])).unwrap();
    actix_rt::spawn(server.run());
    let key = Proof::Key { key: Arc::new(SigningKey::from_pem(KEY).unwrap()), id: None };
    let oauth = OAuth::new(url, "practice-sync".into(), key, Some("system/*.*".into())).unwrap();
    let by_token = |source: &mut DataSource| {
        source.requests = None;
        source.access.get_or_insert_default().login = Some(Login::OAuth(oauth));
    };
    let Some(harness) = FhirHarness::open_as(|_| (), by_token).await else { return };
    assert_eq!(harness.patients().len(), 6);
    let place = harness.place(0, 1, NINE);
    let person = visitor("Holds", "A Token", "555-070-0000");
    let id = harness.book(place, "token-1", &person, "by token").await.unwrap().appointment.id;
    check_in_ehr(&harness, &harness.written(id).await, place).await;
    assert_eq!(granted.load(Ordering::SeqCst), 2, "the first was not taken, the second served for everything");
    harness.engine.stop().await;
}
