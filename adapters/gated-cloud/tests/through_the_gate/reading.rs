//! Reads of the application, in both supported releases and in others.

use crate::desk::{DeskReply, answer, desk, fixture, login_page, refusal};
use adapter_sdk::{
    Adapter, Fault, Page, Record, Resource, RetryLater,
    http::{Error, Header},
    testing::Host,
};
use gated_cloud_adapter::GatedCloud;
use serde_json::{Value, json};

const V3: &str = include_str!("../fixtures/appointments-v3.json");
const V4: &str = include_str!("../fixtures/appointments-v4.json");

fn pulled(reply: DeskReply) -> Result<Page, Fault> {
    let (host, _) = desk(vec![reply]);
    host.run(|| GatedCloud::pull(Resource::Appointments, Some("delta:e.1".into()), 500))
}

#[test]
fn both_releases_show_the_same() {
    let (host, asked) = desk(vec![answer(200, V3)]);
    let page = host.run(|| GatedCloud::pull(Resource::Appointments, Some("delta:e.1".into()), 500)).unwrap();
    assert_eq!(asked.borrow()[0].0, "GET /api/changes?of=appointments&since=e.1&limit=200");
    assert_eq!(
        (page.deleted.as_slice(), page.cursor.as_str(), page.last, page.whole),
        (&["A-000009".to_owned()][..], "delta:e.42", true, false)
    );
    let [Record::Appointment(visit), Record::Appointment(lunch)] = page.records.as_slice() else { panic!() };
    assert_eq!((visit.start, visit.end - visit.start), (1_796_133_600, 1_800));
    assert_eq!(
        (visit.operatory.as_deref(), visit.write_key.as_deref(), visit.version.as_deref()),
        (Some("O-1"), Some("ps-1-1-aa"), Some("41"))
    );
    assert!(
        visit.confirmed
            && visit.patient_confirmed
            && !visit.unavailable
            && lunch.unavailable
            && lunch.patient.is_none()
    );
    assert_eq!(pulled(answer(200, V4)).unwrap(), page);
}

#[test]
fn an_unknown_release_is_not_read() {
    let mut next = fixture(V4);
    next["markup"] = json!("v5");
    let Err(Fault::RetryLater(RetryLater { reason, seconds: Some(900) })) = pulled(answer(200, &next)) else {
        panic!("it was read")
    };
    assert!(reason.contains("v5") && reason.contains("v3 and v4"), "{reason}");
    // A known name with another type of value.
    for (pointer, name) in [("/items/0/chairId", "operatory"), ("/items/1/reference", "reference"), ("/mark", "mark")] {
        let mut other = fixture(V3);
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        other.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(field);
        let Err(Fault::RetryLater(RetryLater { reason, seconds: Some(900) })) = pulled(answer(200, &other)) else {
            panic!("{pointer}")
        };
        assert!(reason.contains("v3") && reason.contains(name), "{reason}");
    }
    let mut other = fixture(V3);
    other["items"][0]["start"] = json!(7);
    assert!(matches!(pulled(answer(200, &other)), Err(Fault::RetryLater(RetryLater { seconds: None, .. }))));
}

/// The known state of the record stays: it is not deleted, and the others are listed.
#[test]
fn a_record_with_an_unreadable_value_is_skipped_and_not_deleted() {
    for (release, names) in
        [(V3, ["/start", "/end", "/arrivedAt", "/status"]), (V4, ["/period/from", "/period/to", "/arrival", "/state"])]
    {
        for name in names {
            for value in ["next week", "2026-02-30T10:00:00Z", "12/1/2026 9:00"] {
                let mut strange = fixture(release);
                let rows = if release == V3 { "/items/0" } else { "/data/rows/0" };
                *strange.pointer_mut(&format!("{rows}{name}")).unwrap() = json!(value);
                let page = pulled(answer(200, &strange)).unwrap();
                let skipped: Vec<&str> = page.skipped.iter().map(|skipped| skipped.id.as_str()).collect();
                let as_fixture = page.deleted == ["A-000009"] && page.records.len() == 1;
                assert!(skipped == ["A-000001"] && as_fixture, "{name} {value}: {page:?}");
                assert!(!page.skipped[0].reason.contains("week"), "{:?}", page.skipped);
            }
        }
    }
    for absent in [Value::Null, json!("")] {
        let mut strange = fixture(V3);
        strange["items"][0]["start"] = absent;
        assert_eq!(pulled(answer(200, &strange)).unwrap().skipped.len(), 1);
    }
}

#[test]
fn unambiguous_times_are_read_and_empty_texts_are_absent() {
    let nine = 1_796_133_600;
    for value in ["2026-12-01T14:00:00Z", "2026-12-01T09:00-05:00", "2026-12-01 14:00+0000", "2026-12-01T14:00:00"] {
        let mut other = fixture(V3);
        other["items"][0]["start"] = json!(value);
        other["items"][0]["arrivedAt"] = json!(" ");
        other["items"][0]["note"] = json!("");
        let page = pulled(answer(200, &other)).unwrap();
        let Record::Appointment(visit) = &page.records[0] else { panic!("{page:?}") };
        assert_eq!((visit.start, visit.checkin_at, &visit.note), (nine, None, &None), "{value}");
    }
}

#[test]
fn an_expired_session_closes_the_gate() {
    assert_eq!(pulled(login_page()), Err(Fault::GateClosed));
    assert_eq!(pulled(refusal(401, "logged_out")), Err(Fault::GateClosed));
    let to_login = adapter_sdk::http::Response {
        status: 302,
        headers: vec![Header::new("location", "/app/login")],
        body: Vec::new(),
    };
    assert_eq!(pulled(Ok(to_login)), Err(Fault::GateClosed));
    assert_eq!(pulled(Err(Error::NotSent("nobody is logged in".into()))), Err(Fault::GateClosed));
    assert_eq!(Host::new().run(|| GatedCloud::pull(Resource::Patients, None, 10)), Err(Fault::GateClosed));
    // Any other page is not a login page.
    let page = answer(200, "<html><body>We are moving house</body></html>");
    assert!(matches!(pulled(page), Err(Fault::RetryLater(RetryLater { seconds: None, .. }))));
    assert!(matches!(pulled(Err(Error::Refused("redirected".into()))), Err(Fault::RetryLater(_))));
    assert!(matches!(
        pulled(refusal(429, "too_many_calls")),
        Err(Fault::RetryLater(RetryLater { seconds: Some(60), .. }))
    ));
}

#[test]
fn an_expired_mark_starts_a_whole_pass() {
    let (host, asked) = desk(vec![refusal(410, "mark_expired"), answer(200, V3)]);
    let page = host.run(|| GatedCloud::pull(Resource::Appointments, Some("delta:old.7".into()), 10)).unwrap();
    assert_eq!((page.whole, page.cursor.as_str()), (true, "delta:e.42"));
    assert_eq!(asked.borrow()[1].0, "GET /api/changes?of=appointments&limit=10");
}

#[test]
fn it_describes_itself_before_a_login() {
    let description = Host::new().manifest(include_str!("../../adapter.toml")).run(GatedCloud::describe).unwrap();
    assert!(description.gated && description.requests_per_minute == Some(60));
    let wrong = Host::new().config("requests_per_minute", "many").run(GatedCloud::describe);
    assert!(matches!(wrong, Err(Fault::Unsupported(_))));
}
