//! Deviations from R4: null, empty values, times in other formats. Unambiguous values are read. Unreadable records are
//! skipped, never treated as deleted.

use crate::server::Server;
use adapter_sdk::{Adapter, AppointmentChange, Fault, Receipt, Record, Resource, Write, records, time::instant_of};
use fhir_adapter::Fhir;
use serde_json::{Map, Value, json};

const RESOURCES: [Resource; 12] = [
    Resource::Providers,
    Resource::Operatories,
    Resource::Patients,
    Resource::WorkingHours,
    Resource::Appointments,
    Resource::InsurancePlans,
    Resource::Coverages,
    Resource::PatientHistoryItems,
    Resource::PatientAlerts,
    Resource::CommunicationLogs,
    Resource::FormResponses,
    Resource::Payments,
];
const TYPES: &str = "Patient,Practitioner,PractitionerRole,Location,Schedule,Slot,Appointment,Organization,Coverage,\
                     AllergyIntolerance,Condition,MedicationStatement,Medication,Flag,Communication,Questionnaire,\
                     QuestionnaireResponse,PaymentNotice";

#[derive(Debug, Default, PartialEq)]
struct LenientPass {
    records: Vec<Record>,
    skipped: Vec<String>,
    deleted: Vec<String>,
}

fn pass(server: &Server, resource: Resource) -> LenientPass {
    let (mut pass, mut cursor) = (LenientPass::default(), None);
    loop {
        let page = server.run_with(&[("resources", TYPES)], || Fhir::pull(resource, cursor, 100)).0;
        let page = page.unwrap_or_else(|fault| panic!("{resource:?}: {fault:?}"));
        assert!(page.whole, "{resource:?}");
        pass.records.extend(page.records);
        pass.skipped.extend(page.skipped.into_iter().map(|skipped| skipped.id));
        pass.deleted.extend(page.deleted);
        if page.last {
            return pass;
        }
        cursor = Some(page.cursor);
    }
}

/// All recorded resources.
fn recorded() -> Vec<Value> {
    let files: Value = serde_json::from_str(include_str!("fixtures/files.json")).unwrap();
    let mut all = Server::new().0.borrow().resources.clone();
    all.extend(files["entry"].as_array().unwrap().iter().map(|entry| entry["resource"].clone()));
    all
}

/// Collects the names of all fields.
fn names(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| names(item, into)),
        Value::Object(fields) => {
            into.extend(fields.keys().cloned());
            fields.values().for_each(|value| names(value, into));
        }
        _ => (),
    }
}

/// Adds to every object all missing fields with the value `nothing`, and to every list items that are `nothing`.
fn littered(value: &Value, names: &[String], nothing: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let items = items.iter().map(|item| littered(item, names, nothing));
            std::iter::once(nothing.clone()).chain(items).chain([nothing.clone()]).collect()
        }
        Value::Object(fields) => {
            let mut all: Map<String, Value> = names.iter().map(|name| (name.clone(), nothing.clone())).collect();
            all.extend(fields.iter().map(|(name, value)| (name.clone(), littered(value, names, nothing))));
            Value::Object(all)
        }
        other => other.clone(),
    }
}

#[test]
fn null_and_empty_values_are_absent_in_every_list_and_object() {
    let recorded = recorded();
    let mut known = Vec::new();
    recorded.iter().for_each(|resource| names(resource, &mut known));
    for more in ["telecom", "period", "slot", "serviceType", "rank", "partOf", "gender", "deceasedDateTime", "text"] {
        known.push(more.into());
    }
    known.sort();
    known.dedup();
    let plain = RESOURCES.map(|resource| pass(&Server::with_resources(recorded.clone()), resource));
    assert!(plain.iter().all(|pass| !pass.records.is_empty() && pass.skipped.is_empty()), "{plain:#?}");
    for nothing in [json!(null), json!(""), json!(" \t"), json!([]), json!({}), json!([null]), json!({"x": [""]})] {
        let resources = recorded.iter().map(|resource| littered(resource, &known, &nothing)).collect();
        let server = Server::with_resources(resources);
        for (resource, plain) in RESOURCES.into_iter().zip(&plain) {
            assert_eq!(pass(&server, resource), *plain, "{resource:?} with {nothing}");
        }
    }
}

