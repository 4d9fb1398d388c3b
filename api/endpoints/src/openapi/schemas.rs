//! The named schemas of a document (views, their envelopes, bodies), and examples generated from them.

use framework::{
    http::{
        endpoint::{SchemaOf, Success},
        paging::PageInfo,
        response_body::NDJSON,
    },
    values::versions::Version,
};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::examples;

const PLACE: &str = "#/components/schemas/";

pub struct Schemas {
    views: SchemaGenerator,
    own: Map<String, Value>,
    /// The versions that the document describes.
    versions: Vec<Version>,
}

impl Schemas {
    pub fn new(versions: &[Version]) -> Schemas {
        let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        Schemas { views: settings.into_generator(), own: Map::new(), versions: versions.to_vec() }
    }

    /// Returns the schema of a successful answer, or `None` if the answer has no body.
    pub fn success(&mut self, success: &Success, nested: Option<&str>, numbered: bool) -> Option<Value> {
        match success {
            Success::Empty | Success::Never => None,
            Success::Plain(of) => Some(self.view(*of)),
            Success::Lines(of) => {
                let line = self.view(*of);
                let about = "Lines that each contain a JSON object of the schema `contentSchema`.";
                Some(json!({"type": "string", "description": about, "contentMediaType": NDJSON, "contentSchema": line}))
            }
            Success::One(of) => Some(self.envelope(*of, "Answer", |view| (view, json!({})))),
            Success::List(of) => Some(self.envelope(*of, "List", |view| (rows(view), json!({"count": count()})))),
            Success::Page(of) if numbered => Some(self.envelope(*of, "Page", |view| {
                let data = match nested {
                    Some(name) => json!({"type": "object", "required": [name], "properties": {name: rows(view)},
                        "description": "The page's records under their name."}),
                    None => rows(view),
                };
                (data, json!({"count": count()}))
            })),
            Success::Page(of) => {
                let info = self.view(|views| views.subschema_for::<PageInfo>());
                Some(self.envelope(*of, "Page", |view| (rows(view), json!({"page_info": info}))))
            }
        }
    }

    pub fn view(&mut self, of: SchemaOf) -> Value {
        plain(of(&mut self.views).to_value(), &self.versions)
    }

    /// Returns a reference to the envelope of a view. `wrap` returns `data` and the properties next to it.
    fn envelope(&mut self, of: SchemaOf, suffix: &str, wrap: impl FnOnce(Value) -> (Value, Value)) -> Value {
        let view = self.view(of);
        let inside = view["$ref"].as_str().and_then(|path| path.rsplit('/').next()).unwrap_or("Plain").to_owned();
        let (data, beside) = wrap(view);
        let mut required = vec!["code", "description", "error", "data"];
        let mut properties = json!({
            "code": {"type": "boolean", "const": true, "description": "Always true: the request was carried out."},
            "description": {"type": ["string", "null"], "description": "A warning, or null.", "examples": [null]},
            "error": {"type": "array", "items": {"type": "string"}, "maxItems": 0, "description":
                "Always empty: the request was carried out."},
            "data": data,
        });
        if let (Value::Object(properties), Value::Object(beside)) = (&mut properties, &beside) {
            required.extend(beside.keys().map(String::as_str));
            properties.extend(beside.clone());
        }
        let schema = json!({"type": "object", "required": required, "properties": properties});
        self.named(&format!("{inside}{suffix}"), schema)
    }

    /// Stores a schema under a name and returns a reference to it.
    pub fn named(&mut self, name: &str, schema: Value) -> Value {
        self.own.insert(name.to_owned(), schema);
        json!({"$ref": format!("{PLACE}{name}")})
    }

    pub(crate) fn with_example(&self, schema: Value) -> Value {
        let example = self.example(&schema, "", 0);
        json!({"schema": schema, "example": example})
    }

    fn resolved(&self, name: &str) -> Value {
        let view = self.views.definitions().iter().find(|(known, _)| public_name(known) == name);
        view.map(|(_, view)| plain(view.clone(), &self.versions))
            .or_else(|| self.own.get(name).cloned())
            .unwrap_or_default()
    }

