//! Requests to the EHR, and the faults of its responses.

use adapter_sdk::{
    AppointmentChange, Fault, Receipt, Resource,
    http::{self, Response, encode, fault_of_status},
    pass, redact,
    streams::{Ask, Changes},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The EHR for one call.
pub struct Practice {
    pub location: String,
    pub page_size: u32,
}

#[derive(Deserialize)]
struct RecordList {
    records: Vec<Value>,
    deleted: Vec<String>,
    revision: u64,
    more: bool,
    total: u64,
}

#[derive(Deserialize)]
struct WriteResponse {
    id: String,
    version: Option<u64>,
}

impl Practice {
    /// Reads changes after a revision of the EHR, or everything without one.
    pub fn list(&self, asked: &Ask) -> Result<Option<Changes>, Fault> {
        let name = match asked.resource {
            Resource::AppointmentTypes => "types".to_owned(),
            Resource::WorkingHours => "hours".to_owned(),
            other => adapter_sdk::json::name(other),
        };
        let since: u64 = asked.at.unwrap_or("0").parse().map_err(|_| pass::foreign())?;
        let (location, limit) = (encode(&self.location), asked.limit.min(self.page_size));
        let path = format!("/v1/{name}?location={location}&since={since}&limit={limit}");
        let RecordList { records: rows, deleted, revision, more, total } =
            judged(http::get(path).send_any()?, true)?.json()?;
        Ok(Some(Changes { rows, deleted, mark: revision.to_string(), more, total: Some(total) }))
    }

    pub fn post(&self, name: &str, key: &str, mut body: Map<String, Value>) -> Result<Receipt, Fault> {
        body.insert("write_key".into(), key.into());
        written(http::post(format!("/v1/{name}")).json(&body)?.send_any()?)
    }

    /// Sends a change with the version that the engine knows. The EHR refuses the change if staff have changed the
    /// record.
    pub fn change(&self, key: &str, c: &AppointmentChange, body: Map<String, Value>) -> Result<Receipt, Fault> {
        written(self.send(key, c, body)?)
    }

    /// Cancels an appointment. One already cancelled by staff counts as cancelled by this write.
    pub fn cancel(&self, key: &str, c: &AppointmentChange) -> Result<Receipt, Fault> {
        let mut body = Map::from_iter([("status".to_owned(), json!("cancelled"))]);
        body.extend(c.reason.clone().map(|reason| ("reason".to_owned(), reason.into())));
        let answer = self.send(key, c, body)?;
        match answer.status == 422 && word(&answer) == "cancelled" {
            true => Ok(Receipt { id: c.appointment.id.clone(), version: None }),
            false => written(answer),
        }
    }

    fn send(&self, key: &str, c: &AppointmentChange, mut body: Map<String, Value>) -> Result<Response, Fault> {
        let version = c.appointment.version.as_ref().and_then(|version| version.parse::<u64>().ok());
        body.extend(version.map(|version| ("version".to_owned(), version.into())));
        body.insert("write_key".into(), key.into());
        http::patch(format!("/v1/appointments/{}", encode(&c.appointment.id))).json(&body)?.send_any()
    }

    /// Returns `None` only if it was certainly not written. Only the EHR's own code counts, not a 404 of a proxy.
    pub fn find_write<T>(&self, key: &str, _: &T) -> Result<Option<Receipt>, Fault> {
        let answer = http::get(format!("/v1/writes/{}", encode(key))).send_any()?;
        match answer.status {
            404 if word(&answer) == "not_found" => Ok(None),
            404 => Err(Fault::retry_later("the EHR's base URL answers 404", None)),
            _ => judged(answer, true)?.json().map(|written| Some(receipt(written))),
        }
    }
}

fn written(answer: Response) -> Result<Receipt, Fault> {
    judged(answer, false)?.written_json().map(receipt)
}

fn receipt(WriteResponse { id, version }: WriteResponse) -> Receipt {
    Receipt { id, version: version.map(|version| version.to_string()) }
}

/// Maps refusals to faults. The SDK handles most statuses; the others are specific to this EHR.
fn judged(answer: Response, reads: bool) -> Result<Response, Fault> {
    match answer.status {
        200..=299 => Ok(answer),
        503 => Err(Fault::retry_later("the EHR is closed for maintenance", http::retry_after(&answer))),
        // The `message` may name the patient and is never passed on.
        400 | 404 | 409 | 422 => Err(Fault::rejected(format!("the EHR refuses it: {}", word(&answer)))),
        _ => Err(fault_of_status(&answer, reads)),
    }
}

/// Returns the EHR's code of a refusal.
fn word(answer: &Response) -> String {
    let body: Value = answer.json().unwrap_or_default();
    redact::word(body["error"].as_str().unwrap_or("no reason given"))
}
