//! Every documented endpoint against every caller without access, and isolation between tenants. Parameters and bodies
//! come from the examples of the OpenAPI document, so a new endpoint of the table is covered at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use actix_web::http::Method;
use endpoints::{
    openapi,
    routes::{route::Route, table::TABLE},
};
use engine::records::ehr::Ehr;
use framework::{
    access::keys::{ApiKey, Grants, hash},
    http::endpoint::Access,
    values::{role::Role, versions::Version},
};
use location::{
    ids::LocationId,
    time::{HOUR, Timestamp},
};
use serde_json::{Value, json};

use crate::{contract::DOCUMENTS, filled::Filled, support::*};

const NO_ACCESS: &str = "You don't have access to perform this action.";
/// Part of every text in the rival's records, and of no response to other callers.
const STRANGER: &str = "Zyzzyva";
/// Texts of the rival's setup.
const STRANGERS: [&str; 4] = [STRANGER, "zyzzyva", "RIVAL", "Place 5"];
const NOBODY: u64 = 2_000_000_000;

/// Key with all grants at the first location and no access to the second.
const ONE_PLACE: &str = "key-one-place";
const NOT_FINANCIAL: &str = "key-not-financial";
const NOT_BETA: &str = "key-not-beta";

/// One endpoint in one of its versions.
#[derive(Clone, Copy)]
pub struct DocumentedEndpoint {
    pub route: &'static Route,
    pub version: Version,
    document: &'static Value,
    operation: &'static Value,
}

/// Parts of a request that differ from a valid one.
pub struct CallParameters<'a> {
    pub tenant: &'a str,
    pub place: u32,
    pub key: &'a str,
    /// Replaces the example of the parameter or field with this last name.
    pub instead: Option<(&'a str, u64)>,
}

impl CallParameters<'_> {
    pub fn right() -> CallParameters<'static> {
        CallParameters { tenant: "acme", place: MAIN, key: ACME_KEY, instead: None }
    }
}

/// Returns the endpoints that API keys can call.
fn client_endpoints() -> impl Iterator<Item = DocumentedEndpoint> {
    guarded().filter(|it| it.route.role.is_none())
}

fn endpoints() -> impl Iterator<Item = DocumentedEndpoint> {
    let documented = TABLE.iter().filter(|route| route.access != Access::Anyone);
    documented.flat_map(|route| {
        route.versions.iter().map(move |version| {
            let document = &DOCUMENTS[openapi::document_for(route.audience(), Some(*version)).file];
            let operation = &document["paths"][route.path][route.method.as_str().to_lowercase()];
            assert!(operation.is_object(), "{} is not documented", route.method_and_path);
            DocumentedEndpoint { route, version: *version, document, operation }
        })
    })
}

/// Returns all endpoints except the one that accepts the API key itself.
pub fn guarded() -> impl Iterator<Item = DocumentedEndpoint> {
    endpoints().filter(|it| it.route.access == Access::Token)
}

impl DocumentedEndpoint {
    pub fn name(&self) -> String {
        format!("{} in {}", self.route.method_and_path, self.version.name())
    }

