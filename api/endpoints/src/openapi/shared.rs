//! Moves repeated parts of operations to `components` and replaces them with references: parameters, response headers
//! and the values of the version header.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use framework::values::{kinds::NAMED, versions::Version};

const METHODS: [&str; 5] = ["get", "post", "patch", "put", "delete"];

/// Returns the schema of the version header. Operations that are missing in some versions of the document use a
/// different name.
pub(super) fn version_schema(known: &[Version], document: &[Version]) -> (&'static str, Value) {
    let names: Vec<&str> = known.iter().map(|version| version.name()).collect();
    let all = known == document;
    let (name, description) = if all {
        ("ApiVersion", "A version of the API.")
    } else {
        ("BetaApiVersion", "A version of the API that has the endpoints under the grant `beta`.")
    };
    (name, json!({"type": "string", "enum": names, "description": description}))
}

/// Moves repeated parts to `components`.
pub(super) fn extract(document: &mut Value) {
    let mut closed = Map::new();
    for place in ["components", "paths", "webhooks"] {
        extract_enums(&mut document[place], &mut closed);
    }
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.extend(closed);
    }
    let parameters = parameters(document);
    let headers = headers(document);
    document["components"]["parameters"] = Value::Object(parameters);
    document["components"]["headers"] = Value::Object(headers);
    remove_unused_responses(document);
}

/// Removes the failure responses that no operation refers to.
fn remove_unused_responses(document: &mut Value) {
    let mut used = BTreeSet::new();
    for_each_operation(document, |operation| {
        let answers = operation["responses"].as_object().into_iter().flatten();
        used.extend(answers.filter_map(|(_, answer)| Some(answer["$ref"].as_str()?.rsplit('/').next()?.to_owned())));
    });
    if let Some(responses) = document["components"]["responses"].as_object_mut() {
        responses.retain(|name, _| used.contains(name));
    }
}

/// Removes the schemas that nothing refers to, such as those of other versions.
pub(super) fn remove_unused_schemas(document: &mut Value) {
    let mut used = BTreeSet::new();
    let mut schemas = document["components"]["schemas"].take();
    let mut found = referred(document);
    while let Some(name) = found.pop() {
        if used.insert(name.clone()) {
            found.extend(referred(&schemas[name.as_str()]));
        }
    }
    if let Some(schemas) = schemas.as_object_mut() {
        schemas.retain(|name, _| used.contains(name));
    }
    document["components"]["schemas"] = schemas;
}

/// Returns the names of the schemas that a value refers to.
fn referred(value: &Value) -> Vec<String> {
    match value {
        Value::Object(object) => {
            let own = object.get("$ref").and_then(Value::as_str);
            let own = own.and_then(|path| path.strip_prefix("#/components/schemas/")).map(str::to_owned);
            own.into_iter().chain(object.values().flat_map(referred)).collect()
        }
        Value::Array(all) => all.iter().flat_map(referred).collect(),
        _ => Vec::new(),
    }
}

