//! Access to the simulated EHR during one call: its lists and writes.

use adapter_sdk::{
    AppointmentChange, Fault, Receipt, Resource,
    http::{self, Call, Response},
    json, pass,
    streams::{Ask, Changes},
    warn,
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    faults, requests,
    responses::{List, WriteReply},
};

pub struct Sandbox {
    pub location: String,
}

impl Sandbox {
    /// Reads a page of a list. The marks are the EHR's revisions.
    pub fn list(&self, asked: &Ask) -> Result<Option<Changes>, Fault> {
        let since = asked.at.map_or(Ok(0), |mark| mark.parse().map_err(|_| pass::foreign()))?;
        let (name, local) = match asked.resource {
            Resource::AppointmentTypes => ("types".to_owned(), false),
            Resource::WorkingHours => ("hours".to_owned(), true),
            other => (json::name(other), matches!(other, Resource::Operatories | Resource::Appointments)),
        };
        let path = requests::list(&name, local.then_some(&self.location), since, asked.limit);
        let List { records: rows, deleted, revision, more, total } = self.read(&path)?.json()?;
        Ok(Some(Changes { rows, deleted, mark: revision.to_string(), more, total: Some(total) }))
    }

    pub fn read(&self, path: &str) -> Result<Response, Fault> {
        http::get(path).send_judged(faults::from_response)
    }

    /// Returns the receipt of a write by its key.
    pub fn find_write<T>(&self, key: &str, _: &T) -> Result<Option<Receipt>, Fault> {
        let answer = http::get(requests::written(key)).send_any()?;
        match answer.status {
            200 => answer.json().map(|written| Some(receipt(written))),
            // Only the EHR's own code counts; a proxy's 404 proves nothing about the write.
            404 if faults::code(&answer).as_deref() == Some("not_found") => Ok(None),
            404 => Err(Fault::retry_later("the EHR's base URL answers 404", None)),
            _ => Err(faults::from_response(&answer, true)),
        }
    }

    pub fn post(&self, name: &str, body: &Value) -> Result<Receipt, Fault> {
        written(http::post(format!("/v1/{name}")).json(body)?)
    }

    pub fn patch(&self, name: &str, id: &str, body: &Value) -> Result<Receipt, Fault> {
        written(http::patch(requests::record(name, id)).json(body)?)
    }

    pub fn change(&self, change: &AppointmentChange, body: &Value) -> Result<Receipt, Fault> {
        self.patch("appointments", &change.appointment.id, body)
    }

    /// Cancels an appointment. One already cancelled by staff counts as cancelled by this write.
    pub fn cancel(&self, key: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
        let id = &change.appointment.id;
        let body = requests::cancel(key, &change.appointment, change.reason.as_deref());
        send_idempotent(http::patch(requests::record("appointments", id)).json(&body)?, (422, "cancelled"), id)
    }

    /// Creates a row with the contract's fields.
    pub fn file(&self, name: &str, key: &str, record: &impl Serialize) -> Result<Receipt, Fault> {
        self.post(name, &row(key, record)?)
    }

    /// Updates a row with the contract's fields.
    pub fn refile(&self, name: &str, key: &str, id: &str, record: &impl Serialize) -> Result<Receipt, Fault> {
        self.patch(name, id, &row(key, record)?)
    }

    /// Deletes a row. One already deleted by staff counts as deleted by this write.
    pub fn delete(&self, name: &str, key: &str, id: &str) -> Result<Receipt, Fault> {
        send_idempotent(http::delete(requests::record(name, id)).json(&requests::keyed(key))?, (404, "not_found"), id)
    }
}

/// Sends a request; the EHR's code for an effect that already exists counts as success.
fn send_idempotent(call: Call, already: (u16, &str), id: &str) -> Result<Receipt, Fault> {
    let answer = call.send_any()?;
    match answer.status {
        200..=299 => answer.written_json().map(receipt),
        status if faults::code(&answer).as_deref() == Some(already.1) && status == already.0 => Ok(Receipt::new(id)),
        _ => Err(faults::from_response(&answer, false)),
    }
}

fn row(key: &str, record: &impl Serialize) -> Result<Value, Fault> {
    let fields = json::fields(record).map_err(|e| Fault::rejected(format!("it cannot be written as JSON: {e}")))?;
    if fields.contains_key("extra") {
        warn!("the EHR has no field for extra");
    }
    Ok(requests::row(key, fields))
}

fn written(call: Call) -> Result<Receipt, Fault> {
    call.send_judged(faults::from_response)?.written_json().map(receipt)
}

fn receipt(written: WriteReply) -> Receipt {
    Receipt { id: written.id, version: written.version.map(|version| version.to_string()) }
}
