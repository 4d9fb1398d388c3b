//! A FHIR server in the test's memory, filled with responses recorded from Medplum's router (`fixtures/`). It supports
//! the search parameters the adapter uses, and versions; it is as permissive as the real one.

#![allow(dead_code, reason = "each test uses some of it")]

use std::{cell::RefCell, rc::Rc};

use adapter_sdk::{
    http::{Error, Header, Request, Response},
    log::Level,
    testing::Host,
};
use serde_json::{Value, json};

pub const NOW: i64 = 1_796_000_000;
const BASE: &str = "https://ehr.example/fhir/R4";

/// Runs before a request is handled. A response here replaces the server's.
type Meanwhile = dyn FnMut(&mut Vec<Value>, &Request) -> Option<Result<Response, Error>>;

#[derive(Default)]
pub struct Data {
    pub resources: Vec<Value>,
    /// Pages link to the next one instead of returning a total.
    pub links: bool,
    /// Maximum results of a page; `None` for as many as requested.
    pub cap: Option<usize>,
    /// Maximum bytes of a response, because the host rejects longer ones.
    pub longest: Option<usize>,
    pub meanwhile: Option<Box<Meanwhile>>,
    pub requests: Vec<String>,
    versions: u64,
}

#[derive(Clone)]
pub struct Server(pub Rc<RefCell<Data>>);

impl Server {
    pub fn new() -> Server {
        let files = [
            include_str!("../fixtures/Patient.json"),
            include_str!("../fixtures/Practitioner.json"),
            include_str!("../fixtures/Location.json"),
            include_str!("../fixtures/Schedule.json"),
            include_str!("../fixtures/Slot.json"),
            include_str!("../fixtures/Appointment.json"),
        ];
        let bundles = files.map(|text| serde_json::from_str::<Value>(text).unwrap());
        let entries = bundles.iter().flat_map(|bundle| bundle["entry"].as_array().unwrap());
        let resources = entries.map(|entry| entry["resource"].clone()).collect();
        Server::with_resources(resources)
    }

    pub fn with_resources(resources: Vec<Value>) -> Server {
        Server(Rc::new(RefCell::new(Data { resources, ..Data::default() })))
    }

    pub fn meanwhile(
        self,
        f: impl FnMut(&mut Vec<Value>, &Request) -> Option<Result<Response, Error>> + 'static,
    ) -> Server {
        self.0.borrow_mut().meanwhile = Some(Box::new(f));
        self
    }

    pub fn all(&self, resource_type: &str) -> Vec<Value> {
        let data = self.0.borrow();
        data.resources.iter().filter(|r| r["resourceType"] == resource_type).cloned().collect()
    }

    /// Returns the id of the n-th resource of a type.
    pub fn id(&self, resource_type: &str, n: usize) -> String {
        self.all(resource_type)[n]["id"].as_str().unwrap().to_owned()
    }

    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        self.run_with(&[], work).0
    }

    pub fn run_with<T>(&self, settings: &[(&str, &str)], work: impl FnOnce() -> T) -> (T, Vec<(Level, String)>) {
        let data = self.0.clone();
        let host = Host::new()
            .manifest(include_str!("../../adapter.toml"))
            .at(NOW)
            .offset_seconds(-5 * 3_600)
            .config("location", &self.id("Location", 0));
        let host = settings.iter().fold(host, |host, (name, value)| host.config(name, value));
        host.answer(move |request| data.borrow_mut().handle(request)).run_logged(work)
    }
}

impl Data {
    fn handle(&mut self, request: &Request) -> Result<Response, Error> {
        self.requests.push(format!("{} {}", request.method, request.path));
        let mut meanwhile = self.meanwhile.take();
        let answered = meanwhile.as_mut().and_then(|f| f(&mut self.resources, request));
        self.meanwhile = meanwhile;
        if let Some(answer) = answered {
            return answer;
        }
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let body = || serde_json::from_slice::<Value>(request.body.as_deref().unwrap_or_default()).unwrap();
        let answer = match (request.method.as_str(), segments.as_slice()) {
            ("GET", ["metadata"]) => refused(404, "not-found"),
            ("GET", [resource_type]) => self.search(resource_type, query),
            ("GET", [resource_type, id]) => match self.position(resource_type, id) {
                Some(at) => json_answer(200, &self.resources[at]),
                None => refused(404, "not-found"),
            },
            ("POST", [resource_type]) => {
                let condition = header(request, "if-none-exist").unwrap_or_default();
                let existing =
                    self.resources.iter().find(|r| r["resourceType"] == *resource_type && fits(r, &condition));
                match existing.filter(|_| !condition.is_empty()) {
                    Some(existing) => json_answer(200, existing),
                    None => {
                        let mut resource = body();
                        resource["id"] = json!(format!("new-{}", self.versions));
                        self.store(None, resource, 201)
                    }
                }
            }
            ("PUT", [resource_type, id]) => match self.position(resource_type, id) {
                Some(at) => {
                    let version = self.resources[at]["meta"]["versionId"].as_str().unwrap().to_owned();
                    match header(request, "if-match") {
                        Some(tag) if tag != format!("W/\"{version}\"") => refused(412, "conflict"),
                        _ => self.store(Some(at), body(), 200),
                    }
                }
                None => refused(404, "not-found"),
            },
            _ => refused(405, "not-supported"),
        };
        match self.longest {
            Some(longest) if answer.body.len() > longest => Err(Error::NoAnswer("its body is too long".into())),
            _ => Ok(answer),
        }
    }

