#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    path::PathBuf,
};

use super::*;

fn all() -> impl Iterator<Item = (&'static str, Value)> {
    DOCUMENTS.iter().map(|it| (it.file, serde_json::from_str(it.text()).unwrap()))
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

fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    value["$ref"].as_str().map_or(value, |path| document.pointer(path.trim_start_matches('#')).unwrap())
}

#[test]
fn the_checked_in_documents_are_the_current_ones() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../openapi");
    for document in DOCUMENTS.iter().filter(|it| it.checked_in) {
        let file = folder.join(document.file);
        if std::env::var_os("UPDATE_OPENAPI").is_some() {
            fs::write(&file, document.text()).unwrap();
        }
        let current = fs::read_to_string(&file).unwrap_or_default() == document.text();
        assert!(current, "api/openapi/{} is out of date: run this test with UPDATE_OPENAPI=1", document.file);
    }
    let there = fs::read_dir(folder).unwrap().count();
    assert_eq!(there, DOCUMENTS.iter().filter(|it| it.checked_in).count(), "a file that is no document");
}

#[test]
fn every_audience_has_a_document_for_every_version() {
    for (_, audience) in Audience::NAMES {
        for version in ALL_VERSIONS {
            assert_eq!(document_for(*audience, Some(*version)).audience, *audience);
        }
    }
}

/// Readers of each audience find all of its endpoints, and no others.
#[test]
fn every_endpoint_is_in_the_document_of_its_audience() {
    let mut documented: Vec<String> =
        all().flat_map(|(_, document)| operations(&document)).map(|(endpoint, _)| endpoint).collect();
    let mut there: Vec<String> = TABLE
        .iter()
        .filter(|route| route.access != Access::Anyone)
        .map(|route| format!("{} {}", route.method.as_str().to_lowercase(), route.path))
        .collect();
    for names in [&mut documented, &mut there] {
        names.sort();
        names.dedup();
    }
    assert_eq!(documented, there);
    let (_, clients) = all().next().unwrap();
    for (endpoint, operation) in operations(&clients) {
        assert!(!operation["description"].as_str().unwrap().contains("`operator`"), "{endpoint}");
    }
}

#[test]
fn operations_have_unique_names_and_descriptions() {
    for (_, document) in all() {
        let mut names = HashSet::new();
        for (endpoint, operation) in operations(&document) {
            let name = operation["operationId"].as_str().unwrap().to_owned();
            assert!(names.insert(name.clone()), "{endpoint}: duplicate operation id {name}; set one with `.named`");
            for word in ["summary", "description"] {
                assert!(!operation[word].as_str().unwrap().is_empty(), "{endpoint} has no {word}");
            }
            assert!(!operation["tags"][0].as_str().unwrap().is_empty(), "{endpoint} is in no group");
        }
    }
}

#[test]
fn every_parameter_and_property_has_a_description() {
    let mut missing = Vec::new();
    for (_, document) in all() {
        for (endpoint, operation) in operations(&document) {
            for parameter in operation["parameters"].as_array().unwrap().iter().map(|it| resolved(&document, it)) {
                if parameter["description"] == "" {
                    missing.push(format!("{} of {endpoint}", parameter["name"]));
                }
            }
        }
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            without_meaning(schema, name, &mut missing);
        }
    }
    missing.sort();
    missing.dedup();
    assert!(
        missing.is_empty(),
        "without a doc comment at the field of a view, or `about` at the kind of what is read: {missing:#?}"
    );
}

/// Properties with a reference are described in the referenced schema, because client generators reject text next to a
/// reference.
fn without_meaning(schema: &Value, place: &str, missing: &mut Vec<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let described = property["description"].as_str().is_some_and(|text| !text.is_empty());
        if !described && property["$ref"].is_null() {
            missing.push(format!("{name} of {place}"));
        }
    }
    match schema {
        Value::Object(all) => all.values().for_each(|inner| without_meaning(inner, place, missing)),
        Value::Array(all) => all.iter().for_each(|inner| without_meaning(inner, place, missing)),
        _ => {}
    }
}

/// Returns a validator for a schema of the document that also checks formats. Most parameters refer to no other schema.
fn validator(document: &Value, schema: &Value) -> jsonschema::Validator {
    let mut schema = schema.clone();
    if schema.to_string().contains("\"$ref\"") {
        schema["components"]["schemas"] = document["components"]["schemas"].clone();
    }
    jsonschema::draft202012::options().should_validate_formats(true).build(&schema).unwrap()
}