    pub fn parameters(&self) -> impl Iterator<Item = &'static Value> {
        let document = self.document;
        let shared = |path: &str| document.pointer(path.trim_start_matches('#')).unwrap();
        let all = self.operation["parameters"].as_array().unwrap().iter();
        all.map(move |it| it["$ref"].as_str().map_or(it, shared))
    }

    pub fn has(&self, name: &str) -> bool {
        self.parameters().any(|it| it["in"] == "query" && it["name"] == name)
    }

    fn takes_tenant(&self) -> bool {
        self.has("subdomain")
    }

    fn takes_place(&self) -> bool {
        self.route.path.starts_with("/locations/{id}") || PLACES.iter().any(|name| self.has(name))
    }

    pub fn path(&self, asking: &CallParameters) -> String {
        let mut path = self.route.path.to_owned();
        let mut query = Vec::new();
        for parameter in self.parameters().filter(|it| it["in"] != "header") {
            let name = parameter["name"].as_str().unwrap();
            let plain = name.trim_end_matches("[]");
            let value = self.value(plain, &parameter["example"], asking);
            match (parameter["in"].as_str().unwrap(), value) {
                ("path", Some(value)) => path = path.replace(&format!("{{{name}}}"), &value),
                (_, Some(value)) => query.push(format!("{name}={}", value.replace('+', "%2B"))),
                (_, None) if parameter["required"] == true => {
                    let example = &parameter["example"];
                    let one = example.as_array().map_or(example, |all| &all[0]);
                    query.push(format!("{name}={}", text(one).replace('+', "%2B")));
                }
                (_, None) => {}
            }
        }
        format!("{path}?{}", query.join("&"))
    }

    /// Returns the value of a required or overridden parameter. Returns `None` for other parameters.
    fn value(&self, name: &str, example: &Value, asking: &CallParameters) -> Option<String> {
        match asking.instead {
            Some((other, id)) if other == name => return Some(id.to_string()),
            _ => {}
        }
        let in_path = self.route.path.contains(&format!("{{{name}}}"));
        match name {
            "subdomain" => Some(asking.tenant.to_owned()),
            "location_id" | "lids" | "location_ids" => Some(asking.place.to_string()),
            "id" if self.route.path.starts_with("/locations/{id}") => Some(asking.place.to_string()),
            _ if in_path => Some(text(example)),
            _ => None,
        }
    }

    pub fn body(&self, asking: &CallParameters) -> Option<Value> {
        let mut body = self.operation["requestBody"]["content"]["application/json"]["example"].clone();
        if let Some((name, id)) = asking.instead {
            replace(&mut body, name, id);
        }
        (!body.is_null()).then_some(body)
    }

    fn request<'w>(&self, world: &'w ApiWorld, asking: &CallParameters) -> ApiRequest<'w> {
        let ask = world.request(self.route.method.clone(), &self.path(asking)).version(self.version.name());
        let ask = match self.route.access {
            Access::ApiKey => ask.with("Authorization", asking.key),
            // Asks as an operator with all rights.
            _ if self.route.role.is_some() => ask,
            _ => ask.with("Authorization", &token(world, asking.key)),
        };
        match self.body(asking) {
            Some(body) => ask.json(body),
            None => ask,
        }
    }
}

const PLACES: [&str; 3] = ["location_id", "lids[]", "location_ids[]"];

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Puts an id into every field of this name.
fn replace(value: &mut Value, name: &str, id: u64) {
    match value {
        Value::Object(object) => {
            for (field, inner) in object {
                match inner {
                    Value::Number(_) if field == name => *inner = id.into(),
                    Value::Array(ids) if field == name && ids.iter().all(Value::is_number) => *inner = json!([id]),
                    _ => replace(inner, name, id),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(|inner| replace(inner, name, id)),
        _ => {}
    }
}

fn more_keys() -> Vec<ApiKey> {
    let key = |name: &str, locations: Option<Vec<u32>>, grants| ApiKey {
        name: name.to_owned(),
        hash: hash(name),
        locations: locations.map(|ids| ids.into_iter().map(LocationId).collect()),
        grants,
        organisation: format!("organisation of {name}"),
        ..keys().swap_remove(0)
    };
    let mut keys = keys();
    keys.push(key(ONE_PLACE, Some(vec![MAIN]), Grants { financial: true, beta: true }));
    keys.push(key(NOT_FINANCIAL, None, Grants { financial: false, beta: true }));
    keys.push(key(NOT_BETA, None, Grants { financial: true, beta: false }));
    keys
}

fn token(world: &ApiWorld, key: &str) -> String {
    let id = more_keys().into_iter().find(|known| known.name == key).unwrap().id();
    format!("Bearer {}", world.api.tokens.mint(id, world.engine.now(), HOUR))
}

async fn filled_world() -> ApiWorld {
    let ehr = |owner, location, of_each| -> (u32, Arc<dyn Ehr>) { (location, Filled::new(owner, location, of_each)) };
    let ehrs = [ehr("Acme", MAIN, 4), ehr("Acme", SECOND, 4), ehr(STRANGER, RIVAL, 12), ehr("Real", REAL, 1)];
    let world = world_on(ehrs).await;
    world.api.replace_keys(more_keys());
    let hook = json!({"target_url": format!("https://{}.example/hook", STRANGER.to_lowercase())});
    world.post("/webhook_endpoints", hook).key(RIVAL_KEY).answers(201).await;
    world
}

/// Asserts the status and message of the response, and that no text of the other tenant is in it.
async fn refused(ask: ApiRequest<'_>, status: u16, message: &str, what: &str) -> ApiResponse {
    let reply = ask.reply().await;
    assert_eq!(reply.status.as_u16(), status, "{what}: {}", reply.text);
    let body = reply.json();
    let failure = (&body["code"], &body["data"], &body["error"]);
    assert_eq!(failure, (&json!(false), &Value::Null, &json!([message])), "{what}");
    assert!(reply.header("X-Request-Id").is_some(), "{what}");
    clean(&reply, what);
    reply
}

fn clean(reply: &ApiResponse, what: &str) {
    let headers =
        reply.headers.iter().map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())));
    for text in headers.chain([reply.text.clone()]) {
        for foreign in STRANGERS {
            assert!(!text.contains(foreign), "{what} shows {foreign}: {text}");
        }
    }
}

