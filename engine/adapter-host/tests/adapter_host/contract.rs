//! Tests of the validation of guests' answers: errors name the record, the field and the broken rule.

use std::time::Duration;

use records::ehr::{EhrPatient, EhrRecord, Fault, Operation, Resource, Write};
use serde_json::{Map, Value, json};

use crate::support::{DEADLINE, TestEhr, booking, connected};

async fn refused(behaviour: &str, resource: Resource) -> String {
    let guest = connected(&[("behaviour", behaviour)], &TestEhr::ok()).await;
    match guest.pull(resource, Some("c0".into()), 3, DEADLINE).await {
        Err(Fault::RetryLater { reason, after: None }) => reason,
        other => panic!("{behaviour}: {other:?}"),
    }
}

#[tokio::test]
async fn a_broken_rule_is_named() {
    use Resource::*;
    for (behaviour, resource, expected) in [
        ("too-many-records", Patients, "more records than were asked for"),
        ("long-cursor", Patients, "field cursor: must have at most 4096 bytes"),
        ("stuck-cursor", Patients, "field cursor: must move"),
        ("other-resource", Patients, "record 0 is of kind provider, but Patients were asked for"),
        ("bad-deletion", Patients, "deletion 1, field deleted: must have 1 to 200 bytes"),
        ("many-deletions", Patients, "field deleted: must have at most 10000 entries"),
        ("empty-id", Operatories, "record 0 (operatory), field id: must have 1 to 200 bytes"),
        ("long-id", Providers, "record 0 (provider), field id: must have 1 to 200 bytes"),
        ("bad-date", Patients, "field date_of_birth: must be a date, YYYY-MM-DD"),
        ("many-extras", Patients, "field extra: must have at most 64 values"),
        ("skips-nothing", Patients, "skipped record 0, field id: must have 1 to 200 bytes"),
        ("skips-too-many", Patients, "more records than were asked for"),
        ("many-references", Operatories, "field appointment_types: must have at most 1000 entries"),
        ("bad-minutes", AppointmentTypes, "record 0 (appointment-type), field minutes: must be 1 to 1440"),
        ("bad-time", WorkingHours, "record 0 (working-hour), field begin_time: must be a time of day, HH:MM"),
        ("no-day", WorkingHours, "field days: exactly one of days, specific_date and recurrence must be given"),
        ("bad-end", Appointments, "record 0 (appointment), field end: must be after start"),
        ("far-start", Appointments, "record 0 (appointment), field start: must be in the years 1 to 9999"),
    ] {
        let reason = refused(behaviour, resource).await;
        assert!(
            reason.starts_with("the adapter broke the contract: ") && reason.contains(expected),
            "{behaviour}: {reason}"
        );
    }
}

/// The contents of one record must not make the others unreadable.
#[tokio::test]
async fn longer_texts_are_cut() {
    let guest = connected(&[("behaviour", "huge-text")], &TestEhr::ok()).await;
    let page = guest.pull(Resource::Patients, Some("c0".into()), 3, DEADLINE).await.unwrap();
    let EhrRecord::Patient(patient) = &page.records[0] else { panic!("{page:?}") };
    assert_eq!(patient.first_name.len(), 1_024);
    let note =
        json!({"id": "1", "patient": "P-1", "content": "é".repeat(40_000), "extra": [["why", "x".repeat(5_000)]]});
    let entry = pulled_record(Resource::ClinicalNotes, &note).await.unwrap();
    assert_eq!(entry.fields()["content"].as_str().map(str::len), Some(65_536));
    assert_eq!(entry.fields()["extra"][0][1].as_str().map(str::len), Some(4_096));
}

async fn pulled_record(resource: Resource, fields: &Value) -> Result<EhrRecord, Fault> {
    let guest = connected(&[("record", &fields.to_string())], &TestEhr::ok()).await;
    let mut page = guest.pull(resource, None, 1, DEADLINE).await?;
    Ok(page.records.remove(0))
}

