//! Large, odd or forbidden content of servers is read as far as possible, and unreadable records are not treated as
//! deleted.

use std::collections::BTreeSet;

use crate::server::{Server, refused};
use adapter_sdk::{
    Adapter, Fault, Page, Record, Resource, Write,
    http::{Error, Method},
    log::Level,
    records::{
        CommunicationDirection, CommunicationLog, CommunicationMode, HistoryCategory, HistoryItem, PatientHistoryItem,
    },
};
use fhir_adapter::Fhir;
use serde_json::{Value, json};

const ALL: &str =
    "Patient,Location,HealthcareService,Appointment,Condition,Flag,Questionnaire,QuestionnaireResponse,PaymentNotice";
const HISTORIES: &str = "Patient,AllergyIntolerance,Condition,MedicationStatement";

/// A server with the site and these resources, each with a version and a time.
fn practice(resources: impl IntoIterator<Item = Value>) -> Server {
    let site = json!({"resourceType": "Location", "id": "site", "name": "Harbour Dental", "status": "active"});
    let dated = |mut resource: Value| {
        resource["meta"] = json!({"versionId": "1", "lastUpdated": "2026-11-20T00:00:00Z"});
        resource
    };
    Server::with_resources([site].into_iter().chain(resources).map(dated).collect())
}

/// Reads all pages of a whole pass. Also returns the log.
fn pass(server: &Server, resource: Resource, limit: u32) -> (Vec<Page>, Vec<String>) {
    let (mut pages, mut lines): (Vec<Page>, Vec<String>) = (Vec::new(), Vec::new());
    for _ in 0..2_000 {
        let cursor = pages.last().map(|page| page.cursor.clone());
        let pull = || Fhir::pull(resource, cursor.clone(), limit);
        let (page, log) = server.run_with(&[("resources", HISTORIES)], pull);
        let page = page.unwrap_or_else(|fault| panic!("{resource:?}: {fault:?}"));
        assert!(page.records.len() <= limit as usize && page.cursor.len() <= 4_096);
        assert!(page.last || cursor.as_ref() != Some(&page.cursor), "the cursor moves");
        lines.extend(log.into_iter().filter(|(level, _)| *level == Level::Warn).map(|(_, line)| line));
        let last = page.last;
        pages.push(page);
        if last {
            return (pages, lines);
        }
    }
    panic!("a pass without end");
}

fn records(pages: &[Page]) -> Vec<Record> {
    pages.iter().flat_map(|page| page.records.clone()).collect()
}

fn names(pages: &[Page]) -> BTreeSet<String> {
    let of_item = |record| match record {
        Record::HistoryItem(HistoryItem { id, .. }) => id,
        other => panic!("{other:?}"),
    };
    records(pages).into_iter().map(of_item).collect()
}

fn patient(n: usize, more: &Value) -> Value {
    let mut patient =
        json!({"resourceType": "Patient", "id": format!("p{n}"), "active": true, "name": [{"family": "F"}]});
    patient.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    patient
}

#[test]
fn a_catalogue_of_any_size_is_read_page_by_page() {
    let condition = |n: usize| {
        json!({"resourceType": "Condition", "id": format!("c{n}"), "subject": {"reference": "Patient/p"},
            "code": {"coding": [{"system": "urn:x", "code": format!("C{}", n % 900), "display": "One"}]}})
    };
    let server = practice((0..6_500).map(condition));
    (server.0.borrow_mut().links, server.0.borrow_mut().cap) = (true, Some(200));
    let (pages, _) = pass(&server, Resource::HistoryItems, 500);
    assert_eq!((names(&pages).len(), pages.last().unwrap().whole), (900, true));
    let requests = server.0.borrow().requests.len();
    assert!(requests < 2 * pages.len() + 5, "{requests} requests for {} pages", pages.len());
}

