//! Answers to a form, in the types its questions ask for.

use std::collections::BTreeMap;

use adapter_sdk::records;
use serde_json::{Map, Value, json};

use super::{key_identifier, object};
use crate::{
    responses::filed::{Question, Questionnaire},
    settings::Settings,
    time::instant_text,
};

/// `questionnaire` is the form that was answered.
pub fn response(
    settings: &Settings,
    write_key: &str,
    response: &records::FormResponse,
    questionnaire: &Questionnaire,
) -> Result<Value, String> {
    let answers: Map<String, Value> =
        serde_json::from_str(&response.answers_json).map_err(|_| "the answers are no JSON object")?;
    let mut left: BTreeMap<&str, &Value> = answers.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let mut items = asked(&questionnaire.item, &mut left, 0);
    // What no question asks for is kept all the same.
    items.extend(left.into_iter().filter_map(|(key, value)| answered(key, "", value)));
    Ok(object([
        ("resourceType", "QuestionnaireResponse".into()),
        // It has one identifier, not a list.
        ("identifier", key_identifier(settings, write_key, false)),
        ("questionnaire", canonical(questionnaire).into()),
        ("status", "completed".into()),
        ("subject", json!({"reference": format!("Patient/{}", response.patient)})),
        ("authored", instant_text(response.submitted_at).into()),
        ("item", items.into()),
    ]))
}

/// What a response calls its form.
pub fn canonical(questionnaire: &Questionnaire) -> String {
    questionnaire.url.clone().unwrap_or_else(|| format!("Questionnaire/{}", questionnaire.id))
}

/// In the order of the questions, groups within groups.
fn asked(questions: &[Question], left: &mut BTreeMap<&str, &Value>, depth: usize) -> Vec<Value> {
    let mut items = Vec::new();
    for question in questions.iter().filter(|_| depth < 16) {
        let own = left.remove(question.link_id.as_str());
        let mut item = own.and_then(|value| answered(&question.link_id, &question.kind, value));
        let inner = asked(&question.item, left, depth + 1);
        if !inner.is_empty() {
            item.get_or_insert_with(|| json!({"linkId": question.link_id}))["item"] = inner.into();
        }
        items.extend(item);
    }
    items
}

fn answered(key: &str, kind: &str, value: &Value) -> Option<Value> {
    let values = match value {
        Value::Array(values) => values.iter().filter_map(|value| typed(kind, value)).collect(),
        value => typed(kind, value).into_iter().collect::<Vec<_>>(),
    };
    (!values.is_empty()).then(|| json!({"linkId": key, "answer": values}))
}

fn typed(kind: &str, value: &Value) -> Option<Value> {
    Some(match (kind, value) {
        (_, Value::Null) => return None,
        ("boolean", Value::Bool(_)) | ("", Value::Bool(_)) => json!({"valueBoolean": value}),
        ("integer", Value::Number(n)) if n.is_i64() => json!({"valueInteger": value}),
        ("" | "decimal" | "integer", Value::Number(_)) => json!({"valueDecimal": value}),
        ("quantity", Value::Number(_)) => json!({"valueQuantity": {"value": value}}),
        ("date", Value::String(_)) => json!({"valueDate": value}),
        ("dateTime", Value::String(_)) => json!({"valueDateTime": value}),
        ("time", Value::String(_)) => json!({"valueTime": value}),
        ("url", Value::String(_)) => json!({"valueUri": value}),
        ("choice" | "open-choice", Value::String(_)) => json!({"valueCoding": {"code": value}}),
        (_, Value::String(_)) => json!({"valueString": value}),
        (_, other) => json!({"valueString": other.to_string()}),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use adapter_sdk::testing::Host;

    use super::*;

    #[test]
    fn answers_take_their_questions_types_and_places() {
        let settings = Host::new()
            .manifest(include_str!("../../adapter.toml"))
            .config("location", "L")
            .run(Settings::read)
            .unwrap();
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
        let resource = response(&settings, "k", &given, &form).unwrap();
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
        assert!(
            response(&settings, "k", &records::FormResponse { answers_json: "[]".into(), ..given }, &form).is_err()
        );
    }
}
