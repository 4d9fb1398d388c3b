//! NOT a real server: a small FHIR R4 server written for these tests, because a comparable one cannot be installed from
//! a registry. Transactions are atomic. Links are opaque after the first page, like HAPI's, and show the results as of
//! that page. The server has a CapabilityStatement, refuses unknown search parameters, checks references, and answers
//! 410 for deleted resources.
#![allow(dead_code, reason = "each test uses some of it")]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

pub const BASE: &str = "/fhir";
/// Maximum results of a page, whatever is requested.
const PAGE: usize = 7;

pub struct ServerRequest<'a> {
    pub method: &'a str,
    /// Path and query below the base.
    pub path: &'a str,
    /// Header names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: &'a [u8],
}

pub struct Answered {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

type ResourceKey = (String, String);

#[derive(Default)]
pub struct AtomicServer {
    pub resources: BTreeMap<ResourceKey, Value>,
    gone: BTreeSet<ResourceKey>,
    /// Results of a search and the start of a further page, by the token in the link.
    pages: BTreeMap<String, (Arc<[Value]>, usize)>,
    count: u64,
    /// Method and path of all requests.
    pub seen: Vec<String>,
}

/// A refusal: status, code of the issue, text.
type ServerRefusal = (u16, &'static str, String);

/// The resource types and their interactions other than reading.
const TYPES: [(&str, &[&str]); 16] = [
    ("Patient", &["create", "update"]),
    ("Practitioner", &[]),
    ("PractitionerRole", &[]),
    ("Location", &[]),
    ("HealthcareService", &[]),
    ("Schedule", &[]),
    ("Slot", &["update"]),
    ("Appointment", &["create", "update"]),
    ("Organization", &["create"]),
    ("Coverage", &["create"]),
    ("AllergyIntolerance", &["create", "update"]),
    ("Condition", &["create", "update"]),
    ("Flag", &["create", "update"]),
    ("Communication", &["create"]),
    ("Questionnaire", &[]),
    ("QuestionnaireResponse", &["create"]),
];

impl AtomicServer {
    /// Creates a server with the resources recorded from Medplum's router.
    pub fn new() -> AtomicServer {
        let files = [
            include_str!("../fixtures/Patient.json"),
            include_str!("../fixtures/Practitioner.json"),
            include_str!("../fixtures/Location.json"),
            include_str!("../fixtures/Schedule.json"),
            include_str!("../fixtures/Slot.json"),
            include_str!("../fixtures/Appointment.json"),
        ];
        let mut server = AtomicServer::default();
        for file in files {
            let bundle: Value = serde_json::from_str(file).unwrap();
            for entry in bundle["entry"].as_array().unwrap() {
                server.put(entry["resource"].clone());
            }
        }
        server
    }

    /// Stores a resource as staff would.
    pub fn put(&mut self, mut resource: Value) -> String {
        self.count += 1;
        let id = resource["id"].as_str().map_or_else(|| format!("r{}", self.count), str::to_owned);
        resource["id"] = json!(id);
        self.store(resource, 0);
        id
    }

    pub fn remove(&mut self, resource_type: &str, id: &str) {
        let key = (resource_type.to_owned(), id.to_owned());
        self.resources.remove(&key);
        self.gone.insert(key);
    }

    pub fn all(&self, resource_type: &str) -> Vec<&Value> {
        self.resources.iter().filter(|((of, _), _)| of == resource_type).map(|(_, resource)| resource).collect()
    }

    pub fn get(&self, resource_type: &str, id: &str) -> Option<&Value> {
        self.resources.get(&(resource_type.to_owned(), id.to_owned()))
    }

    /// Handles a request. `now` is in seconds since 1970; `host` is the client's name of the server.
    pub fn handle(&mut self, now: i64, host: &str, asked: &ServerRequest<'_>) -> Answered {
        self.seen.push(format!("{} {}", asked.method, asked.path));
        let answered = self.answer(now, host, asked);
        let mut answer = answered.unwrap_or_else(|(status, code, text)| {
            let issue = json!([{"severity": "error", "code": code, "diagnostics": text}]);
            reply(status, &json!({"resourceType": "OperationOutcome", "issue": issue}))
        });
        answer.headers.push(("content-type".into(), "application/fhir+json".into()));
        answer
    }

    fn answer(&mut self, now: i64, host: &str, asked: &ServerRequest<'_>) -> Result<Answered, ServerRefusal> {
        let (path, query) = asked.path.split_once('?').unwrap_or((asked.path, ""));
        let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let header = |name: &str| asked.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
        let body = || -> Result<Value, ServerRefusal> {
            serde_json::from_slice(asked.body).map_err(|_| (400, "structure", "no JSON".into()))
        };
        match (asked.method, segments.as_slice()) {
            ("GET", ["metadata"]) => Ok(reply(200, &metadata())),
            ("GET", []) => self.next_page(host, query),
            ("POST", []) => self.transaction(now, &body()?),
            ("GET", [resource_type]) => self.search(host, resource_type, query),
            ("GET", [resource_type, id]) => self.read(resource_type, id),
            ("POST", [resource_type]) => {
                let (status, resource) = self.create(now, resource_type, body()?, header("if-none-exist"))?;
                Ok(written(status, &resource))
            }
            ("PUT", [resource_type, id]) => {
                let resource = self.update(now, resource_type, id, body()?, header("if-match"))?;
                Ok(written(200, &resource))
            }
            _ => Err((405, "not-supported", "no such interaction".into())),
        }
    }

    fn read(&self, resource_type: &str, id: &str) -> Result<Answered, ServerRefusal> {
        let key = (resource_type.to_owned(), id.to_owned());
        match self.resources.get(&key) {
            Some(resource) => Ok(reply(200, resource)),
            None if self.gone.contains(&key) => Err((410, "deleted", "gone".into())),
            None => Err((404, "not-found", "unknown".into())),
        }
    }

    fn create(
        &mut self,
        now: i64,
        resource_type: &str,
        mut resource: Value,
        condition: Option<&str>,
    ) -> Result<(u16, Value), ServerRefusal> {
        self.can(resource_type, "create")?;
        if let Some(condition) = condition {
            let found = self.matching(resource_type, &parameters(condition))?;
            match found.as_slice() {
                [] => (),
                [one] => return Ok((200, one.clone())),
                _ => return Err((412, "multiple-matches", "several match".into())),
            }
        }
        self.valid(resource_type, &resource)?;
        self.count += 1;
        resource["id"] = json!(format!("n{}", self.count));
        Ok((201, self.store(resource, now)))
    }

    fn update(
        &mut self,
        now: i64,
        resource_type: &str,
        id: &str,
        resource: Value,
        condition: Option<&str>,
    ) -> Result<Value, ServerRefusal> {
        self.can(resource_type, "update")?;
        let held = self.get(resource_type, id).ok_or((404, "not-found", "unknown".to_owned()))?;
        let version = held["meta"]["versionId"].as_str().unwrap_or_default();
        if condition.is_some_and(|tag| tag != format!("W/\"{version}\"")) {
            return Err((412, "conflict", "another version".into()));
        }
        self.valid(resource_type, &resource)?;
        if resource["id"] != id {
            return Err((400, "invalid", "the id in the body is another".into()));
        }
        Ok(self.store(resource, now))
    }

    fn store(&mut self, mut resource: Value, now: i64) -> Value {
        self.count += 1;
        let at = chrono_text(now);
        let kept = resource["meta"]["lastUpdated"].as_str().filter(|_| now == 0).map(str::to_owned);
        resource["meta"] = json!({"versionId": self.count.to_string(), "lastUpdated": kept.unwrap_or(at)});
        let text = |field: &str| resource[field].as_str().unwrap().to_owned();
        self.resources.insert((text("resourceType"), text("id")), resource.clone());
        resource
    }

    fn can(&self, resource_type: &str, interaction: &str) -> Result<(), ServerRefusal> {
        match TYPES.iter().find(|(name, _)| *name == resource_type) {
            None => Err((404, "not-supported", "unknown resource type".into())),
            Some((_, can)) if can.contains(&interaction) => Ok(()),
            Some(_) => Err((405, "not-supported", format!("no {interaction}"))),
        }
    }

    /// Checks a resource: its type, existing references, valid dates.
    fn valid(&self, resource_type: &str, resource: &Value) -> Result<(), ServerRefusal> {
        if resource["resourceType"] != resource_type {
            return Err((400, "invalid", "another resource type".into()));
        }
        for reference in references(resource) {
            let Some((of, id)) = reference.split_once('/') else { continue };
            if self.get(of, id).is_none() {
                return Err((422, "invalid", format!("{of} is not known")));
            }
        }
        if resource["birthDate"].as_str().is_some_and(|date| date.len() > 10 || date.contains('.')) {
            let born = resource["birthDate"].as_str().unwrap_or_default();
            return Err((422, "value", format!("{} was not born on {born}", resource["name"][0]["family"])));
        }
        Ok(())
    }

    /// Executes all entries or none.
    fn transaction(&mut self, now: i64, bundle: &Value) -> Result<Answered, ServerRefusal> {
        if bundle["type"] != "transaction" {
            return Err((400, "invalid", "no transaction".into()));
        }
        let before = (self.resources.clone(), self.gone.clone(), self.count);
        let entries = bundle["entry"].as_array().cloned().unwrap_or_default();
        let mut responses = Vec::new();
        for entry in &entries {
            let request = &entry["request"];
            let url = request["url"].as_str().unwrap_or_default();
            let done = match (request["method"].as_str(), url.split_once('/')) {
                (Some("POST"), None) => {
                    self.create(now, url, entry["resource"].clone(), request["ifNoneExist"].as_str())
                }
                (Some("PUT"), Some((resource_type, id))) => self
                    .update(now, resource_type, id, entry["resource"].clone(), request["ifMatch"].as_str())
                    .map(|resource| (200, resource)),
                _ => Err((400, "not-supported", "no such interaction".into())),
            };
            match done {
                Ok((status, resource)) => {
                    let version = resource["meta"]["versionId"].as_str().unwrap_or_default();
                    let at = format!(
                        "{}/{}/_history/{version}",
                        resource["resourceType"].as_str().unwrap_or_default(),
                        resource["id"].as_str().unwrap_or_default()
                    );
                    responses.push(json!({"response": {"status": status.to_string(), "location": at,
                        "etag": format!("W/\"{version}\"")}}));
                }
                Err(refusal) => {
                    (self.resources, self.gone, self.count) = before;
                    return Err(refusal);
                }
            }
        }
        Ok(reply(200, &json!({"resourceType": "Bundle", "type": "transaction-response", "entry": responses})))
    }

    fn search(&mut self, host: &str, resource_type: &str, query: &str) -> Result<Answered, ServerRefusal> {
        if !TYPES.iter().any(|(name, _)| *name == resource_type) {
            return Err((404, "not-supported", "unknown resource type".into()));
        }
        let found = self.matching(resource_type, &parameters(query))?;
        let count = parameters(query).iter().find(|(name, _)| name == "_count").and_then(|(_, n)| n.parse().ok());
        let own = format!("http://{host}{BASE}/{resource_type}?{query}");
        Ok(self.page(host, &own, (found.into(), 0), count.unwrap_or(PAGE).clamp(1, PAGE)))
    }

    fn page(&mut self, host: &str, own: &str, (found, start): (Arc<[Value]>, usize), count: usize) -> Answered {
        let end = found.len().min(start + count);
        let entries: Vec<Value> = found[start..end].iter().map(|resource| json!({"resource": resource})).collect();
        let mut links = vec![json!({"relation": "self", "url": own})];
        if end < found.len() {
            self.count += 1;
            let token = format!("{:016x}-{count}", self.count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            links.push(json!({"relation": "next", "url": format!("http://{host}{BASE}?_getpages={token}")}));
            self.pages.insert(token, (found, end));
        }
        reply(200, &json!({"resourceType": "Bundle", "type": "searchset", "link": links, "entry": entries}))
    }

    fn next_page(&mut self, host: &str, query: &str) -> Result<Answered, ServerRefusal> {
        let token = query.strip_prefix("_getpages=").unwrap_or_default();
        let rest = self.pages.get(token).cloned().ok_or((410, "expired", "no such page".to_owned()))?;
        let own = format!("http://{host}{BASE}?{query}");
        let count = token.rsplit_once('-').and_then(|(_, n)| n.parse().ok()).unwrap_or(PAGE);
        Ok(self.page(host, &own, rest, count))
    }

    fn matching(&self, resource_type: &str, parameters: &[(String, String)]) -> Result<Vec<Value>, ServerRefusal> {
        let mut found = Vec::new();
        for resource in self.all(resource_type) {
            let mut fits = true;
            for (name, value) in parameters {
                fits &= matches(resource, name, value)?;
            }
            if fits {
                found.push(resource.clone());
            }
        }
        Ok(found)
    }
}

fn matches(resource: &Value, name: &str, value: &str) -> Result<bool, ServerRefusal> {
    let any = |texts: Vec<String>| value.split(',').any(|wanted| texts.iter().any(|text| text == wanted));
    let list = |value: &Value| match value {
        Value::Array(all) => all.clone(),
        Value::Null => Vec::new(),
        one => vec![one.clone()],
    };
    let reference = |value: &Value| value["reference"].as_str().unwrap_or_default().to_owned();
    let tokens = |codings: Vec<Value>| -> Vec<String> {
        let token = |coding: &Value| {
            let text = |field: &str| coding[field].as_str().unwrap_or_default().to_owned();
            [text("code"), format!("{}|{}", text("system"), text("code"))]
        };
        codings.iter().flat_map(token).collect()
    };
    let ordered = |at: &Value| -> Result<bool, ServerRefusal> {
        let (bound, held) = (seconds(&value[2..]), at.as_str().and_then(seconds));
        let bound = bound.ok_or((400, "invalid", format!("{name} is no time")))?;
        match &value[..2] {
            "ge" => Ok(held.is_some_and(|held| held >= bound)),
            "lt" => Ok(held.is_some_and(|held| held < bound)),
            _ => Err((400, "invalid", format!("{name} has no such prefix"))),
        }
    };
    Ok(match name {
        "_count" => true,
        "_id" => any(vec![resource["id"].as_str().unwrap_or_default().to_owned()]),
        "identifier" => any(list(&resource["identifier"])
            .iter()
            .map(|i| {
                format!("{}|{}", i["system"].as_str().unwrap_or_default(), i["value"].as_str().unwrap_or_default())
            })
            .collect()),
        "_lastUpdated" => ordered(&resource["meta"]["lastUpdated"])?,
        "actor" if resource["resourceType"] == "Schedule" => {
            any(list(&resource["actor"]).iter().map(reference).collect())
        }
        "actor" => any(list(&resource["participant"]).iter().map(|p| reference(&p["actor"])).collect()),
        "date" | "start" => ordered(&resource["start"])?,
        "schedule" => any(vec![reference(&resource["schedule"])]),
        "slot" => any(list(&resource["slot"]).iter().map(reference).collect()),
        "partof" => any(vec![reference(&resource["partOf"])]),
        "practitioner" => {
            let id = reference(&resource["practitioner"]).replace("Practitioner/", "");
            any(vec![id])
        }
        "url" => any(vec![resource["url"].as_str().unwrap_or_default().to_owned()]),
        "type" => any(tokens(list(&resource["type"]).iter().flat_map(|kind| list(&kind["coding"])).collect())),
        "code" => any(tokens(list(&resource["code"]["coding"]))),
        other => return Err((400, "not-supported", format!("no search parameter {other}"))),
    })
}

/// Returns all references within the server.
fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("reference").and_then(Value::as_str).filter(|text| text.split('/').count() == 2);
            own.map(str::to_owned).into_iter().chain(fields.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

fn parameters(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.to_owned(), percent_decode_str(value).decode_utf8_lossy().into_owned())
        })
        .collect()
}

fn metadata() -> Value {
    let types = TYPES.map(|(name, can)| {
        let codes = ["read", "search-type"].iter().chain(can).map(|code| json!({"code": code})).collect::<Vec<_>>();
        json!({"type": name, "interaction": codes})
    });
    let interaction = [json!({"code": "transaction"})];
    json!({"resourceType": "CapabilityStatement", "status": "active", "kind": "instance", "fhirVersion": "4.0.1",
        "format": ["json"], "rest": [{"mode": "server", "resource": types, "interaction": interaction}]})
}

fn written(status: u16, resource: &Value) -> Answered {
    let mut answer = reply(status, resource);
    let version = resource["meta"]["versionId"].as_str().unwrap_or_default();
    answer.headers.push(("etag".into(), format!("W/\"{version}\"")));
    answer
}

fn reply(status: u16, body: &Value) -> Answered {
    Answered { status, headers: Vec::new(), body: body.to_string().into_bytes() }
}

fn chrono_text(at: i64) -> String {
    adapter_time::instant_text(at)
}

fn seconds(text: &str) -> Option<i64> {
    adapter_time::instant_of(text)
}

use super::adapter_time;
