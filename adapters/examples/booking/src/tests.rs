//! The adapter with responses in the EHR's format, stored as fixtures.
#![allow(clippy::unwrap_used)]

use adapter_sdk::{
    Adapter, AppointmentChange, Fault, Record, Resource, Write,
    http::{Error, Method, Request, Response},
    records::Appointment,
    testing::Host,
};
use serde_json::{Value, json};

use crate::Practice;

fn host(answer: impl Fn(&Request) -> (u16, Value) + 'static) -> Host {
    Host::new().manifest(include_str!("../adapter.toml")).config("location", "main-street").answer(move |request| {
        let (status, body) = answer(request);
        Ok(Response { status, headers: Vec::new(), body: body.to_string().into_bytes() })
    })
}

#[test]
fn patients_are_read_and_an_unreadable_one_is_skipped() {
    let page: Value = serde_json::from_str(include_str!("../fixtures/patients.json")).unwrap();
    let host = host(move |request| {
        assert_eq!(request.path, "/v1/patients?location=main-street&since=0&limit=50");
        (200, page.clone())
    });
    let page = host.run(|| Practice::pull(Resource::Patients, None, 50)).unwrap();
    let Record::Patient(zoe) = &page.records[0] else { panic!("no patient") };
    assert_eq!((zoe.first_name.as_str(), zoe.date_of_birth.as_deref()), ("Zoë", Some("1990-02-28")));
    assert_eq!((page.records.len(), page.skipped[0].id.as_str(), page.last, page.whole), (1, "P-00002", true, true));
}

#[test]
fn a_booking_is_written_with_its_key_and_found_by_it() {
    let host = host(|request| match (&request.method, request.path.as_str()) {
        (Method::Post, "/v1/appointments") => {
            let body: Value = serde_json::from_slice(request.body.as_deref().unwrap()).unwrap();
            assert_eq!((&body["write_key"], &body["start"]), (&json!("ps-1"), &json!("2026-12-01T15:00:00Z")));
            (201, json!({"id": "A-1", "version": 7}))
        }
        (Method::Get, "/v1/writes/ps-1") => (200, json!({"id": "A-1", "version": 7})),
        _ => (404, json!({"error": "not_found", "message": "no such write"})),
    });
    let appointment = Appointment { start: 1_796_137_200, end: 1_796_139_000, ..Appointment::default() };
    let booking = Write::CreateAppointment(AppointmentChange { appointment, reason: None });
    host.run(|| {
        let receipt = Practice::push("ps-1".into(), booking.clone()).unwrap();
        assert_eq!((receipt.id.as_str(), receipt.version.as_deref()), ("A-1", Some("7")));
        assert_eq!(Practice::find("ps-1".into(), booking.clone()).unwrap(), Some(receipt));
        assert_eq!(Practice::find("ps-2".into(), booking.clone()).unwrap(), None);
    });
}

#[test]
fn a_refusal_names_no_patient_and_a_lost_answer_proves_nothing() {
    let change = AppointmentChange { appointment: Appointment::default(), reason: None };
    let push = || Practice::push("ps-1".into(), Write::CreateAppointment(change.clone()));
    let refused = host(|_| (409, json!({"error": "slot_taken", "message": "Zoë Łopata stands there"}))).run(push);
    assert_eq!(refused, Err(Fault::rejected("the EHR refuses it: slot_taken")));
    let settings = Host::new().manifest(include_str!("../adapter.toml")).config("location", "main-street");
    let lost = settings.answer(|_| Err(Error::NoAnswer("cut".into()))).run(push);
    assert!(matches!(lost, Err(Fault::Unknown(_))), "{lost:?}");
}
