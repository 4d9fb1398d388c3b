//! Access to the server: reads, searches, and writes of whole resources with their versions.

use adapter_sdk::{
    Fault, Receipt,
    http::{self, Call, Error, Header, Method, Request, Response},
    warn,
};
use serde_json::Value;

use crate::{
    absent::strip,
    faults,
    paging::{self, At, Step, WalkPosition},
    references,
    requests::{self, MEDIA_TYPE},
    responses::{Bundle, Reference},
    settings::Settings,
};

/// Maximum number of pages read in one call.
const MAX_PAGES: usize = 30;
/// Divisor of the page size after a response that was too large.
const FEWER: u32 = 4;

/// A page size that every server accepts, and sizes to try if a server refuses a larger one.
const FEW: u32 = 10;
const SIZES: [u32; 5] = [500, 200, 100, 50, 20];

/// A page of a search, its position with the learnt properties of the server, and the server's time.
pub struct Searched {
    pub step: Step,
    pub spot: WalkPosition,
    pub now: Option<i64>,
}

impl Searched {
    /// Returns the resources without null and empty values and without references to other servers.
    pub fn read(&mut self, resource_type: &str) -> Vec<Value> {
        let (mut resources, mut foreign) = (std::mem::take(&mut self.step.resources), None);
        for resource in &mut resources {
            strip(resource);
            foreign = references::take_out_foreign(resource, &self.step.own).or(foreign);
        }
        if let Some(server) = foreign {
            warn!("references of {resource_type} resources lead to {server}: if that is this server, set `base_url`");
        }
        resources
    }
}

/// Reads a page. If the response is lost twice, the page is assumed too large and requested with fewer records. The
/// page size of a link cannot be changed, so there the walk restarts with an empty page. If the server refuses the page
/// size, the largest accepted size is used now and later.
pub fn page(
    settings: &Settings,
    resource_type: &str,
    search: &str,
    spot: &WalkPosition,
    limit: u32,
) -> Result<Searched, Fault> {
    let search = match &settings.sort {
        Some(sort) if search.ends_with('?') => format!("{search}_sort={sort}"),
        Some(sort) => format!("{search}&_sort={sort}"),
        None => search.to_owned(),
    };
    let (mut spot, mut again) = (spot.clone(), false);
    let answer = loop {
        spot.allowed = settings.allowed();
        let count = spot.count(limit);
        let lost = match get(&paging::path(&search, &spot.at, count)) {
            Ok(refused) if count > FEW && !matches!(spot.at, At::Link(_)) && may_be_too_many(&refused) => {
                let Some((allowed, answer)) = with_fewer(&search, &spot.at, count, &refused)? else {
                    break judged(refused, true, None)?;
                };
                warn!("{resource_type}: the server refuses pages of {count} records and is asked for {allowed}");
                settings.allow(allowed);
                spot.allowed = Some(allowed);
                break answer;
            }
            Ok(answer) => break judged(answer, true, None)?,
            Err(lost) => lost,
        };
        if count == 1 || !matches!(lost, Error::NoAnswer(_)) {
            return Err(http::fault_of_error(lost, true));
        }
        again = !again;
        if again {
            continue;
        }
        let fewer = (count / FEWER).max(1);
        warn!("{resource_type}: no answer with {count} records, the server is asked for {fewer}");
        spot.most = Some(fewer);
        if matches!(spot.at, At::Link(_)) {
            let step = Step { next: Some(At::Start), steady: true, ..Step::default() };
            return Ok(Searched { step, spot, now: None });
        }
    };
    let now = answer.now();
    let bundle: Bundle = answer.json()?;
    let step = paging::step(&spot, bundle, resource_type, settings.base_url.as_deref()).map_err(Fault::unsupported)?;
    spot.base.clone_from(&step.base);
    spot.walked.clone_from(&step.walked);
    Ok(Searched { step, spot, now })
}

/// Returns `true` if a search may have been refused because of its page size.
fn may_be_too_many(answer: &Response) -> bool {
    matches!(answer.status, 400 | 413 | 422)
}

/// Repeats a refused search with the largest page that the server accepts. Returns `None` if small pages are refused,
/// too.
fn with_fewer(search: &str, at: &At, count: u32, refused: &Response) -> Result<Option<(u32, Response)>, Fault> {
    let ask = |count: u32| match get(&paging::path(search, at, count)) {
        Ok(answer) if (200..=299).contains(&answer.status) => Ok(Some((count, answer))),
        Ok(_) => Ok(None),
        Err(lost) => Err(http::fault_of_error(lost, true)),
    };
    if let Some(stated) = stated_limit(refused, count)
        && let Some(found) = ask(stated)?
    {
        return Ok(Some(found));
    }
    let Some(few) = ask(FEW)? else { return Ok(None) };
    for size in SIZES.into_iter().filter(|size| *size < count) {
        if let Some(found) = ask(size)? {
            return Ok(Some(found));
        }
    }
    Ok(Some(few))
}