#[actix_web::test]
async fn without_version_or_with_an_unknown_one_there_is_no_resource() {
    let world = filled_world().await;
    for it in endpoints().filter(|it| it.route.access != Access::Code) {
        let right = || it.request(&world, &CallParameters::right());
        refused(right().without("Svc-Api-Version"), 404, "Resource not found", &it.name()).await;
        for version in ["v1", "v3", "v3.0", "3.0.0", "v4.0.0", "latest", ""] {
            refused(right().version(version), 404, "Resource not found", &it.name()).await;
        }
    }
}

#[actix_web::test]
async fn every_endpoint_refuses_calls_without_a_valid_token() {
    let world = filled_world().await;
    let id = more_keys().remove(0).id();
    let now = world.engine.now();
    let expired = format!("Bearer {}", world.api.tokens.mint(id, Timestamp(now.0 - 2 * HOUR), HOUR));
    let good = token(&world, ACME_KEY);
    let mut altered = good.clone().into_bytes();
    let middle = good.len() / 2;
    altered[middle] = if altered[middle] == b'A' { b'B' } else { b'A' };
    let altered = String::from_utf8(altered).unwrap();
    let of_nobody = format!("Bearer {}", world.api.tokens.mint("0000000000000000".into(), now, HOUR));
    let wrong = [&expired, &altered, &of_nobody, ACME_KEY, "Bearer ", "Bearer null", &good[7..]];
    for it in guarded() {
        let right = || it.request(&world, &CallParameters::right());
        let reply = refused(right().without("Authorization"), 401, NO_ACCESS, &it.name()).await;
        assert_eq!(reply.header("WWW-Authenticate"), Some("Bearer"), "{}", it.name());
        for wrong in wrong {
            refused(right().with("Authorization", wrong), 401, NO_ACCESS, &format!("{} {wrong}", it.name())).await;
        }
    }
    for it in endpoints().filter(|it| it.route.access == Access::ApiKey) {
        for wrong in [&good, "key-unknown", "", &format!("Bearer {ACME_KEY}")] {
            let ask = it.request(&world, &CallParameters::right()).with("Authorization", wrong);
            refused(ask, 401, "Invalid Credentials", &it.name()).await;
        }
    }
}

#[actix_web::test]
async fn another_tenants_institution_is_forbidden_like_an_unknown_one() {
    let world = filled_world().await;
    for it in client_endpoints().filter(DocumentedEndpoint::takes_tenant) {
        for (tenant, key) in [("acme", RIVAL_KEY), ("rival", ACME_KEY), ("nobody", ACME_KEY), ("real", ACME_KEY)] {
            let place = if tenant == "rival" { RIVAL } else { MAIN };
            let ask = it.request(&world, &CallParameters { tenant, place, key, instead: None });
            refused(ask, 403, NO_ACCESS, &format!("{} {tenant}", it.name())).await;
        }
        // Capital letters (specification 5.6).
        for tenant in ["Acme", "ACME", "acmE"] {
            let ask = it.request(&world, &CallParameters { tenant, ..CallParameters::right() });
            refused(ask, 403, NO_ACCESS, &format!("{} {tenant}", it.name())).await;
        }
    }
}

#[actix_web::test]
async fn locations_out_of_reach_are_not_found_and_pending_ones_forbidden() {
    let world = filled_world().await;
    for it in client_endpoints().filter(DocumentedEndpoint::takes_place) {
        let at = |place, key| it.request(&world, &CallParameters { place, key, ..CallParameters::right() });
        for (place, key) in
            [(SECOND, ONE_PLACE), (CLOSED, ACME_KEY), (RIVAL, ACME_KEY), (REAL, ACME_KEY), (999_999, ACME_KEY)]
        {
            let message = format!("Location with id {place} not found");
            refused(at(place, key), 404, &message, &format!("{} {place}", it.name())).await;
        }
        refused(at(PENDING, ACME_KEY), 403, NO_ACCESS, &it.name()).await;
    }
}

