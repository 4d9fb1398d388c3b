//! The table against the contract's own text.
#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
};

use proptest::prelude::*;
use serde_json::json;

use super::*;

const TYPES: &str = include_str!("../../../../wit/v1/types.wit");
const WORLD: &str = include_str!("../../../../wit/v1/world.wit");

/// Nothing of a record is dropped but its identifier, which is the frame's.
const DROPPED: &[&str] = &["id"];

/// Record -> its fields and their types, in snake case.
fn contract() -> BTreeMap<String, Vec<(String, String)>> {
    let mut records: BTreeMap<String, Vec<_>> = BTreeMap::new();
    let mut current = None;
    for line in TYPES.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("record ").and_then(|rest| rest.strip_suffix(" {")) {
            current = Some(name.to_owned());
        } else if line == "}" {
            current = None;
        } else if let (Some(record), false) = (&current, line.starts_with("///")) {
            let Some((field, of)) = line.trim_end_matches(',').split_once(": ") else { continue };
            records.entry(record.clone()).or_default().push((field.replace('-', "_"), of.to_owned()));
        }
    }
    records
}

/// The resources in frames, as the table has them.
fn resources() -> Vec<Resource> {
    #[derive(Clone)]
    struct Which;
    impl Visitor for Which {
        type Output = Resource;

        fn visit<T: Body>(self) -> Resource {
            T::RESOURCE
        }
    }
    on_all(Which)
}

/// Words that a `string` of the contract may only be one of.
fn words(record: &str, field: &str) -> Option<&'static [&'static str]> {
    Some(match (record, field) {
        ("coverage", "relation") => &[
            "self",
            "spouse",
            "child",
            "employee",
            "handicap_dep",
            "signif_other",
            "injured_plaintiff",
            "life_partner",
            "dependent",
            "other",
        ],
        ("coverage", "insurance_type") => &["dental", "medical", "vision"],
        ("communication-log", "mode") => &["none", "email", "mail", "phone", "in_person", "text"],
        ("communication-log", "direction") => &["sent", "received"],
        ("procedure", "status") => &["planned", "scheduled", "completed", "inactive", "referred"],
        ("treatment-plan", "status") => &["not_applicable", "proposed", "accepted", "rejected", "completed"],
        ("recall-type", "interval_unit") => &["day", "week", "month", "year"],
        ("adjustment-type", "action") => &["credit", "debit", "unknown"],
        ("claim", "status") => &["draft", "sent", "received", "canceled"],
        _ => return None,
    })
}

/// Values for fields of the contract.
struct Source<'a> {
    choices: std::slice::Iter<'a, u32>,
    contract: BTreeMap<String, Vec<(String, String)>>,
}

impl Source<'_> {
    fn next(&mut self) -> u32 {
        self.choices.next().copied().unwrap_or(0)
    }

    fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.next() as usize % words.len()]
    }

    fn record(&mut self, name: &str) -> Value {
        let fields = self.contract[name].clone();
        let mut made = Map::new();
        for (field, of) in fields {
            if !(DROPPED.contains(&field.as_str()) && name != "split") {
                let value = self.value(name, &field, &of);
                made.insert(field, value);
            }
        }
        Value::Object(made)
    }

    fn value(&mut self, record: &str, field: &str, of: &str) -> Value {
        if let Some(inner) = of.strip_prefix("option<").and_then(|rest| rest.strip_suffix('>')) {
            return if self.next().is_multiple_of(4) { Value::Null } else { self.value(record, field, inner) };
        }
        if let Some(inner) = of.strip_prefix("list<").and_then(|rest| rest.strip_suffix('>')) {
            let length = self.next() % 3;
            return (0..length).map(|_| self.value(record, field, inner)).collect();
        }
        match of {
            "string" if field.ends_with("_json") => json!(self.pick(&["{}", "[1, 2]", "{\"a\": [null]}"])),
            "string" => match words(record, field) {
                Some(words) => json!(self.pick(words)),
                None => json!(self.pick(&["", "A", "Müller", "12"])),
            },
            "foreign-id" => json!(format!("f{}", self.next() % 5_000)),
            "date" => json!(self.pick(&["2024-02-29", "0001-01-01", "9999-12-31"])),
            "instant" => json!(i64::from(self.next()) - 1_000_000_000),
            "bool" => json!(self.next() % 2 == 1),
            "u32" => json!(self.next()),
            "u8" => json!(self.next() % 12 + 1),
            "extra" => {
                let length = self.next() % 3;
                (0..length).map(|at| json!([format!("n{at}"), "v"])).collect()
            }
            "money" => json!({"amount": self.pick(&["0", "-12.50", "0.005", "100.00"]), "currency": "USD"}),
            "history-category" => json!(self.pick(&["allergies", "conditions", "medications"])),
            record => self.record(record),
        }
    }
}

