//! Ownership of records: references to other servers lead to none of ours, and records that a search filter should
//! have kept out are kept out.

use crate::server::{Server, json_answer};
use adapter_sdk::{
    Adapter, AppointmentChange, Record, Resource, Write,
    http::Method,
    records::{self, Appointment},
    time::instant_of,
};
use fhir_adapter::{Fhir, references::take_out_foreign};
use serde_json::{Value, json};

const TYPES: &str = "Patient,Practitioner,PractitionerRole,Location,Schedule,Slot,Appointment,Flag,MedicationStatement,\
                     MedicationRequest";

fn reference(to: &str) -> Value {
    json!({"reference": to})
}

/// A site with a room and a practitioner, and another one.
fn practice(more: impl IntoIterator<Item = Value>) -> Server {
    let room = |id: &str, of: &str| json!({"resourceType": "Location", "id": id, "name": id, "partOf": reference(of)});
    let schedule =
        |id: &str, actors: [&str; 2]| json!({"resourceType": "Schedule", "id": id, "actor": actors.map(reference)});
    let fixed = [
        json!({"resourceType": "Location", "id": "site", "name": "Site"}),
        room("room", "Location/site"),
        room("far", "Location/other"),
        schedule("sch", ["Practitioner/doc", "Location/room"]),
        schedule("theirs", ["Practitioner/other", "Location/far"]),
    ];
    let dated = |mut resource: Value| {
        resource["meta"] = json!({"versionId": "1", "lastUpdated": "2026-11-20T00:00:00Z"});
        resource
    };
    Server::with_resources(fixed.into_iter().chain(more).map(dated).collect())
}

fn slot(id: &str, schedule: &str, status: &str, [from, to]: [&str; 2]) -> Value {
    json!({"resourceType": "Slot", "id": id, "status": status, "schedule": reference(&format!("Schedule/{schedule}")),
        "start": format!("2026-12-01T{from}:00-05:00"), "end": format!("2026-12-01T{to}:00-05:00")})
}

fn appointment(id: &str, actors: &[&str]) -> Value {
    let participant = |actor: &&str| json!({"actor": reference(actor), "status": "accepted"});
    json!({"resourceType": "Appointment", "id": id, "status": "booked", "start": "2026-12-01T10:00:00-05:00",
        "end": "2026-12-01T10:30:00-05:00", "participant": actors.iter().map(participant).collect::<Vec<_>>()})
}

fn pulled(server: &Server, resource: Resource) -> Vec<Record> {
    let (mut records, mut cursor) = (Vec::new(), None);
    loop {
        let page = server.run_with(&[("resources", TYPES)], || Fhir::pull(resource, cursor, 100)).0.unwrap();
        records.extend(page.records);
        if page.last {
            return records;
        }
        cursor = Some(page.cursor);
    }
}

fn id(record: &Record) -> &str {
    match record {
        Record::Appointment(a) => &a.id,
        Record::Operatory(room) => &room.id,
        Record::PatientAlert(alert) => &alert.id,
        other => panic!("{other:?}"),
    }
}

fn ids(records: &[Record]) -> Vec<&str> {
    records.iter().map(id).collect()
}

/// Returns start, end and practitioner of the hours.
fn hours(server: &Server) -> Vec<(String, String, String)> {
    let hour = |record| match record {
        Record::WorkingHour(hour) => (hour.provider, hour.begin_time, hour.end_time),
        other => panic!("{other:?}"),
    };
    pulled(server, Resource::WorkingHours).into_iter().map(hour).collect()
}

fn doc(from: &str, to: &str) -> (String, String, String) {
    ("doc".into(), from.into(), to.into())
}

/// Ignores the search parameters that restrict the owner of records.
fn ignoring_filters(server: Server) -> Server {
    server.meanwhile(|resources, request| {
        let (path, query) = request.path.split_once('?')?;
        let named = ["actor=", "partof=", "schedule=", "_id=", "practitioner=", "slot="];
        if request.method != Method::Get || !named.iter().any(|name| query.contains(name)) {
            return None;
        }
        let all = resources.iter().filter(|resource| path.strip_prefix('/') == resource["resourceType"].as_str());
        let entry: Vec<_> = all.map(|resource| json!({"resource": resource})).collect();
        Some(Ok(json_answer(200, &json!({"resourceType": "Bundle", "total": entry.len(), "entry": entry}))))
    })
}

