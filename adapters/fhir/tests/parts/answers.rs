//! Conversion of form responses for the server.

use adapter_sdk::records;
use fhir_adapter::{requests::forms::response, responses::filed::Questionnaire};
use serde_json::json;

use crate::parts::settings;

#[test]
fn answers_take_their_questions_types_and_places() {
    let form: Questionnaire = serde_json::from_value(json!({"id": "q", "url": "http://clinic/q", "item": [
        {"linkId": "g", "type": "group", "item": [{"linkId": "smokes", "type": "boolean"}]},
        {"linkId": "born", "type": "date"}, {"linkId": "how", "type": "choice"}]}))
    .unwrap();
    let answers = json!({"smokes": true, "born": "1990-02-28", "how": ["a", "b"], "more": {"x": 1}, "none": null});
    let given = records::FormResponse {
        id: String::new(),
        patient: "p".into(),
        form_schema: "q".into(),
        answers_json: answers.to_string(),
        submitted_at: 0,
        extra: Vec::new(),
    };
    let resource = response(&settings(), "k", &given, &form).unwrap();
    assert_eq!(resource["questionnaire"], "http://clinic/q");
    assert_eq!(
        resource["item"],
        json!([
            {"linkId": "g", "item": [{"linkId": "smokes", "answer": [{"valueBoolean": true}]}]},
            {"linkId": "born", "answer": [{"valueDate": "1990-02-28"}]},
            {"linkId": "how", "answer": [{"valueCoding": {"code": "a"}}, {"valueCoding": {"code": "b"}}]},
            {"linkId": "more", "answer": [{"valueString": "{\"x\":1}"}]},
        ])
    );
    assert!(response(&settings(), "k", &records::FormResponse { answers_json: "[]".into(), ..given }, &form).is_err());
}
