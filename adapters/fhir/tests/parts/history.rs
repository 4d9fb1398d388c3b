//! Entries of the catalogues of medical history.

use adapter_sdk::records::HistoryCategory;
use fhir_adapter::{
    map::history::{item, parts},
    responses::CodeableConcept,
};
use serde_json::{Value, json};

fn concept(json: Value) -> CodeableConcept {
    serde_json::from_value(json).unwrap()
}

#[test]
fn items_are_told_apart_by_code_or_name_and_read_back() {
    let coded = concept(json!({"coding": [{"system": "http://snomed.info/sct", "code": "91936005",
        "display": "Allergy to penicillin"}], "text": "PCN"}));
    let (id, name) = item(HistoryCategory::Allergies, &coded).unwrap();
    assert_eq!((id.as_str(), name.as_str()), ("allergies:http://snomed.info/sct|91936005", "Allergy to penicillin"));
    assert_eq!(parts(&id), Some((HistoryCategory::Allergies, Some("http://snomed.info/sct"), "91936005")));
    let (id, name) = item(HistoryCategory::Conditions, &concept(json!({"text": "Gicht | rechts"}))).unwrap();
    assert_eq!((id.as_str(), name.as_str()), ("conditions:text|Gicht | rechts", "Gicht | rechts"));
    assert_eq!(parts(&id), Some((HistoryCategory::Conditions, None, "Gicht | rechts")));
    assert!(item(HistoryCategory::Conditions, &concept(json!({"text": " ", "coding": [{}]}))).is_none());
    let long = concept(json!({"text": "ż".repeat(300)}));
    assert!(item(HistoryCategory::Medications, &long).unwrap().0.len() <= 200);
    let two_lines = concept(json!({"text": "Gicht\nrechts"}));
    assert_eq!(item(HistoryCategory::Conditions, &two_lines).unwrap().0, "conditions:text|Gicht rechts");
    let long_code = concept(json!({"coding": [{"system": "urn:x".repeat(50), "code": "1", "display": "Gicht"}]}));
    assert_eq!(item(HistoryCategory::Conditions, &long_code).unwrap().0, "conditions:text|Gicht");
    for bad in ["", "x", "plants:a|b", "allergies:"] {
        assert_eq!(parts(bad), None, "{bad}");
    }
}
