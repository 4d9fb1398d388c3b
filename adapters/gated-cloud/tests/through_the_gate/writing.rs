//! Sending of forms: once, with the session's token, and the conclusions from their responses.

use crate::desk::{DeskReply, answer, desk, fixture, login_page, nothing, refusal, session};
use adapter_sdk::{
    Adapter, AppointmentChange, Fault, PatientChange, Receipt, Write,
    http::{Error, Header, Response},
    records::{self, Gender},
};
use gated_cloud_adapter::GatedCloud;
use serde_json::{Value, json};

const KEY: &str = "ps-1-1-aa";

fn wanted(id: &str) -> records::Appointment {
    records::Appointment {
        id: id.into(),
        patient: Some("P-01".into()),
        provider: Some("D-1".into()),
        operatory: Some("O-1".into()),
        start: 1_796_133_600,
        end: 1_796_135_400,
        note: Some("läuft".into()),
        ..records::Appointment::default()
    }
}

fn change(id: &str) -> AppointmentChange {
    AppointmentChange { appointment: wanted(id), reason: None }
}

fn row() -> Value {
    fixture(include_str!("../fixtures/appointments-v3.json"))["items"][0].clone()
}

fn written() -> DeskReply {
    answer(200, json!({"markup": "v3", "item": row()}))
}

fn create(replies: Vec<DeskReply>) -> (Result<Receipt, Fault>, Vec<(String, Value)>) {
    let (host, asked) = desk(replies);
    let pushed = host.run(|| GatedCloud::push(KEY.into(), Write::CreateAppointment(change(""))));
    let asked = asked.borrow().clone();
    (pushed, asked)
}

#[test]
fn creations_look_for_an_earlier_write_first() {
    let (pushed, asked) = create(vec![answer(200, json!({"markup": "v3", "items": [row()]}))]);
    assert_eq!(pushed, Ok(Receipt { id: "A-000001".into(), version: Some("41".into()) }));
    assert_eq!(asked, [("GET /api/appointments?reference=ps-1-1-aa".into(), Value::Null)]);
    // A similar key in the search result belongs to another record.
    let mut other = row();
    other["reference"] = json!("ps-1-1-aab");
    let found = answer(200, json!({"markup": "v3", "items": [other]}));
    let (pushed, asked) = create(vec![found, session("c1"), written()]);
    assert!(pushed.is_ok());
    let paths: Vec<&str> = asked.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths[1..], ["GET /api/session", "POST /api/appointments"]);
    let (sent, start) = (&asked[2].1, "2026-12-01T14:00:00Z");
    assert_eq!((&sent["reference"], &sent["chairId"], &sent["start"]), (&json!(KEY), &json!("O-1"), &json!(start)));
}

#[test]
fn the_sessions_token_is_renewed_once() {
    let (pushed, asked) = create(vec![nothing(), session("c1"), refusal(403, "csrf"), session("c2"), written()]);
    assert!(pushed.is_ok());
    assert_eq!(asked.len(), 5);
    let again = vec![nothing(), session("c1"), refusal(403, "csrf"), session("c2"), refusal(403, "csrf")];
    assert!(matches!(create(again).0, Err(Fault::RetryLater(_))), "it was not written");
}

#[test]
fn failures_before_the_form_is_sent_write_nothing() {
    for reply in [login_page(), Err(Error::NotSent("closed".into()))] {
        assert_eq!(create(vec![reply.clone()]).0, Err(Fault::GateClosed));
        assert_eq!(create(vec![nothing(), reply.clone()]).0, Err(Fault::GateClosed));
    }
    let closed = Err(Error::NotSent("closed".into()));
    assert_eq!(create(vec![nothing(), session("c"), closed]).0, Err(Fault::GateClosed));
    let lost = Err(Error::NoAnswer("broke off".into()));
    assert!(matches!(create(vec![nothing(), lost]).0, Err(Fault::RetryLater(_))));
    let outdated = vec![nothing(), session("c"), refusal(409, "page_outdated")];
    assert!(matches!(create(outdated).0, Err(Fault::RetryLater(_))));
}

#[test]
fn an_unreadable_response_to_a_form_is_unknown() {
    let redirect = Response { status: 303, headers: vec![Header::new("location", "/app/login")], body: Vec::new() };
    let mut lacking = json!({"markup": "v3", "item": row()});
    lacking["item"].as_object_mut().unwrap().remove("id");
    for reply in [
        login_page(),
        Ok(redirect),
        Err(Error::NoAnswer("broke off".into())),
        answer(500, "<html>"),
        answer(200, ""),
        answer(200, json!({"markup": "v5"})),
        answer(404, "<html>"),
        answer(409, json!({"markup": "v5", "error": "overlap"})),
        answer(409, json!({"markup": "v3"})),
        answer(200, lacking),
    ] {
        let (pushed, _) = create(vec![nothing(), session("c"), reply.clone()]);
        assert!(matches!(pushed, Err(Fault::Unknown(_))), "{reply:?}: {pushed:?}");
    }
}

