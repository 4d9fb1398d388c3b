//! The choice among several values: `period`, `use`, `rank`, and other rules of the standard.

use adapter_sdk::{Record, records, time::instant_of};
use fhir_adapter::{map, responses::Appointment};
use serde_json::{Value, json};

use crate::parts::{host, settings};

/// As read on 22 July 2026.
fn patient(fields: &Value) -> records::Patient {
    let mut patient = json!({"resourceType": "Patient", "id": "p"});
    patient.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let now = instant_of("2026-07-22T12:00:00Z").unwrap();
    host().at(now).run(|| map::patient_record(patient)).unwrap()
}

const ENDED: &str = "2020-07-22";

#[test]
fn an_ended_name_is_used_only_without_a_current_one() {
    let last_name = |names: Value| patient(&json!({"name": names})).last_name;
    let before = json!({"family": "Maidenname", "given": ["Anna"], "period": {"end": ENDED}});
    let after = json!({"family": "Marriedname", "given": ["Anna"], "period": {"start": ENDED}});
    assert_eq!(last_name(json!([before, after])), "Marriedname");
    assert_eq!(last_name(json!([after, before])), "Marriedname");
    assert_eq!(last_name(json!([before])), "Maidenname");
    let official = json!({"use": "official", "family": "Maidenname", "period": {"end": "2020"}});
    assert_eq!(last_name(json!([official, after])), "Marriedname", "whatever its use");
    let coming = json!({"use": "official", "family": "Nextname", "period": {"start": "2027"}});
    assert_eq!(last_name(json!([coming, after])), "Marriedname", "not yet");
    let still = json!({"use": "official", "family": "Officialname", "period": {"end": "2026-07"}});
    assert_eq!(last_name(json!([after, still])), "Officialname", "its last month is part of it");
    let maiden = json!({"use": "maiden", "family": "Maidenname"});
    let nickname = json!({"use": "nickname", "family": "Nick"});
    assert_eq!(last_name(json!([maiden, nickname, {"use": "old", "family": "Oldname"}])), "Nick");
    assert_eq!(last_name(json!([{"use": "official"}, {"use": "old", "family": "Oldname"}])), "Oldname");
}

#[test]
fn an_ended_address_is_used_only_without_a_current_one() {
    let city = |addresses: Value| patient(&json!({"address": addresses})).address.and_then(|address| address.city);
    let before = json!({"use": "home", "city": "Bern", "period": {"end": ENDED}});
    let after = json!({"city": "Thun", "period": {"start": ENDED}});
    assert_eq!(city(json!([before, after])).as_deref(), Some("Thun"));
    assert_eq!(city(json!([before])).as_deref(), Some("Bern"));
    assert_eq!(city(json!([{"use": "work", "city": "Basel"}, after])).as_deref(), Some("Thun"));
    assert_eq!(city(json!([{"use": "home"}, {"use": "home", "city": "Bern"}])).as_deref(), Some("Bern"));
    assert_eq!(city(json!([{"use": "old", "city": "Bern"}])), None);
}

#[test]
fn contacts_count_by_period_and_rank() {
    let phone = |usage: &str, value: &str, more: Value| {
        let mut phone = json!({"system": "phone", "use": usage, "value": value});
        phone.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        phone
    };
    let read = |telecom: Value| patient(&json!({"telecom": telecom}));
    let ended = json!({"period": {"end": ENDED}});
    let cell = |telecom: Value| read(telecom).cell_phone;
    let (first, second) = (phone("mobile", "1", json!({})), phone("mobile", "2", json!({})));
    assert_eq!(cell(json!([first, second])).as_deref(), Some("1"));
    assert_eq!(cell(json!([first, phone("mobile", "2", json!({"rank": 1}))])).as_deref(), Some("2"));
    assert_eq!(
        cell(json!([phone("mobile", "1", json!({"rank": 10})), phone("mobile", "2", json!({"rank": 9}))])).as_deref(),
        Some("2")
    );
    assert_eq!(cell(json!([phone("mobile", "1", json!({"rank": "first"})), second])).as_deref(), Some("1"));
    assert_eq!(cell(json!([phone("mobile", "1", ended.clone()), second])).as_deref(), Some("2"));
    assert_eq!(cell(json!([phone("mobile", "1", ended.clone())])).as_deref(), Some("1"));
    // A current number with another use is preferred to an ended one.
    let moved = read(json!([phone("mobile", "1", ended), phone("home", "3", json!({}))]));
    assert_eq!((moved.cell_phone, moved.home_phone.as_deref()), (None, Some("3")));
    let emails = json!([{"system": "email", "value": "old@x.example", "period": {"end": "2020"}},
        {"system": "email", "value": "b@x.example", "rank": 2}, {"system": "email", "value": "a@x.example", "rank": 1}]);
    assert_eq!(read(emails).email.as_deref(), Some("a@x.example"));
}

