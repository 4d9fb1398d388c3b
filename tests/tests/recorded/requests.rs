//! The requests: every `GET` of the OpenAPI document of each version, lists with two pages of two rows, and everything
//! with all values of `include[]`.

use std::collections::{BTreeMap, BTreeSet};

use endpoints::openapi::document_for;
use framework::values::{audience::Audience, versions::Version};
use serde_json::{Value, json};
use tests::harness::{
    http_client::{Connection, request},
    process::SUBDOMAIN,
};

use super::{
    normaliser::Normaliser,
    practice::{LOCATION, Practice, id_text},
};

const VERSIONS: [Version; 3] = [Version::V3_0_0, Version::V3_1_0, Version::V2_2_2];

/// Routes that are not requested.
const LEFT_OUT: [&str; 4] = [
    // A stream of lines, which `api/tests/http/export.rs` compares with the lists.
    "/export",
    // Depends on the time of the day.
    "/intent/practice/info",
    // The EHR is outside the server.
    "/locations/{id}/simulated_ehr",
    // No message is sent.
    "/webhook_endpoints/{id}/deliveries/{delivery_id}",
];

/// A documented route with its parameters, references resolved.
struct Route {
    version: Version,
    path: String,
    parameters: Vec<Value>,
}

struct RecordedAnswer {
    path: String,
    versions: Vec<&'static str>,
    body: String,
}

struct Recorder<'a> {
    practice: &'a Practice,
    connection: Connection,
    /// `None` to record answers unchanged.
    normaliser: Option<Normaliser>,
    /// Ids by the path of their list.
    known: BTreeMap<String, Vec<String>>,
    answers: Vec<RecordedAnswer>,
}

/// Returns the answers as lines.
pub async fn record(practice: &Practice, normaliser: Option<Normaliser>) -> Vec<String> {
    let mut routes: Vec<Route> = VERSIONS.into_iter().flat_map(routes).collect();
    // Lists before their records, which need an id of the list. The versions of a route keep their order.
    routes.sort_by_cached_key(|route| route.path.clone());
    // Opened last, because the server closes a connection whose first request takes long.
    let mut recorder = Recorder {
        practice,
        connection: Connection::open(practice.installation.address).await.unwrap(),
        normaliser,
        known: practice.known.clone(),
        answers: Vec::new(),
    };
    let mut without_answer = BTreeSet::new();
    for route in &routes {
        let paths = recorder.expand(&route.path);
        if paths.is_empty() || LEFT_OUT.contains(&route.path.as_str()) {
            without_answer.insert(route.path.as_str());
            continue;
        }
        for path in paths {
            recorder.record(route, &path).await;
        }
    }
    assert_eq!(without_answer, BTreeSet::from(LEFT_OUT), "routes without a recorded answer");
    recorder.answers.iter().map(RecordedAnswer::to_line).collect()
}

/// Returns the lists and records in the document of a version.
fn routes(version: Version) -> Vec<Route> {
    let document: Value = serde_json::from_str(document_for(Audience::Clients, Some(version)).text()).unwrap();
    let paths = document["paths"].as_object().unwrap().iter();
    let gets = paths.filter_map(|(path, methods)| Some((path, methods.get("get")?)));
    let route = |(path, get): (&String, &Value)| {
        let parameters = get["parameters"].as_array().into_iter().flatten();
        let parameters = parameters.map(|parameter| resolved(&document, parameter)).collect();
        Route { version, path: path.clone(), parameters }
    };
    gets.map(route).collect()
}

fn resolved(document: &Value, value: &Value) -> Value {
    match value["$ref"].as_str() {
        Some(path) => document.pointer(path.trim_start_matches('#')).unwrap().clone(),
        None => value.clone(),
    }
}

