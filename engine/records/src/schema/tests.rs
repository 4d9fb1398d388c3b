//! The declarations of all records compared with the text of the contract.
#![allow(clippy::unwrap_used)]

mod declarations;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    documents::Upload,
    index::Term,
    record::Scope,
    references::{Invalid, Missing},
    words::*,
};

const TYPES: &str = include_str!("../../../../wit/v1/types.wit");
const WORLD: &str = include_str!("../../../../wit/v1/world.wit");

/// Fields that a body lacks: only the identifier, which is in the frame.
const DROPPED: &[&str] = &["id"];

/// Returns the fields and types of each record of the contract, in snake case.
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
    // A typed list in the contract, stored as a text.
    let messages = records.get_mut("conversation").unwrap().iter_mut().find(|(field, _)| field == "messages");
    *messages.unwrap() = ("messages_json".to_owned(), "string".to_owned());
    records
}

/// Returns the resources whose conversions are generated.
fn resources() -> Vec<Resource> {
    let own = [Resource::WorkingHours, Resource::Appointments];
    RESOURCES.iter().copied().filter(|resource| !own.contains(resource)).collect()
}

/// Returns the words of an enum or variant of the contract, in snake case.
fn words(of: &str) -> Option<Vec<&'static str>> {
    fn all<W: Word>() -> Vec<&'static str> {
        W::ALL.iter().map(|word| word.word()).collect()
    }
    Some(match of {
        "gender" => vec!["Male", "Female", "Other"],
        "relation" => all::<Relation>(),
        "insurance-type" => all::<InsuranceType>(),
        "communication-mode" => all::<Mode>(),
        "communication-direction" => all::<Direction>(),
        "procedure-status" => all::<ProcedureStatus>(),
        "treatment-plan-status" => all::<PlanStatus>(),
        "interval-unit" => all::<IntervalUnit>(),
        "adjustment-action" => all::<AdjustmentAction>(),
        "claim-status" => all::<ClaimStatus>(),
        "history-category" => all::<HistoryCategory>(),
        _ => return None,
    })
}

/// Returns the cases of an enum or variant of the contract, without those of an EHR.
fn cases(of: &str) -> Vec<String> {
    let heads = [format!("enum {of} {{"), format!("variant {of} {{")];
    let body = heads.iter().find_map(|head| TYPES.split_once(head)).unwrap().1.split('}').next().unwrap();
    let lines = body.lines().filter(|line| !line.trim().starts_with("///"));
    let cases = lines.flat_map(|line| line.split(',')).map(str::trim).filter(|case| !case.is_empty());
    cases.filter(|case| *case != "other(string)").map(|case| case.replace('-', "_")).collect()
}

#[test]
fn word_lists_match_the_contract() {
    let contract = contract();
    let named = contract.values().flatten().map(|(_, of)| of.trim_start_matches("option<").trim_end_matches('>'));
    let lists: BTreeSet<&str> = named.filter(|of| words(of).is_some()).collect();
    assert_eq!(lists.len(), 11, "{lists:?}");
    for list in lists {
        let contract_words = words(list).unwrap().into_iter();
        // `self` is a reserved word in most languages.
        let contract_words: Vec<_> =
            contract_words.map(|word| if word == "self" { "oneself" } else { word }.to_lowercase()).collect();
        assert_eq!(cases(list), contract_words, "{list}");
    }
}

/// A generator of values for fields of the contract.
struct ValueGenerator<'a> {
    choices: std::slice::Iter<'a, u32>,
    contract: BTreeMap<String, Vec<(String, String)>>,
}

