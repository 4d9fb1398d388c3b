#![allow(clippy::unwrap_used)]

use std::{collections::HashSet, fs, path::PathBuf};

use super::*;

fn both() -> [(&'static str, Value); 2] {
    [("v3", serde_json::from_str(&V3).unwrap()), ("v2.2.2", serde_json::from_str(&V2).unwrap())]
}

fn operations(document: &Value) -> Vec<(String, Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().iter();
            methods.map(move |(method, operation)| (format!("{method} {path}"), operation.clone()))
        })
        .collect()
}

#[test]
fn the_checked_in_document_is_the_current_one() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        fs::write(&file, V3.as_bytes()).unwrap();
    }
    let current = fs::read_to_string(&file).unwrap_or_default() == *V3;
    assert!(current, "api/openapi.json is not what the code says; refresh it: cargo run -- openapi > api/openapi.json");
}

#[test]
fn operations_have_names_of_their_own_and_words() {
    for (_, document) in both() {
        let mut names = HashSet::new();
        for (endpoint, operation) in operations(&document) {
            let name = operation["operationId"].as_str().unwrap().to_owned();
            assert!(names.insert(name.clone()), "{endpoint}: the name {name} is taken; give one with `.named`");
            for word in ["summary", "description"] {
                assert!(!operation[word].as_str().unwrap().is_empty(), "{endpoint} has no {word}");
            }
            assert!(!operation["tags"][0].as_str().unwrap().is_empty(), "{endpoint} is in no group");
        }
    }
}

#[test]
fn every_parameter_and_field_has_a_meaning() {
    let mut missing = Vec::new();
    for (_, document) in both() {
        for (endpoint, operation) in operations(&document) {
            for parameter in operation["parameters"].as_array().unwrap() {
                if parameter["description"] == "" {
                    missing.push(format!("{} of {endpoint}", parameter["name"]));
                }
            }
        }
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            if name.ends_with("Body") {
                without_meaning(schema, name, &mut missing);
            }
        }
    }
    missing.sort();
    missing.dedup();
    assert!(missing.is_empty(), "openapi/dictionary.rs lacks {missing:#?}");
}

fn without_meaning(schema: &Value, place: &str, missing: &mut Vec<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if property["description"] == "" {
            missing.push(format!("{name} of {place}"));
        }
        without_meaning(property, &format!("{place}.{name}"), missing);
        without_meaning(&property["items"], &format!("{place}.{name}"), missing);
    }
}

#[test]
fn names_in_the_dictionary_stand_there_once() {
    let mut names = HashSet::new();
    for (name, ..) in dictionary::WORDS {
        assert!(names.insert(name), "{name} stands in the dictionary twice");
    }
}

/// A validator for a schema of the document, with its formats.
fn validator(document: &Value, schema: &Value) -> jsonschema::Validator {
    let mut schema = schema.clone();
    schema["components"] = document["components"].clone();
    jsonschema::draft202012::options().should_validate_formats(true).build(&schema).unwrap()
}

#[test]
fn schemas_are_valid_and_examples_pass_them() {
    for (_, document) in both() {
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            assert!(jsonschema::draft202012::meta::is_valid(schema), "{name}");
            let counted = name.ends_with(|last: char| last.is_ascii_digit());
            assert!(!counted, "two types want the name of {name}; rename one: #[schemars(rename = \"...\")]");
        }
        let mut problems = Vec::new();
        let mut check = |place: String, holder: &Value| {
            if let Some(example) = holder.get("example")
                && let Err(error) = validator(&document, &holder["schema"]).validate(example)
            {
                problems.push(format!("{place}: {error} at {} in {example}", error.instance_path()));
            }
        };
        for (endpoint, operation) in operations(&document) {
            for parameter in operation["parameters"].as_array().unwrap() {
                check(format!("{endpoint} {}", parameter["name"]), parameter);
            }
            check(format!("{endpoint} body"), &operation["requestBody"]["content"]["application/json"]);
            for (status, response) in operation["responses"].as_object().unwrap() {
                check(format!("{endpoint} {status}"), &response["content"]["application/json"]);
            }
        }
        for (name, response) in document["components"]["responses"].as_object().unwrap() {
            check(name.clone(), &response["content"]["application/json"]);
        }
        assert!(problems.is_empty(), "{problems:#?}");
    }
}

#[test]
fn references_lead_somewhere_and_stand_alone() {
    for (_, document) in both() {
        references(&document, &document);
    }
}

fn references(document: &Value, value: &Value) {
    match value {
        Value::Object(object) => {
            if let Some(path) = object.get("$ref").and_then(Value::as_str) {
                assert!(document.pointer(path.trim_start_matches('#')).is_some(), "{path} leads nowhere");
                assert_eq!(object.len(), 1, "{path} has words beside it");
            }
            object.values().for_each(|inner| references(document, inner));
        }
        Value::Array(elements) => elements.iter().for_each(|inner| references(document, inner)),
        _ => {}
    }
}

#[test]
fn every_event_is_described_with_an_example_that_fits() {
    use engine::webhooks::catalogue::ResourceType;
    for (_, document) in both() {
        let messages = document["webhooks"].as_object().unwrap();
        let events: HashSet<&str> = ResourceType::ALL.iter().flat_map(|it| it.events()).map(|it| it.name()).collect();
        assert_eq!(messages.keys().map(String::as_str).collect::<HashSet<_>>(), events);
        for (event, message) in messages {
            let content = &message["post"]["requestBody"]["content"]["application/json"];
            let checked =
                validator(&document, &content["schema"]).validate(&content["example"]).map_err(|it| it.to_string());
            assert_eq!(checked, Ok(()), "{event}: {}", content["example"]);
            assert!(message["post"]["description"].as_str().is_some_and(|it| !it.is_empty()));
        }
    }
}