/// Ids that tell the resource, so that a reference to the wrong one does not come back.
fn refer(resource: Resource, foreign: &str) -> Result<u64, Infallible> {
    Ok(resource as u64 * 10_000 + foreign[1..].parse::<u64>().unwrap())
}

fn foreign(resource: Resource, id: u64) -> Result<Option<String>, Infallible> {
    Ok((id / 10_000 == resource as u64).then(|| format!("f{}", id % 10_000)))
}

fn body(resource: Resource, fields: &Value) -> Result<Value, String> {
    let Ok(body) = ours(resource, fields.as_object().unwrap().clone(), &mut refer);
    body
}

proptest! {
    #[test]
    fn every_resource_goes_to_the_ehr_and_back(choices in prop::collection::vec(any::<u32>(), 200)) {
        for resource in resources() {
            let mut source = Source { choices: choices.iter(), contract: contract() };
            let fields = source.record(rules(resource).unwrap().record);
            let body = body(resource, &fields).map_err(|wrong| TestCaseError::fail(format!("{resource:?}: {wrong}")))?;
            let Ok(back) = theirs(resource, body.clone(), &mut foreign);
            let back = Value::Object(back.unwrap());
            prop_assert_eq!(&back, &fields, "{:?}", resource);
            prop_assert_eq!(self::body(resource, &back), Ok(body.clone()), "{:?}", resource);
            prop_assert_eq!(checked(resource, body.clone()), Ok(body));
        }
    }
}

/// A record with every field filled.
fn full(resource: Resource) -> Value {
    let choices = [1_000_001_u32; 400];
    Source { choices: choices.iter(), contract: contract() }.record(rules(resource).unwrap().record)
}

#[test]
fn every_field_of_the_contract_is_kept() {
    let (contract, mut records) = (contract(), BTreeSet::new());
    for resource in resources() {
        let rules = rules(resource).unwrap();
        assert_eq!(rules.resource, resource);
        records.insert(rules.record);
        let body = body(resource, &full(resource)).unwrap();
        let kept: BTreeSet<String> = body.as_object().unwrap().keys().cloned().collect();
        let top = |reference: &&Reference| reference.within.is_none();
        let due: BTreeSet<String> = contract[rules.record]
            .iter()
            .map(|(field, _)| field.as_str())
            .filter(|field| !DROPPED.contains(field))
            .map(|field| {
                rules.references.iter().filter(top).find(|it| it.field == field).map_or(field, |it| it.becomes)
            })
            .chain(rules.own.iter().copied())
            .map(str::to_owned)
            .collect();
        assert_eq!(kept, due, "{resource:?}");
    }
    // The rest are parts of these, or have documents of their own.
    let others = ["money", "address", "recurrence", "split", "claim-amounts"];
    let documents = ["patient", "provider", "operatory", "appointment-type", "working-hour", "appointment"];
    records.extend(others.into_iter().chain(documents));
    assert_eq!(records, contract.keys().map(String::as_str).collect());
    assert_eq!(resources().len(), 30);
}

#[test]
fn every_foreign_id_is_a_reference() {
    let contract = contract();
    let foreign = |of: &str| of.contains("foreign-id");
    for resource in resources() {
        let rules = rules(resource).unwrap();
        let mut due: BTreeSet<(Option<String>, String)> = BTreeSet::new();
        for (field, of) in contract[rules.record].iter().filter(|(field, _)| field != "id") {
            if foreign(of) {
                due.insert((None, field.clone()));
            }
            let inner = of.trim_start_matches("list<").trim_end_matches('>');
            for (part, _) in contract.get(inner).into_iter().flatten().filter(|(_, of)| foreign(of)) {
                due.insert((Some(field.clone()), part.clone()));
            }
        }
        let known = rules.references.iter().map(|it| (it.within.map(str::to_owned), it.field.to_owned())).collect();
        assert_eq!(due, known, "{resource:?}");
        assert_eq!(due.len(), rules.references.len(), "{resource:?}");
    }
}

#[test]
fn every_write_of_the_contract_has_a_row_and_no_other() {
    let kinds = WORLD.split("enum write-kind {").nth(1).unwrap().split('}').next().unwrap();
    let kinds: BTreeSet<&str> = kinds
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("///"))
        .map(|line| line.trim_end_matches(','))
        .collect();
    let rows = resources().into_iter().flat_map(|resource| rules(resource).unwrap().writes);
    let mut known: BTreeSet<&str> = rows.map(|(_, kind)| *kind).collect();
    known.insert("");
    let schedule = |kind: &&&str| ["-patient", "-appointment", "-working-hour"].iter().any(|end| kind.ends_with(end));
    assert_eq!(kinds.iter().filter(|kind| !schedule(kind)).copied().collect::<BTreeSet<_>>(), known);
    assert_eq!(write_kind(Resource::PatientAlerts, Operation::Update), Some("disable-patient-alert"));
    assert_eq!(write_kind(Resource::Payments, Operation::Delete), None);
    assert_eq!(write_kind(Resource::Patients, Operation::Create), None);
}