/// Returns a record of every resource that the engine stores as fields, with most of its fields.
fn entries() -> Vec<(Resource, Value)> {
    use Resource::*;
    let usd = |amount: &str| json!({"amount": amount, "currency": "USD"});
    let split = json!([{"id": "X-1", "amount": {"amount": "1", "currency": "USD"}}]);
    let ages = json!({"id": "1", "patient": "P-1", "guarantor": "P-2", "total": usd("10"), "write_off_estimate": usd("0"),
        "under30": usd("4"), "from31_to60": usd("3.00"), "from61_to90": usd("-2"), "over90": usd("+1"),
        "billed_under30": usd("1"), "billed31_to60": usd("1"), "billed61_to90": usd("1"), "billed_over90": usd("1"),
        "insurance_estimate": usd("1"), "guarantor_portion": usd("1")});
    let ledger = |amount: &str, more: Value| {
        let mut all = json!({"id": "1", "patient": "P-1", "guarantor": "P-2", "provider": "D-1", "charge": "C-1", "claim": "K-1",
            "amount": usd(amount), "transaction_id": "t", "description": "d", "charge_splits": split.clone(),
            "provider_splits": split.clone()});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    vec![
        (AppointmentDescriptors, json!({"id": "1", "kind": "reason", "name": "Pain", "code": "P", "active": true})),
        (FeeSchedules, json!({"id": "1", "name": "Standard", "active": true})),
        (
            InsurancePlans,
            json!({"id": "1", "payer_id": "P", "name": "Zähne", "address": {"city": "Bern", "country": "CH"},
            "group_number": "G", "employer_name": "E", "fee_schedule": "F-1", "annual_max_individual": usd("1500.00"),
            "benefit_year_renewal_month": 12, "extra": [["phone", "+1"]]}),
        ),
        (
            Coverages,
            json!({"id": "1", "patient": "P-1", "plan": "I-1", "relation": "signif_other", "priority": 2,
            "subscriber": "P-2", "subscriber_name": "S", "subscriber_date_of_birth": "1970-01-01", "subscriber_number": "9",
            "effective_date": "2026-01-01", "expiration_date": "2026-12-31", "insurance_type": "dental", "active": true}),
        ),
        (HistoryItems, json!({"id": "1", "category": "medications", "name": "Aspirin"})),
        (
            PatientHistoryItems,
            json!({"id": "1", "patient": "P-1", "category": "allergies", "item": "L-1", "note": "n",
            "active": false}),
        ),
        (PatientAlerts, json!({"id": "1", "patient": "P-1", "note": "n", "disabled_at": 1_795_212_942})),
        (
            CommunicationLogs,
            json!({"id": "1", "patient": "P-1", "note": "n", "mode": "in_person", "direction": "received",
            "occurred_at": -1}),
        ),
        (
            Conversations,
            json!({"id": "1", "patient": "P-1", "subject": "s", "messages": [{"from": "patient", "text": "hi", "at": 5}, {}]}),
        ),
        (
            FormSchemas,
            json!({"id": "1", "title": "t", "slug": "s", "version": "2", "schema_json": "{\"components\":[]}"}),
        ),
        (
            FormResponses,
            json!({"id": "1", "patient": "P-1", "form_schema": "S-1", "answers_json": "{}", "submitted_at": 5}),
        ),
        (ProcedureCodeCategories, json!({"id": "1", "name": "Preventive"})),
        (ProcedureCodes, json!({"id": "1", "code": "D1", "description": "d", "category": "G-1", "active": true})),
        (Fees, json!({"id": "1", "fee_schedule": "F-1", "procedure_code": "Q-1", "code": "D1", "amount": usd("80")})),
        (
            Procedures,
            json!({"id": "1", "patient": "P-1", "provider": "D-1", "appointment": "A-1", "code": "D1", "name": "n",
            "status": "referred", "teeth": ["3", "14"], "surface": "MO", "fee": usd("80"), "start_date": "2026-01-01",
            "end_date": "2026-01-02", "treatment_plans": ["T-1"]}),
        ),
        (
            TreatmentPlans,
            json!({"id": "1", "name": "n", "patient": "P-1", "status": "accepted", "procedures": ["R-1"]}),
        ),
        (
            ClinicalNotes,
            json!({"id": "1", "patient": "P-1", "procedure": "R-1", "entered_at": 7, "content": "c",
            "signed": true, "completed": false}),
        ),
        (
            RecallTypes,
            json!({"id": "1", "name": "n", "description": "d", "interval_number": 6, "interval_unit": "month"}),
        ),
        (
            PatientRecalls,
            json!({"id": "1", "patient": "P-1", "appointment": "A-1", "recall_type": "E-1", "date_due": "2027-01-01"}),
        ),
        (DocumentTypes, json!({"id": "1", "name": "n", "active": false})),
        (
            Documents,
            json!({"id": "1", "patient": "P-1", "filename": "x.pdf", "media_type": "application/pdf",
            "document_type": "N-1", "created_at": 9}),
        ),
        (PaymentTypes, json!({"id": "1", "name": "n", "active": true})),
        (AdjustmentTypes, json!({"id": "1", "name": "n", "active": true, "action": "credit"})),
        (
            Charges,
            json!({"id": "1", "patient": "P-1", "guarantor": "P-2", "provider": "D-1", "procedure": "R-1",
            "procedure_code": "D1", "description": "d", "fee": usd("80"), "charged_at": "2026-01-01"}),
        ),
        (
            Claims,
            json!({"id": "1", "patient": "P-1", "provider": "D-1", "guarantor": "P-2", "status": "canceled", "sent_at": 1,
            "received_at": 2, "note": "n", "primary_plan": "I-1", "secondary_plan": "I-2", "date_of_service": "2026-01-01",
            "totals": {"billed": usd("80"), "write_off": usd("5")}, "payouts": [{"charge": "C-1", "estimated": usd("1"),
            "paid": usd("1"), "allowed": usd("1")}]}),
        ),
        (
            PaymentPlans,
            json!({"id": "1", "patient": "P-1", "guarantor": "P-2", "first_payment_due": "2026-01-01",
            "created": "2026-01-01", "active": true}),
        ),
        (
            Payments,
            ledger(
                "12.50",
                json!({"payment_plan": "L-1", "insurance_plan": "I-1", "payment_type": "Y-1",
            "paid_at": "2026-01-01"}),
            ),
        ),
        (Adjustments, ledger("-5", json!({"adjustment_type": "J-1", "adjusted_at": "2026-01-01"}))),
        (GuarantorBalances, ages.clone()),
        (InsuranceBalances, ages),
    ]
}

#[tokio::test]
async fn every_record_arrives_with_all_its_fields() {
    let entries = entries();
    assert_eq!(entries.len(), 30);
    for (resource, mut given) in entries {
        let entry = pulled_record(resource, &given).await.unwrap_or_else(|fault| panic!("{resource:?}: {fault:?}"));
        let Value::Object(mut arrived) = known(entry.fields().into()) else { unreachable!("fields are an object") };
        arrived.retain(|name, value| given.get(name).is_some() || *value != json!([]));
        arrived.insert("id".into(), entry.id().into());
        // Stored as the JSON text that it was before the contract had a type for it.
        if let Some(Value::String(messages)) = arrived.remove("messages_json") {
            arrived.insert("messages".into(), serde_json::from_str(&messages).unwrap());
        }
        // A redundant sign is dropped.
        if let Some(amount) = given.pointer_mut("/over90/amount") {
            *amount = json!("1");
        }
        assert_eq!((entry.resource(), Value::Object(arrived)), (resource, given));
    }
}

#[tokio::test]
async fn a_broken_rule_of_an_entry_is_named_without_its_value() {
    use Resource::*;
    let with = |resource: Resource, field: &str, value: Value| {
        let (_, mut fields) = entries().into_iter().find(|(of, _)| *of == resource).unwrap();
        fields[field] = value;
        (resource, fields)
    };
    for ((resource, fields), expected) in [
        (with(Coverages, "id", json!("")), "record 0 (coverage), field id: must have 1 to 200 bytes"),
        (with(Coverages, "plan", json!("x".repeat(201))), "field plan: must have 1 to 200 bytes"),
        (with(Fees, "amount", json!({"amount": "8e1", "currency": "USD"})), "field amount: must be an amount"),
        (with(Fees, "amount", json!({"amount": "8", "currency": "dollar"})), "field amount: must have a currency"),
        (with(Conversations, "messages", json!([{"at": i64::MAX}])), "field messages: must be in the years 1 to 9999"),
        (with(PatientAlerts, "disabled_at", json!(i64::MIN)), "field disabled_at: must be in the years 1 to 9999"),
        (with(TreatmentPlans, "procedures", json!(vec!["r"; 1_001])), "field procedures: must have at most 1000"),
        (with(RecallTypes, "extra", json!(vec![["a", "b"]; 65])), "field extra: must have at most 64 values"),
        (
            with(Claims, "payouts", json!([{"charge": ""}])),
            "record 0 (claim), field payouts.charge: must have 1 to 200",
        ),
    ] {
        let Err(Fault::RetryLater { reason, .. }) = pulled_record(resource, &fields).await else {
            panic!("{expected}")
        };
        assert!(reason.starts_with("the adapter broke the contract: ") && reason.contains(expected), "{reason}");
        assert!(!reason.contains("dollar") && !reason.contains("8e1"), "{reason}");
    }
}

/// Removes null values.
fn known(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, v)| !v.is_null())
            .map(|(name, v)| (name, known(v)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.into_iter().map(known).collect(),
        other => other,
    }
}

