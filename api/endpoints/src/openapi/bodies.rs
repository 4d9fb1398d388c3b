//! The request body, derived from the field paths that its handler reads.

use framework::values::expected::Expected;
use serde_json::{Value, json};

use super::{examples::example, schemas::Schemas};

pub(super) fn request(fields: &[Expected], operation: &str, schemas: &mut Schemas) -> Option<Value> {
    if fields.is_empty() {
        return None;
    }
    let body = FieldNode::from_fields(fields);
    let name: String = operation.split('_').map(capital).chain(["Body".to_owned()]).collect();
    let required = body.children.iter().any(|(_, child)| child.is_required());
    let example = body.example();
    let schema = schemas.named(&name, body.object());
    Some(json!({"required": required, "content": {"application/json": {"schema": schema, "example": example}}}))
}

/// Returns the schema of an object with these fields.
pub(crate) fn object_schema(fields: &[Expected]) -> Value {
    FieldNode::from_fields(fields).object()
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}

/// A field and its nested fields, in reading order.
#[derive(Default)]
struct FieldNode {
    about: &'static str,
    field: Option<Expected>,
    children: Vec<(String, FieldNode)>,
}

impl FieldNode {
    fn from_fields(fields: &[Expected]) -> FieldNode {
        let mut body = FieldNode::default();
        for field in fields {
            body.place(&field.name, field);
        }
        body
    }

    fn place(&mut self, path: &str, field: &Expected) {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let name = first.trim_end_matches("[]");
        if !self.children.iter().any(|(known, _)| known == name) {
            self.children.push((name.to_owned(), FieldNode::default()));
        }
        let Some((_, child)) = self.children.iter_mut().find(|(known, _)| known == name) else { return };
        match rest {
            Some(rest) => child.place(rest, field),
            None => {
                child.about = field.shape.about;
                child.field = (!field.container).then(|| field.clone());
            }
        }
    }

    /// Returns `true` if the field is required. An object that is not read itself is required if one of its fields is.
    fn is_required(&self) -> bool {
        let inside = || self.children.iter().any(|(_, child)| child.is_required());
        self.field.as_ref().map_or_else(inside, |field| field.required)
    }

    fn schema(&self) -> Value {
        let Some(field) = &self.field else {
            let mut schema = self.object();
            schema["description"] = json!(self.about);
            return schema;
        };
        let mut schema = if self.children.is_empty() { field.shape.schema.clone() } else { self.object() };
        if let Some(most) = field.list {
            schema = json!({"type": "array", "items": schema, "maxItems": most});
        }
        if !field.never_null {
            or_null(&mut schema);
        }
        // Defaults are part of the description, because client generators treat fields with the keyword `default` as
        // required.
        let default = field
            .default
            .as_ref()
            .map(|it| format!(" Default: {}.", it.as_str().map_or_else(|| it.to_string(), str::to_owned)));
        schema["description"] = json!(self.about.to_owned() + &default.unwrap_or_default());
        schema
    }

    fn object(&self) -> Value {
        let properties: serde_json::Map<String, Value> =
            self.children.iter().map(|(name, child)| (name.clone(), child.schema())).collect();
        let required: Vec<&String> =
            self.children.iter().filter(|(_, child)| child.is_required()).map(|(name, _)| name).collect();
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }

    fn is_apart(&self) -> bool {
        self.field.as_ref().is_some_and(|field| field.shape.omit_from_example)
    }

    fn example(&self) -> Value {
        let one = match &self.field {
            Some(field) if self.children.is_empty() => example(&field.name, &field.shape),
            _ => {
                let shown = self.children.iter().filter(|(_, child)| !child.is_apart());
                Value::Object(shown.map(|(name, child)| (name.clone(), child.example())).collect())
            }
        };
        if self.field.as_ref().is_some_and(|field| field.list.is_some()) { json!([one]) } else { one }
    }
}

/// Allows null for a field that may be omitted.
fn or_null(schema: &mut Value) {
    match schema.get_mut("type") {
        Some(Value::String(one)) => schema["type"] = json!([one, "null"]),
        Some(Value::Array(several)) => several.push(json!("null")),
        // A field of several kinds, which has no `type`.
        _ => {
            if let Some(Value::Array(kinds)) = schema.get_mut("oneOf") {
                kinds.push(json!({"type": "null"}));
            }
        }
    }
    if let Some(Value::Array(names)) = schema.get_mut("enum") {
        names.push(Value::Null);
    }
}
