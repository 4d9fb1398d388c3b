//! Every response in these tests is validated against the OpenAPI document, both its status and its body.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use actix_web::http::Method;
use endpoints::openapi;
use framework::{
    http::response_body::NDJSON,
    values::{audience::Audience, versions::Version},
};
use jsonschema::Validator;
use parking_lot::Mutex;
use serde_json::Value;

use crate::support::ApiResponse;

/// The documents by file, parsed once for all tests.
pub static DOCUMENTS: LazyLock<BTreeMap<&str, Value>> =
    LazyLock::new(|| openapi::DOCUMENTS.iter().map(|it| (it.file, serde_json::from_str(it.text()).unwrap())).collect());

/// Validators of responses and messages, each built once for all tests. `None` if the response has no body.
static VALIDATORS: Mutex<BTreeMap<String, Option<Arc<Validator>>>> = Mutex::new(BTreeMap::new());

pub struct Asked {
    method: String,
    path: String,
    version: Version,
}

impl Asked {
    pub fn new(method: &Method, path: &str, headers: &[(String, String)]) -> Asked {
        let version = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("Svc-Api-Version"));
        let version = version.map_or(Version::V2_2_2, |(_, version)| Version::stored(version));
        let path = path.split('?').next().unwrap_or_default().to_owned();
        Asked { method: method.as_str().to_lowercase(), path, version }
    }
}

/// Asserts that a webhook message matches the documented schema of its event.
pub fn check_message(event: &str, version: &str, body: &Value) {
    let document = document_for(Audience::Clients, Version::stored(version));
    let content = &document["webhooks"][event]["post"]["requestBody"]["content"]["application/json"];
    let validator = cached(format!("{event} {version}"), || Some(build(document, content["schema"].clone())));
    let problems = problems(&validator.unwrap(), body);
    assert!(problems.is_empty(), "{event}: not as described: {problems:#?} in {body:#}");
}

pub fn check(asked: &Asked, reply: &ApiResponse) {
    let version = asked.version;
    let mut documents = Audience::NAMES.iter().map(|(_, audience)| document_for(*audience, version));
    let found = documents.find_map(|document| Some((document, find(document, asked)?)));
    let Some((document, (template, operation))) = found else { return };
    let endpoint = format!("{} {template} {} {}", asked.method, reply.status, version.name());
    match cached(endpoint.clone(), || validator(document, operation, reply.status.as_u16(), &endpoint)) {
        None => assert_eq!(reply.text, "", "{endpoint}: a body where none is described"),
        Some(validator) => {
            let bodies = if reply.is_lines() { reply.lines() } else { vec![reply.json()] };
            for body in bodies {
                let problems = problems(&validator, &body);
                assert!(problems.is_empty(), "{endpoint}: not as described: {problems:#?} in {body:#}");
            }
        }
    }
    for header in reply.headers.keys().filter(|name| ["retry-after", "idempotent-replay"].contains(&name.as_str())) {
        let described = resolve(document, &operation["responses"][reply.status.as_str()])["headers"].clone();
        let known = described.as_object().unwrap().keys().any(|name| name.eq_ignore_ascii_case(header.as_str()));
        assert!(known, "{endpoint}: the header {header} is not described");
    }
}

fn document_for(audience: Audience, version: Version) -> &'static Value {
    &DOCUMENTS[openapi::document_for(audience, Some(version)).file]
}

/// Returns the validator of this key, and builds it for the first test that needs it.
fn cached(key: String, build: impl FnOnce() -> Option<Validator>) -> Option<Arc<Validator>> {
    let known = VALIDATORS.lock().get(&key).cloned();
    known.unwrap_or_else(|| {
        let new = build().map(Arc::new);
        VALIDATORS.lock().insert(key, new.clone());
        new
    })
}

fn problems(validator: &Validator, body: &Value) -> Vec<String> {
    validator.iter_errors(body).map(|it| format!("{it} at {}", it.instance_path())).collect()
}

fn build(document: &Value, mut schema: Value) -> Validator {
    assert!(schema.is_object(), "no schema");
    schema["components"]["schemas"] = document["components"]["schemas"].clone();
    jsonschema::draft202012::options().should_validate_formats(true).build(&schema).unwrap()
}

/// Returns the validator of a response, or `None` if it has no body.
fn validator(document: &Value, operation: &Value, status: u16, endpoint: &str) -> Option<Validator> {
    let described = operation["responses"].get(status.to_string());
    let described = resolve(document, described.unwrap_or_else(|| panic!("{endpoint}: the status is not described")));
    let content = described.get("content")?;
    let schema = match content.get(NDJSON) {
        Some(lines) => &lines["schema"]["contentSchema"],
        None => &content["application/json"]["schema"],
    };
    Some(build(document, schema.clone()))
}

fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    value["$ref"].as_str().map_or(value, |path| document.pointer(path.trim_start_matches('#')).unwrap())
}

/// Returns the operation of a path. Unknown paths and methods have no contract.
fn find<'a>(document: &'a Value, asked: &Asked) -> Option<(&'a str, &'a Value)> {
    let fits = |template: &str| {
        let (mut template, mut path) = (template.split('/'), asked.path.split('/'));
        loop {
            match (template.next(), path.next()) {
                (None, None) => return true,
                (Some(part), Some(given)) if part == given || (part.starts_with('{') && !given.is_empty()) => {}
                _ => return false,
            }
        }
    };
    let (template, methods) = document["paths"].as_object()?.iter().find(|(template, _)| fits(template))?;
    Some((template, methods.get(&asked.method)?))
}