#[test]
fn records_outside_an_ignored_filter_are_excluded() {
    let role = |id: &str, practitioner: &str| json!({"resourceType": "PractitionerRole", "id": id, "practitioner": reference(practitioner)});
    let server = ignoring_filters(practice([
        json!({"resourceType": "Practitioner", "id": "doc"}),
        json!({"resourceType": "Practitioner", "id": "other"}),
        role("role", "Practitioner/doc"),
        role("role-of-another", "Practitioner/other"),
        json!({"resourceType": "Schedule", "id": "by-role", "actor": [reference("PractitionerRole/role"),
            reference("Location/room")]}),
        slot("a", "sch", "free", ["09:00", "09:30"]),
        slot("b", "theirs", "free", ["11:00", "11:30"]),
        slot("c", "by-role", "free", ["13:00", "13:30"]),
        appointment("here", &["Patient/p", "Practitioner/doc", "Location/room"]),
        appointment("without-room", &["Patient/p", "Practitioner/doc"]),
        appointment("elsewhere", &["Patient/p", "Practitioner/doc", "Location/far"]),
        appointment("of-another", &["Patient/p", "Practitioner/other"]),
        appointment("of-a-role", &["Patient/p", "PractitionerRole/role-of-another"]),
        appointment("of-no-one", &["Patient/p"]),
    ]));
    assert_eq!(ids(&pulled(&server, Resource::Operatories)), ["room"]);
    assert_eq!(ids(&pulled(&server, Resource::Appointments)), ["here", "without-room"]);
    assert_eq!(hours(&server), [doc("09:00", "09:30"), doc("13:00", "13:30")]);
    // A booking takes the slot of the schedule in its room.
    let start = instant_of("2026-12-01T16:00:00Z").unwrap();
    let a = Appointment {
        patient: Some("p".into()),
        provider: Some("doc".into()),
        operatory: None,
        start,
        end: start + 1_800,
        ..Appointment::default()
    };
    let change = AppointmentChange { appointment: a, reason: None };
    server.run(|| Fhir::push("k".into(), Write::CreateAppointment(change))).unwrap();
    assert!(server.all("Slot").iter().all(|slot| slot["status"] == "free"));
}

#[test]
fn practitioners_and_roles_that_are_inactive_have_no_open_time() {
    let open = |practitioner: Value, role: Value| {
        let mut doc = json!({"resourceType": "Practitioner", "id": "doc"});
        doc.as_object_mut().unwrap().extend(practitioner.as_object().unwrap().clone());
        let mut held =
            json!({"resourceType": "PractitionerRole", "id": "role", "practitioner": reference("Practitioner/doc")});
        held.as_object_mut().unwrap().extend(role.as_object().unwrap().clone());
        let by_role = json!({"resourceType": "Schedule", "id": "by-role", "actor": [reference("PractitionerRole/role"),
            reference("Location/room")]});
        hours(&practice([
            doc,
            held,
            by_role,
            slot("a", "sch", "free", ["09:00", "09:30"]),
            slot("b", "by-role", "free", ["11:00", "11:30"]),
            appointment("x", &["Patient/p", "Practitioner/doc"]),
        ]))
    };
    let (first, second) = (doc("09:00", "09:30"), doc("11:00", "11:30"));
    assert_eq!(open(json!({}), json!({})), [first.clone(), second.clone()]);
    assert_eq!(open(json!({"active": true}), json!({"active": true})), [first.clone(), second]);
    assert!(open(json!({"active": false}), json!({})).is_empty());
    assert_eq!(open(json!({}), json!({"active": false})), std::slice::from_ref(&first));
    assert_eq!(open(json!({}), json!({"period": {"end": "2020"}})), [first]);
    // Their appointments are still read.
    let inactive = json!({"resourceType": "Practitioner", "id": "doc", "active": false});
    let server = practice([inactive, appointment("x", &["Patient/p", "Practitioner/doc"])]);
    assert_eq!(ids(&pulled(&server, Resource::Appointments)), ["x"]);
}

