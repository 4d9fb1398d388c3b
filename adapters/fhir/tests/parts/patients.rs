//! Conversion of patients for the server, new and changed.

use adapter_sdk::{PatientChange, records};
use fhir_adapter::{
    map,
    requests::{
        patient::{patient, update},
        updated,
    },
};
use serde_json::{Value, json};

use crate::parts::settings;

fn somebody() -> records::Patient {
    records::Patient {
        first_name: "Zoë".into(),
        middle_name: Some("Ann".into()),
        last_name: "Łopata".into(),
        date_of_birth: Some("1990-02-28".into()),
        gender: Some(records::Gender::Female),
        email: Some("z@mail.example".into()),
        cell_phone: Some("1".into()),
        work_phone: Some("2".into()),
        work_phone_extension: Some("17".into()),
        address: Some(records::Address { city: Some("Bern".into()), ..records::Address::default() }),
        guarantor: Some("g".into()),
        provider: Some("d".into()),
        billing_type: Some("cash".into()),
        chart_id: Some("C-1".into()),
        preferred_language: Some("fr".into()),
        premedication: Some("amoxicillin".into()),
        non_patient: true,
        unsubscribed_sms: true,
        ..records::Patient::default()
    }
}

fn changed(key: &str, read: &Value, change: &PatientChange) -> Value {
    let mut resource = updated(&settings(), key, read);
    update(&settings(), &mut resource, change).unwrap();
    resource
}

/// Returns the patient as read with the changes to `wanted`.
fn turned(read: &Value, wanted: &records::Patient) -> Value {
    changed("k2", read, &PatientChange { patient: wanted.clone(), before: None })
}

#[test]
fn every_field_is_written_and_read_back() {
    let mut created = patient(&settings(), "k", &somebody());
    created["id"] = "p".into();
    let read = map::patient_record(created).unwrap();
    assert_eq!(read, records::Patient { id: "p".into(), ..somebody() });
}

#[test]
fn a_change_modifies_only_the_changed_fields() {
    let theirs = json!({"resourceType": "Patient", "id": "p", "active": true, "birthDate": "1969-10",
        "name": [{"use": "old", "family": "Before"}, {"use": "official", "family": "Łopata", "given": ["Zoë"],
            "prefix": ["Dr."], "text": "Dr. Zoë Łopata"}],
        "telecom": [{"system": "phone", "use": "old", "value": "0"}, {"system": "phone", "use": "home", "value": "1"},
            {"system": "fax", "value": "9"}],
        "communication": [{"language": {"coding": [{"code": "fr-CA"}]}}],
        "maritalStatus": {"text": "M"}, "contact": [{"name": {"text": "Mother"}}]});
    let wanted = map::patient_record(theirs.clone()).unwrap();
    let change = |patient| PatientChange { patient, before: Some(wanted.clone()) };
    let same = changed("k", &theirs, &change(wanted.clone()));
    let mut expected = theirs.clone();
    expected["identifier"] = json!([{"use": "secondary", "system": "urn:practice-sync:write-key", "value": "k"}]);
    assert_eq!(same, expected, "nothing but the key");
    let moved = records::Patient {
        last_name: "Ångström".into(),
        home_phone: None,
        cell_phone: Some("2".into()),
        ..wanted.clone()
    };
    let moved = changed("k", &theirs, &change(moved));
    assert_eq!(moved["name"][1], json!({"use": "official", "family": "Ångström", "given": ["Zoë"], "prefix": ["Dr."]}));
    assert_eq!(
        moved["telecom"],
        json!([{"system": "phone", "use": "old", "value": "0"},
        {"system": "fax", "value": "9"}, {"system": "phone", "use": "mobile", "value": "2"}])
    );
    for untouched in ["birthDate", "communication", "maritalStatus", "contact"] {
        assert_eq!(moved[untouched], theirs[untouched], "{untouched}");
    }
    assert_eq!(moved["name"][0], theirs["name"][0]);
}

