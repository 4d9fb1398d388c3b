//! Injected faults.

use std::time::{Duration, Instant};

use cloud_ehr::{CallSelector, InjectedFault};
use reqwest::Method;
use serde_json::json;

use crate::browser::{TestBrowser, start};

const CALL: &str = "/app/api/providers";

#[actix_web::test]
async fn selected_requests_and_replies_are_lost() {
    let under_test = start(|_| ());
    let browser = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    let csrf = browser.csrf().await;
    let add = async |name: &str| {
        let request = browser.request(Method::POST, "/app/api/patients").header("x-csrf-token", &csrf);
        let body = json!({"firstName": name, "lastName": "Example"}).to_string();
        let sent = request.header("x-markup", "v3").header("content-type", "application/json").body(body).send().await;
        match sent {
            Ok(answer) => answer.bytes().await.is_ok(),
            Err(_) => false,
        }
    };
    under_test.ehr.inject(CallSelector::Write(1), InjectedFault::LoseRequest);
    under_test.ehr.inject(CallSelector::Write(2), InjectedFault::LoseReply);
    browser.json(CALL).await;
    assert_eq!((add("a").await, add("b").await, add("c").await), (false, false, true));
    let mut made = under_test.ehr.patients();
    made.retain(|patient| patient.last_name == "Example");
    let made: Vec<_> = made.iter().map(|patient| patient.first_name.as_str()).collect();
    assert_eq!((made, under_test.ehr.injected_faults()), (vec!["b", "c"], 2));
}

#[actix_web::test]
async fn answers_are_delayed_oversized_or_redirected() {
    let under_test = start(|_| ());
    let browser = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    under_test.ehr.inject(CallSelector::Call(1), InjectedFault::Slow(Duration::from_millis(300)));
    under_test.ehr.inject(CallSelector::Call(2), InjectedFault::Huge(3 << 20));
    under_test.ehr.inject(CallSelector::Call(3), InjectedFault::Redirect("http://127.0.0.2:1/".into()));
    under_test.ehr.inject(CallSelector::Call(4), InjectedFault::LoginPage);
    let since = Instant::now();
    browser.json(CALL).await;
    assert!(since.elapsed() >= Duration::from_millis(300));
    assert!(browser.get(CALL).await.bytes().await.unwrap().len() > 3 << 20);
    let away = browser.get(CALL).await;
    assert_eq!((away.status().as_u16(), &away.headers()["location"]), (302, &"http://127.0.0.2:1/".parse().unwrap()));
    assert!(browser.page(CALL).await.contains("data-page=\"login\""));
    assert!(under_test.ehr.logged_in().is_empty());
    under_test.ehr.clear_faults();
}
