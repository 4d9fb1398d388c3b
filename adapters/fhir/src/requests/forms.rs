//! Responses of a form, with the types of its questions.

use std::collections::BTreeMap;

use adapter_sdk::{records, time::instant_text};
use serde_json::{Map, Value, json};

use super::{given, key_identifier, reference};
use crate::{
    responses::filed::{Question, Questionnaire},
    settings::Settings,
};

/// Builds the response; `questionnaire` is its form.
pub fn response(
    settings: &Settings,
    write_key: &str,
    response: &records::FormResponse,
    questionnaire: &Questionnaire,
) -> Result<Value, String> {
    let answers: Map<String, Value> =
        serde_json::from_str(&response.answers_json).map_err(|_| "the answers are no JSON object")?;
    let mut left: BTreeMap<&str, &Value> = answers.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let mut items = answer_items(&questionnaire.item, &mut left, 0);
    // Answers without a question are kept.
    items.extend(left.into_iter().filter_map(|(key, value)| answered(key, "", value)));
    let mut resource = given(json!({
        "resourceType": "QuestionnaireResponse",
        // A single identifier, not a list.
        "identifier": key_identifier(settings, write_key),
        "questionnaire": canonical(questionnaire),
        "status": "completed",
        "subject": reference("Patient", &response.patient),
        "authored": instant_text(response.submitted_at),
    }));
    // As given; an empty response is valid.
    if !items.is_empty() {
        resource["item"] = items.into();
    }
    Ok(resource)
}

/// Returns the reference from a response to its form.
pub fn canonical(questionnaire: &Questionnaire) -> String {
    questionnaire.url.clone().unwrap_or_else(|| format!("Questionnaire/{}", questionnaire.id))
}

/// Returns the answers in the order of the questions, with nested groups.
fn answer_items(questions: &[Question], left: &mut BTreeMap<&str, &Value>, depth: usize) -> Vec<Value> {
    let mut items = Vec::new();
    for question in questions.iter().filter(|_| depth < 16) {
        let own = left.remove(question.link_id.as_str());
        let mut item = own.and_then(|value| answered(&question.link_id, &question.kind, value));
        let inner = answer_items(&question.item, left, depth + 1);
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
