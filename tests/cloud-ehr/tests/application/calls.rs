//! The calls of the pages' script.

use cloud_ehr::{AppointmentStatus, Markup};
use reqwest::Method;
use serde_json::{Value, json};

use crate::browser::{TestBrowser, start};

fn visit(start: &str, end: &str) -> Value {
    json!({"patientId": "P-01", "providerId": "D-1", "chairId": "O-1", "typeId": "T-1", "start": start, "end": end,
        "note": "läuft", "reference": "ref-1"})
}

#[actix_web::test]
async fn a_visit_is_made_found_moved_and_cancelled() {
    let under_test = start(|_| ());
    let browser = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    let (status, made) = browser
        .change(Method::POST, "/app/api/appointments", visit("2027-02-01T14:00:00Z", "2027-02-01T14:30:00Z"))
        .await;
    assert_eq!(status, 200, "{made}");
    assert_eq!((&made["markup"], &made["item"]["start"]), (&json!("v3"), &json!("2027-02-01T09:00:00-05:00")));
    let id = made["item"]["id"].as_str().unwrap();
    let found = browser.json("/app/api/appointments?reference=ref-1").await;
    assert_eq!(found["items"], json!([made["item"]]));
    let path = format!("/app/api/appointments/{id}");
    let later = json!({"start": "2027-02-01T15:00:00Z", "end": "2027-02-01T15:30:00Z", "revision": 1});
    let (status, refused) = browser.change(Method::PATCH, &path, later).await;
    assert_eq!((status, &refused["error"]), (409, &json!("changed_meanwhile")));
    let to = json!({"status": "arrived", "arrivedAt": "2027-02-01T13:55:00Z"});
    let (status, arrived) = browser.change(Method::PATCH, &path, to).await;
    assert_eq!(
        (status, &arrived["item"]["status"], &arrived["item"]["note"]),
        (200, &json!("arrived"), &json!("läuft"))
    );
    browser.change(Method::PATCH, &path, json!({"status": "cancelled", "cancelReason": "ill"})).await;
    assert_eq!(under_test.ehr.practice().appointment(id).unwrap().status, AppointmentStatus::Cancelled);
}

#[actix_web::test]
async fn refusals_contain_a_code_and_a_message() {
    let under_test = start(|_| ());
    let browser = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    let taken = under_test.ehr.appointments().into_iter().find(|a| a.operatory == "O-1" && !a.block).unwrap();
    let at = |at: i64| json!(under_test.ehr.practice().local(at).to_rfc3339());
    let mut body = visit("", "");
    (body["start"], body["end"]) = (at(taken.start + 60), at(taken.end + 60));
    let (status, refused) = browser.change(Method::POST, "/app/api/appointments", body.clone()).await;
    let name = under_test.ehr.practice().patient(taken.patient.as_ref().unwrap()).unwrap().name();
    assert_eq!((status, &refused["error"]), (409, &json!("overlap")));
    assert!(refused["message"].as_str().unwrap().contains(&name), "{refused}");
    body["patientId"] = json!("P-99");
    let (status, refused) = browser.change(Method::POST, "/app/api/appointments", body).await;
    assert_eq!((status, &refused["error"]), (422, &json!("unknown_patient")));
}

#[actix_web::test]
async fn changes_since_a_mark_are_listed() {
    let under_test = start(|_| ());
    let browser = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    let (mut seen, mut mark) = (0, String::new());
    loop {
        let page = browser.json(&format!("/app/api/changes?of=patients&since={mark}&limit=7")).await;
        seen += page["items"].as_array().unwrap().len();
        mark = page["mark"].as_str().unwrap().to_owned();
        if page["more"] == false {
            break;
        }
    }
    assert_eq!(seen, 40);
    let one = browser.json("/app/api/changes?of=providers&limit=1").await;
    let other = browser.json(&format!("/app/api/changes?of=providers&since={}", one["mark"].as_str().unwrap())).await;
    assert_eq!((&one["more"], other["items"].as_array().unwrap().len()), (&json!(true), 1));
    under_test.ehr.practice().edit_patient("P-03", |patient| patient.mobile = None);
    under_test.ehr.practice().remove_patient("P-04");
    let page = browser.json(&format!("/app/api/changes?of=patients&since={mark}")).await;
    assert_eq!((page["items"].as_array().unwrap().len(), &page["removed"]), (1, &json!(["P-04"])));
    let other = browser.json("/app/api/changes?of=patients&since=0.7").await;
    assert_eq!(other["error"], "mark_expired");
}

#[actix_web::test]
async fn names_move_with_the_markup() {
    let under_test = start(|_| ());
    let browser = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    let of_v3 = browser.json("/app/api/patients/P-01").await;
    under_test.ehr.set_markup(Markup::V4);
    let of_v4 = browser.json("/app/api/patients/P-01").await;
    assert_eq!((&of_v3["markup"], &of_v4["markup"]), (&json!("v3"), &json!("v4")));
    assert_eq!(of_v3["item"]["lastName"], of_v4["data"]["row"]["name"]["family"]);
    under_test.ehr.set_markup(Markup::V5);
    assert_eq!(browser.json("/app/api/patients/P-01").await["markup"], "v5");
}

#[actix_web::test]
async fn calls_beyond_the_quota_get_429_with_retry_after() {
    let under_test = start(|settings| settings.calls_per_minute = Some(2));
    let browser = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(browser.get("/app/api/providers").await.status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 429]);
    assert_eq!(browser.get("/app/api/providers").await.headers()["retry-after"], "60");
    browser.json("/app/api/session").await;
    under_test.later(60);
    assert_eq!(browser.get("/app/api/providers").await.status(), 200);
    assert_eq!(under_test.ehr.counts().throttled, 2);
}