/// Returns the largest number below `count` in a response that mentions a count, page or limit.
fn stated_limit(refused: &Response, count: u32) -> Option<u32> {
    let text = String::from_utf8_lossy(&refused.body).to_lowercase();
    let speaks = text.contains("count") || text.contains("page") || text.contains("limit");
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok());
    numbers.filter(|number| (FEW..count).contains(number)).max().filter(|_| speaks)
}

/// Reads the first page of a small search that has results. A server that filters after the search may return empty
/// pages before it.
pub fn first(settings: &Settings, resource_type: &str, search: &str, limit: u32) -> Result<Vec<Value>, Fault> {
    let mut spot = WalkPosition::default();
    for _ in 0..MAX_PAGES {
        let Searched { step, spot: learnt, .. } = page(settings, resource_type, search, &spot, limit)?;
        spot = match step.next {
            Some(At::Start) => learnt.again(),
            Some(at) if step.resources.is_empty() => WalkPosition { at, ..learnt },
            _ => return Ok(step.resources),
        };
    }
    Err(too_many_pages(resource_type))
}

/// Reads all results of a small search, prepared like [`Searched::read`].
pub fn all(settings: &Settings, resource_type: &str, search: &str) -> Result<Vec<Value>, Fault> {
    every_page(settings, resource_type, search, Searched::read)
}

/// Reads all results of a small search unchanged, to be written back.
pub fn all_as_stored(settings: &Settings, resource_type: &str, search: &str) -> Result<Vec<Value>, Fault> {
    every_page(settings, resource_type, search, |searched, _| std::mem::take(&mut searched.step.resources))
}

fn every_page(
    settings: &Settings,
    resource_type: &str,
    search: &str,
    resources: impl Fn(&mut Searched, &str) -> Vec<Value>,
) -> Result<Vec<Value>, Fault> {
    let (mut found, mut spot) = (Vec::new(), WalkPosition::default());
    for _ in 0..MAX_PAGES {
        let mut searched = page(settings, resource_type, search, &spot, 1_000)?;
        if !searched.step.steady {
            return Err(Fault::retry_later("the records changed while they were read", None));
        }
        found.extend(resources(&mut searched, resource_type));
        let Searched { step, spot: learnt, .. } = searched;
        match step.next {
            Some(At::Start) => (found, spot) = (Vec::new(), learnt.again()),
            Some(at) => spot = WalkPosition { at, ..learnt },
            None => return Ok(found),
        }
    }
    Err(too_many_pages(resource_type))
}

fn too_many_pages(resource_type: &str) -> Fault {
    Fault::retry_later(format!("more than {MAX_PAGES} pages of {resource_type}"), None)
}

/// Replaces a refusal by an empty result, and logs the refusal after its `consequence`.
pub fn unless_refused<T: Default>(found: Result<T, Fault>, consequence: &str) -> Result<T, Fault> {
    match found {
        Err(Fault::Rejected(reason) | Fault::Unsupported(reason)) => {
            warn!("{consequence}: {reason}");
            Ok(T::default())
        }
        found => found,
    }
}

/// Reads a resource. Returns `None` if the server does not have it, or has deleted it.
pub fn read(resource_type: &str, id: &str) -> Result<Option<Value>, Fault> {
    let answer = call(http::get(requests::read(resource_type, id)))?;
    match answer.status {
        // A 404 counts only with the server's own body; a gateway's 404 proves nothing about the record.
        404 | 410 if is_outcome(&answer) => Ok(None),
        404 | 410 => Err(Fault::retry_later(format!("something before the server answers {}", answer.status), None)),
        _ => {
            let resource: Value = judged(answer, true, None)?.json()?;
            match resource["resourceType"] == resource_type {
                true => Ok(Some(resource)),
                false => Err(Fault::retry_later("the server's answer is another resource", None)),
            }
        }
    }
}

/// Returns `true` for an OperationOutcome or an empty body.
fn is_outcome(answer: &Response) -> bool {
    answer.json::<Value>().is_ok_and(|body| body["resourceType"] == "OperationOutcome") || answer.body.is_empty()
}

