//! Every response in these tests is validated against the OpenAPI document, both its status and its body.

use std::{
    cell::RefCell,
    collections::{HashMap, hash_map::Entry},
    rc::Rc,
};

use actix_web::http::Method;
use endpoints::openapi;
use framework::{
    http::response_body::NDJSON,
    values::{audience::Audience, versions::Version},
};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::support::ApiResponse;

pub struct Asked {
    method: String,
    path: String,
    version: Version,
}

struct Contract {
    documents: Vec<(&'static openapi::Document, Value)>,
    /// `None` if the response has no body.
    validators: HashMap<String, Option<Rc<Validator>>>,
}

thread_local! {
    static CONTRACT: RefCell<Contract> = RefCell::new(Contract {
        documents: openapi::DOCUMENTS.iter().map(|it| (it, serde_json::from_str(it.text()).unwrap())).collect(),
        validators: HashMap::new(),
    });
}

impl Asked {
    pub fn new(method: &Method, path: &str, headers: &[(String, String)]) -> Asked {
        let version = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("Svc-Api-Version"));
        let version = version.map_or(Version::V2_2_2, |(_, version)| Version::stored(version));
        let path = path.split('?').next().unwrap_or_default().to_owned();
        Asked { method: method.as_str().to_lowercase(), path, version }
    }
}

pub fn check(asked: &Asked, reply: &ApiResponse) {
    CONTRACT.with_borrow_mut(|contract| contract.check(asked, reply));
}

/// Asserts that a webhook message matches the documented schema of its event.
pub fn check_message(event: &str, version: &str, body: &Value) {
    CONTRACT.with_borrow_mut(|contract| {
        let wanted = openapi::document_for(Audience::Clients, Some(Version::stored(version)));
        let (_, document) = contract.documents.iter().find(|(it, _)| it.file == wanted.file).unwrap();
        let content = &document["webhooks"][event]["post"]["requestBody"]["content"]["application/json"];
        let new = || Some(Rc::new(build(document, content["schema"].clone())));
        let validator = contract.validators.entry(format!("{event} {version}")).or_insert_with(new).clone().unwrap();
        let problems: Vec<String> =
            validator.iter_errors(body).map(|it| format!("{it} at {}", it.instance_path())).collect();
        assert!(problems.is_empty(), "{event}: not as described: {problems:#?} in {body:#}");
    });
}

fn build(document: &Value, mut schema: Value) -> Validator {
    assert!(schema.is_object(), "no schema");
    schema["components"] = json!({"schemas": document["components"]["schemas"]});
    jsonschema::draft202012::options().should_validate_formats(true).build(&schema).unwrap()
}

impl Contract {
    fn check(&mut self, asked: &Asked, reply: &ApiResponse) {
        let version = asked.version;
        let files: Vec<&str> =
            Audience::NAMES.iter().map(|(_, audience)| openapi::document_for(*audience, Some(version)).file).collect();
        let described = self.documents.iter().filter(|(it, _)| files.contains(&it.file));
        let found = described.into_iter().find_map(|(_, document)| Some((document, find(document, asked)?)));
        let Some((document, (template, operation))) = found else { return };
        let endpoint = format!("{} {template} {} {}", asked.method, reply.status, version.name());
        let validator = match self.validators.entry(endpoint.clone()) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => new.insert(validator(document, operation, reply.status.as_u16(), &endpoint)).clone(),
        };
        match validator {
            None => assert_eq!(reply.text, "", "{endpoint}: a body where none is described"),
            Some(validator) => {
                let bodies = if reply.is_lines() { reply.lines() } else { vec![reply.json()] };
                for body in bodies {
                    let problems: Vec<String> =
                        validator.iter_errors(&body).map(|it| format!("{it} at {}", it.instance_path())).collect();
                    assert!(problems.is_empty(), "{endpoint}: not as described: {problems:#?} in {body:#}");
                }
            }
        }
        for header in reply.headers.keys().filter(|name| ["retry-after", "idempotent-replay"].contains(&name.as_str()))
        {
            let described = resolve(document, &operation["responses"][reply.status.as_str()])["headers"].clone();
            let known = described.as_object().unwrap().keys().any(|name| name.eq_ignore_ascii_case(header.as_str()));
            assert!(known, "{endpoint}: the header {header} is not described");
        }
    }
}

fn validator(document: &Value, operation: &Value, status: u16, endpoint: &str) -> Option<Rc<Validator>> {
    let described = operation["responses"].get(status.to_string());
    let described = resolve(document, described.unwrap_or_else(|| panic!("{endpoint}: the status is not described")));
    let content = described.get("content")?;
    let schema = match content.get(NDJSON) {
        Some(lines) => &lines["schema"]["contentSchema"],
        None => &content["application/json"]["schema"],
    };
    Some(Rc::new(build(document, schema.clone())))
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