#[tokio::test]
async fn every_write_arrives_at_the_guest_or_is_refused_by_its_type() {
    use Operation::*;
    let ehr = TestEhr::ok();
    let guest = connected(&[("behaviour", "echo")], &ehr).await;
    for (operation, resource, case) in [
        (Create, Resource::InsurancePlans, "CreateInsurancePlan"),
        (Create, Resource::Coverages, "CreateCoverage"),
        (Delete, Resource::Coverages, "DeleteCoverage"),
        (Create, Resource::PatientHistoryItems, "SavePatientHistoryItem"),
        (Update, Resource::PatientHistoryItems, "SavePatientHistoryItem"),
        (Create, Resource::PatientAlerts, "CreatePatientAlert"),
        (Update, Resource::PatientAlerts, "DisablePatientAlert"),
        (Create, Resource::CommunicationLogs, "CreateCommunicationLog"),
        (Create, Resource::FormResponses, "CreateFormResponse"),
        (Create, Resource::Payments, "CreatePayment"),
        (Create, Resource::Adjustments, "CreateAdjustment"),
    ] {
        let (_, given) = entries().into_iter().find(|(of, _)| *of == resource).unwrap();
        let mut fields = given.as_object().unwrap().clone();
        let Some(Value::String(id)) = fields.remove("id") else { panic!("an id") };
        let write = Write::Record(operation, EhrRecord::from_fields(resource, &id, fields.into()).unwrap());
        guest.push("k".into(), write, DEADLINE).await.unwrap();
        let seen: Value = serde_json::from_slice(ehr.seen.lock().last().unwrap().body.as_deref().unwrap()).unwrap();
        let (name, arrived) = seen.as_object().unwrap().iter().next().unwrap();
        assert_eq!(name, case);
        match arrived {
            Value::Object(record) => {
                for (field, value) in given.as_object().unwrap() {
                    assert_eq!(known(record[field].clone()), *value, "{case}, {field}");
                }
            }
            id => assert_eq!(*id, given["id"]),
        }
    }
    let before = ehr.seen.lock().len();
    for (operation, resource) in [(Create, Resource::Claims), (Update, Resource::Payments), (Delete, Resource::Fees)] {
        let (_, given) = entries().into_iter().find(|(of, _)| *of == resource).unwrap();
        let write = Write::Record(operation, EhrRecord::from_fields(resource, "1", given).unwrap());
        let pushed = guest.push("k".into(), write.clone(), DEADLINE).await;
        assert!(matches!(pushed, Err(Fault::Unsupported(_))), "{pushed:?}");
        assert!(matches!(guest.find("k".into(), write, DEADLINE).await, Err(Fault::Unsupported(_))));
    }
    assert_eq!(ehr.seen.lock().len(), before, "the guest is not asked");
}

