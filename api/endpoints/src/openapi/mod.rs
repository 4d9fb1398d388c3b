//! The OpenAPI 3.1 documents, generated from the table of routes and the inputs that each handler reads. v2.2.2 pages
//! and nests its lists differently, so it has its own document. Operators and workstations have their own documents,
//! too. No code that serves requests depends on this file: the server passes the text to `resources::documentation`.
//! The tools of agents take the schemas of their arguments from `bodies`.
//!
//! ```text
//!  examples ◄── schemas ◄── bodies, failures, messages ◄── this file
//!  shared                       moves repeated parts of operations to `components`
//! ```

pub(crate) mod bodies;
mod examples;
mod failures;
pub mod messages;
mod schemas;
mod shared;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use framework::{
    http::{
        describe::Described,
        endpoint::{ALL_VERSIONS, Access, Group, Success},
        response_body::NDJSON,
    },
    values::{audience::Audience, expected::Expected, kinds, limits::MAX_IDEMPOTENCY_KEY, versions::Version},
};
use serde_json::{Map, Value, json};

use self::schemas::Schemas;
use crate::routes::{route::Route, table::TABLE};

const V3: &[Version] = &[Version::V3_0_0, Version::V3_1_0];
const V2: &[Version] = &[Version::V2_2_2];

/// The documents with their audience, versions and file in `api/openapi`. The first document of an audience is the
/// default if a reader names no version. Documents for one version alone are not checked in.
pub static DOCUMENTS: [Document; 7] = [
    Document::new(Audience::Clients, V3, "clients.json"),
    Document::single_version(Audience::Clients, V2, "clients-v2.2.2.json"),
    Document::single_version(Audience::Clients, &[Version::V3_0_0], "clients-v3.0.0.json"),
    Document::single_version(Audience::Clients, &[Version::V3_1_0], "clients-v3.1.0.json"),
    Document::new(Audience::Operators, V3, "operators.json"),
    Document::single_version(Audience::Operators, V2, "operators-v2.2.2.json"),
    // The calls of workstations name no version.
    Document::new(Audience::Workstations, ALL_VERSIONS, "workstations.json"),
];

pub struct Document {
    pub audience: Audience,
    versions: &'static [Version],
    pub file: &'static str,
    pub checked_in: bool,
    text: OnceLock<String>,
}

impl Document {
    const fn new(audience: Audience, versions: &'static [Version], file: &'static str) -> Document {
        Document { audience, versions, file, checked_in: true, text: OnceLock::new() }
    }

    const fn single_version(audience: Audience, versions: &'static [Version], file: &'static str) -> Document {
        Document { audience, versions, file, checked_in: false, text: OnceLock::new() }
    }

    pub fn text(&self) -> &str {
        self.text.get_or_init(|| {
            let document = document(self.audience, self.versions);
            let mut text = serde_json::to_string_pretty(&document).expect("a JSON value can always be written");
            text.push('\n');
            text
        })
    }
}

/// Returns the document of an audience. If a version is named, prefers the document with the fewest other versions.
pub fn document_for(audience: Audience, version: Option<Version>) -> &'static Document {
    let of_audience = DOCUMENTS.iter().filter(|it| it.audience == audience);
    let mut fitting = of_audience.filter(|it| version.is_none_or(|named| it.versions.contains(&named)));
    let found = match version {
        Some(_) => fitting.min_by_key(|it| it.versions.len()),
        None => fitting.next(),
    };
    found.expect("every audience has a document for every version")
}

const ABOUT: &str = "One HTTP API to the schedules, patients, insurance and ledgers of dental and medical practices, \
    independent of the health record system that each practice uses.\n\n\
    Exchange an API key for a bearer token (`POST /authenticates`), then send `Authorization: Bearer <token>`. Every \
    call specifies the API version in `Svc-Api-Version` and the calling application in `User-Agent`; the default \
    User-Agent of a library is refused with 403. Institutions are identified by `subdomain` and locations by \
    `location_id`, both in the query. Unknown query parameters and body fields are ignored, and listed in \
    `description` and in the header `X-Ignored-Parameters`. An empty parameter counts as absent. Every response \
    contains `X-Request-Id`. A failure has `code` false, one message per problem in `error`, and a machine-readable \
    code from a closed list in `reason`. If a message has several possible causes, `description` contains the cause \
    and the fix.\n\n\
    Rate limits are buckets that refill continuously, per API key over all its locations: by default 100 calls a \
    second and 2,000 a minute, and 10 a second for slots and for `GET /appointments`. `RateLimit-Limit`, \
    `RateLimit-Remaining` and `RateLimit-Reset` describe the bucket with the fewest calls left. A 429 response names \
    this bucket in `description` and contains the number of seconds to wait in `Retry-After`. Calls from one address \
    with keys or tokens that are not accepted are limited too.\n\n\
    Times are ISO 8601. A time without an offset is read in the time zone of the location, and `description` reports \
    how it was read. Whole numbers and booleans may be sent as strings.\n\n\
    Writes are accepted first and reach the health record system afterwards.\n\n\
    Version v3.1.0 needs the grant `beta`; calls that it does not redefine behave as in v3.0.0. \
    `/openapi.json?version=v3.0.0`, `v3.1.0` or `v2.2.2` describes that version alone. `/openapi.json?for=operators` \
    describes the calls of operators, and `/openapi.json?for=workstations` those of workstations.";