#[test]
fn references_to_other_servers_are_not_resolved() {
    let own = ["https://ehr.example/fhir/R4".to_owned()];
    for (reference, foreign) in [
        ("Patient/5", None),
        ("#inside", None),
        ("urn:uuid:6f8a1c9e-2b7d-4e3a-9c51-0d4f7b2e8a36", None),
        ("https://ehr.example/fhir/R4/Patient/5", None),
        ("http://EHR.example/fhir/R4/Patient/5/_history/2", None),
        ("https://other.example/fhir/R4/Patient/5", Some("https://other.example/fhir/R4")),
        ("https://ehr.example/fhir/R4B/Patient/5", Some("https://ehr.example/fhir/R4B")),
        ("https://ehr.example/other/fhir/R4/Patient/5/_history/2", Some("https://ehr.example/other/fhir/R4")),
    ] {
        let mut resource = json!({"subject": {"reference": reference}, "url": "https://other.example/x"});
        assert_eq!(take_out_foreign(&mut resource, &own).as_deref(), foreign, "{reference}");
        assert_eq!(resource["subject"]["reference"] != reference, foreign.is_some(), "{reference}");
        assert_eq!(resource["url"], "https://other.example/x");
        assert_eq!(take_out_foreign(&mut json!({"subject": {"reference": reference}}), &[]), None, "unknown base");
    }
    // On a server that reveals its base URL.
    let base = "https://ehr.example/fhir/R4";
    let of = |server: &str, to: &str| format!("{server}/{to}");
    let other = "https://other.example/fhir";
    let flag = |id: &str, patient: String| json!({"resourceType": "Flag", "id": id, "status": "active", "code": {"text": "F"}, "subject": reference(&patient)});
    let patient = json!({"resourceType": "Patient", "id": "p", "name": [{"family": "Ek"}],
        "generalPractitioner": [reference(&of(other, "Practitioner/doc")), reference(&of(base, "Practitioner/doc2"))]});
    let actors = |server: &str| {
        let all = ["Patient/p", "Practitioner/doc"].map(|actor| of(server, actor));
        let mut appointment = appointment("x", &["Location/room"]);
        let more = all.iter().map(|actor| json!({"actor": reference(actor), "status": "accepted"}));
        appointment["participant"].as_array_mut().unwrap().extend(more);
        appointment
    };
    for links in [true, false] {
        let settings = if links { vec![("resources", TYPES)] } else { vec![("resources", TYPES), ("base_url", base)] };
        let server = practice([
            patient.clone(),
            flag("ours", of(base, "Patient/p")),
            flag("plain", "Patient/p".into()),
            flag("theirs", of(other, "Patient/p")),
            actors(other),
        ]);
        server.0.borrow_mut().links = links;
        let pull = |resource| server.run_with(&settings, || Fhir::pull(resource, None, 100));
        let (page, lines) = pull(Resource::PatientAlerts);
        let page = page.unwrap();
        assert_eq!((ids(&page.records), page.deleted), (vec!["ours", "plain"], vec!["theirs".to_owned()]));
        assert!(lines.iter().any(|(_, line)| line.contains(other) && line.contains("base_url")), "{lines:?}");
        let Record::Patient(read) = pull(Resource::Patients).0.unwrap().records.remove(0) else { panic!() };
        assert_eq!(read.provider.as_deref(), Some("doc2"));
        let Record::Appointment(blocked) = pull(Resource::Appointments).0.unwrap().records.remove(0) else { panic!() };
        assert_eq!((blocked.patient, blocked.provider, blocked.unavailable), (None, None, true));
        // A write does not change the reference.
        let before = server.all("Patient").remove(0);
        let wanted = records::Patient { provider: Some("new".into()), ..read.clone() };
        let change = adapter_sdk::PatientChange { patient: wanted, before: Some(read) };
        server.run_with(&settings, || Fhir::push("k".into(), Write::UpdatePatient(change))).0.unwrap();
        let after = server.all("Patient").remove(0);
        assert_eq!(after["generalPractitioner"][0], before["generalPractitioner"][0]);
        assert_eq!(after["generalPractitioner"][1], reference("Practitioner/new"));
    }
}

#[test]
fn prescriptions_are_read_next_to_statements() {
    let medication = |kind: &str, id: &str, more: Value| {
        let mut resource = json!({"resourceType": kind, "id": id, "status": "active", "subject": reference("Patient/p"),
            "medicationCodeableConcept": {"text": id}});
        resource.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        resource
    };
    let request = |id: &str, more: Value| medication("MedicationRequest", id, more);
    let server = practice([
        medication("MedicationStatement", "a", json!({})),
        request("b", json!({"intent": "order"})),
        request("c", json!({"intent": "order", "status": "completed"})),
        request("d", json!({"intent": "proposal"})),
        request("e", json!({"intent": "order", "status": "draft"})),
        request("f", json!({"intent": "order", "doNotPerform": true})),
        request("g", json!({"intent": "order", "status": "entered-in-error"})),
    ]);
    let items: Vec<records::PatientHistoryItem> = pulled(&server, Resource::PatientHistoryItems)
        .into_iter()
        .map(|record| match record {
            Record::PatientHistoryItem(item) => item,
            other => panic!("{other:?}"),
        })
        .collect();
    let read: Vec<_> = items.iter().map(|item| (item.id.as_str(), item.active)).collect();
    assert_eq!(read, [("MedicationStatement/a", true), ("MedicationRequest/b", true), ("MedicationRequest/c", false)]);
    let ended = records::PatientHistoryItem { active: false, ..items[1].clone() };
    let push = || Fhir::push("k".into(), Write::SavePatientHistoryItem(ended.clone()));
    let receipt = server.run_with(&[("resources", TYPES)], push).0.unwrap();
    assert_eq!(receipt.id, "MedicationRequest/b");
    assert_eq!(server.all("MedicationRequest")[0]["status"], "stopped");
    let find = || Fhir::find("k".into(), Write::SavePatientHistoryItem(ended.clone()));
    assert_eq!(server.run_with(&[("resources", TYPES)], find).0.unwrap().map(|found| found.id), Some(receipt.id));
}