#[test]
fn identifiers_count_by_period_and_use() {
    let number = |value: &str, more: Value| {
        let mut number = json!({"type": {"coding": [{"code": "MR"}]}, "value": value});
        number.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        number
    };
    let chart = |identifiers: Value| patient(&json!({"identifier": identifiers})).chart_id;
    let plain = number("1", json!({}));
    assert_eq!(chart(json!([plain, number("2", json!({}))])).as_deref(), Some("1"));
    assert_eq!(chart(json!([number("0", json!({"use": "old"})), plain])).as_deref(), Some("1"));
    assert_eq!(chart(json!([number("0", json!({"period": {"end": "2020"}})), plain])).as_deref(), Some("1"));
    assert_eq!(chart(json!([number("0", json!({"use": "temp"})), plain])).as_deref(), Some("1"));
    assert_eq!(chart(json!([plain, number("2", json!({"use": "usual"}))])).as_deref(), Some("2"));
    assert_eq!(chart(json!([number("0", json!({"use": "old"}))])).as_deref(), Some("0"));
    assert_eq!(chart(json!([{"type": {"coding": [{"code": "MR"}]}}, plain])).as_deref(), Some("1"));
}

#[test]
fn preferred_languages_and_selected_codings_take_precedence() {
    let language = |all: Value| patient(&json!({"communication": all})).preferred_language;
    let spoken =
        |code: &str, preferred: bool| json!({"language": {"coding": [{"code": code}]}, "preferred": preferred});
    assert_eq!(language(json!([spoken("de", false), spoken("fr-CA", true)])).as_deref(), Some("fr"));
    assert_eq!(language(json!([{"preferred": true}, spoken("de", false)])).as_deref(), Some("de"));
    let chosen = json!([{"language": {"coding": [{"code": "de"}, {"code": "it", "userSelected": true}]}}]);
    assert_eq!(language(chosen).as_deref(), Some("it"));
}

#[test]
fn a_patient_who_was_merged_into_another_is_inactive() {
    let link = |kind: &str| json!({"link": [{"type": kind, "other": {"reference": "Patient/q"}}]});
    assert!(patient(&link("replaced-by")).inactive);
    assert!(!patient(&link("replaces")).inactive && !patient(&link("seealso")).inactive);
}

#[test]
fn a_change_replaces_the_preferred_value() {
    let theirs = json!({"resourceType": "Patient", "id": "p",
        "name": [{"use": "official", "family": "Before", "period": {"end": ENDED}}, {"family": "After"}],
        "telecom": [{"system": "phone", "use": "mobile", "value": "1"},
            {"system": "phone", "use": "mobile", "value": "2", "rank": 1}],
        "address": [{"use": "home", "city": "Bern", "period": {"end": ENDED}}, {"city": "Thun"}],
        "communication": [{"language": {"text": "Swiss"}}, {"language": {"coding": [{"code": "de"}]}}],
        "identifier": [{"type": {"coding": [{"code": "MR"}]}, "use": "old", "value": "0"},
            {"type": {"coding": [{"code": "MR"}]}, "value": "1"}]});
    let now = instant_of("2026-07-22T12:00:00Z").unwrap();
    let settings = settings();
    let changed = host().at(now).run(|| {
        let shown = map::patient_record(theirs.clone()).unwrap();
        let wanted = records::Patient {
            last_name: "Next".into(),
            cell_phone: Some("9".into()),
            address: Some(records::Address { city: Some("Basel".into()), ..records::Address::default() }),
            preferred_language: Some("it".into()),
            chart_id: Some("7".into()),
            ..shown.clone()
        };
        let change = adapter_sdk::PatientChange { patient: wanted, before: Some(shown) };
        let mut changed = theirs.clone();
        fhir_adapter::requests::patient::update(&settings, &mut changed, &change).unwrap();
        changed
    });
    let mut expected = theirs.clone();
    expected["name"][1]["family"] = json!("Next");
    expected["telecom"][1]["value"] = json!("9");
    expected["address"][1]["city"] = json!("Basel");
    expected["communication"][1]["language"] = json!({"coding": [{"system": "urn:ietf:bcp:47", "code": "it"}]});
    expected["identifier"][1]["value"] = json!("7");
    assert_eq!(changed, expected);
}

#[test]
fn the_primary_performer_is_the_provider_of_an_appointment() {
    let actors = |participants: Value| {
        let a: Appointment = serde_json::from_value(json!({"id": "a", "participant": participants})).unwrap();
        a.actor("Practitioner")
    };
    let of = |id: &str, more: Value| {
        let mut participant = json!({"actor": {"reference": format!("Practitioner/{id}")}, "status": "accepted"});
        participant.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        participant
    };
    let performer = json!({"type": [{"coding": [{"code": "PPRF"}]}]});
    let informed = json!({"required": "information-only"});
    let plain = of("a", json!({}));
    assert_eq!(actors(json!([plain, of("b", performer.clone())])).as_deref(), Some("b"));
    assert_eq!(actors(json!([of("a", informed.clone()), of("b", json!({}))])).as_deref(), Some("b"));
    assert_eq!(actors(json!([plain, of("b", informed)])).as_deref(), Some("a"));
    let mut declined = of("b", performer);
    declined["status"] = json!("declined");
    assert_eq!(actors(json!([plain, declined])).as_deref(), Some("a"));
    // Payer organisations: the address in use.
    let acme = json!({"resourceType": "Organization", "id": "o", "name": "Acme", "address": [
        {"city": "Bern", "period": {"end": "2020"}}, {"use": "work", "city": "Thun"}]});
    let Record::InsurancePlan(plan) = map::insurance::organization(acme, &settings()).unwrap() else { panic!() };
    assert_eq!(plan.address.and_then(|address| address.city).as_deref(), Some("Thun"));
}
