//! Calls of the EHR's JSON-RPC. The host adds the session to each.

use adapter_sdk::{
    Fault,
    http::{self, Response},
    warn,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    faults::{self, Refusal},
    requests::{self, RpcCall, Search},
    responses,
    rows::{RequestedFields, fields},
};

const UNEXPECTED: &str = "the EHR's answer is not as expected";

/// Rows and the EHR's time.
pub struct Found {
    pub rows: Vec<Value>,
    pub now: Option<i64>,
}

/// The result of a write that depends on the record's version.
#[derive(Debug, PartialEq, Eq)]
pub enum ConditionalWrite {
    Done,
    /// The record was changed since it was read.
    Stale,
}

pub fn rows(search: &Search, fields: &impl Serialize) -> Result<Found, Fault> {
    let (result, answer) = read(&search.call(fields))?;
    Ok(Found { rows: serde_json::from_value(result).map_err(|_| unexpected())?, now: answer.now() })
}

pub fn search<T: DeserializeOwned + RequestedFields>(search_terms: &Search) -> Result<Vec<T>, Fault> {
    let rows = rows(search_terms, &fields::<T>())?.rows;
    // A missing field is missing in all rows, so an unreadable row fails the whole search.
    let rows: Result<Vec<T>, String> = rows.into_iter().map(responses::read).collect();
    rows.map_err(|why| Fault::retry_later(format!("a record of the EHR is not as expected: {why}"), None))
}

pub fn first<T: DeserializeOwned + RequestedFields>(search_terms: &Search) -> Result<Option<T>, Fault> {
    Ok(search(search_terms)?.into_iter().next())
}

pub fn count(search: &Search) -> Result<u64, Fault> {
    read(&search.count())?.0.as_u64().ok_or_else(unexpected)
}

/// Makes a call that changes nothing.
pub fn call(call: &RpcCall) -> Result<Value, Fault> {
    Ok(read(call)?.0)
}

/// Creates one record and returns its id.
pub fn create(model: &str, values: &Value) -> Result<i64, Fault> {
    let created = write(&requests::create(model, values))?;
    // A response that cannot be parsed proves nothing.
    created[0].as_i64().ok_or_else(|| Fault::unknown("the EHR does not report the created record"))
}

/// Makes a call that writes.
pub fn write(call: &RpcCall) -> Result<Value, Fault> {
    send_call(call, false)?.0.map_err(|refusal| refusal.fault(&call.params))
}

/// Writes a record if its version is unchanged since it was read.
pub fn write_over(model: &str, id: i64, timestamp: Option<&str>, values: &Value) -> Result<ConditionalWrite, Fault> {
    let call = requests::write(model, id, timestamp, values);
    match send_call(&call, false)?.0 {
        Ok(_) => Ok(ConditionalWrite::Done),
        Err(refusal) if refusal.is_stale() => Ok(ConditionalWrite::Stale),
        Err(refusal) => Err(refusal.fault(&call.params)),
    }
}

/// Makes a call that may fail. A failure is logged without the EHR's message.
pub fn attempt(what: &str, call: &RpcCall) {
    if write(call).is_err() {
        warn!("{what} could not be done");
    }
}

fn read(call: &RpcCall) -> Result<(Value, Response), Fault> {
    let (result, answer) = send_call(call, true)?;
    result.map(|result| (result, answer)).map_err(|refusal| refusal.fault(&call.params))
}

fn send_call(call: &RpcCall, reads: bool) -> Result<(Result<Value, Refusal>, Response), Fault> {
    let request = http::post("/").json(&json!({"id": 1, "method": call.method, "params": call.params}))?;
    let request = if reads { request.reading() } else { request };
    let answer = request.send_any()?;
    if answer.status != 200 {
        return Err(faults::from_status(&answer, reads));
    }
    let mut body: Value = if reads { answer.json()? } else { answer.written_json()? };
    match body.get_mut("error").map(Value::take) {
        Some(error) => Ok((Err(Refusal::parse(&error)), answer)),
        None if body.get("result").is_some() => Ok((Ok(body["result"].take()), answer)),
        None => Err(Fault::lost(UNEXPECTED, reads)),
    }
}

pub fn unexpected() -> Fault {
    Fault::retry_later(UNEXPECTED, None)
}