#[actix_web::test]
async fn grants_are_required_exactly_where_documented() {
    let world = filled_world().await;
    for it in client_endpoints() {
        let as_key = |key| it.request(&world, &CallParameters { key, ..CallParameters::right() });
        let forbidden = |reply: &ApiResponse| reply.status == 403;
        let usually = forbidden(&as_key(ACME_KEY).reply().await);
        let needs = [(NOT_FINANCIAL, it.route.financial), (NOT_BETA, it.version == Version::V3_1_0)];
        for (key, needed) in needs {
            if needed {
                refused(as_key(key), 403, NO_ACCESS, &format!("{} {key}", it.name())).await;
            } else {
                assert_eq!(forbidden(&as_key(key).reply().await), usually, "{} {key}", it.name());
            }
        }
    }
}

#[actix_web::test]
async fn operator_calls_need_the_role_and_are_closed_to_keys() {
    let world = filled_world().await;
    for it in guarded() {
        let Some(needed) = it.route.role else { continue };
        let ask = || it.request(&world, &CallParameters::right());
        for (token, role) in [(VIEWER, Role::Viewer), (OPERATOR, Role::Operator), (ADMIN, Role::Admin)] {
            let what = format!("{} {token}", it.name());
            if role < needed {
                let reply = refused(ask().operator(token), 403, NO_ACCESS, &what).await;
                assert_eq!(reply.json()["reason"], "role_missing", "{what}");
            } else {
                let status = ask().operator(token).reply().await.status.as_u16();
                assert!(![401, 403].contains(&status), "{what}: {status}");
            }
        }
        refused(ask().with("Authorization", &token(&world, ACME_KEY)), 401, NO_ACCESS, &it.name()).await;
        let reply = ask().at_clients().reply().await;
        assert!([404, 405].contains(&reply.status.as_u16()), "{} where clients call: {}", it.name(), reply.status);
    }
    for it in client_endpoints().filter(|it| !["/sync_status", "/write_requests"].contains(&it.route.path)) {
        let elsewhere = ["/write_requests/{id}", "/locations/{id}/simulated_ehr"].contains(&it.route.path);
        let status = it.request(&world, &CallParameters::right()).operator(ADMIN).reply().await.status.as_u16();
        assert!(elsewhere || [404, 405].contains(&status), "{} where operators call: {status}", it.name());
        let reply = it
            .request(&world, &CallParameters::right())
            .with("Authorization", &format!("Bearer {ADMIN}"))
            .reply()
            .await;
        assert_eq!(reply.status, 401, "{} with an operator's token where clients call", it.name());
    }
    world.api.replace_operators(operators().into_iter().filter(|it| it.name != VIEWER).collect());
    let reply = world.get("/operator").operator(VIEWER).reply().await;
    assert_eq!((reply.status.as_u16(), &reply.json()["reason"]), (401, &json!("operator_token_unknown")));
}

