//! Unreadable values, and values in other formats.

use adapter_sdk::{Adapter, Page, Record, Resource, http::Response, testing::Host, time::instant_of};
use sandbox_adapter::Sandbox;
use serde_json::{Value, json};

/// Pulls a page with this row changed in one field, and a valid row.
fn pulled(resource: Resource, row: &Value, field: &str, value: &Value) -> Page {
    let (mut tried, mut other) = (row.clone(), row.clone());
    tried[field] = value.clone();
    other["id"] = "other".into();
    let page = json!({"records": [tried, other], "deleted": [], "revision": 7, "more": false, "total": 2});
    let host = Host::new().config("location", "main-street").offset_seconds(-5 * 3_600);
    let host =
        host.answer(move |_| Ok(Response { status: 200, headers: Vec::new(), body: page.to_string().into_bytes() }));
    host.run(|| Sandbox::pull(resource, None, 50)).unwrap()
}

fn visit() -> Value {
    json!({"id": "A-1", "version": 3, "start": "2026-12-01T09:00:00-05:00", "end": "2026-12-01T12:30:00-05:00", "status": "scheduled",
        "blocked": false, "patient_confirmed": false})
}

fn patient() -> Value {
    json!({"id": "P-1", "version": 1, "first_name": "Zoë", "last_name": "", "inactive": false, "new": false, "no_texts": false,
        "no_emails": false})
}

fn day() -> Value {
    json!({"id": "H-1", "provider": "D-1", "begin": "09:00", "end": "17:00", "date": "2026-12-01", "block": false, "types": [],
        "active": true})
}

fn coverage() -> Value {
    json!({"id": "C-1", "patient": "P-1", "plan": "I-1", "relation": "self", "active": true, "expiration_date": "2026-12-01"})
}

#[test]
fn a_record_with_an_unreadable_value_is_skipped_and_not_deleted() {
    for (resource, row, field) in [
        (Resource::Appointments, visit(), "start"),
        (Resource::Appointments, visit(), "end"),
        (Resource::Appointments, visit(), "arrived_at"),
        (Resource::Appointments, visit(), "left_at"),
        (Resource::Patients, patient(), "born"),
        (Resource::WorkingHours, day(), "date"),
        (Resource::Coverages, coverage(), "expiration_date"),
    ] {
        for value in
            [json!("soon"), json!("2026-02-30"), json!("2026-12-01T25:00:00Z"), json!("12/1/2026"), json!({"at": 1})]
        {
            let page = pulled(resource, &row, field, &value);
            let skipped: Vec<&str> = page.skipped.iter().map(|skipped| skipped.id.as_str()).collect();
            assert_eq!(
                (skipped, page.records.len(), page.deleted.len()),
                (vec![row["id"].as_str().unwrap()], 1, 0),
                "{field} {value}"
            );
            assert!(!page.skipped[0].reason.contains("soon"));
        }
    }
}

#[test]
fn times_and_dates_are_read_in_every_unambiguous_format() {
    for text in [
        "2026-12-01T14:00:00Z",
        "2026-12-01T14:00Z",
        "2026-12-01 09:00:00",
        "2026-12-01T09:00",
        "2026-12-01T15:00:00+0100",
    ] {
        let page = pulled(Resource::Appointments, &visit(), "start", &json!(text));
        let Record::Appointment(visit) = &page.records[0] else { panic!("{page:?}") };
        assert_eq!(Some(visit.start), instant_of("2026-12-01T14:00:00Z"), "{text}");
    }
    for text in ["1940-01-01", "1940-01-01T00:00:00", "1940-01-01 00:00:00.000+0000"] {
        let page = pulled(Resource::Patients, &patient(), "born", &json!(text));
        let Record::Patient(patient) = &page.records[0] else { panic!("{page:?}") };
        assert_eq!(patient.date_of_birth.as_deref(), Some("1940-01-01"), "{text}");
    }
}

#[test]
fn null_and_empty_texts_are_absent() {
    for absent in [Value::Null, json!(""), json!(" ")] {
        for field in ["arrived_at", "left_at", "note", "patient", "reason", "write_key"] {
            let page = pulled(Resource::Appointments, &visit(), field, &absent);
            assert_eq!((page.records.len(), page.skipped.len()), (2, 0), "{field} {absent}");
            let Record::Appointment(visit) = &page.records[0] else { panic!("{page:?}") };
            assert_eq!((&visit.note, &visit.patient, &visit.write_key, visit.checkin_at), (&None, &None, &None, None));
        }
        for field in ["middle_name", "born", "gender", "email", "cell", "address", "guarantor", "chart", "language"] {
            let page = pulled(Resource::Patients, &patient(), field, &absent);
            assert_eq!((page.records.len(), page.skipped.len()), (2, 0), "{field} {absent}");
            let Record::Patient(patient) = &page.records[0] else { panic!("{page:?}") };
            assert_eq!(
                (&patient.middle_name, &patient.date_of_birth, &patient.email, patient.gender),
                (&None, &None, &None, None)
            );
            assert_eq!((patient.last_name.as_str(), &patient.chart_id), ("", &None), "a patient with one name");
        }
        assert_eq!(pulled(Resource::WorkingHours, &day(), "days", &absent).skipped.len(), 0);
        assert_eq!(pulled(Resource::WorkingHours, &day(), "operatory", &absent).skipped.len(), 0);
    }
}