#[test]
fn cleared_fields_are_removed_whether_absent_or_empty() {
    let full = records::Patient {
        home_phone: Some("3".into()),
        address: Some(records::Address {
            line1: Some("1 Élm".into()),
            line2: Some("Apt 2".into()),
            city: Some("Bern".into()),
            region: Some("BE".into()),
            postal_code: Some("3000".into()),
            country: Some("CH".into()),
        }),
        ..somebody()
    };
    let mut theirs = patient(&settings(), "k", &full);
    theirs["id"] = "p".into();
    theirs["name"][0]["_given"] = json!([{"id": "x"}, null]);
    theirs["_birthDate"] = json!({"extension": [{"url": "t", "valueDateTime": "1990-02-28T10:00:00Z"}]});
    theirs["generalPractitioner"].as_array_mut().unwrap().push(json!({"reference": "Organization/o"}));
    let empty = Some(String::new());
    let nothing = records::Patient {
        id: "p".into(),
        first_name: full.first_name.clone(),
        last_name: full.last_name.clone(),
        ..records::Patient::default()
    };
    let blank = records::Patient {
        middle_name: empty.clone(),
        date_of_birth: empty.clone(),
        gender: None,
        email: empty.clone(),
        cell_phone: empty.clone(),
        home_phone: empty.clone(),
        work_phone: empty.clone(),
        work_phone_extension: empty.clone(),
        primary_phone: empty.clone(),
        address: Some(records::Address {
            line1: empty.clone(),
            line2: empty.clone(),
            city: empty.clone(),
            region: empty.clone(),
            postal_code: empty.clone(),
            country: empty.clone(),
        }),
        guarantor: empty.clone(),
        provider: empty.clone(),
        billing_type: empty.clone(),
        chart_id: empty.clone(),
        preferred_language: empty.clone(),
        premedication: empty,
        ..nothing.clone()
    };
    for wanted in [&nothing, &blank] {
        let cleared = turned(&theirs, wanted);
        assert_eq!(map::patient_record(cleared.clone()).unwrap(), nothing);
        for gone in ["telecom", "gender", "birthDate", "_birthDate", "address", "communication"] {
            assert!(cleared.get(gone).is_none(), "{gone} in {cleared}");
        }
        assert_eq!(cleared["name"], json!([{"use": "official", "family": "Łopata", "given": ["Zoë"]}]));
        assert_eq!(cleared["generalPractitioner"], json!([{"reference": "Organization/o"}]));
        let flags: Vec<&str> =
            cleared["extension"].as_array().unwrap().iter().map(|e| e["url"].as_str().unwrap()).collect();
        assert_eq!(flags, ["urn:practice-sync:patient:non-patient", "urn:practice-sync:patient:unsubscribed-sms"]);
        assert_eq!(cleared["identifier"].as_array().unwrap().len(), 2, "both write keys and no chart number");
    }
    // One line of an address, and a number with a use that has no field.
    let mut half = full.clone();
    half.id = "p".into();
    half.address.as_mut().unwrap().line2 = Some(String::new());
    let held = json!({"use": "home", "line": ["1 Élm", "Apt 2"], "city": "Bern", "state": "BE", "postalCode": "3000",
        "country": "CH", "district": "Mitte", "text": "1 Élm, Apt 2"});
    theirs["address"] = json!([held]);
    let halved = turned(&theirs, &half);
    assert_eq!(halved["address"][0]["line"], json!(["1 Élm"]));
    assert_eq!((&halved["address"][0]["district"], halved["address"][0].get("text")), (&json!("Mitte"), None));
    let temporary = json!({"resourceType": "Patient", "id": "p", "name": [{"family": "Ek"}],
        "telecom": [{"system": "phone", "use": "temp", "value": "1"}]});
    let shown = map::patient_record(temporary.clone()).unwrap();
    assert_eq!(shown.primary_phone.as_deref(), Some("1"));
    let cleared = turned(&temporary, &records::Patient { primary_phone: None, ..shown });
    assert!(cleared.get("telecom").is_none());
}