#[test]
fn schemas_are_valid_and_examples_pass_them() {
    for (_, document) in all() {
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
            for parameter in operation["parameters"].as_array().unwrap().iter().map(|it| resolved(&document, it)) {
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

/// Generators create a class for each inline enumeration, and a definition for each parameter that is repeated.
#[test]
fn common_parameters_and_headers_are_references() {
    for (file, document) in all() {
        let operations = operations(&document);
        if operations.len() == 1 {
            continue;
        }
        let mut inline = BTreeSet::new();
        for (endpoint, operation) in operations {
            for parameter in operation["parameters"].as_array().unwrap() {
                let here = parameter["name"].as_str().unwrap_or_default();
                assert!(!["Svc-Api-Version", "X-Request-Id"].contains(&here), "{endpoint} defines {here} inline");
                // Of the operators' endpoints, only one takes a key.
                let often = ["end_cursor", "Idempotency-Key"].contains(&here);
                assert!(!often || inline.insert(here.to_owned()), "{endpoint} defines {here} inline again");
            }
            for (status, response) in operation["responses"].as_object().unwrap() {
                for (name, header) in response["headers"].as_object().into_iter().flatten() {
                    assert!(header["$ref"].is_string(), "{endpoint} {status} defines {name} inline");
                }
            }
        }
        let versions = document["components"]["schemas"]["ApiVersion"]["enum"].as_array().map(Vec::len);
        assert_eq!(versions, Some(if file.contains("-v") { 1 } else { 2 }), "{file}");
    }
}

#[test]
fn references_resolve_and_have_no_other_keywords() {
    for (file, document) in all() {
        assert!(!document.to_string().contains(kinds::NAMED), "{file}: an enumeration was not moved to components");
        references(&document, &document);
    }
}

fn references(document: &Value, value: &Value) {
    match value {
        Value::Object(object) => {
            if let Some(path) = object.get("$ref").and_then(Value::as_str) {
                assert!(document.pointer(path.trim_start_matches('#')).is_some(), "{path} leads nowhere");
                assert_eq!(object.len(), 1, "{path} has other keywords next to it");
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
    for (_, document) in all().filter(|(file, _)| file.starts_with("clients")) {
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

/// A client generated for one version has no field or call of another.
#[test]
fn a_document_of_one_version_has_nothing_of_another() {
    for version in ALL_VERSIONS {
        let document: Value = serde_json::from_str(document_for(Audience::Clients, Some(*version)).text()).unwrap();
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["ApiVersion"]["enum"], json!([version.name()]));
        assert_eq!(schemas.get("BetaApiVersion"), None);
        let documented: HashSet<String> = operations(&document).into_iter().map(|(endpoint, _)| endpoint).collect();
        for route in TABLE.iter().filter(|it| it.access == Access::Token && it.audience() == Audience::Clients) {
            let endpoint = format!("{} {}", route.method.as_str().to_lowercase(), route.path);
            let other = TABLE
                .iter()
                .any(|it| it.path == route.path && it.method == route.method && it.versions.contains(version));
            assert_eq!(documented.contains(&endpoint), other, "{endpoint} in {}", version.name());
        }
        for name in ["Charge", "Payment", "Adjustment"] {
            for field in ["value", "date", "notes"] {
                let known = schemas[name]["properties"].get(field).is_some();
                assert_eq!(known, version.is_v2(), "{name}.{field} in {}", version.name());
            }
        }
        let answer = &document["paths"]["/patients/{id}"]["get"]["responses"]["200"]["content"]["application/json"];
        let bio = answer["example"]["data"].get("bio").is_some();
        assert_eq!(bio, *version != Version::V3_1_0, "{}", version.name());
        assert_eq!(schemas.get("PatientProfile").is_some(), *version == Version::V3_1_0, "{}", version.name());
        assert_eq!(schemas.get("PatientDetail").is_some(), *version != Version::V3_1_0, "{}", version.name());
        assert!(!document.to_string().contains("x-versions"));
    }
}

/// A status that cannot occur is not described.
#[test]
fn endpoints_that_always_fail_describe_no_success() {
    for (file, document) in all().filter(|(file, _)| file.starts_with("clients")) {
        for path in ["/conversations/{id}/messages", "/patients/{id}/documents"] {
            let responses = document["paths"][path]["post"]["responses"].as_object().unwrap();
            assert!(responses.keys().all(|status| !status.starts_with('2')), "{file} {path}: {responses:?}");
            assert!(responses.contains_key("403"), "{file} {path}");
        }
    }
}

#[test]
fn every_route_describes_its_input() {
    for route in TABLE.iter().filter(|route| route.access != Access::Anyone) {
        let mut bodies = BTreeSet::new();
        for version in route.versions {
            let inputs = route.described(*version);
            let endpoint = &route.method_and_path;
            assert!(
                inputs.read,
                "{endpoint}: custom arguments must end with one of `access::arguments` or `access::tenancy`"
            );
            for name in route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
                let known = inputs.path.iter().any(|expected| expected.name == name);
                assert!(known, "{endpoint}: the handler has no argument that reads {{{name}}}");
            }
            for expected in inputs.path.iter().chain(&inputs.query).chain(&inputs.body) {
                let cursor = ["start_cursor", "end_cursor"].contains(&expected.name.as_str());
                assert!(cursor || expected.example_reads, "{endpoint}: {} cannot read its example", expected.name);
            }
            bodies.insert(inputs.body.into_iter().map(|field| field.name).collect::<Vec<_>>());
        }
        assert_eq!(bodies.len(), 1, "{route}: a body has the same fields in all versions", route = route.path);
    }
}