/// Creates a resource unless one with this write key exists.
pub fn create(settings: &Settings, resource: &Value, write_key: &str) -> Result<Receipt, Fault> {
    let resource_type = resource["resourceType"].as_str().unwrap_or_default();
    let post =
        http::post(format!("/{resource_type}")).header("if-none-exist", requests::condition(settings, write_key));
    let answer = call(carrying(post, resource)?)?;
    match answer.status {
        // The type itself is refused: the server does not have it, or does not accept new ones.
        404 | 405 if is_outcome(&answer) => Err(Fault::unsupported(format!("the server takes no {resource_type}"))),
        _ => receipt(&judged(answer, false, Some(resource))?, resource_type),
    }
}

pub fn find(settings: &Settings, resource_type: &str, key: &str) -> Result<Option<Receipt>, Fault> {
    find_by(settings, resource_type, &requests::by_key(resource_type, settings, key), key)
}

/// Returns the resource with a write key among the results of a search for it.
pub fn find_by(settings: &Settings, resource_type: &str, search: &str, key: &str) -> Result<Option<Receipt>, Fault> {
    let found = first(settings, resource_type, search, 2)?;
    // A server that does not support the search parameter returns arbitrary resources.
    let ours: Vec<&Value> = found.iter().filter(|resource| carries(settings, resource, key)).collect();
    if ours.len() > 1 {
        warn!("{} {resource_type} resources carry one write key", ours.len());
    }
    Ok(ours.first().map(|resource| receipt_of(resource)))
}

/// Returns `true` if the resource has the write key among its identifiers. A QuestionnaireResponse has only one
/// identifier.
pub fn carries(settings: &Settings, resource: &Value, key: &str) -> bool {
    let is_ours = |i: &Value| i["system"] == settings.key_system.as_str() && i["value"] == key;
    match &resource["identifier"] {
        Value::Array(all) => all.iter().any(is_ours),
        one => is_ours(one),
    }
}

/// Deletes a resource. One that is already deleted counts as deleted by this write.
pub fn delete(resource_type: &str, id: &str) -> Result<Receipt, Fault> {
    let answer = call(http::delete(requests::read(resource_type, id)))?;
    match answer.status {
        404 | 410 if is_outcome(&answer) => (),
        _ => {
            let answer = judged(answer, false, None)?;
            // The server answers with an outcome or nothing. A page is from an intermediary.
            if !answer.body.trim_ascii().is_empty() {
                answer.written_json::<Value>()?;
            }
        }
    }
    Ok(Receipt::new(id))
}

pub enum Updated {
    Written(Receipt),
    /// The resource was changed since it was read.
    Stale,
}

/// Updates a resource if it still has the version that was read.
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

pub fn receipt_of(resource: &Value) -> Receipt {
    Receipt { id: text(resource, "id").to_owned(), version: version(resource).map(str::to_owned) }
}

fn get(path: &str) -> Result<Response, Error> {
    let headers = vec![Header::new("accept", MEDIA_TYPE)];
    http::request(&Request { method: Method::Get, path: path.into(), headers, body: None })
}

pub(crate) fn call(call: Call) -> Result<Response, Fault> {
    call.header("accept", MEDIA_TYPE).send_any()
}

pub(crate) fn carrying(call: Call, resource: &Value) -> Result<Call, Fault> {
    Ok(call.json(resource)?.header("content-type", MEDIA_TYPE).header("prefer", "return=representation"))
}

pub(crate) fn judged(answer: Response, reads: bool, sent: Option<&Value>) -> Result<Response, Fault> {
    match answer.status {
        200..=299 => Ok(answer),
        _ => Err(faults::from_response(&answer, reads, sent)),
    }
}

/// Returns id and version of the written resource, from the body or, if empty, from the headers.
fn receipt(answer: &Response, resource_type: &str) -> Result<Receipt, Fault> {
    let body: Value = answer.json().unwrap_or_default();
    if body["resourceType"] == resource_type && !text(&body, "id").is_empty() {
        return Ok(receipt_of(&body));
    }
    located(answer.header("location").unwrap_or_default(), answer.header("etag"), resource_type)
        .ok_or_else(|| Fault::unknown("the server does not say what it has written"))
}

/// Parses `.../Appointment/<id>/_history/<version>` and an `etag`.
pub(crate) fn located(location: &str, tag: Option<&str>, resource_type: &str) -> Option<Receipt> {
    let (path, version) = match location.split_once("/_history/") {
        Some((path, version)) => (path, Some(version.to_owned())),
        None => (location, None),
    };
    let id = Reference { reference: Some(path.to_owned()) }.id_of(resource_type)?;
    let tag = tag.map(|tag| tag.trim_start_matches("W/").trim_matches('"').to_owned());
    Some(Receipt { id, version: tag.or(version) })
}
