//! A component built when the contract was released must load and work in every later version. Its file is never
//! rebuilt (`tests/fixtures/README.md`).

use std::sync::Arc;

use adapter_host::Adapter;
use records::ehr::{EhrPatient, EhrRecord, Fault, Operation, Resource, Write};
use serde_json::json;

use crate::support::{DEADLINE, Does, TestEhr, booking, connection, host, released};

/// SHA-256 of the released file.
const SHA256: &str = "dbc1fedff9009e277d9ec91da3f0d33347a5f1171ab4264e9c805de4342d3427";

async fn first() -> Arc<Adapter> {
    host().load(released()).await.expect("a component of a released contract loads")
}

#[tokio::test]
async fn the_released_component_describes_itself() {
    let adapter = first().await;
    assert_eq!(adapter.sha256(), SHA256, "it is never rebuilt");
    assert_eq!((adapter.manifest().id.as_str(), adapter.manifest().contract), ("v1", 1));
    let ehr = adapter.connect(connection(&[], &TestEhr::ok())).unwrap();
    let description = ehr.describe(DEADLINE).await.unwrap();
    assert_eq!((description.name.as_str(), description.hosting.as_str()), ("V1", "onprem"));
    let pulls: Vec<_> = description.pulls.iter().map(|pull| (pull.resource, pull.deletions_by_absence)).collect();
    assert_eq!(pulls, [(Resource::Patients, false), (Resource::InsuranceBalances, true)]);
    assert_eq!(description.writes, ["create-patient", "note-appointment"]);
    assert_eq!(description.required_patient_fields, ["address", "phone_number"]);
    assert_eq!(description.unkept_patient_fields, ["middle_name", "extra"]);
    assert_eq!(description.max_lengths, [("insurance_plan.name".to_owned(), 32)]);
    assert_eq!((description.new_patients, description.gated, description.requests_per_minute), (true, false, Some(60)));
}

#[tokio::test]
async fn the_released_component_returns_records() {
    let ehr = first().await.connect(connection(&[], &TestEhr::ok())).unwrap();
    for (resource, known) in [
        (
            Resource::Patients,
            json!({"first_name": "L-7", "last_name": "Łopata", "date_of_birth": "1990-02-28", "gender": "Other",
                "address": {"city": "Bern"}, "unsubscribed_email": true}),
        ),
        (Resource::Appointments, json!({"patient": "1", "start": 1_767_621_600, "end": 1_767_623_400, "version": "3"})),
        (
            Resource::WorkingHours,
            json!({"begin_time": "09:00", "end_time": "24:00", "days": ["Monday", "Sunday"], "appointment_types": ["T"]}),
        ),
        (Resource::Coverages, json!({"relation": "life_partner", "priority": 2, "insurance_type": "vision"})),
        (
            Resource::CommunicationLogs,
            json!({"mode": "in_person", "direction": "received", "occurred_at": 1_767_621_600}),
        ),
        (
            Resource::Conversations,
            json!({"messages_json": r#"[{"from":"patient","text":"hi","at":1767621600}]"#, "extra": [["zone", "EST"]]}),
        ),
        (
            Resource::Procedures,
            json!({"fee": {"amount": "80.00", "currency": "USD"}, "teeth": ["3"],
                "extra": [["zone", "EST"], ["status", "on hold"]]}),
        ),
        (Resource::RecallTypes, json!({"interval_number": 6, "interval_unit": "month"})),
        (Resource::Claims, json!({"status": "sent", "totals": {"billed": {"amount": "80", "currency": "USD"}}})),
    ] {
        let page =
            ehr.pull(resource, Some("c".into()), 2, DEADLINE).await.unwrap_or_else(|e| panic!("{resource:?}: {e}"));
        assert_eq!((page.cursor.as_str(), page.last, page.whole, page.estimate), ("c+", true, true, Some(2)));
        assert_eq!((page.deleted.as_slice(), page.skipped.len()), (&["3".to_owned()][..], 1));
        assert_eq!((page.skipped[0].id.as_str(), page.skipped[0].reason.as_str()), ("2", "it has no name"));
        let [record] = page.records.as_slice() else { panic!("{page:?}") };
        let shown = record.fields();
        for (field, value) in known.as_object().unwrap() {
            assert_eq!(shown.get(field), Some(value), "{resource:?}, {field}");
        }
    }
    let page = ehr.pull(Resource::WorkingHours, None, 1, DEADLINE).await.unwrap();
    let EhrRecord::WorkingHour(hour) = &page.records[0] else { panic!("{page:?}") };
    assert_eq!(hour.recurrence.as_ref().map(|every| (every.number, every.reference.as_str())), Some((2, "2026-01-05")));
    let refused = ehr.pull(Resource::Fees, None, 1, DEADLINE).await;
    assert!(matches!(&refused, Err(Fault::Unsupported(reason)) if reason == "not here"), "{refused:?}");
}

#[tokio::test]
async fn the_released_component_writes_and_finds() {
    let practice = TestEhr::new(Does::Answers(200, "P-7".into()));
    let ehr = first().await.connect(connection(&[], &practice)).unwrap();
    let patient = EhrPatient { last_name: "Ek".into(), gender: Some("Female".into()), ..EhrPatient::default() };
    let receipt = ehr.push("ps-1-1".into(), Write::CreatePatient(patient), DEADLINE).await.unwrap();
    assert_eq!((receipt.id.as_str(), receipt.version.as_deref()), ("P-7", Some("1")));
    ehr.push("ps-1-2".into(), booking(), DEADLINE).await.unwrap();
    let coverage = json!({"patient": "1", "plan": "I", "relation": "self", "active": true});
    let coverage = EhrRecord::from_fields(Resource::Coverages, "C-1", coverage).unwrap();
    ehr.push("ps-1-3".into(), Write::Record(Operation::Delete, coverage), DEADLINE).await.unwrap();
    let sent: Vec<(String, String)> = {
        let seen = practice.seen.lock();
        let text = |body: &Option<Vec<u8>>| String::from_utf8(body.clone().unwrap_or_default()).unwrap();
        seen.iter().map(|request| (format!("{} {}", request.method, request.url.path()), text(&request.body))).collect()
    };
    let written = |n: usize, body: &str| (format!("POST /base/written/ps-1-{n}"), body.to_owned());
    assert_eq!(sent, [written(1, "Some(Gender::Female) Ek"), written(2, "100..200"), written(3, "C-1")]);
    assert_eq!(ehr.find("ps-1-1".into(), booking(), DEADLINE).await.unwrap().unwrap().id, "P-7");
    for (status, expected) in [(404, Ok(None)), (500, Err(Some(std::time::Duration::from_secs(7))))] {
        let practice = TestEhr::new(Does::Answers(status, String::new()));
        let ehr = first().await.connect(connection(&[], &practice)).unwrap();
        let found = ehr.find("ps-1-1".into(), booking(), DEADLINE).await.map_err(|fault| match fault {
            Fault::RetryLater { after, .. } => after,
            other => panic!("{other:?}"),
        });
        assert_eq!(found, expected, "{status}");
    }
}
