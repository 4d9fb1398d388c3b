//! The OpenAPI 3.1 document: the table of routes, and what each handler asks for, written down. v2.2.2 pages and nests its lists in
//! another way, so it has a document of its own. Nothing that answers requests knows it: the server hands the text to
//! `resources::documentation`.
//!
//! ```text
//!  describe                     runs each handler as far as it reads its input
//!  dictionary ◄── schemas ◄── bodies, failures, messages ◄── this file
//! ```

mod bodies;
mod describe;
mod dictionary;
mod failures;
pub(crate) mod messages;
mod schemas;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use self::{dictionary::describe_name, schemas::Schemas};
use crate::{
    http::{describe::Described, endpoint::Access},
    openapi::describe::describe,
    routes::{route::Route, table::TABLE},
    values::{
        expected::Expected,
        kinds,
        limits::{MAX_IDEMPOTENCY_KEY, MAX_VALUES},
        versions::Version,
    },
};

pub static V3: LazyLock<String> = LazyLock::new(|| text(&[Version::V3_0_0, Version::V3_1_0]));
pub static V2: LazyLock<String> = LazyLock::new(|| text(&[Version::V2_2_2]));

fn text(versions: &[Version]) -> String {
    let mut text = serde_json::to_string_pretty(&document(versions)).expect("a JSON value can always be written");
    text.push('\n');
    text
}

const ABOUT: &str = "One HTTP API to the schedules, patients, insurance and ledgers of dental and medical practices, whatever health \
record system each of them runs.\n\nExchange an API key for a bearer token (`POST /authenticates`), then send `Authorization: Bearer \
<token>`. Every call names its version in `Svc-Api-Version` and the calling application in `User-Agent`; the default \
User-Agent of a library is refused with 403. Institutions are addressed by `subdomain`, locations by `location_id`, both in the \
query. Unknown query parameters and body fields are ignored, and named in `description` and in the header `X-Ignored-Parameters`. An empty parameter counts as absent. Every answer carries `X-Request-Id`. A failure has `code` false, a message per \
problem in `error`, in `reason` one word of a closed list for programs, and in `description` cause and fix where a message has several causes.\n\n\
Rate limits are buckets that refill continuously, per API key over all its locations: by default 100 calls a second and 2,000 a minute, and \
10 a second of the slots and of `GET /appointments`. `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` describe the bucket with the fewest calls left; 429 names it in `description` and says in `Retry-After` when to call again. Calls of one address with keys or tokens \
that are not accepted are limited too.\n\nTimes are \
ISO 8601; without an offset they are read in the time zone of the location, and `description` says how. Whole numbers and booleans may \
come as strings.\n\nWrites are accepted first and reach the health record system afterwards.\n\nVersion v3.1.0 needs the grant `beta`; where it does not redefine \
a call it behaves as v3.0.0. Version v2.2.2 is described in `/openapi.json?version=v2.2.2`.";

pub(crate) fn document(versions: &[Version]) -> Value {
    let mut schemas = Schemas::new();
    let mut paths: Map<String, Value> = Map::new();
    let mut groups: Vec<&str> = Vec::new();
    for route in TABLE.iter().filter(|route| route.access != Access::Anyone) {
        let known: Vec<Version> = versions.iter().copied().filter(|it| route.versions.contains(it)).collect();
        let Some(version) = known.first() else { continue };
        if !groups.contains(&route.group) {
            groups.push(route.group);
        }
        let operation = operation(route, &known, &describe(route, *version), &mut schemas);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_lowercase()] = operation;
    }
    let webhooks = messages::all(versions, &mut schemas);
    let tags: Vec<Value> = groups.iter().map(|name| json!({"name": name})).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "practice-sync",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": tags,
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": schemas.finish(),
            "responses": failures::components(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT",
                    "description": "The token of `POST /authenticates`: valid for an hour, in the sandbox for a day."},
                "api_key": {"type": "apiKey", "in": "header", "name": "Authorization",
                    "description": "The API key as it is, without `Bearer`."},
            },
        },
    })
}