    fn store(&mut self, at: Option<usize>, mut resource: Value, status: u16) -> Response {
        self.versions += 1;
        resource["meta"] = json!({"versionId": format!("v{}", self.versions), "lastUpdated": "2026-11-30T00:00:00Z"});
        let answer = json_answer(status, &resource);
        match at {
            Some(at) => self.resources[at] = resource,
            None => self.resources.push(resource),
        }
        answer
    }

    fn position(&self, resource_type: &str, id: &str) -> Option<usize> {
        self.resources.iter().position(|r| r["resourceType"] == resource_type && r["id"] == id)
    }

    fn search(&self, resource_type: &str, query: &str) -> Response {
        let parameter = |name: &str| query.split('&').find_map(|p| p.strip_prefix(&format!("{name}=")));
        let number = |name: &str, absent: usize| parameter(name).map_or(absent, |text| text.parse().unwrap());
        let (count, offset) = (number("_count", 20).min(self.cap.unwrap_or(usize::MAX)), number("_offset", 0));
        let found: Vec<&Value> =
            self.resources.iter().filter(|r| r["resourceType"] == resource_type && fits(r, query)).collect();
        let page: Vec<Value> = found.iter().skip(offset).take(count).map(|r| json!({"resource": r})).collect();
        let mut bundle = json!({"resourceType": "Bundle", "type": "searchset", "entry": page});
        if self.links {
            let rest: Vec<&str> = query.split('&').filter(|p| !p.starts_with("_offset")).collect();
            let url = |offset: usize| format!("{BASE}/{resource_type}?{}&_offset={offset}", rest.join("&"));
            let mut links = vec![json!({"relation": "self", "url": format!("{BASE}/{resource_type}?{query}")})];
            if offset + count < found.len() {
                links.push(json!({"relation": "next", "url": url(offset + count)}));
            }
            bundle["link"] = json!(links);
        } else {
            bundle["total"] = json!(found.len());
        }
        let mut answer = json_answer(200, &bundle);
        answer.headers.push(Header::new("date", "Mon, 30 Nov 2026 00:53:20 GMT"));
        answer
    }
}

/// Returns `true` if a resource matches a query. Times and paging are ignored: the adapter must not rely on the former
/// alone.
fn fits(resource: &Value, query: &str) -> bool {
    let query = query.replace("%2F", "/").replace("%2C", ",").replace("%7C", "|").replace("%3A", ":");
    query.split('&').filter_map(|p| p.split_once('=')).all(|(name, value)| {
        let any = |texts: Vec<&Value>| value.split(',').any(|wanted| texts.iter().any(|text| *text == wanted));
        let list = |field: &str| resource[field].as_array().cloned().unwrap_or_default();
        match name {
            "identifier" => list("identifier")
                .iter()
                .any(|i| value == format!("{}|{}", i["system"].as_str().unwrap(), i["value"].as_str().unwrap())),
            "actor" => {
                let (actors, participants) = (list("actor"), list("participant"));
                let all =
                    actors.iter().map(|a| &a["reference"]).chain(participants.iter().map(|p| &p["actor"]["reference"]));
                any(all.collect())
            }
            "schedule" => any(vec![&resource["schedule"]["reference"]]),
            "_id" => any(vec![&resource["id"]]),
            "partof" => any(vec![&resource["partOf"]["reference"]]),
            "_lastUpdated" => value.strip_prefix("ge").unwrap() <= resource["meta"]["lastUpdated"].as_str().unwrap(),
            _ => true,
        }
    })
}

fn header(request: &Request, name: &str) -> Option<String> {
    request.headers.iter().find(|held| held.name.eq_ignore_ascii_case(name)).map(|held| held.value.clone())
}

pub fn json_answer(status: u16, body: &Value) -> Response {
    Response { status, headers: Vec::new(), body: body.to_string().into_bytes() }
}

pub fn refused(status: u16, code: &str) -> Response {
    json_answer(status, &json!({"resourceType": "OperationOutcome", "issue": [{"severity": "error", "code": code}]}))
}
