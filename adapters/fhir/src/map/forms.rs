//! Questionnaires as forms of formio components, and their responses.

use adapter_sdk::{Record, limits, records};
use serde_json::{Map, Value, json};

use super::{Unmapped, patient_of, read};
use crate::{
    responses::filed::{Answered, Question, Questionnaire, QuestionnaireResponse},
    settings::Settings,
    time::instant_or_date,
};

/// Maximum nesting of questions.
const DEEPEST: usize = 16;

pub fn schema(resource: Value, _: &Settings) -> Result<Record, Unmapped> {
    let q: Questionnaire = read(resource)?;
    let components = components(&q.item, 0);
    let schema_json = json!({"display": "form", "components": components}).to_string();
    if !limits::is_json_size(&schema_json) {
        return Err("it is longer than forms can be".into());
    }
    Ok(Record::FormSchema(records::FormSchema {
        title: q.title.or(q.name.clone()).unwrap_or_else(|| q.id.clone()),
        slug: q.name,
        version: q.version,
        schema_json,
        id: q.id,
        extra: Vec::new(),
    }))
}

fn components(questions: &[Question], depth: usize) -> Vec<Value> {
    questions.iter().filter(|_| depth < DEEPEST).map(|question| component(question, depth)).collect()
}

fn component(q: &Question, depth: usize) -> Value {
    let label = q.text.clone().unwrap_or_else(|| q.link_id.clone());
    let inner = components(&q.item, depth + 1);
    match q.kind.as_str() {
        "group" => {
            return json!({"key": q.link_id, "type": "fieldset", "legend": label, "input": false, "components": inner});
        }
        "display" => return json!({"key": q.link_id, "type": "content", "html": label, "input": false}),
        _ => (),
    }
    let kind = match q.kind.as_str() {
        "boolean" => "checkbox",
        "integer" | "decimal" | "quantity" => "number",
        "date" => "day",
        "dateTime" => "datetime",
        "time" => "time",
        "text" => "textarea",
        "url" => "url",
        "choice" | "open-choice" => "select",
        _ => "textfield",
    };
    let mut component = json!({"key": q.link_id, "type": kind, "label": label, "input": true,
        "validate": {"required": q.required}});
    if q.repeats {
        component["multiple"] = json!(true);
    }
    let options: Vec<Value> = q.answer_option.iter().filter_map(option).collect();
    if !options.is_empty() {
        component["values"] = json!(options);
    }
    if !inner.is_empty() {
        component["components"] = json!(inner);
    }
    component
}

fn option(option: &Value) -> Option<Value> {
    let value = plain(option)?;
    let label = option["valueCoding"]["display"].as_str().map_or_else(|| value.clone(), Value::from);
    Some(json!({"label": label, "value": value}))
}

/// Converts a response whose `questionnaire` was replaced by the form's id (`enrich`).
pub fn response(resource: Value, _: &Settings) -> Result<Record, Unmapped> {
    let r: QuestionnaireResponse = read(resource)?;
    if matches!(r.status.as_str(), "entered-in-error" | "in-progress") {
        return Err(Unmapped::by_status(&r.status));
    }
    let form = r.questionnaire.filter(|form| limits::is_id(form)).ok_or("its form is not to be found")?;
    let mut answers = Map::new();
    collect(&r.item, &mut answers, 0);
    let answers_json = Value::Object(answers).to_string();
    if !limits::is_json_size(&answers_json) {
        return Err("it is longer than answers can be".into());
    }
    let submitted = r.authored.or(r.meta.last_updated).and_then(|text| instant_or_date(&text));
    Ok(Record::FormResponse(records::FormResponse {
        patient: patient_of(&r.subject)?,
        id: r.id,
        form_schema: form,
        answers_json,
        submitted_at: submitted.ok_or("it has no time that can be read")?,
        extra: Vec::new(),
    }))
}

fn collect(items: &[Answered], into: &mut Map<String, Value>, depth: usize) {
    for item in items.iter().filter(|_| depth < DEEPEST) {
        let mut values: Vec<Value> = item.answer.iter().filter_map(plain).collect();
        let value = match values.len() {
            0 => None,
            1 => values.pop(),
            _ => Some(Value::Array(values)),
        };
        if let Some(value) = value {
            into.insert(item.link_id.clone(), value);
        }
        collect(&item.item, into, depth + 1);
        let nested = item.answer.iter().filter_map(|a| serde_json::from_value::<Vec<Answered>>(a["item"].clone()).ok());
        nested.for_each(|nested| collect(&nested, into, depth + 1));
    }
}

/// Returns the untyped value of an answer; for a coding, its code.
fn plain(answer: &Value) -> Option<Value> {
    let (name, value) = answer.as_object()?.iter().find(|(name, _)| name.starts_with("value"))?;
    match name.as_str() {
        "valueCoding" => value["code"].as_str().or(value["display"].as_str()).map(Value::from),
        "valueQuantity" => value.get("value").cloned(),
        "valueReference" => value["reference"].as_str().map(Value::from),
        _ if value.is_object() => Some(value.to_string().into()),
        _ => Some(value.clone()),
    }
}