impl ValueGenerator<'_> {
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
                let value = self.value(&field, &of);
                made.insert(field, value);
            }
        }
        Value::Object(made)
    }

    fn value(&mut self, field: &str, of: &str) -> Value {
        if let Some(inner) = of.strip_prefix("option<").and_then(|rest| rest.strip_suffix('>')) {
            return if self.next().is_multiple_of(4) { Value::Null } else { self.value(field, inner) };
        }
        if let Some(inner) = of.strip_prefix("list<").and_then(|rest| rest.strip_suffix('>')) {
            let length = self.next() % 3;
            return (0..length).map(|_| self.value(field, inner)).collect();
        }
        match of {
            "string" if field.ends_with("_json") => json!(self.pick(&["{}", "[1, 2]", "{\"a\": [null]}"])),
            "string" => json!(self.pick(&["", "A", "Müller", "12"])),
            "weekday" => json!("Monday"),
            "hour-kind" => json!("working_hour"),
            "recurrence-unit" => json!("week"),
            "time-of-day" => json!("09:00"),
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
            other => match words(other) {
                Some(words) => json!(self.pick(&words)),
                None => self.record(other),
            },
        }
    }
}

/// The error of a conversion.
#[derive(Debug, PartialEq, Eq)]
enum Unsaid {
    Invalid,
    Missing(Missing),
    Gone,
}

impl From<Invalid> for Unsaid {
    fn from(_: Invalid) -> Unsaid {
        Unsaid::Invalid
    }
}

impl From<Missing> for Unsaid {
    fn from(missing: Missing) -> Unsaid {
        Unsaid::Missing(missing)
    }
}

/// Returns an id that contains the resource, so that a reference to the wrong resource is detected.
fn resolve_id(resource: Resource, foreign: &str) -> Result<u64, Unsaid> {
    Ok(resource as u64 * 10_000 + foreign[1..].parse::<u64>().unwrap())
}

fn foreign_id_of(resource: Resource, id: u64) -> Result<Option<String>, Unsaid> {
    Ok((id / 10_000 == resource as u64).then(|| format!("f{}", id % 10_000)))
}

/// Converts a record in the EHR's form to a body and back.
struct ThereAndBack;

impl EhrVisitor for ThereAndBack {
    type Output = EhrRecord;

    fn visit<T: Body<Ehr: Into<EhrRecord>>>(self, id: &str, shown: &T::Ehr) -> EhrRecord {
        let body = T::resolve::<Unsaid>(shown, None, &mut resolve_id).unwrap();
        let stored = serde_json::to_vec(&body).unwrap();
        assert!(serde_json::from_slice::<T>(&stored).unwrap() == body, "{:?} is read as it was stored", T::RESOURCE);
        body.for_ehr::<Unsaid>(id.to_owned(), &mut foreign_id_of).unwrap().into()
    }
}

proptest! {
    #[test]
    fn records_survive_conversion_to_a_body_and_back(choices in prop::collection::vec(any::<u32>(), 200)) {
        for resource in resources() {
            let mut source = ValueGenerator { choices: choices.iter(), contract: contract() };
            let mut fields = source.record(rules(resource).record);
            if rules(resource).scope != Scope::Source {
                // Their `extra` values are not stored.
                fields["extra"] = json!([]);
            }
            let shown = EhrRecord::from_fields(resource, "f1", fields).map_err(TestCaseError::fail)?;
            prop_assert_eq!(shown.on(ThereAndBack), shown);
        }
    }
}

/// Returns a record with a value in every field.
fn full(record: &str) -> Value {
    let choices = [1_000_001_u32; 400];
    ValueGenerator { choices: choices.iter(), contract: contract() }.record(record)
}

#[test]
fn bodies_keep_every_field_of_the_contract() {
    let (contract, mut records) = (contract(), BTreeSet::new());
    for resource in RESOURCES.iter().copied() {
        let rules = rules(resource);
        assert_eq!(rules.resource, resource);
        records.insert(rules.record);
        let shown = EhrRecord::from_fields(resource, "f1", full(rules.record)).unwrap();
        let kept: BTreeSet<String> = shown.fields().keys().cloned().collect();
        let due = contract[rules.record].iter().map(|(field, _)| field.clone());
        assert_eq!(kept, due.filter(|field| !DROPPED.contains(&field.as_str())).collect(), "{resource:?}");
    }
    // All others are parts of these.
    records.extend(["money", "address", "recurrence", "split", "claim-amounts", "message", "extra-value"]);
    assert_eq!(records, contract.keys().map(String::as_str).collect());
    assert_eq!(RESOURCES.len(), 36);
    assert!(RESOURCES.iter().all(|resource| rules(*resource).resource == *resource));
    let tags: BTreeSet<u8> = RESOURCES.iter().map(|resource| rules(*resource).tag).collect();
    assert_eq!(tags.len(), 36);
}