#[test]
fn a_change_replaces_the_pulled_value_and_keeps_others() {
    let whose = json!([{"url": "urn:x:whose", "valueString": "mother"}]);
    let theirs = json!({"resourceType": "Patient", "id": "p",
        "name": [{"family": "Ek", "_family": {"id": "f"}, "given": ["Ann", "Zoë", "May"], "_given": [{"id": "g"}, null, null]}],
        "telecom": [
            {"system": "phone", "use": "mobile", "value": "1", "rank": 1, "extension": whose},
            {"system": "phone", "use": "mobile", "value": "2", "extension": whose},
            {"system": "sms", "value": "3"},
            {"system": "email", "value": "a@x.example", "period": {"start": "2020"}},
            {"system": "email", "value": "b@x.example"},
            {"system": "phone", "use": "work", "value": "4", "extension": whose},
            {"system": "phone", "use": "work", "value": "5"}],
        "address": [{"use": "home", "line": ["1 Elm", "Apt 2", "Rear"], "_line": [{"id": "l"}, null, null], "city": "Bern",
            "district": "Mitte"}, {"use": "home", "city": "Thun"}],
        "communication": [{"language": {"coding": [{"code": "de"}]}}, {"language": {"coding": [{"code": "fr"}]},
            "preferred": true, "id": "c"}],
        "generalPractitioner": [{"reference": "Practitioner/a"}, {"reference": "Practitioner/b"}],
        "identifier": [{"type": {"coding": [{"code": "MR"}]}, "system": "urn:a", "value": "1", "assigner": {"display": "A"}},
            {"type": {"coding": [{"code": "MR"}]}, "system": "urn:b", "value": "2"}]});
    let shown = map::patient_record(theirs.clone()).unwrap();
    let wanted = records::Patient {
        first_name: "Anna".into(),
        cell_phone: Some("9".into()),
        email: Some("c@x.example".into()),
        work_phone: Some("8".into()),
        work_phone_extension: Some("77".into()),
        address: shown.address.clone().map(|held| records::Address { line1: Some("3 Elm".into()), ..held }),
        preferred_language: Some("it".into()),
        provider: Some("c".into()),
        chart_id: Some("3".into()),
        ..shown.clone()
    };
    let mut expected = theirs.clone();
    expected["name"][0]["given"][0] = json!("Anna");
    expected["telecom"][0]["value"] = json!("9");
    expected["telecom"][3]["value"] = json!("c@x.example");
    expected["telecom"][5]["value"] = json!("8");
    let extension = json!({"url": map::PHONE_EXTENSION, "valueString": "77"});
    expected["telecom"][5]["extension"].as_array_mut().unwrap().push(extension);
    expected["address"][0]["line"][0] = json!("3 Elm");
    expected["communication"][1]["language"] = json!({"coding": [{"system": "urn:ietf:bcp:47", "code": "it"}]});
    expected["generalPractitioner"][0] = json!({"reference": "Practitioner/c"});
    expected["identifier"][0]["value"] = json!("3");
    let key = json!({"use": "secondary", "system": "urn:practice-sync:write-key", "value": "k2"});
    expected["identifier"].as_array_mut().unwrap().push(key);
    assert_eq!(turned(&theirs, &wanted), expected);
    // When cleared, only the pulled value is removed.
    let cleared = records::Patient { cell_phone: None, email: None, address: None, provider: None, ..shown };
    let cleared = turned(&theirs, &cleared);
    for (field, left) in [("telecom", 5), ("address", 1), ("generalPractitioner", 1)] {
        assert_eq!(cleared[field].as_array().unwrap().len(), left, "{field}");
        assert_eq!(cleared[field][0], theirs[field][1], "{field}");
    }
}

#[test]
fn a_social_security_number_is_removed_only_when_cleared() {
    let with = patient(&settings(), "k", &records::Patient { ssn: Some("078-05-1120".into()), ..somebody() });
    let mut theirs = with;
    theirs["id"] = "p".into();
    let held = |ssn: Option<&str>| {
        let shown = map::patient_record(theirs.clone()).unwrap();
        let wanted = records::Patient { ssn: ssn.map(str::to_owned), ..shown };
        let turned = turned(&theirs, &wanted);
        turned["identifier"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|i| i["system"] == "http://hl7.org/fhir/sid/us-ssn")
            .count()
    };
    assert_eq!((held(None), held(Some("")), held(Some("078-05-1121"))), (1, 0, 1));
}
