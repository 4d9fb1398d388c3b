//! Records other than the schedule's: the seeds, and the writes.

use std::collections::BTreeMap;

use super::{
    super::{filed::references, write_kinds::WriteKind},
    *,
};

/// Returns one acceptable body for each create of a filed row.
fn creates() -> Vec<(&'static str, WriteKind, Value)> {
    use WriteKind::*;
    let amount = json!({"amount": "-12.50", "currency": "USD"});
    vec![
        ("insurance_plans", CreateInsurancePlan, json!({"name": "Plan", "fee_schedule": "FS-00001"})),
        (
            "coverages",
            CreateCoverage,
            json!({"patient": "P-00003", "plan": "I-00001", "relation": "self", "priority": 1}),
        ),
        (
            "patient_history_items",
            CreatePatientHistoryItem,
            json!({"patient": "P-00003", "category": "allergies", "item": "HI-00002", "active": true}),
        ),
        ("patient_alerts", CreatePatientAlert, json!({"patient": "P-00003", "note": "Zoë"})),
        (
            "communication_logs",
            CreateCommunicationLog,
            json!({"patient": "P-00003", "note": "n", "mode": "text", "direction": "sent", "occurred_at": 5}),
        ),
        (
            "form_responses",
            CreateFormResponse,
            json!({"patient": "P-00003", "form_schema": "FO-00001", "answers_json": "{}", "submitted_at": 5}),
        ),
        (
            "payments",
            CreatePayment,
            json!({"patient": "P-00003", "amount": amount, "payment_type": "PT-00002",
                "charge_splits": [{"id": "CH-00001", "amount": amount}]}),
        ),
        (
            "adjustments",
            CreateAdjustment,
            json!({"patient": "P-00003", "amount": amount, "adjustment_type": "AT-00001"}),
        ),
    ]
}