fn practice(resources: impl IntoIterator<Item = Value>) -> Server {
    let site = json!({"resourceType": "Location", "id": "site", "name": "Site", "status": "active"});
    let room =
        json!({"resourceType": "Location", "id": "room", "name": "Room", "partOf": {"reference": "Location/site"}});
    let doctor = json!({"resourceType": "Practitioner", "id": "doc"});
    let dated = |mut resource: Value| {
        resource["meta"] = json!({"versionId": "1", "lastUpdated": "2026-11-20T00:00:00Z"});
        resource
    };
    Server::with_resources([site, room, doctor].into_iter().chain(resources).map(dated).collect())
}

/// A booked appointment in the room, with other fields.
fn appointment(id: &str, more: &Value) -> Value {
    let mut appointment = json!({"resourceType": "Appointment", "id": id, "status": "booked",
        "start": "2026-12-01T15:00:00Z", "end": "2026-12-01T15:30:00Z", "participant": [
            {"actor": {"reference": "Patient/p"}, "status": "accepted"},
            {"actor": {"reference": "Location/room"}, "status": "accepted"}]});
    appointment.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    appointment
}

fn spans(pass: &LenientPass) -> Vec<(i64, i64)> {
    let span = |record: &Record| match record {
        Record::Appointment(a) => (a.start, a.end),
        other => panic!("{other:?}"),
    };
    pass.records.iter().map(span).collect()
}

#[test]
fn times_without_a_zone_or_seconds_are_read() {
    let at = |text: &str| instant_of(text).unwrap();
    let whole = (at("2026-12-01T15:00:00Z"), at("2026-12-01T15:30:00Z"));
    for (start, end) in [
        ("2026-12-01T10:00:00", "2026-12-01T10:30:00"),
        ("2026-12-01T15:00Z", "2026-12-01T15:30Z"),
        ("2026-12-01T10:00:00-0500", "2026-12-01 10:30"),
    ] {
        let times = json!({"start": start, "end": end});
        let slot = json!({"resourceType": "Slot", "id": "s", "status": "free", "start": start, "end": end,
            "schedule": {"reference": "Schedule/sch"}});
        let schedule = json!({"resourceType": "Schedule", "id": "sch",
            "actor": [{"reference": "Practitioner/doc"}, {"reference": "Location/room"}]});
        let server = practice([appointment("a", &times), schedule, slot]);
        assert_eq!(spans(&pass(&server, Resource::Appointments)), [whole], "{start}");
        server.0.borrow_mut().resources.retain(|resource| resource["resourceType"] != "Appointment");
        let Record::WorkingHour(hour) = pass(&server, Resource::WorkingHours).records.remove(0) else { panic!() };
        assert_eq!((hour.begin_time.as_str(), hour.end_time.as_str()), ("10:00", "10:30"), "{start}");
    }
    let minutes = json!({"end": null, "minutesDuration": 30});
    assert_eq!(spans(&pass(&practice([appointment("a", &minutes)]), Resource::Appointments)), [whole]);
}

#[test]
fn an_appointment_that_cannot_be_read_is_skipped_and_not_deleted() {
    for broken in [
        json!({"start": "tomorrow at ten"}),
        json!({"start": "2026-12-01"}),
        json!({"start": 1_796_000_000}),
        json!({"start": null}),
        json!({"start": null, "end": null}),
        json!({"start": "", "end": ""}),
        json!({"status": "pending", "start": null, "end": null}),
        json!({"end": "10:30 PM"}),
        json!({"end": null}),
        json!({"end": "2026-12-01T14:00:00Z"}),
        json!({"end": "2026-12-01T15:00:00Z"}),
        json!({"status": null}),
        json!({"status": ""}),
        json!({"serviceType": "check-up"}),
    ] {
        let pass = pass(&practice([appointment("a", &broken)]), Resource::Appointments);
        assert_eq!((&pass.records, pass.skipped.as_slice()), (&Vec::new(), &["a".to_owned()][..]), "{broken}");
        assert!(pass.deleted.is_empty(), "{broken}");
    }
    // By its status it is no appointment, or not yet.
    for gone in [
        json!({"status": "waitlist"}),
        json!({"status": "waitlist", "start": null}),
        json!({"status": "proposed", "start": null, "end": null}),
        json!({"status": "cancelled", "start": null, "end": null}),
        json!({"status": "cancelled", "start": "unknown"}),
        json!({"status": "entered-in-error", "start": null}),
    ] {
        let pass = pass(&practice([appointment("a", &gone)]), Resource::Appointments);
        assert_eq!((pass.deleted.as_slice(), pass.skipped.len()), (&["a".to_owned()][..], 0), "{gone}");
    }
}