    /// Returns a value that the schema admits, built from the usual examples.
    fn example(&self, schema: &Value, name: &str, depth: usize) -> Value {
        if let Some(path) = schema["$ref"].as_str() {
            // Required properties end recursion unless a schema contains itself, which the limit guards against.
            return if depth > 16 { Value::Null } else { self.example(&self.resolved(last(path)), name, depth + 1) };
        }
        for fixed in ["const", "example", "default"] {
            if let Some(value) = schema.get(fixed) {
                return value.clone();
            }
        }
        if let Some(first) = schema["enum"].get(0).or_else(|| schema["examples"].get(0)) {
            return first.clone();
        }
        if let Some(choice) = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema[*key].get(0)) {
            return self.example(choice, name, depth);
        }
        let kind = schema["type"].as_str().or_else(|| schema["type"].get(0)?.as_str()).unwrap_or("null");
        match kind {
            "object" => {
                // Included records may contain records of the outer kind, so deeper levels show only required
                // properties.
                let always =
                    |name: &str| schema["required"].as_array().is_some_and(|it| it.iter().any(|it| it == name));
                let properties = schema["properties"].as_object().into_iter().flatten();
                let properties = properties.filter(|(name, _)| depth <= 4 || always(name));
                let shown = |name: &str, schema: &Value| {
                    let null = examples::MOSTLY_NULL.contains(&name) && may_be_null(schema);
                    if null { Value::Null } else { self.example(schema, name, depth + 1) }
                };
                properties.map(|(name, schema)| (name.clone(), shown(name, schema))).collect()
            }
            "array" if schema["maxItems"] == 0 || depth > 8 => json!([]),
            "array" => json!([self.example(&schema["items"], name, depth + 1)]),
            _ => examples::value(name, kind, schema["format"].as_str()),
        }
    }

    pub fn finish(mut self) -> Map<String, Value> {
        let views = self.views.take_definitions(true).into_iter();
        let views = views.map(|(name, schema)| (public_name(&name), plain(schema, &self.versions)));
        let mut all = Map::new();
        for (name, schema) in views.chain(self.own) {
            // Gives the second schema of a name a number, which a test rejects.
            let name = if all.contains_key(&name) { format!("{name}2") } else { name };
            all.insert(name, schema);
        }
        all
    }
}

/// Returns the public name, without the suffix `View` of the type.
fn public_name(name: &str) -> String {
    name.strip_suffix("View").unwrap_or(name).to_owned()
}

fn may_be_null(schema: &Value) -> bool {
    let null = |schema: &Value| schema["type"] == "null";
    schema["type"].as_array().is_some_and(|types| types.contains(&json!("null")))
        || schema["anyOf"].as_array().is_some_and(|choices| choices.iter().any(null))
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn rows(view: Value) -> Value {
    json!({"type": "array", "items": view, "description": "The records, in the order of the list."})
}

fn count() -> Value {
    json!({"type": "integer", "format": "int32", "minimum": 0, "description": "The number of records in the list."})
}

/// The keyword for properties and variants that only some versions have; its value is their names.
const VERSIONS: &str = "x-versions";

fn is_in(schema: &Value, versions: &[Version]) -> bool {
    let only = schema.get(VERSIONS).and_then(Value::as_array);
    only.is_none_or(|only| versions.iter().any(|version| only.iter().any(|name| name == version.name())))
}

/// Removes properties of other versions, and constructs that client generators cannot process: unsigned formats and
/// text next to a reference.
fn plain(mut schema: Value, versions: &[Version]) -> Value {
    match &mut schema {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get_mut("properties") {
                properties.retain(|_, property| is_in(property, versions));
            }
            if let Some(Value::Array(forms)) = object.get_mut("anyOf") {
                forms.retain(|form| is_in(form, versions));
            }
            object.remove(VERSIONS);
            if let Some(path) = object.get("$ref").and_then(Value::as_str).map(public_name) {
                return json!({ "$ref": path });
            }
            // Removes the keyword `title`, but not a property of that name.
            if object.get("title").is_some_and(Value::is_string) {
                object.remove("title");
            }
            let format = object.get("format").and_then(Value::as_str).and_then(|format| match format {
                "uint8" | "uint16" | "uint32" | "int8" | "int16" => Some("int32"),
                "uint" | "int" | "uint64" => Some("int64"),
                _ => None,
            });
            if let Some(format) = format {
                object.insert("format".into(), format.into());
            }
            object.values_mut().for_each(|inner| *inner = plain(inner.take(), versions));
        }
        Value::Array(elements) => elements.iter_mut().for_each(|inner| *inner = plain(inner.take(), versions)),
        _ => {}
    }
    schema
}
