//! The server: reads, searches and writes of whole resources, with their versions.

use adapter_sdk::{
    Fault, Receipt,
    http::{self, Call, Response},
};
use serde_json::Value;

use crate::{
    faults,
    paging::{self, At, Step},
    requests::{self, MEDIA_TYPE},
    responses::Bundle,
    settings::Settings,
    time::http_date,
};

/// The most pages one call walks.
const MAX_PAGES: usize = 30;

/// A page of a search, and the server's time.
pub struct Searched {
    pub step: Step,
    pub now: Option<i64>,
}

pub fn page(settings: &Settings, resource_type: &str, search: &str, at: &At, limit: u32) -> Result<Searched, Fault> {
    let search = match &settings.sort {
        Some(sort) if search.ends_with('?') => format!("{search}_sort={sort}"),
        Some(sort) => format!("{search}&_sort={sort}"),
        None => search.to_owned(),
    };
    let answer = get(&paging::path(&search, at, limit))?;
    let now = answer.header("date").and_then(http_date);
    let bundle: Bundle = answer.json()?;
    let step = paging::step(at, bundle, resource_type, settings.base_url.as_deref()).map_err(Fault::unsupported)?;
    Ok(Searched { step, now })
}

/// All results of a search that is known to be small.
pub fn all(settings: &Settings, resource_type: &str, search: &str) -> Result<Vec<Value>, Fault> {
    let (mut at, mut found) = (At::Start, Vec::new());
    for _ in 0..MAX_PAGES {
        let step = page(settings, resource_type, search, &at, 1_000)?.step;
        if !step.steady {
            return Err(Fault::retry_later("the records changed while they were read", None));
        }
        found.extend(step.resources);
        match step.next {
            Some(next) => at = next,
            None => return Ok(found),
        }
    }
    Err(Fault::retry_later(format!("more than {MAX_PAGES} pages of {resource_type}"), None))
}

/// The resource as it is now; none where the server has none, or no longer.
pub fn read(resource_type: &str, id: &str) -> Result<Option<Value>, Fault> {
    let answer = call(http::get(requests::read(resource_type, id)))?;
    match answer.status {
        404 | 410 => Ok(None),
        _ => judged(answer, true, None)?.json().map(Some),
    }
}

/// Creates a resource unless one with this write key exists.
pub fn create(settings: &Settings, resource: &Value, write_key: &str) -> Result<Receipt, Fault> {
    let resource_type = resource["resourceType"].as_str().unwrap_or_default();
    let call_ =
        http::post(format!("/{resource_type}")).header("if-none-exist", requests::condition(settings, write_key));
    let answer = judged(call(carrying(call_, resource)?)?, false, Some(resource))?;
    receipt(&answer, resource_type)
}

/// What became of an update.
pub enum Updated {
    Written(Receipt),
    /// Somebody else changed the resource since it was read.
    Stale,
}

/// Writes a resource back over the version it was read in.
pub fn update(resource: &Value) -> Result<Updated, Fault> {
    let (resource_type, id) = (text(resource, "resourceType"), text(resource, "id"));
    let put = http::put(requests::read(resource_type, id));
    let put = match version(resource) {
        Some(version) => put.header("if-match", format!("W/\"{version}\"")),
        None => put,
    };
    let answer = call(carrying(put, resource)?)?;
    if matches!(answer.status, 409 | 412) {
        return Ok(Updated::Stale);
    }
    receipt(&judged(answer, false, Some(resource))?, resource_type).map(Updated::Written)
}

pub fn version(resource: &Value) -> Option<&str> {
    resource["meta"]["versionId"].as_str()
}

pub fn text<'a>(resource: &'a Value, field: &str) -> &'a str {
    resource[field].as_str().unwrap_or_default()
}

/// What proves a resource that was found.
pub fn receipt_of(resource: &Value) -> Receipt {
    Receipt { id: text(resource, "id").to_owned(), version: version(resource).map(str::to_owned) }
}

fn get(path: &str) -> Result<Response, Fault> {
    judged(call(http::get(path))?, true, None)
}

fn call(call: Call) -> Result<Response, Fault> {
    call.header("accept", MEDIA_TYPE).send_any()
}

fn carrying(call: Call, resource: &Value) -> Result<Call, Fault> {
    Ok(call.json(resource)?.header("content-type", MEDIA_TYPE).header("prefer", "return=representation"))
}

fn judged(answer: Response, reads: bool, sent: Option<&Value>) -> Result<Response, Fault> {
    match answer.status {
        200..=299 => Ok(answer),
        _ => Err(faults::of_answer(&answer, reads, sent)),
    }
}

/// The id and version of what was written: from the body, or from the headers of a server that sends none.
fn receipt(answer: &Response, resource_type: &str) -> Result<Receipt, Fault> {
    let body: Value = answer.json().unwrap_or_default();
    if body["resourceType"] == resource_type && !text(&body, "id").is_empty() {
        return Ok(receipt_of(&body));
    }
    // .../Appointment/<id>/_history/<version>
    let location = answer.header("location").unwrap_or_default().split("/_history/").next().unwrap_or_default();
    let id = location.rsplit_once(&format!("/{resource_type}/")).map(|(_, id)| id.to_owned());
    let tag = answer.header("etag").map(|tag| tag.trim_start_matches("W/").trim_matches('"').to_owned());
    match id {
        Some(id) if !id.is_empty() => Ok(Receipt { id, version: tag }),
        _ => Err(Fault::unknown("the server does not say what it has written")),
    }
}