/// Replaces enumerations with references to a named schema.
fn extract_enums(value: &mut Value, found: &mut Map<String, Value>) {
    match value {
        Value::Object(schema) => {
            match closed(schema) {
                Some((name, words)) => {
                    let nullable = schema["enum"].as_array().is_some_and(|all| all.contains(&Value::Null));
                    schema.remove("type");
                    schema.remove("enum");
                    let refers = json!({"$ref": format!("#/components/schemas/{name}")});
                    found.insert(name, words);
                    match nullable {
                        true => drop(schema.insert("anyOf".to_owned(), json!([refers, {"type": "null"}]))),
                        // A reference must not have other keywords next to it.
                        false if schema.is_empty() => *value = refers,
                        false => drop(schema.insert("allOf".to_owned(), json!([refers]))),
                    }
                }
                None => schema.values_mut().for_each(|inner| extract_enums(inner, found)),
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|inner| extract_enums(inner, found)),
        _ => {}
    }
}

type Closed = (String, Value);

/// Returns the name and schema of an enumeration.
fn closed(schema: &mut Map<String, Value>) -> Option<Closed> {
    let list = schema.remove(NAMED)?;
    // An enumeration with a default stays inline.
    if schema.contains_key("default") {
        return None;
    }
    let words: Vec<&Value> = schema.get("enum")?.as_array()?.iter().filter(|word| !word.is_null()).collect();
    let words = json!({"type": "string", "enum": words, "description": list["about"]});
    Some((list["name"].as_str()?.to_owned(), words))
}

fn parameters(document: &mut Value) -> Map<String, Value> {
    let mut uses: BTreeMap<String, (Value, usize)> = BTreeMap::new();
    for_each_operation(document, |operation| {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            uses.entry(parameter.to_string()).or_insert_with(|| (parameter.clone(), 0)).1 += 1;
        }
    });
    let several = uses.into_iter().filter(|(_, (_, count))| *count > 1).map(|(text, (it, _))| (text, it)).collect();
    let names = named(&several);
    for_each_operation(document, |operation| {
        for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
            if let Some(name) = names.get(&parameter.to_string()) {
                *parameter = json!({"$ref": format!("#/components/parameters/{name}")});
            }
        }
    });
    names.into_iter().filter_map(|(text, name)| Some((name, several.get(&text)?.clone()))).collect()
}

/// Returns a predictable name for each parameter: its own name, extended by the differences if several parameters share
/// it. A parameter without a unique name stays inline, because a number would depend on its neighbours.
fn named(several: &BTreeMap<String, Value>) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    let mut left: BTreeSet<&String> = several.keys().collect();
    for name_of in [plain, with_need, with_need_and_kind] {
        let mut wanted: BTreeMap<String, Vec<&String>> = BTreeMap::new();
        for text in &left {
            wanted.entry(name_of(&several[*text])).or_default().push(text);
        }
        for (name, texts) in wanted {
            if let [text] = texts[..] {
                left.remove(text);
                names.insert(text.clone(), name);
            }
        }
    }
    names
}

/// Returns the name of the parameter. If its schema is named, returns the name of the schema: `BetaApiVersion`.
fn plain(parameter: &Value) -> String {
    if let Some(schema) = parameter["schema"]["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return schema.to_owned();
    }
    pascal(parameter["name"].as_str().unwrap_or_default())
}

/// Returns a name such as `OptionalSubdomain` or `IdInPath`.
fn with_need(parameter: &Value) -> String {
    let need = if parameter["required"] == true { "Required" } else { "Optional" };
    match parameter["in"].as_str() {
        Some("path") => format!("{}InPath", plain(parameter)),
        _ => format!("{need}{}", plain(parameter)),
    }
}

/// Returns a name such as `OptionalPatientIdInt32` or `OptionalActiveDefaultTrue`.
fn with_need_and_kind(parameter: &Value) -> String {
    let schema = &parameter["schema"];
    let kind = schema["format"].as_str().or_else(|| schema["type"].as_str()).unwrap_or("several");
    let default = schema.get("default").map(|value| format!("Default{}", pascal(&value.to_string())));
    format!("{}{}{}", with_need(parameter), pascal(kind), default.unwrap_or_default())
}