const FOR_OPERATORS: &str = "Calls for operators of the service, at the operators' listener. Send an operator's \
    token (`practice-sync operators add`) as `Authorization: Bearer <token>`. The role of the token is `viewer`, \
    `operator` or `admin`; each role includes the permissions of the roles before it. API keys are not accepted at \
    this listener. Requests, paging and failures work as described in the document for clients, `/openapi.json`.";

const FOR_WORKSTATIONS: &str = "Calls of the browser extension at a workstation. They need a pairing code instead of \
    an API key. The document for clients is `/openapi.json`.";

fn about(audience: Audience) -> (&'static str, &'static str) {
    match audience {
        Audience::Clients => ("practice-sync", ABOUT),
        Audience::Operators => ("practice-sync for operators", FOR_OPERATORS),
        Audience::Workstations => ("practice-sync for workstations", FOR_WORKSTATIONS),
    }
}

fn document(audience: Audience, versions: &[Version]) -> Value {
    let mut schemas = Schemas::new(versions);
    let mut paths: Map<String, Value> = Map::new();
    let mut groups: Vec<Group> = Vec::new();
    for route in TABLE.iter().filter(|route| route.access != Access::Anyone && route.audience() == audience) {
        let known: Vec<Version> = versions.iter().copied().filter(|it| route.versions.contains(it)).collect();
        let Some(version) = known.first() else { continue };
        if !groups.contains(&route.group) {
            groups.push(route.group);
        }
        let operation = operation(route, (&known, versions), &route.described(*version), &mut schemas);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_lowercase()] = operation;
    }
    let webhooks = if audience == Audience::Clients { messages::all(versions, &mut schemas) } else { Map::new() };
    let (title, about) = about(audience);
    if !webhooks.is_empty() {
        groups.push(messages::GROUP);
    }
    let tags: Vec<Value> =
        groups.iter().map(|Group { name, about }| json!({"name": name, "description": about})).collect();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": env!("CARGO_PKG_VERSION"),
            "description": about,
            // The operator of an installation is its contact.
            "contact": {"name": "The operator of this installation"},
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
                    "description":
                        "The bearer token from `POST /authenticates`. It is valid for an hour, in the sandbox for a \
                         day."},
                "api_key": {"type": "apiKey", "in": "header", "name": "Authorization",
                    "description": "The API key itself, without `Bearer`."},
            },
        },
    });
    shared::extract(&mut document);
    shared::remove_unused_schemas(&mut document);
    document
}

/// Describes a route as an operation. The versions are those of the route, and all versions of the document.
fn operation(
    route: &'static Route,
    (versions, all): (&[Version], &[Version]),
    inputs: &Described,
    schemas: &mut Schemas,
) -> Value {
    let id = route.operation_id();
    let mut responses = failures::responses(route, schemas);
    let succeeds = !matches!(route.success, Success::Never);
    for status in [Some(route.status), route.or_status].into_iter().flatten().filter(|_| succeeds) {
        responses.insert(status.to_string(), success(route, status, inputs, schemas));
    }
    if route.is_conditional() {
        responses.insert("304".to_owned(), not_modified());
    }
    let security = match route.access {
        Access::ApiKey => json!([{"api_key": []}]),
        Access::Code => json!([]),
        Access::Token | Access::Anyone => json!([{"token": []}]),
    };
    let mut operation = json!({
        "operationId": id,
        "tags": [route.group.name],
        "summary": route.summary,
        "description": description(route),
        "security": security,
        "parameters": parameters(route, (versions, all), inputs, schemas),
        "responses": responses,
    });
    // An extension used by the documentation page, which warns before writes.
    if route.method.as_str() != "GET" && (route.reads || route.access == Access::ApiKey) {
        operation["x-reads-only"] = json!(true);
    }
    if route.takes_component {
        let component = json!({"schema": {"type": "string", "format": "binary"}});
        operation["requestBody"] = json!({"required": true, "content": {"application/octet-stream": component}});
    }
    if let Some(body) = bodies::request(&inputs.body, &id, schemas) {
        operation["requestBody"] = body;
    }
    operation
}

fn description(route: &Route) -> String {
    let mut text = format!("{}.", route.summary);
    if route.financial {
        text.push_str(" The API key needs the grant `financial`.");
    }
    if let Some(field) = route.amounts {
        text.push_str(&format!(
            " Without the grant `financial`, the amounts are null and `description` names `{field}`."
        ));
    }
    if let Some(role) = route.role {
        text.push_str(&format!(" The token needs the role `{}`.", role.name()));
    }
    if route.versions == [Version::V3_1_0] {
        text.push_str(" Available only in v3.1.0, for which the API key needs the grant `beta`.");
    }
    if !route.notes.is_empty() {
        text = format!("{text} {}", route.notes);
    }
    text
}