/// Books the room this many minutes after 15:00 UTC.
fn book(server: &Server, minutes: i64) -> Result<Receipt, Fault> {
    let start = instant_of("2026-12-01T15:00:00Z").unwrap() + minutes * 60;
    let booking = records::Appointment {
        patient: Some("p".into()),
        operatory: Some("room".into()),
        start,
        end: start + 1_800,
        ..records::Appointment::default()
    };
    let change = AppointmentChange { appointment: booking, reason: None };
    server.run(|| Fhir::push("k".into(), Write::CreateAppointment(change)))
}

/// It may occupy the time, so a booking there would be the second one in the room.
#[test]
fn a_booking_at_the_time_of_an_unreadable_appointment_is_rejected() {
    let book = |broken: &Value, minutes: i64| book(&practice([appointment("a", broken)]), minutes);
    for broken in [
        json!({"end": null}),
        json!({"end": "10:30 PM"}),
        json!({"end": "2026-12-01T15:00:00Z"}),
        json!({"start": "2026-12-01"}),
        json!({"start": 1_796_000_000}),
    ] {
        let refused = Err(Fault::rejected("an appointment of the operatory cannot be read"));
        assert_eq!(book(&broken, 0), refused, "{broken}");
    }
    let occupied = Err(Fault::rejected("the operatory is occupied at that time"));
    assert_eq!(book(&json!({"serviceType": "check-up"}), 0), occupied);
    // It has no time, takes none, or ends earlier: after 30 minutes, at its start, or on its day.
    for (other, minutes) in [
        (json!({"status": "pending", "start": null, "end": null}), 0),
        (json!({"status": "cancelled", "serviceType": "check-up"}), 0),
        (json!({"serviceType": "check-up"}), 30),
        (json!({"end": "2026-12-01T15:00:00Z"}), 30),
        (json!({"end": null}), 18 * 60),
    ] {
        assert!(book(&other, minutes).is_ok(), "{other}");
    }
}

#[test]
fn a_booking_reads_the_slots_only_of_appointments_without_times() {
    let slot = json!({"resourceType": "Slot", "id": "s", "status": "busy", "schedule": {"reference": "Schedule/sch"},
        "start": "2026-12-01T15:00:00Z", "end": "2026-12-01T15:30:00Z"});
    for (end, read) in [(json!(null), true), (json!("2026-12-01T15:30:00Z"), false)] {
        let other = appointment("a", &json!({"slot": [{"reference": "Slot/s"}], "end": end}));
        let server = practice([other, slot.clone()]);
        assert!(book(&server, 30).is_ok());
        let requests = server.0.borrow().requests.clone();
        assert_eq!(requests.iter().any(|request| request.starts_with("GET /Slot")), read, "{requests:?}");
    }
}