/// Converts `location_id` to `LocationId` and `Svc-Api-Version` to `SvcApiVersion`.
fn pascal(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

/// Moves headers to `components`. A header usually has the same meaning in every response.
fn headers(document: &mut Value) -> Map<String, Value> {
    let mut found = Map::new();
    let mut take = |answer: &mut Value| {
        for (name, header) in answer.get_mut("headers").and_then(Value::as_object_mut).into_iter().flatten() {
            if header.get("$ref").is_none() {
                let known = found.entry(name.clone()).or_insert_with(|| header.clone());
                // A header with a different meaning stays inline.
                if known == header {
                    *header = json!({"$ref": format!("#/components/headers/{name}")});
                }
            }
        }
    };
    for_each_operation(document, |operation| {
        operation["responses"].as_object_mut().into_iter().flatten().for_each(|(_, answer)| take(answer));
    });
    document["components"]["responses"].as_object_mut().into_iter().flatten().for_each(|(_, answer)| take(answer));
    found
}

/// Calls `with` for each operation of the paths and the webhooks.
fn for_each_operation(document: &mut Value, mut with: impl FnMut(&mut Value)) {
    for place in ["paths", "webhooks"] {
        for (_, path) in document[place].as_object_mut().into_iter().flatten() {
            for (_, operation) in
                path.as_object_mut().into_iter().flatten().filter(|(key, _)| METHODS.contains(&key.as_str()))
            {
                with(operation);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(parameters: &[Value]) -> Value {
        let paths = parameters.iter().enumerate();
        let paths: Map<String, Value> =
            paths.map(|(at, it)| (format!("/{at}"), json!({"get": {"parameters": [it], "responses": {}}}))).collect();
        json!({"paths": paths, "webhooks": {}, "components": {"responses": {}}})
    }

    #[test]
    fn repeated_parameters_are_shared_under_a_predictable_name() {
        let id = |required: bool| json!({"name": "location_id", "in": "query", "required": required, "schema": {"type": "integer"}});
        let once = json!({"name": "days", "in": "query", "required": true, "schema": {"type": "integer"}});
        let mut document = with(&[id(true), id(false), once.clone(), id(true), id(false)]);
        extract(&mut document);
        let shared = |name: &str| json!({"$ref": format!("#/components/parameters/{name}")});
        assert_eq!(document["paths"]["/0"]["get"]["parameters"][0], shared("RequiredLocationId"));
        assert_eq!(document["paths"]["/4"]["get"]["parameters"][0], shared("OptionalLocationId"));
        assert_eq!(document["paths"]["/2"]["get"]["parameters"][0], once);
        assert_eq!(document["components"]["parameters"]["RequiredLocationId"], id(true));
    }

    #[test]
    fn enumerations_become_named_schemas() {
        let list = json!({"name": "Unit", "about": "A unit."});
        let unit = json!({"type": "string", "enum": ["day", "week"], "x-words": list});
        let of_body = json!({"type": ["string", "null"], "enum": ["day", "week", null], "x-words": list, "description": "The unit."});
        let usual = json!({"type": "string", "enum": ["day", "week"], "x-words": list, "default": "day"});
        let other = json!({"type": "string", "enum": ["manual", "synced"]});
        let mut document = json!({"paths": {}, "webhooks": {}, "components": {"responses": {}, "schemas": {
            "A": {"properties": {"unit": unit, "own": of_body, "usual": usual, "other": other}}}}});
        extract(&mut document);
        let schemas = &document["components"]["schemas"];
        let properties = &schemas["A"]["properties"];
        assert_eq!(properties["unit"], json!({"$ref": "#/components/schemas/Unit"}));
        let anyof = json!([{"$ref": "#/components/schemas/Unit"}, {"type": "null"}]);
        assert_eq!(properties["own"], json!({"anyOf": anyof, "description": "The unit."}));
        assert_eq!(properties["usual"], json!({"type": "string", "enum": ["day", "week"], "default": "day"}));
        assert_eq!(properties["other"], other);
        assert_eq!(schemas["Unit"], json!({"type": "string", "enum": ["day", "week"], "description": "A unit."}));
    }

    #[test]
    fn parameters_without_a_unique_name_are_not_shared() {
        let include = |of: &str| json!({"name": "include[]", "in": "query", "required": false, "schema": {"type": "array", "items": {"enum": [of]}}});
        let mut document = with(&[include("a"), include("a"), include("b"), include("b")]);
        let before = document["paths"].clone();
        extract(&mut document);
        assert_eq!(document["paths"], before);
    }
}
