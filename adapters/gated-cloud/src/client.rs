//! Access to the web application during one call: its data and its forms, all through the gate.

use std::cell::RefCell;

use adapter_sdk::{
    Fault, Receipt,
    http::{self, Call, encode},
    session,
    streams::{Ask, Changes},
};
use serde_json::Value;

use crate::{
    faults,
    markup::{self, Markup, RecordType},
    responses::{AppResponse, is_login_page, receipt},
};

/// Maximum rows per page of the application.
const MOST: u32 = 200;

#[derive(Default)]
pub struct GatedCloud {
    form: RefCell<Option<ChangeForm>>,
}

/// The data of a page that sends a change.
#[derive(Clone)]
struct ChangeForm {
    markup: Markup,
    csrf: String,
}

impl GatedCloud {
    /// Reads changes since a mark, with our field names. Returns `None` if the application does not know the mark.
    pub fn changes(&self, kind: RecordType, asked: &Ask) -> Result<Option<Changes>, Fault> {
        let since = asked.at.map(|mark| format!("&since={}", encode(mark))).unwrap_or_default();
        let path = format!("/api/changes?of={}{since}&limit={}", kind.name, asked.limit.min(MOST));
        let reply = match outcome(http::get(path))? {
            Err(code) if code == "mark_expired" => return Ok(None),
            reply => reply.map_err(faults::from_refused_read)?,
        };
        let shown: Changes = reply.frame(markup::CHANGES)?;
        Ok(Some(Changes { rows: owned(&reply, kind, &shown.rows)?, ..shown }))
    }

    /// Returns the record with a write key. The search may also return similar keys.
    pub fn by_reference(&self, kind: RecordType, key: &str) -> Result<Option<Receipt>, Fault> {
        let reply = fetch(format!("/api/{}?reference={}", kind.name, encode(key)))?;
        let items: Vec<Value> = reply.part(markup::ITEMS)?;
        let ours = owned(&reply, kind, &items)?.into_iter().find(|row| row["write_key"] == key);
        ours.map(|row| receipt(&row, true)).transpose()
    }

    /// Returns one record with our field names, or `None` if the application reports that it does not exist.
    pub fn one(&self, kind: RecordType, id: &str) -> Result<Option<Value>, Fault> {
        match outcome(http::get(record(kind, id)))? {
            Err(code) if code == "not_found" => Ok(None),
            reply => item(&reply.map_err(faults::from_refused_read)?, kind).map(Some),
        }
    }

    pub fn create(&self, kind: RecordType, fields: &Value) -> Result<Receipt, Fault> {
        self.send(http::post(format!("/api/{}", kind.name)), kind, fields)?.map_err(faults::from_refusal)
    }

    pub fn update(&self, kind: RecordType, id: &str, fields: &Value) -> Result<Receipt, Fault> {
        self.change(kind, id, fields)?.map_err(faults::from_refusal)
    }

    /// Sends a change. Returns the receipt, or the application's code of a refusal.
    pub fn change(&self, kind: RecordType, id: &str, fields: &Value) -> Result<Result<Receipt, String>, Fault> {
        self.send(http::patch(record(kind, id)), kind, fields)
    }

    fn send(&self, call: Call, kind: RecordType, fields: &Value) -> Result<Result<Receipt, String>, Fault> {
        let mut renewed = false;
        loop {
            let ChangeForm { markup, csrf } = self.form()?;
            let call = call.clone().header("x-csrf-token", csrf).header("x-markup", markup.word());
            match outcome(call.json(&markup.names(kind.names).theirs(fields))?)? {
                Ok(reply) => return receipt(&item(&reply, kind)?, false).map(Ok),
                // The session's token has changed, and nothing was written.
                Err(code) if code == "csrf" && !renewed => {
                    renewed = true;
                    self.form.replace(None);
                }
                Err(code) => return Ok(Err(code)),
            }
        }
    }

    /// Returns the session's token and the release, read before the first change. An expired session is detected here,
    /// before anything is sent.
    fn form(&self) -> Result<ChangeForm, Fault> {
        if let Some(form) = &*self.form.borrow() {
            return Ok(form.clone());
        }
        let reply = fetch("/api/session")?;
        let form = ChangeForm { markup: reply.markup, csrf: reply.part(markup::CSRF)? };
        self.form.replace(Some(form.clone()));
        Ok(form)
    }
}

/// Returns the content of a response, or the application's code of a refusal.
fn outcome(call: Call) -> Result<Result<AppResponse, String>, Fault> {
    let reads = call.reads();
    let answer = call.through_gate().send_any()?;
    if let Some(fault) = session::fault_of_status(&answer, reads) {
        return Err(fault);
    }
    if answer.is_success() || is_login_page(&answer) {
        return AppResponse::parse(&answer, reads).map(Ok);
    }
    let strange = format!("the EHR answered {}, in a way this adapter does not know", answer.status);
    AppResponse::parse(&answer, reads)?.refusal().map(Err).ok_or_else(|| Fault::lost(strange, reads))
}

/// Reads data that always exists.
fn fetch(path: impl Into<String>) -> Result<AppResponse, Fault> {
    outcome(http::get(path))?.map_err(faults::from_refused_read)
}

fn record(kind: RecordType, id: &str) -> String {
    format!("/api/{}/{}", kind.name, encode(id))
}

fn item(reply: &AppResponse, kind: RecordType) -> Result<Value, Fault> {
    reply.to_contract_names(kind.names, &reply.part(markup::ITEM)?)
}

fn owned(reply: &AppResponse, kind: RecordType, items: &[Value]) -> Result<Vec<Value>, Fault> {
    items.iter().map(|item| reply.to_contract_names(kind.names, item)).collect()
}
