//! Checks of the resources on the server.

use std::collections::BTreeSet;

use chrono::DateTime;
use location::{
    command::Placement,
    time::{Span, Timestamp},
};
use records::record::Record;
use serde_json::{Value, json};
use tests::harness::{
    fixtures::INSTITUTION,
    in_process::{
        LOCATION,
        fhir::{FhirHarness, KEYS, key_of},
    },
};

/// Checks that the EHR has this number of our patients and appointments, each write once.
pub async fn once_each(harness: &FhirHarness, patients: usize, appointments: usize) {
    for (resource_type, expected) in [("Patient", patients), ("Appointment", appointments)] {
        let ours = harness.ours(resource_type).await;
        let keys: BTreeSet<_> = ours.iter().filter_map(key_of).collect();
        assert_eq!((ours.len(), keys.len()), (expected, expected), "{resource_type}: {ours:#?}");
    }
}

/// Returns the appointment in the EHR after checking its origin, place, time, and that its slot is busy.
pub async fn check_in_ehr(harness: &FhirHarness, record: &Record<records::Appointment>, place: Placement) -> Value {
    let there = harness.in_ehr(record).await;
    let key = key_of(&there).unwrap();
    assert!(key.starts_with(&format!("ps-{LOCATION}-")), "{key}");
    let token = format!("{}|{key}", KEYS);
    assert_eq!(harness.server.search("Appointment", &[("identifier", &token)]).await, std::slice::from_ref(&there));
    assert_eq!(span(&there), place.span);
    let room = (0..3).find(|room| Some(harness.operatory(*room)) == place.operatory).unwrap();
    let patient = patient_of(harness, record).await;
    let participants = there["participant"].as_array().unwrap();
    let actors: BTreeSet<_> = participants.iter().map(|p| p["actor"]["reference"].as_str().unwrap()).collect();
    let expected = [
        format!("Patient/{}", patient["id"].as_str().unwrap()),
        format!("Practitioner/{}", harness.seeded.practitioners[room]),
        format!("Location/{}", harness.seeded.rooms[room]),
    ];
    assert_eq!((actors, participants.len()), (expected.iter().map(String::as_str).collect(), 3));
    let slot = harness.server.read("Slot", &slot_of(&there)).await;
    assert_eq!((&slot["status"], span(&slot)), (&json!("busy"), place.span));
    there
}

fn span(resource: &Value) -> Span {
    let time =
        |field: &str| DateTime::parse_from_rfc3339(resource[field].as_str().unwrap()).unwrap().timestamp_millis();
    Span { start: Timestamp(time("start")), end: Timestamp(time("end")) }
}

/// Returns an appointment's patient in the EHR.
pub async fn patient_of(harness: &FhirHarness, record: &Record<records::Appointment>) -> Value {
    let patient = harness.engine.patient(INSTITUTION, record.patient_id.unwrap()).unwrap().unwrap();
    harness.server.read("Patient", &patient.foreign_id.unwrap()).await
}

/// Returns the id of the appointment's only slot.
pub fn slot_of(appointment: &Value) -> String {
    let slots = appointment["slot"].as_array().unwrap();
    assert_eq!(slots.len(), 1);
    slots[0]["reference"].as_str().unwrap().strip_prefix("Slot/").unwrap().to_owned()
}
