//! Conversion of forms and their responses.

use adapter_sdk::{Record, testing::Host};
use fhir_adapter::map::forms::{response, schema};
use serde_json::{Value, json};

use crate::parts::settings;

#[test]
fn a_questionnaire_becomes_components() {
    let form = json!({"resourceType": "Questionnaire", "id": "q1", "name": "intake", "title": "Anamnèse", "item": [
        {"linkId": "about", "type": "group", "text": "About you", "item": [
            {"linkId": "smoker", "type": "boolean", "text": "Do you smoke?", "required": true},
            {"linkId": "how", "type": "choice", "answerOption": [
                {"valueCoding": {"code": "a", "display": "A little"}}, {"valueString": "much"}]}]},
        {"linkId": "x", "type": "display", "text": "Thank you"}]});
    let Record::FormSchema(schema) = schema(form, &settings()).unwrap() else { panic!() };
    let json: Value = serde_json::from_str(&schema.schema_json).unwrap();
    assert_eq!((schema.title.as_str(), schema.slug.as_deref()), ("Anamnèse", Some("intake")));
    let inner = &json["components"][0]["components"];
    assert_eq!((&inner[0]["type"], &inner[0]["validate"]["required"]), (&json!("checkbox"), &json!(true)));
    assert_eq!(inner[1]["values"], json!([{"label": "A little", "value": "a"}, {"label": "much", "value": "much"}]));
    assert_eq!(json["components"][1]["type"], "content");
}

#[test]
fn answers_are_found_at_any_nesting() {
    let response_ = json!({"resourceType": "QuestionnaireResponse", "id": "r", "status": "completed",
        "questionnaire": "q1", "subject": {"reference": "Patient/p"}, "authored": "2026-11-20", "item": [
            {"linkId": "about", "item": [{"linkId": "smoker", "answer": [{"valueBoolean": true,
                "item": [{"linkId": "many", "answer": [{"valueInteger": 7}]}]}]}]},
            {"linkId": "how", "answer": [{"valueCoding": {"code": "a"}}, {"valueString": "b"}]}]});
    let read = Host::new().run(|| response(response_, &settings())).unwrap();
    let Record::FormResponse(read) = read else { panic!() };
    let answers: Value = serde_json::from_str(&read.answers_json).unwrap();
    assert_eq!(answers, json!({"smoker": true, "many": 7, "how": ["a", "b"]}));
    assert_eq!(read.submitted_at, 1_795_132_800);
}