#[test]
fn a_refusal_has_its_reason_and_no_patient() {
    let (pushed, _) = create(vec![nothing(), session("c"), refusal(409, "overlap")]);
    assert_eq!(pushed, Err(Fault::rejected("the operatory is occupied at that time")));
    let (pushed, _) = create(vec![nothing(), session("c"), refusal(422, "no Zoë (born 1990)")]);
    assert_eq!(pushed, Err(Fault::rejected("the EHR refuses it: noZoborn1990")));
}

#[test]
fn a_move_contains_the_expected_revision() {
    let mut moved = change("A-000001");
    moved.appointment.start += 3_600;
    moved.appointment.end += 3_600;
    moved.appointment.version = Some("41".into());
    let (host, asked) = desk(vec![written(), session("c"), refusal(409, "changed_meanwhile")]);
    let pushed = host.run(|| GatedCloud::push(KEY.into(), Write::RescheduleAppointment(moved)));
    assert_eq!(pushed, Err(Fault::rejected("the appointment was changed in the EHR since it was read")));
    assert_eq!(asked.borrow()[2].1["revision"], 41);
    // Already at this time.
    let (host, asked) = desk(vec![written()]);
    assert!(host.run(|| GatedCloud::push(KEY.into(), Write::RescheduleAppointment(change("A-000001")))).is_ok());
    assert_eq!(asked.borrow().len(), 1);
}

#[test]
fn an_arrived_patient_is_not_set_to_confirmed() {
    let mut arrived = row();
    (arrived["status"], arrived["arrivedAt"]) = (json!("arrived"), json!("2026-12-01T08:55:00-05:00"));
    let shown = answer(200, json!({"markup": "v3", "item": arrived}));
    let mut confirmed = change("A-000001");
    (confirmed.appointment.confirmed, confirmed.appointment.patient_confirmed) = (true, false);
    let (host, asked) = desk(vec![shown, session("c"), written()]);
    assert!(host.run(|| GatedCloud::push(KEY.into(), Write::ConfirmAppointment(confirmed))).is_ok());
    assert_eq!(asked.borrow()[2].1, json!({"patientConfirmed": false}));
}

#[test]
fn a_cancelled_or_deleted_appointment_counts_as_cancelled() {
    for code in ["cancelled", "not_found"] {
        let (host, _) = desk(vec![session("c"), refusal(409, code)]);
        let pushed = host.run(|| GatedCloud::push(KEY.into(), Write::CancelAppointment(change("A-000001"))));
        assert_eq!(pushed, Ok(Receipt { id: "A-000001".into(), version: None }), "{code}");
    }
}

#[test]
fn only_the_applications_own_refusal_proves_a_missing_record() {
    let look = |reply: DeskReply| {
        let (host, _) = desk(vec![reply]);
        host.run(|| GatedCloud::find(KEY.into(), Write::RescheduleAppointment(change("A-000001"))))
    };
    assert_eq!(look(refusal(404, "not_found")), Ok(None));
    for reply in [answer(404, "<html>"), answer(404, "{}"), answer(410, json!({"markup": "v9", "error": "not_found"}))]
    {
        assert!(matches!(look(reply), Err(Fault::RetryLater(_))));
    }
    assert_eq!(look(login_page()), Err(Fault::GateClosed));
}

#[test]
fn an_update_is_found_only_if_every_field_matches() {
    let shown = || answer(200, include_str!("../fixtures/patient.json"));
    let mut patient = records::Patient {
        id: "P-01".into(),
        first_name: "Zoë".into(),
        last_name: "O’Brien".into(),
        date_of_birth: Some("1990-02-28".into()),
        gender: Some(Gender::Female),
        email: Some("zoe@mail.example".into()),
        cell_phone: Some("+1 518 555 0001".into()),
        home_phone: Some(" ".into()),
        address: Some(records::Address {
            line1: Some("1 Hill Lane".into()),
            city: Some("Springfield".into()),
            region: Some("NY".into()),
            postal_code: Some("12345".into()),
            country: Some("US".into()),
            ..records::Address::default()
        }),
        preferred_language: Some("en".into()),
        provider: Some("D-1".into()),
        chart_id: Some("M1001".into()),
        ..records::Patient::default()
    };
    let find = |patient: &records::Patient| {
        let (host, _) = desk(vec![shown()]);
        host.run(|| {
            GatedCloud::find(KEY.into(), Write::UpdatePatient(PatientChange { patient: patient.clone(), before: None }))
        })
        .unwrap()
    };
    assert_eq!(find(&patient), Some(Receipt { id: "P-01".into(), version: Some("12".into()) }));
    patient.home_phone = Some("+1 518 555 2001".into());
    assert_eq!(find(&patient), None);
}