#[tokio::test]
async fn good_pages_arrive_for_each_resource() {
    let guest = connected(&[("behaviour", "full-page")], &TestEhr::ok()).await;
    for resource in [
        Resource::Patients,
        Resource::Providers,
        Resource::Operatories,
        Resource::AppointmentTypes,
        Resource::WorkingHours,
        Resource::Appointments,
    ] {
        let page = guest.pull(resource, None, 3, DEADLINE).await.unwrap();
        assert_eq!((page.records.len(), page.cursor.as_str(), page.last, page.whole), (3, "c1", false, true));
    }
    let page = guest.pull(Resource::Patients, None, 1, DEADLINE).await.unwrap();
    let EhrRecord::Patient(patient) = &page.records[0] else { panic!("{page:?}") };
    assert_eq!((patient.id.as_str(), patient.first_name.as_str()), ("0", "Ada"));
}

#[tokio::test]
async fn a_skipped_record_does_not_block_the_others() {
    let reason = "field born\nof zoe@mail.example is no date";
    let guest = connected(&[("behaviour", "skipping"), ("text", reason)], &TestEhr::ok()).await;
    let page = guest.pull(Resource::Patients, None, 3, DEADLINE).await.unwrap();
    assert_eq!((page.records.len(), page.skipped.len()), (1, 1));
    let skipped = &page.skipped[0];
    assert!(skipped.id == "7" && skipped.reason.starts_with("field born of "), "{}", skipped.reason);
    assert!(!skipped.reason.contains("zoe") && skipped.reason.ends_with("is no date"), "{}", skipped.reason);
}