#[test]
fn every_foreign_id_is_a_reference() {
    let contract = contract();
    for resource in RESOURCES.iter().copied() {
        let rules = rules(resource);
        let foreign = |(_, of): &&(String, String)| of.contains("foreign-id");
        let due = contract[rules.record].iter().filter(foreign).map(|(field, _)| field.as_str());
        let due: BTreeSet<&str> = due.filter(|field| !DROPPED.contains(field)).collect();
        assert_eq!(due, rules.refers_to.iter().map(|(field, _)| *field).collect(), "{resource:?}");
    }
}

#[test]
fn writes_of_records_match_the_contract() {
    let kinds = WORLD.split("enum write-kind {").nth(1).unwrap().split('}').next().unwrap();
    let kinds: BTreeSet<&str> = kinds
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("///"))
        .map(|line| line.trim_end_matches(','))
        .collect();
    let mut known: BTreeSet<&str> = all_writes().map(|(_, kind)| kind).collect();
    // The writes that create patients and appointments are separate.
    known.extend(["", "create-patient", "create-appointment", "reschedule-appointment", "confirm-appointment"]);
    known.extend(["check-in-appointment", "cancel-appointment", "note-appointment"]);
    assert_eq!(kinds, known);
    assert_eq!(write_kind(Resource::PatientAlerts, Operation::Update), Some("disable-patient-alert"));
    assert_eq!(write_kind(Resource::Payments, Operation::Delete), None);
    assert_eq!(write_kind(Resource::Patients, Operation::Create), None);
}

#[test]
fn errors_name_the_field_but_never_the_value() {
    let error_of = |resource, path: &str, value: Value| {
        let mut fields = full(rules(resource).record);
        *fields.pointer_mut(path).unwrap() = value;
        EhrRecord::from_fields(resource, "f1", fields).unwrap_err()
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
        assert_eq!(error_of(resource, path, secret.clone()), says);
    }
    assert_eq!(error_of(Resource::Payments, "/patient", json!(7)), "field patient: must be a string");
    assert!(
        error_of(Resource::Procedures, "/treatment_plans", json!([7]))
            .starts_with("field treatment_plans[0]: must be ")
    );
    assert!(error_of(Resource::PatientAlerts, "/patient", Value::Null).starts_with("field patient: must be "));
    let mut fields = full("payment-type");
    fields.as_object_mut().unwrap().remove("name");
    assert_eq!(EhrRecord::from_fields(Resource::PaymentTypes, "f1", fields), Err("missing field `name`".to_owned()));
}

#[test]
fn reference_without_foreign_id_is_reported_as_missing() {
    let EhrRecord::Payment(shown) = EhrRecord::from_fields(Resource::Payments, "f1", full("payment")).unwrap() else {
        panic!("a payment")
    };
    let body = Payment::resolve::<Unsaid>(&shown, None, &mut resolve_id).unwrap();
    let mut none =
        |resource, id| if resource == Resource::PaymentTypes { Ok(None) } else { foreign_id_of(resource, id) };
    let missing = Missing { resource: Resource::PaymentTypes, id: body.payment_type_id.unwrap() };
    assert_eq!(body.for_ehr(String::new(), &mut none).unwrap_err(), Unsaid::Missing(missing));
    assert_eq!(body.for_ehr(String::new(), &mut |_, _| Err(Unsaid::Gone)).unwrap_err(), Unsaid::Gone);
    let wide = Payment::resolve::<Unsaid>(&shown, None, &mut |_, _| Ok(1 << 32));
    assert_eq!(wide.unwrap_err(), Unsaid::Invalid, "an id of a patient has 32 bits");
}