#[test]
fn what_is_wrong_is_said_by_field_and_never_with_the_value() {
    let spoil = |resource, path: &str, value: Value| {
        let mut fields = full(resource);
        *fields.pointer_mut(path).unwrap() = value;
        body(resource, &fields).unwrap_err()
    };
    let secret = json!("Jane Doe, expected soon");
    for (resource, path, says) in [
        (Resource::Payments, "/amount/amount", "field amount.amount: must be a decimal number of at most 28 digits"),
        (Resource::Payments, "/paid_at", "field paid_at: must be a date, YYYY-MM-DD"),
        (Resource::Payments, "/charge_splits", "field charge_splits: must be a sequence"),
        (Resource::Coverages, "/active", "field active: must be a boolean"),
        (Resource::AdjustmentTypes, "/action", "field action: must be one of `credit`, `debit`, `unknown`"),
        (Resource::FormResponses, "/submitted_at", "field submitted_at: must be i64"),
        (Resource::FormResponses, "/answers_json", "field answers_json: must be a JSON text"),
    ] {
        assert_eq!(spoil(resource, path, secret.clone()), says);
    }
    assert_eq!(spoil(Resource::Payments, "/patient", json!(7)), "field patient: must be an identifier");
    assert_eq!(
        spoil(Resource::Procedures, "/treatment_plans", json!([7])),
        "field treatment_plans: must be an identifier"
    );
    assert!(spoil(Resource::PatientAlerts, "/patient", Value::Null).starts_with("field patient_id: must be "));
    let mut fields = full(Resource::PaymentTypes);
    fields.as_object_mut().unwrap().remove("name");
    assert_eq!(body(Resource::PaymentTypes, &fields), Err("missing field `name`".to_owned()));
    assert!(body(Resource::Patients, &json!({})).is_err());
}

#[test]
fn a_reference_without_foreign_id_is_missing() {
    let body = body(Resource::Payments, &full(Resource::Payments)).unwrap();
    let mut none = |resource, id| -> Result<Option<String>, Infallible> {
        if resource == Resource::PaymentTypes { Ok(None) } else { foreign(resource, id) }
    };
    let Ok(missing) = theirs(Resource::Payments, body.clone(), &mut none);
    let id = body["payment_type_id"].as_u64().unwrap();
    assert_eq!(missing, Err(Missing { resource: Resource::PaymentTypes, id }));
    let failing = theirs(Resource::Payments, body, &mut |_, _| Err("the store is gone"));
    assert_eq!(failing, Err("the store is gone"));
}

#[test]
fn what_only_we_keep_is_not_sent() {
    let mut body = body(Resource::Documents, &full(Resource::Documents)).unwrap();
    body["upload"] = json!({"bytes": 3, "digest": "00"});
    let body = checked(Resource::Documents, body).unwrap();
    let Ok(sent) = theirs(Resource::Documents, body, &mut foreign);
    assert!(!sent.unwrap().contains_key("upload"));
}

#[test]
fn lists_find_records_by_terms() {
    let usd = json!({"amount": "5.00", "currency": "USD"});
    let split = |charge: u64| json!({"charge_id": charge, "amount": usd});
    let body = json!({
        "patient_id": 3, "charge_id": 8, "claim_id": null, "amount": usd, "transaction_id": "t-1",
        "charge_splits": [split(8), split(9)], "provider_splits": []
    });
    let payment: crate::ledger::Payment = read(body).unwrap();
    let due = [
        Term::number(Field::Patient, 3_u32),
        Term::number(Field::Charge, 8_u32),
        Term::number(Field::Charge, 9_u32),
        Term::text(Field::Transaction, "t-1"),
    ];
    assert_eq!(terms(&payment), due);
    for resource in resources() {
        for path in rules(resource).unwrap().index {
            let name = path.rsplit('.').next().unwrap();
            assert!(Field::of_body(name).is_some(), "{resource:?}: lists cannot find by {path}");
        }
    }
}

#[test]
fn bodies_print_redacted() {
    let alert: crate::talk::PatientAlert =
        read(json!({"patient_id": 3, "note": "very private", "disabled_at": null})).unwrap();
    assert_eq!(format!("{alert:?}"), "PatientAlert(redacted)");
}
