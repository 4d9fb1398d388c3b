//! Sessions and permissions.

use cloud_ehr::SessionOver;
use reqwest::Method;
use serde_json::json;

use crate::browser::{TestBrowser, start};

const CALL: &str = "/app/api/providers";

#[actix_web::test]
async fn pages_redirect_to_the_login_without_a_session() {
    let under_test = start(|_| ());
    let browser = TestBrowser::new(&under_test.ehr);
    for path in ["/", "/app/schedule", "/app/patients", "/app/whatever"] {
        let answer = browser.get(path).await;
        assert_eq!((answer.status().as_u16(), &answer.headers()["location"]), (303, &"/app/login".parse().unwrap()));
    }
    let page = browser.page(CALL).await;
    assert!(page.contains("data-page=\"login\"") && page.contains("type=\"password\""), "{page}");
    let wrong = browser.form("/app/login", &[("user", "frontdesk"), ("password", "guess")]).await;
    assert_eq!(wrong.status(), 401);
    assert!(wrong.headers().get("set-cookie").is_none() && wrong.text().await.unwrap().contains("do not belong"));
}

#[actix_web::test]
async fn a_login_ends_the_users_other_session() {
    let under_test = start(|_| ());
    let first = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    let other = TestBrowser::log_in(&under_test.ehr, "hygiene").await;
    let second = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    assert_eq!(under_test.ehr.logged_in().len(), 2);
    assert!(first.page(CALL).await.contains("You logged in on another computer"));
    assert_eq!(second.json("/app/api/session").await["user"], "Robin, front desk");
    assert_eq!(other.json("/app/api/session").await["user"], "Kim, hygiene");
    assert_ne!(second.csrf().await, other.csrf().await);
}

#[actix_web::test]
async fn idle_session_ends_and_probes_are_not_activity() {
    let under_test = start(|settings| settings.idle_seconds = 600);
    let browser = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    under_test.later(500);
    browser.json(CALL).await;
    under_test.later(500);
    browser.json("/app/api/session").await;
    under_test.later(99);
    browser.json("/app/api/session").await;
    under_test.later(1);
    assert!(browser.page("/app/api/session").await.contains("nothing was done for a while"));
    assert_eq!(browser.get("/app/schedule").await.status(), 303);
}

#[actix_web::test]
async fn ended_session_is_answered_by_page_401_or_redirect() {
    let under_test = start(|_| ());
    let browser = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    under_test.ehr.expire_sessions();
    for (over, status) in
        [(SessionOver::LoginPage, 200), (SessionOver::Unauthorized, 401), (SessionOver::Redirect, 302)]
    {
        under_test.ehr.set_session_over(over);
        assert_eq!(browser.get(CALL).await.status(), status, "{over:?}");
    }
    assert_eq!(under_test.ehr.counts().logged_out, 3);
}

#[actix_web::test]
async fn logging_out_needs_the_pages_token() {
    let under_test = start(|_| ());
    let browser = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    browser.form("/app/logout", &[("csrf", "guess")]).await;
    assert_eq!(under_test.ehr.logged_in(), ["frontdesk"]);
    let csrf = browser.csrf().await;
    browser.form("/app/logout", &[("csrf", &csrf)]).await;
    assert!(under_test.ehr.logged_in().is_empty());
}

#[actix_web::test]
async fn a_change_needs_the_sessions_token_and_the_markup_it_was_made_for() {
    let under_test = start(|_| ());
    let browser = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    let body = json!({"firstName": "Ada", "lastName": "Example"}).to_string();
    let csrf = browser.csrf().await;
    let send = async |token: &str, markup: &str, media_type: &str| {
        let request = browser.request(Method::POST, "/app/api/patients").header("x-csrf-token", token);
        let request = request.header("x-markup", markup).header("content-type", media_type).body(body.clone());
        request.send().await.unwrap().status().as_u16()
    };
    let json = "application/json";
    assert_eq!(send("", "v3", json).await, 403);
    assert_eq!(send(&csrf, "v4", json).await, 409);
    assert_eq!(send(&csrf, "v3", "text/plain").await, 400);
    under_test.ehr.renew_csrf();
    assert_eq!(send(&csrf, "v3", json).await, 403);
    assert_eq!(under_test.ehr.patients().len(), 40);
    assert_eq!(send(&browser.csrf().await, "v3", json).await, 200);
    assert_eq!(under_test.ehr.patients().len(), 41);
}