#[test]
fn local_fields_are_kept_and_not_sent() {
    let shown = EhrRecord::from_fields(Resource::Documents, "f1", full("document")).unwrap();
    let EhrRecord::Document(shown) = shown else { panic!("a document") };
    let mut kept = Document::resolve::<Unsaid>(&shown, None, &mut resolve_id).unwrap();
    kept.upload = Some(Upload { bytes: 3, digest: "00".to_owned() });
    let sent: EhrRecord = kept.for_ehr::<Unsaid>("f1".to_owned(), &mut foreign_id_of).unwrap().into();
    assert!(!sent.fields().contains_key("upload"));
    assert!(Document::resolve::<Unsaid>(&shown, Some(&kept), &mut resolve_id).unwrap() == kept);
}

/// A record with a field that the contract does not have.
#[allow(unreachable_pub, reason = "generated with public fields")]
mod extended {
    use record_macro::record;

    #[record(resource = Fees, tag = 0, id = u64, scope = Source, contract = "fee", name = "Fee")]
    pub(super) struct Extended {
        #[record(in_extra)]
        pub nickname: Option<String>,
    }
}

#[test]
fn fields_beyond_the_contract_are_values_of_extra() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let both = vec![pair("status", "new"), pair("nickname", "Zo")];
    let shown = extended::EhrExtended { id: "f1".to_owned(), extra: both.clone() };
    let body = extended::Extended::resolve::<Unsaid>(&shown, None, &mut resolve_id).unwrap();
    assert_eq!((body.nickname.as_deref(), &body.extra), (Some("Zo"), &vec![pair("status", "new")]));
    assert_eq!(body.for_ehr::<Unsaid>("f1".to_owned(), &mut foreign_id_of).unwrap().extra, both);
    let cleared = extended::Extended { nickname: None, ..body };
    assert_eq!(cleared.for_ehr::<Unsaid>("f1".to_owned(), &mut foreign_id_of).unwrap().extra, [pair("status", "new")]);
}

#[test]
fn field_replaces_the_extra_value_of_a_record_stored_before_its_declaration() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let stored = json!({"extra": [["nickname", "Zo"], ["status", "new"]]});
    let before: extended::Extended = serde_json::from_value(stored).unwrap();
    let unchanged = before.for_ehr::<Unsaid>("f1".to_owned(), &mut foreign_id_of).unwrap();
    assert_eq!(unchanged.extra, [pair("nickname", "Zo"), pair("status", "new")]);
    let changed = extended::Extended { nickname: Some("Zoe".to_owned()), ..before };
    let sent = changed.for_ehr::<Unsaid>("f1".to_owned(), &mut foreign_id_of).unwrap();
    assert_eq!(sent.extra, [pair("status", "new"), pair("nickname", "Zoe")]);
}

#[test]
fn body_terms_contain_references_and_parts() {
    let usd = json!({"amount": "5.00", "currency": "USD"});
    let split = |charge: u64| json!({"charge_id": charge, "amount": usd});
    let body = json!({
        "patient_id": 3, "charge_id": 8, "claim_id": null, "amount": usd, "transaction_id": "t-1",
        "charge_splits": [split(8), split(9)], "provider_splits": []
    });
    let payment: Payment = read(body).unwrap();
    let due = [
        Term::number(Field::Patient, 3_u32),
        Term::number(Field::Charge, 8_u32),
        Term::number(Field::Charge, 9_u32),
        Term::text(Field::Transaction, "t-1"),
    ];
    assert_eq!(payment.terms(), due);
    assert_eq!(patient_of(&payment), Some(3));
}

#[test]
fn inactive_records_are_not_in_use() {
    let of = |active: Value| read::<FeeSchedule>(json!({"name": "UCR", "active": active})).unwrap().in_use();
    assert_eq!([of(json!(true)), of(json!(false)), of(json!(null))], [true, false, true]);
}

#[test]
fn debug_output_of_records_is_redacted() {
    let alert: PatientAlert = read(json!({"patient_id": 3, "note": "very private", "disabled_at": null})).unwrap();
    assert_eq!(format!("{alert:?}"), "PatientAlert(redacted)");
    let fields = json!({"patient": "f3", "note": "very private", "disabled_at": null});
    let shown = EhrRecord::from_fields(Resource::PatientAlerts, "f1", fields).unwrap();
    assert_eq!(format!("{shown:?}"), "PatientAlert(EhrPatientAlert(\"f1\", redacted))");
}