/// `GET /docs` sends the examples unchanged. An id may be unknown and a rule of the practice may fail, but the request
/// itself is valid.
#[actix_web::test]
async fn examples_of_bodies_are_valid_requests() {
    let world = filled_world().await;
    let (mut sent, mut wrong) = (0, Vec::new());
    for it in endpoints().filter(|it| it.body(&CallParameters::right()).is_some()) {
        let reply = it.request(&world, &CallParameters::right()).reply().await;
        assert!(!reply.status.is_server_error(), "{}: {}", it.name(), reply.text);
        let answer = reply.json();
        // The dates of the document are fixed, and a booking in the past is refused.
        let over = answer["error"] == json!(["appt.start_time is in the past."]);
        if !over && ["invalid_request", "unsupported_media_type"].contains(&answer["reason"].as_str().unwrap_or("")) {
            wrong.push(format!("{}: {}", it.name(), answer["error"]));
        }
        sent += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(sent > 60, "{sent}");
}

/// Specification 5.10.
#[actix_web::test]
async fn the_financial_endpoints_are_those_of_the_specification() {
    let groups = ["/charges", "/claims", "/payments", "/fee_schedules", "/insurance_plans"];
    for route in TABLE.iter() {
        if groups.iter().any(|group| route.path == *group || route.path.starts_with(&format!("{group}/"))) {
            assert!(route.financial, "{}", route.method_and_path);
        }
    }
}

#[actix_web::test]
async fn libraries_and_wrong_methods_are_refused() {
    let world = filled_world().await;
    for it in endpoints() {
        let right = || it.request(&world, &CallParameters::right());
        for agent in ["python-requests/2.32", "curl/8.5.0", ""] {
            let reply = right().with("User-Agent", agent).reply().await;
            assert_eq!(
                (reply.status.as_u16(), &reply.json()["error"]),
                (403, &json!(["Send a User-Agent header that names the calling application."])),
                "{}",
                it.name()
            );
            clean(&reply, &it.name());
        }
        let known: Vec<&Method> =
            TABLE.iter().filter(|route| route.path == it.route.path).map(|route| &route.method).collect();
        let here = TABLE.iter().filter(|route| route.path == it.route.path && route.versions.contains(&it.version));
        let here: Vec<&str> = here.map(|route| route.method.as_str()).collect();
        for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            if known.contains(&&method) {
                continue;
            }
            let ask = world.request(method.clone(), &it.path(&CallParameters::right())).version(it.version.name());
            let ask = if it.route.role.is_some() { ask.operator(ADMIN) } else { ask };
            let reply = ask.reply().await;
            assert_eq!(reply.status, 405, "{method} {}", it.name());
            let mut allowed: Vec<&str> = reply.header("Allow").unwrap().split(", ").collect();
            let mut expected = here.clone();
            if here.contains(&"GET") {
                expected.push("HEAD");
            }
            allowed.sort_unstable();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(allowed, expected, "{method} {}", it.name());
            clean(&reply, &it.name());
        }
    }
}

/// Ids of the records of each list, for one tenant.
type Ids = BTreeMap<&'static str, BTreeSet<u64>>;

/// Returns the ids in a tenant's own lists. The flag is `true` if a list contains the other tenant's name.
async fn own_ids(world: &ApiWorld, asking: &CallParameters<'_>) -> (Ids, Vec<(&'static str, bool)>) {
    let (mut ids, mut named) = (Ids::new(), Vec::new());
    for it in client_endpoints().filter(|it| it.version == Version::V3_1_0 && it.route.method == Method::GET) {
        if it.route.path.contains('{') || it.route.is_stream() {
            continue;
        }
        let sized = if it.has("per_page") { "&per_page=1000" } else { "" };
        let path = wide(&it.path(asking));
        let ask = world.request(Method::GET, &format!("{path}{sized}")).version("v3.1.0");
        let reply = ask.with("Authorization", &token(world, asking.key)).reply().await;
        if reply.status != 200 {
            continue;
        }
        named.push((it.route.path, STRANGERS.iter().any(|name| reply.text.contains(name))));
        let body = reply.json();
        let rows = body["data"].as_array().into_iter().flatten();
        ids.insert(it.route.path, rows.filter_map(|row| row["id"].as_u64()).collect());
    }
    (ids, named)
}

/// Widens the short time spans of the examples to the weeks ahead, which hold the records of the test.
pub fn wide(path: &str) -> String {
    let now = engine::clock::now();
    let day = |days: i64| location::zone::Date((now.0 / location::time::DAY + days) as i32).to_string();
    let mut out = Vec::new();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    for pair in query.split('&') {
        out.push(match pair.split_once('=') {
            Some(("start", _)) => format!("start={}", day(0)),
            Some(("end", _)) => format!("end={}", day(90)),
            _ => pair.to_owned(),
        });
    }
    format!("{path}?{}", out.join("&"))
}

const AS_RIVAL: CallParameters<'static> =
    CallParameters { tenant: "rival", place: RIVAL, key: RIVAL_KEY, instead: None };