fn operation(route: &'static Route, versions: &[Version], told: &Described, schemas: &mut Schemas) -> Value {
    let id = route.operation_id();
    let mut responses = failures::of(route, schemas);
    for status in [Some(route.status), route.or_status].into_iter().flatten() {
        responses.insert(status.to_string(), success(route, status, told, schemas));
    }
    let security = match route.access {
        Access::ApiKey => json!([{"api_key": []}]),
        Access::Code => json!([]),
        Access::Token | Access::Anyone => json!([{"token": []}]),
    };
    let mut operation = json!({
        "operationId": id,
        "tags": [route.group],
        "summary": route.summary,
        "description": description(route, versions),
        "security": security,
        "parameters": parameters(route, versions, told),
        "responses": responses,
    });
    if route.takes_component {
        let component = json!({"schema": {"type": "string", "format": "binary"}});
        operation["requestBody"] = json!({"required": true, "content": {"application/octet-stream": component}});
    }
    if let Some(body) = bodies::request(&told.body, &id, schemas) {
        operation["requestBody"] = body;
    }
    operation
}

fn description(route: &Route, versions: &[Version]) -> String {
    let mut text = format!("{}.", route.summary);
    if route.financial {
        text.push_str(" The API key needs the grant `financial`.");
    }
    if route.operator {
        text.push_str(" The API key needs the grant `operator`.");
    }
    if versions == [Version::V3_1_0] {
        text.push_str(" Only in v3.1.0, for which the API key needs the grant `beta`.");
    }
    if !route.notes.is_empty() {
        text = format!("{text} {}", route.notes);
    }
    text
}

fn parameters(route: &Route, versions: &[Version], told: &Described) -> Vec<Value> {
    let names: Vec<&str> = versions.iter().map(|version| version.name()).collect();
    let mut all = Vec::new();
    if route.access != Access::Code {
        all.push(json!({
            "name": "Svc-Api-Version", "in": "header", "required": true, "description": describe_name("Svc-Api-Version"),
            "schema": {"type": "string", "enum": names}, "example": names.first(),
        }));
    }
    all.extend(told.path.iter().map(|it| parameter(it, "path")));
    all.extend(told.query.iter().map(|it| parameter(it, "query")));
    if route.takes_key() {
        all.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false, "description": describe_name("Idempotency-Key"),
            "schema": {"type": "string", "minLength": 1, "maxLength": MAX_IDEMPOTENCY_KEY, "pattern": "^[!-~]+$"},
            "example": "b9b1c7f2-2f3c-4a5e-8f0e-1f4f5a7c9d10",
        }));
    }
    all.push(json!({
        "name": "X-Request-Id", "in": "header", "required": false, "description": describe_name("X-Request-Id"),
        "schema": {"type": "string"}, "example": "call-7",
    }));
    all
}

fn parameter(expected: &Expected, place: &str) -> Value {
    let mut schema = expected.shape.schema.clone();
    if expected.required {
        // An empty one is missing.
        kinds::say_filled(&mut schema);
    }
    if let Some(default) = &expected.default {
        schema["default"] = default.clone();
    }
    let usual = expected.default.clone();
    let example = usual.unwrap_or_else(|| dictionary::example(&expected.name, &expected.shape));
    let (mut name, mut example) = (expected.name.clone(), example);
    if expected.list {
        (name, example) = (format!("{name}[]"), json!([example]));
        schema = json!({"type": "array", "items": schema, "maxItems": MAX_VALUES});
        if expected.required {
            schema["minItems"] = json!(1);
        }
    }
    let mut parameter = json!({
        "name": name, "in": place, "required": expected.required, "description": describe_name(&expected.name),
        "schema": schema,
    });
    // A cursor has no example: only the server makes them.
    if expected.example_reads {
        parameter["example"] = example;
    }
    parameter
}

fn success(route: &'static Route, status: u16, told: &Described, schemas: &mut Schemas) -> Value {
    let mut headers = json!({"X-Request-Id": {"description": describe_name("X-Request-Id"), "schema": {"type": "string"}},
            "X-Ignored-Parameters": failures::ignored()});
    if route.is_limited() {
        failures::rate_headers(&mut headers);
    }
    if route.takes_key() {
        headers["Idempotent-Replay"] = json!({
            "description": "`true` where the first answer is returned again.", "schema": {"type": "string", "enum": ["true"]},
        });
    }
    let meaning = match status {
        200 => "OK.",
        201 => "Created.",
        202 => "Accepted. The health record system receives it later.",
        _ => "No content.",
    };
    let mut response = json!({"description": meaning, "headers": headers});
    let reads = |name: &str| told.query.iter().any(|it| it.name == name);
    let numbered = reads("page") && !reads("end_cursor");
    if let Some(schema) = schemas.success(&route.success, route.nested_as(), numbered) {
        response["content"] = json!({"application/json": schemas.with_example(schema)});
    }
    response
}
