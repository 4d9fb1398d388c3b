//! The pull of patients of `adapters/sandbox` on Extism: one export, one host function, JSON in both directions.

mod contract;
mod cursor;
mod rows;

use contract::{EhrHttpRequest, PatientPage, Pull, PullAnswer, PullFault, ResponseHead};
use cursor::PullCursor;
use extism_pdk::{FnResult, Json, config, host_fn, plugin_fn};
use rows::PatientList;

#[host_fn]
extern "ExtismHost" {
    /// Sends a request to the EHR. Returns the head as a line of JSON, followed by the body.
    fn send(request: Json<EhrHttpRequest>) -> Vec<u8>;
}

#[plugin_fn]
pub fn pull(Json(asked): Json<Pull>) -> FnResult<Json<PullAnswer>> {
    Ok(Json(page(&asked).map_or_else(PullAnswer::Fault, PullAnswer::Page)))
}

fn page(asked: &Pull) -> Result<PatientPage, PullFault> {
    // Each call of the adapter reads the setting, even if the resource does not depend on the location.
    let location = config::get("location").map_err(|error| PullFault::RetryLater(error.to_string()))?;
    location.ok_or_else(|| PullFault::Rejected("the configuration names no location".to_owned()))?;
    if asked.resource != "patients" {
        return Err(PullFault::Unsupported(format!("it reads no {}", asked.resource)));
    }
    let cursor = PullCursor::parse(asked.cursor.as_deref())?;
    let list = list(cursor.since, asked.limit)?;
    let mut page = PatientPage {
        records: Vec::new(),
        skipped: Vec::new(),
        deleted: list.deleted,
        cursor: cursor.after(list.revision, list.more),
        last: !list.more,
        whole: cursor.whole,
        estimate: Some(list.total).filter(|_| cursor.whole),
    };
    for row in list.records {
        rows::put(row, &mut page)?;
    }
    Ok(page)
}

fn list(since: u64, limit: u32) -> Result<PatientList, PullFault> {
    let path = format!("/v1/patients?since={since}&limit={}", limit.clamp(1, 1_000));
    let request = EhrHttpRequest { method: "GET".to_owned(), path };
    // SAFETY: the host defines the function with this signature.
    let answer = unsafe { send(Json(request)) }.map_err(|error| PullFault::RetryLater(error.to_string()))?;
    let unreadable = |_| PullFault::RetryLater("the answer is not as expected".to_owned());
    let end = answer.iter().position(|byte| *byte == b'\n').unwrap_or(answer.len());
    let (head, body) = answer.split_at(end);
    let head: ResponseHead = serde_json::from_slice(head).map_err(unreadable)?;
    match head.status {
        200..=299 => serde_json::from_slice(body).map_err(unreadable),
        status => Err(PullFault::RetryLater(format!("the EHR answered {status}"))),
    }
}