fn parameters(
    route: &Route,
    (versions, document): (&[Version], &[Version]),
    inputs: &Described,
    schemas: &mut Schemas,
) -> Vec<Value> {
    let mut all = Vec::new();
    if route.access != Access::Code {
        let (name, schema) = shared::version_schema(versions, document);
        all.push(json!({
            "name": "Svc-Api-Version", "in": "header", "required": true, "description": "The API version.",
            "schema": schemas.named(name, schema), "example": versions.first().map(|version| version.name()),
        }));
    }
    all.extend(inputs.path.iter().map(|it| parameter(it, "path")));
    all.extend(inputs.query.iter().map(|it| parameter(it, "query")));
    if route.takes_key() {
        all.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false, "description": IDEMPOTENCY_KEY,
            "schema": {"type": "string", "minLength": 1, "maxLength": MAX_IDEMPOTENCY_KEY, "pattern": "^[!-~]+$"},
            "example": "b9b1c7f2-2f3c-4a5e-8f0e-1f4f5a7c9d10",
        }));
    }
    if route.is_conditional() {
        all.push(json!({
            "name": "If-None-Match", "in": "header", "required": false, "description": IF_NONE_MATCH,
            "schema": {"type": "string"}, "example": "\"2f1c0a7be4d95f6c83a1b0d7e6f5c4a3\"",
        }));
    }
    all.push(json!({
        "name": "X-Request-Id", "in": "header", "required": false, "description": failures::REQUEST_ID,
        "schema": {"type": "string"}, "example": "call-7",
    }));
    all
}

fn parameter(expected: &Expected, place: &str) -> Value {
    let mut schema = expected.shape.schema.clone();
    if expected.required {
        // A required parameter must not be empty.
        kinds::require_nonempty(&mut schema);
    }
    if let Some(default) = &expected.default {
        schema["default"] = default.clone();
    }
    let usual = expected.default.clone();
    let example = usual.unwrap_or_else(|| examples::example(&expected.name, &expected.shape));
    let (mut name, mut example) = (expected.name.clone(), example);
    if let Some(most) = expected.list {
        (name, example) = (format!("{name}[]"), json!([example]));
        schema = json!({"type": "array", "items": schema, "maxItems": most});
        if expected.required {
            schema["minItems"] = json!(1);
        }
    }
    let mut parameter = json!({
        "name": name, "in": place, "required": expected.required, "description": expected.shape.about,
        "schema": schema,
    });
    // A cursor has no example, because only the server issues cursors.
    if expected.example_reads && !expected.shape.omit_from_example {
        parameter["example"] = example;
    }
    parameter
}

const IDEMPOTENCY_KEY: &str = "Idempotency key chosen by the caller. For a day, the same key with the same request \
    returns the first response; with another request it is refused with 409.";

const IF_NONE_MATCH: &str = "The `ETag` of an earlier response to the same request. If the response has not changed, \
    the status is 304, without a body. The call counts towards rate limits.";

fn etag() -> Value {
    let about = "Entity tag of this response, for `If-None-Match`. It is a strong validator: it changes with every \
        byte of the body, with the API key and with the version.";
    json!({"description": about, "schema": {"type": "string"}})
}

/// The response for an answer that the client already has.
fn not_modified() -> Value {
    let mut headers = json!({"X-Request-Id": failures::request_id(), "ETag": etag()});
    failures::rate_headers(&mut headers);
    json!({"description": "The response is still the one identified by `If-None-Match`. No body.", "headers": headers})
}

fn success(route: &'static Route, status: u16, inputs: &Described, schemas: &mut Schemas) -> Value {
    let mut headers = json!({"X-Request-Id": failures::request_id(), "X-Ignored-Parameters": failures::ignored()});
    if route.is_limited() {
        failures::rate_headers(&mut headers);
    }
    if route.is_conditional() {
        headers["ETag"] = etag();
    }
    if route.takes_key() {
        headers["Idempotent-Replay"] = json!({
            "description": "`true` if the response is a repetition of the first response.", "schema": {"type": "string", "enum": ["true"]},
        });
    }
    let meaning = match status {
        200 => "OK.",
        201 => "Created.",
        202 => "Accepted. The health record system receives it later.",
        _ => "No content.",
    };
    let mut response = json!({"description": meaning, "headers": headers});
    let reads = |name: &str| inputs.query.iter().any(|it| it.name == name);
    let numbered = reads("page") && !reads("end_cursor");
    if let Some(schema) = schemas.success(&route.success, route.nested_as(), numbered) {
        response["content"] = match route.is_stream() {
            true => json!({(NDJSON): {"schema": schema}}),
            false => json!({"application/json": schemas.with_example(schema)}),
        };
    }
    response
}