#[actix_web::test]
async fn no_answer_shows_another_tenants_texts_or_ids() {
    let world = filled_world().await;
    let (theirs, named) = own_ids(&world, &AS_RIVAL).await;
    let seen = named.iter().filter(|(_, named)| *named).count();
    assert!(seen * 2 > named.len(), "the rival sees too few of the records it owns to prove anything: {named:?}");
    let (ours, _) = own_ids(&world, &CallParameters::right()).await;
    for (list, ids) in &ours {
        let shared: Vec<_> = theirs.get(list).into_iter().flat_map(|theirs| ids.intersection(theirs)).collect();
        assert!(shared.is_empty(), "{list} shows {shared:?} to both tenants");
    }
    for it in endpoints().filter(|it| it.route.role.is_none()) {
        for key in [ACME_KEY, NOT_FINANCIAL, ONE_PLACE] {
            let asking = CallParameters { key, ..CallParameters::right() };
            clean(&it.request(&world, &asking).reply().await, &it.name());
            let path = wide(&it.path(&asking));
            if it.route.method == Method::GET {
                let ask = world.get(&path).version(it.version.name()).with("Authorization", &token(&world, key));
                clean(&ask.reply().await, &it.name());
            }
        }
    }
}

/// An id of another tenant's record gives the same response as an unknown id.
#[actix_web::test]
async fn another_tenants_ids_are_answered_like_unknown_ids() {
    let world = filled_world().await;
    let (theirs, _) = own_ids(&world, &AS_RIVAL).await;
    let (ours, _) = own_ids(&world, &CallParameters::right()).await;
    let only_theirs = |list: &str| {
        let known = theirs.get(list)?;
        let own = ours.get(list).cloned().unwrap_or_default();
        known.iter().copied().find(|id| !own.contains(id))
    };
    let mut tried = 0;
    for it in guarded() {
        for (name, list) in references(&it) {
            let Some(id) = only_theirs(&list) else { continue };
            let ask =
                |id| it.request(&world, &CallParameters { instead: Some((&name, id)), ..CallParameters::right() });
            let (stranger, nobody) = (ask(id).reply().await, ask(NOBODY).reply().await);
            let what = format!("{} with {name} {id}", it.name());
            clean(&stranger, &what);
            assert_eq!(stranger.status, nobody.status, "{what}: {} {}", stranger.text, nobody.text);
            assert_eq!(stranger.json()["error"], without(&nobody.json()["error"], NOBODY, id), "{what}");
            if it.route.method == Method::GET {
                assert_eq!(stranger.json()["data"], nobody.json()["data"], "{what}");
            }
            tried += 1;
        }
    }
    assert!(tried >= 10, "only {tried} references were tried");
}

/// Returns the messages for the unknown id, rewritten for this id. An unknown record is named once, and an example may
/// name this one in another field.
fn without(messages: &Value, nobody: u64, id: u64) -> Value {
    let mut summary: Value =
        serde_json::from_str(&messages.to_string().replace(&nobody.to_string(), &id.to_string())).unwrap();
    if let Some(messages) = summary.as_array_mut() {
        let mut seen = BTreeSet::new();
        messages.retain(|message| seen.insert(message.to_string()));
    }
    summary
}

/// Returns the parameters that take ids of records with a list, and the path of that list.
fn references(it: &DocumentedEndpoint) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for parameter in it.parameters().filter(|it| it["in"] != "header") {
        let name = parameter["name"].as_str().unwrap().trim_end_matches("[]");
        let before = it.route.path.split(&format!("/{{{name}}}")).next().unwrap_or_default();
        if parameter["in"] == "path" && name == "id" && !before.contains('{') {
            found.push((name.to_owned(), before.to_owned()));
        }
        found.extend(list_of(name).map(|list| (name.to_owned(), list)));
    }
    if let Some(body) = it.body(&CallParameters::right()) {
        names(&body, &mut |name| found.extend(list_of(name).map(|list| (name.to_owned(), list))));
    }
    found.retain(|(_, list)| list != "/locations");
    found
}

/// `operatory_ids` -> `/operatories`
fn list_of(name: &str) -> Option<String> {
    let noun = match name {
        "pids" => "provider",
        _ => name.strip_suffix("_ids").or_else(|| name.strip_suffix("_id"))?,
    };
    let noun = if noun == "guarantor" || noun == "subscriber" { "patient" } else { noun };
    Some(match noun.strip_suffix('y') {
        Some(stem) => format!("/{stem}ies"),
        None => format!("/{noun}s"),
    })
}

fn names(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::Object(object) => {
            for (name, inner) in object {
                visit(name);
                names(inner, visit);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|inner| names(inner, visit)),
        _ => {}
    }
}