impl Recorder<'_> {
    /// Returns the paths of a route with the known ids, none if a list is empty.
    fn expand(&self, route: &str) -> Vec<String> {
        let mut paths = vec![String::new()];
        for segment in route.split('/').skip(1) {
            let mut longer = Vec::new();
            for path in paths {
                if segment.starts_with('{') {
                    let ids = self.known.get(&path).into_iter().flatten();
                    longer.extend(ids.map(|id| format!("{path}/{id}")));
                } else {
                    longer.push(format!("{path}/{segment}"));
                }
            }
            paths = longer;
        }
        paths
    }

    /// Records a list with a second page, or a record.
    async fn record(&mut self, route: &Route, path: &str) {
        let query = route.parameters.iter().flat_map(|parameter| self.arguments(&route.path, parameter));
        let query: Vec<String> = query.collect();
        let first = if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) };
        let answer = self.get(route.version, &first).await;
        // Rows of `/locations` are institutions, so the id of the location is known from the start.
        let row = first_row(&answer).filter(|_| path != "/locations");
        if let Some(id) = row.and_then(|row| id_text(&row["id"])) {
            let known = self.known.entry(path.to_owned()).or_default();
            if !known.contains(&id) {
                known.push(id);
            }
        }
        if answer["page_info"]["has_next_page"] == true {
            let cursor = answer["page_info"]["end_cursor"].as_str().unwrap();
            self.get(route.version, &format!("{first}&end_cursor={cursor}")).await;
        } else if route.version.is_v2() && route.parameters.iter().any(|parameter| parameter["name"] == "page") {
            self.get(route.version, &format!("{first}&page=2")).await;
        }
    }

    /// Returns a parameter as `name=value`: once, for each of its values, or not at all.
    fn arguments(&self, route: &str, parameter: &Value) -> Vec<String> {
        let name = parameter["name"].as_str().unwrap();
        if parameter["in"] != "query" {
            return Vec::new();
        }
        let value = match name {
            "subdomain" => SUBDOMAIN.to_owned(),
            "location_id" | "lids[]" => LOCATION.to_string(),
            "since" if route == "/changes" => self.practice.before_writes.clone(),
            "per_page" if route == "/changes" => "100".to_owned(),
            "per_page" => "2".to_owned(),
            "include[]" => {
                let values = parameter["schema"]["items"]["enum"].as_array().unwrap().iter();
                return values.map(|value| format!("{name}={}", value.as_str().unwrap())).collect();
            }
            _ if parameter["required"] != true => return Vec::new(),
            "start" => self.practice.time(-30, "00:00"),
            "end" => self.practice.time(60, "00:00"),
            "start_date" => self.practice.time(35, "00:00")[..10].to_owned(),
            "days" => "1".to_owned(),
            "category" => "allergies".to_owned(),
            "patient_id" => self.known["/patients"][0].clone(),
            "booking_ref" => self.practice.booking_ref.clone(),
            _ => panic!("{route} requires {name}"),
        };
        vec![format!("{name}={value}")]
    }

    /// Records an answer and returns its body.
    async fn get(&mut self, version: Version, path: &str) -> Value {
        let headers = [("authorization", self.practice.authorization()), ("svc-api-version", version.name())];
        let answer = self.connection.send(&request("GET", path, &headers, &[])).await.unwrap();
        let (status, json) = (answer.status, answer.json());
        assert!(status == 200 && json.is_object(), "{} {path}: {status} {json}", version.name());
        let mut normalised = |text: &str| match &mut self.normaliser {
            Some(normaliser) => normaliser.apply(text),
            None => text.to_owned(),
        };
        let body = normalised(std::str::from_utf8(&answer.body).unwrap());
        let path = normalised(path);
        match self.answers.iter_mut().find(|known| known.path == path && known.body == body) {
            Some(same) => same.versions.push(version.name()),
            None => self.answers.push(RecordedAnswer { path, versions: vec![version.name()], body }),
        }
        json
    }
}

/// Returns the first row of a list.
fn first_row(answer: &Value) -> Option<&Value> {
    let data = &answer["data"];
    data.as_array().or_else(|| data["patients"].as_array())?.first()
}

impl RecordedAnswer {
    fn to_line(&self) -> String {
        let RecordedAnswer { path, versions, body } = self;
        format!(
            r#"{{"method":"GET","path":{},"versions":{},"status":200,"body":{body}}}"#,
            json!(path),
            json!(versions)
        )
    }
}