#[test]
fn configured_items_are_listed_once_with_their_names() {
    let condition = json!({"resourceType": "Condition", "id": "c", "subject": {"reference": "Patient/p"},
        "code": {"coding": [{"system": "urn:x", "code": "1", "display": "A"}]}});
    let server = practice([condition]);
    let set: Vec<Value> = (0..5)
        .map(
            |n| json!({"category": "conditions", "system": "urn:x", "code": n.to_string(), "name": format!("Set {n}")}),
        )
        .collect();
    let set = json!(set).to_string();
    let settings = [("resources", HISTORIES), ("history_items", set.as_str())];
    for limit in [1, 2, 5, 100] {
        let (mut cursor, mut found) = (None, Vec::new());
        loop {
            let page =
                server.run_with(&settings, || Fhir::pull(Resource::HistoryItems, cursor.clone(), limit)).0.unwrap();
            assert!(page.records.len() <= limit as usize && page.whole);
            assert!(page.last || cursor.as_ref() != Some(&page.cursor), "the cursor moves");
            cursor = Some(page.cursor);
            found.extend(page.records.into_iter().map(|record| match record {
                Record::HistoryItem(item) => item.name,
                other => panic!("{other:?}"),
            }));
            if page.last {
                break;
            }
        }
        assert_eq!(found, ["Set 0", "Set 1", "Set 2", "Set 3", "Set 4"], "{limit}");
    }
}