#[tokio::test]
async fn writes_arrive_as_they_were_given() {
    let guest = connected(&[], &TestEhr::ok()).await;
    let patient = EhrPatient { first_name: "Ada".into(), last_name: "Lovelace".into(), ..Default::default() };
    let receipt = guest.push("key-1".into(), Write::CreatePatient(patient), DEADLINE).await.unwrap();
    assert_eq!((receipt.id.as_str(), receipt.version.as_deref()), ("Ada-Lovelace", Some("key-1")));
    let cancel = Write::CancelAppointment(Default::default(), Some("moved away".into()));
    assert_eq!(guest.push("key-2".into(), cancel, DEADLINE).await.unwrap().id, "moved away");
    let moved = guest.push("key-3".into(), Write::RescheduleAppointment(Default::default(), None), DEADLINE).await;
    assert!(matches!(moved, Err(Fault::Unsupported(_))), "{moved:?}");
    assert_eq!(guest.find("key-1".into(), booking(), DEADLINE).await.unwrap(), None);
}

#[tokio::test]
async fn a_description_is_checked() {
    let description = connected(&[], &TestEhr::ok()).await.describe(DEADLINE).await.unwrap();
    let pulls: Vec<_> = description.pulls.iter().map(|p| (p.resource, p.delta, p.deletions_by_absence)).collect();
    let claims = (Resource::Claims, false, true);
    assert_eq!(pulls, [(Resource::Patients, true, false), claims, (Resource::Appointments, false, true)]);
    assert_eq!(description.writes, ["create-appointment", "check-in-appointment"]);
    assert_eq!(description.requests_per_minute, Some(120), "the manifest's number is the lower one");
    assert_eq!(description.hosting, "onprem");
    assert_eq!(description.required_patient_fields, ["address", "phone_number"], "clients give one number");
    assert_eq!(description.unkept_patient_fields, ["work_phone", "extra"]);
    assert_eq!(description.max_lengths, [("insurance_plan.group_number".to_owned(), 25)]);
    let refused = connected(&[("behaviour", "named")], &TestEhr::ok()).await.describe(DEADLINE).await;
    let Err(Fault::RetryLater { reason, .. }) = refused else { panic!("{refused:?}") };
    assert!(reason.contains("description, field name: must not be empty"), "{reason}");
}

#[tokio::test]
async fn reasons_are_cut_and_stay_on_one_line() {
    let guest = connected(&[("behaviour", "fault")], &TestEhr::ok()).await;
    let Err(Fault::Rejected(reason)) = guest.push("k".into(), booking(), Duration::from_secs(5)).await else {
        panic!("the guest rejects");
    };
    assert!(reason.len() < 600 && !reason.contains('\n') && reason.starts_with("no xxx"), "{reason}");
    let guest = connected(&[("behaviour", "bad-receipt")], &TestEhr::ok()).await;
    let found = guest.find("k".into(), booking(), DEADLINE).await;
    assert!(
        matches!(&found, Err(Fault::RetryLater { reason, .. }) if reason.contains("receipt, field id")),
        "{found:?}"
    );
}