#[test]
fn other_records_that_cannot_be_read_are_skipped_and_not_deleted() {
    let patient = json!({"reference": "Patient/p"});
    let with = |kind: &str, more: Value| {
        let mut resource = json!({"resourceType": kind, "id": "x", "status": "active", "subject": patient});
        resource.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        resource
    };
    let plan = json!([{"reference": "Organization/o"}]);
    for (resource, broken) in [
        (Resource::Patients, json!({"resourceType": "Patient", "id": "x", "name": "Ek"})),
        (Resource::PatientAlerts, with("Flag", json!({}))),
        (Resource::PatientAlerts, with("Flag", json!({"code": {"text": "F"}, "subject": {"display": "Ann"}}))),
        (Resource::CommunicationLogs, with("Communication", json!({"sent": "last week"}))),
        (Resource::PatientHistoryItems, with("Condition", json!({}))),
        (Resource::PatientHistoryItems, with("Condition", json!({"code": {"text": "C"}, "subject": null}))),
        (Resource::Coverages, with("Coverage", json!({"payor": plan}))),
        (Resource::Coverages, with("Coverage", json!({"beneficiary": patient, "payor": [{"display": "Acme"}]}))),
        (
            Resource::FormResponses,
            with("QuestionnaireResponse", json!({"authored": "x", "questionnaire": "Questionnaire/q"})),
        ),
        (Resource::Payments, with("PaymentNotice", json!({"amount": {"value": "12.50"}}))),
        (Resource::Payments, with("PaymentNotice", json!({"amount": {"currency": "USD"}}))),
    ] {
        let pass = pass(&practice([broken.clone()]), resource);
        assert_eq!((pass.records.len(), pass.skipped.len(), pass.deleted.len()), (0, 1, 0), "{broken}");
    }
    // About something other than a patient.
    let device = json!({"code": {"text": "F"}, "subject": {"reference": "Device/d"}});
    assert_eq!(pass(&practice([with("Flag", device)]), Resource::PatientAlerts).deleted, ["x"]);
}

#[test]
fn an_unreadable_slot_is_skipped_and_opens_no_time() {
    let schedule = json!({"resourceType": "Schedule", "id": "sch",
        "actor": [{"reference": "Practitioner/doc"}, {"reference": "Location/room"}]});
    let slot = |id: &str, status: Value, start: &str, end: Value| {
        json!({"resourceType": "Slot", "id": id, "status": status, "schedule": {"reference": "Schedule/sch"},
            "start": format!("2026-12-01T{start}:00Z"), "end": end})
    };
    let until = |end: &str| json!(format!("2026-12-01T{end}:00Z"));
    let server = practice([
        schedule,
        slot("a", json!("free"), "14:00", until("18:00")),
        slot("b", json!("free"), "18:00", json!("late")),
        // Without a status.
        slot("c", json!(null), "15:00", until("16:00")),
    ]);
    let pass = pass(&server, Resource::WorkingHours);
    let hours: Vec<_> = pass
        .records
        .iter()
        .map(|record| match record {
            Record::WorkingHour(hour) => (hour.begin_time.as_str(), hour.end_time.as_str()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((hours, pass.skipped), (vec![("09:00", "10:00"), ("11:00", "13:00")], vec!["Slot/b".to_owned()]));
}

#[test]
fn empty_values_do_not_hide_later_ones() {
    let patient = json!({"resourceType": "Patient", "id": "p", "birthDate": "1940-01-01T00:00:00.000+0000",
        "name": [{"family": "", "given": [""]}, {"use": "usual", "family": "Ek", "given": ["Em", ""]}],
        "telecom": [{"system": "email", "value": ""}, {"system": "email", "value": "em@x.example"},
            {"system": "phone", "use": "mobile", "value": " "}, {"system": "phone", "use": "mobile", "value": "2"}],
        "address": [{"use": "home", "line": [" "]}, {"use": "home", "line": ["", "Second"], "city": ""}],
        "communication": [{"language": {"text": ""}}, {"language": {"coding": [{"code": ""}, {"code": "de-CH"}]}}],
        "identifier": [{"type": {"coding": [{"code": "MR"}]}, "value": ""},
            {"type": {"coding": [{"code": "MR"}]}, "value": "7"}]});
    let Record::Patient(read) = pass(&practice([patient]), Resource::Patients).records.remove(0) else { panic!() };
    let expected = records::Patient {
        id: "p".into(),
        first_name: "Em".into(),
        last_name: "Ek".into(),
        date_of_birth: Some("1940-01-01".into()),
        email: Some("em@x.example".into()),
        cell_phone: Some("2".into()),
        address: Some(records::Address { line1: Some("Second".into()), ..records::Address::default() }),
        preferred_language: Some("de".into()),
        chart_id: Some("7".into()),
        ..records::Patient::default()
    };
    assert_eq!(read, expected);
}