#[test]
fn pages_that_are_too_large_become_smaller() {
    for links in [true, false] {
        // Photos of 20 kB on every fourth patient, and on all of them at the end of the walk.
        let photo = json!({"photo": [{"contentType": "image/png", "data": "A".repeat(20_000)}]});
        let of = |n: usize| if n.is_multiple_of(4) || n > 150 { photo.clone() } else { json!({}) };
        let server = practice((0..200).map(|n| patient(n, &of(n))));
        (server.0.borrow_mut().links, server.0.borrow_mut().longest) = (links, Some(300_000));
        let (pages, lines) = pass(&server, Resource::Patients, 100);
        let ids: BTreeSet<String> = records(&pages)
            .into_iter()
            .map(|record| match record {
                Record::Patient(patient) => patient.id,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!((ids.len(), pages.last().unwrap().whole), (200, true), "links: {links}");
        assert!(lines.iter().all(|line| line.contains("no answer with")), "{lines:?}");
        // The page size is kept for the next pass.
        let before = server.0.borrow().requests.len();
        let cursor = pages.last().map(|page| page.cursor.clone());
        server.run(|| Fhir::pull(Resource::Patients, cursor, 100)).unwrap();
        assert_eq!(server.0.borrow().requests.len(), before + 1);
    }
    // A single record that is too large does not cause endless requests.
    let server = practice([patient(0, &json!({"photo": [{"data": "A".repeat(9_000)}]}))]);
    server.0.borrow_mut().longest = Some(5_000);
    let ended = server.run(|| Fhir::pull(Resource::Patients, None, 100));
    assert!(matches!(ended, Err(Fault::RetryLater(_))), "{ended:?}");
    assert!(server.0.borrow().requests.len() < 12);
}

#[test]
fn one_lost_answer_makes_no_page_smaller() {
    let mut asked = 0;
    let server = practice((0..9).map(|n| patient(n, &json!({})))).meanwhile(move |_, _| {
        asked += 1;
        (asked % 2 == 1).then(|| Err(Error::NoAnswer("broke off".into())))
    });
    server.0.borrow_mut().links = true;
    let (pages, lines) = pass(&server, Resource::Patients, 3);
    assert_eq!((records(&pages).len(), pages.len(), lines.len()), (9, 3, 0));
}

#[test]
fn a_missing_permission_does_not_block_other_resources() {
    let forbidden = |_: &mut Vec<Value>, _: &_| Some(Ok(refused(403, "forbidden")));
    let server = practice([]).meanwhile(forbidden);
    let log = CommunicationLog {
        id: String::new(),
        patient: "p".into(),
        note: "Reminded".into(),
        mode: CommunicationMode::Text,
        direction: CommunicationDirection::Sent,
        occurred_at: 0,
        extra: Vec::new(),
    };
    assert!(matches!(server.run(|| Fhir::pull(Resource::Patients, None, 5)), Err(Fault::Unsupported(_))));
    let writes_only = practice([]).meanwhile(|_, r: &adapter_sdk::http::Request| {
        (r.method == Method::Post).then(|| Ok(refused(403, "forbidden")))
    });
    let push = || Fhir::push("k".into(), Write::CreateCommunicationLog(log.clone()));
    let ended = writes_only.run_with(&[("resources", "Communication")], push).0;
    assert_eq!(ended, Err(Fault::rejected("the server answered 403: forbidden")));
}

#[test]
fn nulls_are_read_and_unreadable_records_are_not_deleted() {
    let nulls = json!({"name": [{"family": "Ek", "given": [null, "Ann", "Zoë"], "_given": [{"extension": []}, null, null]}],
        "address": [{"line": [null, "Floor 2"], "city": "Bern"}]});
    let broken = json!({"name": "no list"});
    for links in [true, false] {
        let server = practice([patient(0, &nulls), patient(1, &broken), patient(2, &json!({}))]);
        server.0.borrow_mut().links = links;
        for limit in [1, 100] {
            let (pages, lines) = pass(&server, Resource::Patients, limit);
            let read = records(&pages);
            let Record::Patient(ann) = &read[0] else { panic!("not a patient") };
            assert_eq!((ann.first_name.as_str(), ann.middle_name.as_deref()), ("Ann", Some("Zoë")));
            assert_eq!(ann.address.as_ref().unwrap().line1.as_deref(), Some("Floor 2"));
            assert_eq!((read.len(), lines.len()), (2, 0), "{lines:?}");
            let skipped: Vec<_> = pages.iter().flat_map(|page| &page.skipped).collect();
            assert_eq!(skipped.len(), 1, "what it leaves out is not gone");
            assert!(skipped[0].id == "p1" && !skipped[0].reason.contains("list"), "{skipped:?}");
            assert!(pages.iter().all(|page| page.deleted.is_empty()));
            assert!(pages.last().unwrap().whole, "all others are shown");
            // The next pass still lists changes.
            let cursor = pages.last().map(|page| page.cursor.clone());
            let next = server.run(|| Fhir::pull(Resource::Patients, cursor, limit)).unwrap();
            assert!(next.records.is_empty() && next.last);
        }
    }
}

#[test]
fn medications_behind_references_are_found() {
    let statement = |id: &str, more: Value| {
        let mut statement = json!({"resourceType": "MedicationStatement", "id": id, "status": "active",
            "subject": {"reference": "Patient/p"}});
        statement.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        statement
    };
    let ibuprofen = json!({"coding": [{"system": "urn:rx", "code": "5640", "display": "ibuprofen"}]});
    let medication = json!({"resourceType": "Medication", "id": "m", "code": ibuprofen});
    let all = || {
        [
            medication.clone(),
            statement("a", json!({"medicationReference": {"reference": "Medication/m", "display": "Ibu"}})),
            statement(
                "b",
                json!({"medicationReference": {"reference": "#in"},
                "contained": [{"resourceType": "Medication", "id": "in", "code": {"text": "Aspirin"}}]}),
            ),
            statement("c", json!({"medicationReference": {"reference": "Medication/none", "display": "Paracetamol"}})),
            statement("d", json!({"medicationReference": {"display": "Codeine"}})),
        ]
    };
    let items = |pages: &[Page]| -> Vec<String> {
        let of_item = |record| match record {
            Record::PatientHistoryItem(PatientHistoryItem { item, .. }) => item,
            other => panic!("{other:?}"),
        };
        records(pages).into_iter().map(of_item).collect()
    };
    let expected = [
        "medications:urn:rx|5640",
        "medications:text|Aspirin",
        "medications:text|Paracetamol",
        "medications:text|Codeine",
    ];
    let server = practice(all());
    let (pages, lines) = pass(&server, Resource::PatientHistoryItems, 2);
    assert_eq!(items(&pages), expected);
    assert!(pages.last().unwrap().whole && lines.is_empty(), "{lines:?}");
    assert_eq!(names(&pass(&server, Resource::HistoryItems, 2).0), expected.map(str::to_owned).into());

    // A dangling reference: the item is left out and not deleted.
    let lost = statement("e", json!({"medicationReference": {"reference": "Medication/none"}}));
    let (pages, lines) = pass(&practice(all().into_iter().chain([lost])), Resource::PatientHistoryItems, 100);
    assert_eq!((items(&pages).len(), lines.len()), (4, 0), "{lines:?}");
    let skipped: Vec<_> = pages.iter().flat_map(|page| &page.skipped).map(|skipped| skipped.id.as_str()).collect();
    assert_eq!(skipped, ["MedicationStatement/e"]);
    assert!(pages.iter().all(|page| page.deleted.is_empty()) && pages.last().unwrap().whole);
    // The item of the entry is unknown, so the catalogue may be incomplete.
    let lost = statement("e", json!({"medicationReference": {"reference": "Medication/none"}}));
    let (pages, _) = pass(&practice(all().into_iter().chain([lost])), Resource::HistoryItems, 100);
    assert!(!pages.last().unwrap().whole && pages.iter().all(|page| page.skipped.is_empty()));

    // Without Medication resources, only the display is available.
    let without = practice(all()).meanwhile(|_, request: &adapter_sdk::http::Request| {
        request.path.starts_with("/Medication?").then(|| Ok(refused(404, "not-supported")))
    });
    assert_eq!(items(&pass(&without, Resource::PatientHistoryItems, 100).0)[0], "medications:text|Ibu");

    // Ending it does not change its medication.
    let ended = PatientHistoryItem {
        id: "MedicationStatement/a".into(),
        patient: "p".into(),
        category: HistoryCategory::Medications,
        item: expected[0].into(),
        note: None,
        active: false,
        extra: Vec::new(),
    };
    let push = || Fhir::push("k".into(), Write::SavePatientHistoryItem(ended));
    server.run_with(&[("resources", HISTORIES)], push).0.unwrap();
    let stored = server.all("MedicationStatement").remove(0);
    assert_eq!((&stored["status"], &stored["medicationReference"]["display"]), (&json!("stopped"), &json!("Ibu")));
    assert!(stored.get("medicationCodeableConcept").is_none());
}

#[test]
fn records_beyond_the_hosts_limits_are_skipped() {
    let long = |bytes: usize| "ż".repeat(bytes);
    let form = |id: &str, text: String| {
        json!({"resourceType": "Questionnaire", "id": id, "status": "active", "title": "T",
            "item": [{"linkId": "n", "type": "string", "text": text}]})
    };
    let patient_of = json!({"reference": "Patient/p0"});
    let answers = |id: &str, text: String| {
        json!({"resourceType": "QuestionnaireResponse", "id": id, "status": "completed", "subject": patient_of,
            "questionnaire": "Questionnaire/short", "authored": "2026-11-20T10:00:00Z",
            "item": [{"linkId": "n", "answer": [{"valueString": text}]}]})
    };
    let coded = |code: &str| json!([{"coding": [{"system": "urn:x", "code": code}], "text": "Recall\nvisit"}]);
    let paid = |id: &str, amount: Value| json!({"resourceType": "PaymentNotice", "id": id, "status": "active", "request": patient_of, "amount": amount});
    let server = practice([
        patient(
            0,
            &json!({"birthDate": "0000-01-01",
            "generalPractitioner": [{"reference": format!("Practitioner/{}", "9".repeat(300))}]}),
        ),
        json!({"resourceType": "Location", "id": "room", "status": "active", "partOf": {"reference": "Location/site"}}),
        json!({"resourceType": "HealthcareService", "id": "v", "name": "V", "type": coded(&long(300))}),
        json!({"resourceType": "Appointment", "id": "a", "status": "booked", "start": "2026-12-01T14:00:00Z",
            "end": "2026-12-01T15:00:00Z", "serviceType": coded("a\u{7}"),
            "participant": [{"actor": {"reference": "Location/room"}, "status": "accepted"}]}),
        json!({"resourceType": "Condition", "id": "h", "subject": patient_of, "code": coded(&long(300))[0]}),
        json!({"resourceType": "Flag", "id": "f", "status": "inactive", "code": {"text": "F"}, "subject": patient_of,
            "period": {"end": "9999-12-31T23:59:59-12:00"}}),
        form("short", "N?".into()),
        form("long", long(40_000)),
        answers("few", "yes".into()),
        answers("many", long(40_000)),
        paid("right", json!({"value": 12.5, "currency": "USD"})),
        paid("wrong", json!({"value": 12.5, "currency": "dollars"})),
    ]);
    let read = |resource| {
        let page = server.run_with(&[("resources", ALL)], || Fhir::pull(resource, None, 100)).0;
        let mut page = page.unwrap_or_else(|fault| panic!("{resource:?}: {fault:?}"));
        assert_eq!((page.records.len(), page.last), (1, true), "{resource:?}");
        (page.records.remove(0), page.skipped.len())
    };
    let (Record::Patient(p), Record::AppointmentType(kind)) =
        (read(Resource::Patients).0, read(Resource::AppointmentTypes).0)
    else {
        panic!("others")
    };
    assert_eq!((p.date_of_birth, p.provider, kind.id.as_str()), (None, None, "v"));
    let (Record::Appointment(a), Record::PatientAlert(alert)) =
        (read(Resource::Appointments).0, read(Resource::PatientAlerts).0)
    else {
        panic!("others")
    };
    assert_eq!(a.appointment_type, None);
    assert!(alert.disabled_at.is_some_and(|at| at < 253_402_300_800));
    let (Record::HistoryItem(item), Record::PatientHistoryItem(of)) =
        (read(Resource::HistoryItems).0, read(Resource::PatientHistoryItems).0)
    else {
        panic!("others")
    };
    assert_eq!((item.id.as_str(), item.id == of.item), ("conditions:text|Recall visit", true));
    // A record beyond the contract's limits is skipped.
    let (Record::FormSchema(form), 1) = read(Resource::FormSchemas) else { panic!("not the one form") };
    let (Record::FormResponse(given), 1) = read(Resource::FormResponses) else { panic!("not the one answer") };
    let (Record::Payment(payment), 1) = read(Resource::Payments) else { panic!("not the one payment") };
    assert_eq!((form.id.as_str(), given.id.as_str(), payment.id.as_str()), ("short", "few", "right"));
}

#[test]
fn a_long_note_survives_the_end_of_its_entry() {
    let note = "ż".repeat(40_000);
    let server = practice([json!({"resourceType": "Condition", "id": "h", "subject": {"reference": "Patient/p"},
        "code": {"text": "Gicht"}, "note": [{"text": note}]})]);
    let Record::PatientHistoryItem(mut item) = records(&pass(&server, Resource::PatientHistoryItems, 5).0).remove(0)
    else {
        panic!("not an entry")
    };
    item.active = false;
    let push = || Fhir::push("k".into(), Write::SavePatientHistoryItem(item));
    server.run_with(&[("resources", HISTORIES)], push).0.unwrap();
    let stored = server.all("Condition").remove(0);
    assert_eq!(
        (&stored["clinicalStatus"]["coding"][0]["code"], &stored["note"][0]["text"]),
        (&json!("inactive"), &json!(note))
    );
}