fn with(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

fn refusal(ehr: &mut SandboxEhr, method: &str, target: &str, body: Value) -> (u16, String) {
    let reply = send(ehr, method, target, body);
    assert!(reply.changes.is_empty(), "{target}");
    (reply.status, reply.json_body()["error"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn every_list_has_rows_and_valid_references() {
    let ehr = ehr();
    for resource in Resource::ALL {
        let rows: Vec<&Record> = ehr.records(*resource).collect();
        assert!(rows.len() >= 2, "{resource:?} has {}", rows.len());
        for row in rows {
            let Record::Filed(_, row) = row else { continue };
            for (target, id) in references(*resource, &row.fields) {
                assert!(ehr.record(target, id).is_some(), "{resource:?} {}: no {id} in {target:?}", row.id);
            }
        }
    }
    let of = |resource, field: &str| -> BTreeSet<String> {
        ehr.records(resource).map(|r| r.to_json()[field].to_string()).collect()
    };
    assert!(of(Resource::PaymentTypes, "active").contains("false"));
    assert_eq!(of(Resource::HistoryItems, "category").len(), 3);
    assert_eq!(of(Resource::Procedures, "status").len(), 5);
    assert_eq!(of(Resource::Claims, "status").len(), 4);
    let total: usize = Resource::ALL.iter().map(|resource| ehr.records(*resource).count()).sum();
    assert!(total < 6_000, "{total}");
}

#[test]
fn a_practice_without_patients_or_visits_still_opens() {
    for (patients, days_back) in [(0, 7), (1, 0), (2, 7)] {
        let ehr = SandboxEhr::new(Profile { patients, days_back, ..profile() });
        assert_eq!(ehr.records(Resource::PaymentTypes).count(), 5);
    }
}

#[test]
fn the_ledger_agrees_with_the_balances() {
    let ehr = ehr();
    let cents = |money: &Value| {
        let text = money["amount"].as_str().unwrap_or("0.00");
        text.replace('.', "").parse::<i64>().unwrap()
    };
    let mut owed: BTreeMap<String, i64> = BTreeMap::new();
    for (resource, field, sign) in
        [(Resource::Charges, "fee", 1), (Resource::Payments, "amount", -1), (Resource::Adjustments, "amount", 1)]
    {
        for row in ehr.records(resource).map(Record::to_json) {
            *owed.entry(row["guarantor"].as_str().unwrap().into()).or_default() += sign * cents(&row[field]);
        }
    }
    let balances: BTreeMap<String, i64> = ehr
        .records(Resource::GuarantorBalances)
        .map(|r| r.to_json())
        .map(|row| (row["guarantor"].as_str().unwrap().to_owned(), cents(&row["total"])))
        .collect();
    assert_eq!(balances, owed);
    assert!(owed.values().any(|cents| *cents > 0));
}

#[test]
fn rows_are_created_once_found_and_shown() {
    let mut ehr = ehr();
    for (name, _, body) in creates() {
        let (_, _, before) = walk(&mut ehr, name, "", 0, 1_000);
        let keyed = with(body.clone(), "write_key", json!(name));
        let reply = send(&mut ehr, "POST", &format!("/v1/{name}"), keyed.clone());
        assert_eq!((reply.status, reply.changes.len()), (201, 1), "{name}: {}", reply.json_body());
        let saved = reply.json_body();
        for (field, value) in body.as_object().unwrap() {
            assert_eq!(saved[field], *value, "{name}, {field}");
        }
        assert_eq!(get(&mut ehr, &format!("/v1/writes/{name}"))["id"], saved["id"]);
        let again = send(&mut ehr, "POST", &format!("/v1/{name}"), keyed);
        assert_eq!((again.status, again.json_body(), again.changes.len()), (200, saved.clone(), 0), "{name}");
        assert_eq!(walk(&mut ehr, name, "", before, 10).0, [saved], "{name}");
    }
}

#[test]
fn rows_are_changed_and_deleted() {
    let mut ehr = ehr();
    let disabled = send(&mut ehr, "PATCH", "/v1/patient_alerts/AL-00001", json!({"disabled_at": 7, "write_key": "a"}));
    assert_eq!((disabled.status, &disabled.json_body()["disabled_at"]), (200, &json!(7)));
    let item = send(&mut ehr, "PATCH", "/v1/patient_history_items/PH-00001", json!({"active": false, "note": "n"}));
    assert_eq!((item.status, &item.json_body()["active"]), (200, &json!(false)));
    assert_eq!(refusal(&mut ehr, "PATCH", "/v1/payments/PY-00001", json!({})).0, 404);
    assert_eq!(refusal(&mut ehr, "PATCH", "/v1/patient_alerts/AL-99999", json!({"note": "n"})).0, 404);

    let (_, _, before) = walk(&mut ehr, "coverages", "", 0, 1_000);
    let gone = send(&mut ehr, "DELETE", "/v1/coverages/CV-00002", json!({"write_key": "b"}));
    assert_eq!((gone.status, gone.json_body(), gone.changes.len()), (200, json!({"id": "CV-00002"}), 1));
    let again = send(&mut ehr, "DELETE", "/v1/coverages/CV-00002", json!({"write_key": "b"}));
    assert_eq!((again.status, again.json_body(), again.changes.len()), (200, json!({"id": "CV-00002"}), 0));
    assert_eq!(get(&mut ehr, "/v1/writes/b")["id"], "CV-00002");
    assert_eq!(walk(&mut ehr, "coverages", "", before, 10).1, ["CV-00002"]);
    assert_eq!(refusal(&mut ehr, "DELETE", "/v1/coverages/CV-00002", json!({})), (404, "not_found".into()));
    assert_eq!(send(&mut ehr, "DELETE", "/v1/coverages/CV-00003", Value::Null).status, 200);
    assert_eq!(refusal(&mut ehr, "DELETE", "/v1/payments/PY-00001", json!({})).0, 404);
}

#[test]
fn the_strict_ehr_refuses_what_does_not_fit() {
    let mut ehr = ehr();
    let body = |name: &str| creates().into_iter().find(|(of, ..)| *of == name).unwrap().2;
    for (name, field, value, status, code) in [
        ("payments", "patient", json!("P-99999"), 422, "unknown_reference"),
        ("payments", "payment_type", json!("PT-99999"), 422, "unknown_reference"),
        ("payments", "payment_type", json!("PT-00005"), 422, "inactive_payment_type"),
        ("payments", "charge_splits", json!([{"id": "CH-99999"}]), 422, "unknown_reference"),
        ("payments", "amount", json!({"amount": "1e3", "currency": "USD"}), 422, "bad_amount"),
        ("payments", "amount", json!(12.5), 422, "bad_amount"),
        ("payments", "amount", Value::Null, 422, "missing_field"),
        ("payments", "colour", json!("red"), 400, "malformed"),
        ("payments", "id", json!("PY-1"), 400, "malformed"),
        ("adjustments", "adjustment_type", json!("AT-00004"), 422, "inactive_adjustment_type"),
        ("coverages", "plan", json!("I-99999"), 422, "unknown_reference"),
        ("insurance_plans", "name", json!("ß".repeat(33)), 422, "name_too_long"),
        ("insurance_plans", "name", json!("  "), 422, "missing_field"),
        ("form_responses", "form_schema", json!("FO-99999"), 422, "unknown_reference"),
    ] {
        let refused = refusal(&mut ehr, "POST", &format!("/v1/{name}"), with(body(name), field, value));
        assert_eq!(refused, (status, code.to_owned()), "{name}, {field}");
    }
    assert_eq!(refusal(&mut ehr, "POST", "/v1/claims", json!({"patient": "P-00001"})).0, 404);
}

#[test]
fn each_write_can_be_refused_lost_or_unknown_to_the_ehr() {
    for (name, kind, body) in creates() {
        let target = format!("/v1/{name}");
        let mut refusing = switched(json!({"reject": [{"write": kind, "times": 1, "code": "no"}]}));
        assert_eq!(refusal(&mut refusing, "POST", &target, body.clone()), (422, "no".into()));
        assert_eq!(send(&mut refusing, "POST", &target, body.clone()).status, 201);
        let mut unknowing = switched(json!({"unsupported": [kind]}));
        assert_eq!(refusal(&mut unknowing, "POST", &target, body.clone()), (501, "unsupported_write".into()));
        let about = get(&mut unknowing, "/v1/about");
        let writes = about["writes"].as_array().unwrap();
        assert!(writes.len() == WriteKind::ALL.len() - 1 && !writes.contains(&json!(kind)), "{about}");
        let mut losing = switched(json!({"lose_next_replies": 1}));
        let lost = send(&mut losing, "POST", &target, with(body, "write_key", json!("k")));
        assert_eq!((lost.delivery, lost.changes.len()), (Delivery::Lost, 1));
        assert_eq!(send(&mut losing, "GET", "/v1/writes/k", Value::Null).status, 200);
    }
}
