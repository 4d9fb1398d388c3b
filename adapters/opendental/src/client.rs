//! The office's API for one call: its rows, what is looked up once, and writes.

use std::{cell::OnceCell, collections::BTreeMap};

use adapter_sdk::{
    Fault, Receipt,
    http::{self, Call, Response, encode},
    json::typed,
};
use serde_json::Value;

use crate::{
    faults, requests,
    responses::{AppointmentType, Carrier, Definition, Operatory, Provider, Row},
    settings::Settings,
    values::Num,
};

/// Pages of a list that is read to its end within one call.
const MAX_PAGES: u32 = 30;

pub struct Client {
    pub settings: Settings,
    carriers: OnceCell<BTreeMap<Num, Carrier>>,
    operatories: OnceCell<Vec<Operatory>>,
}

/// A page of rows as it was asked for.
pub struct Rows {
    pub rows: Vec<Value>,
    /// There may be more behind it.
    pub full: bool,
    /// What the office's clock shows, where the rows say it.
    pub now: Option<i64>,
}

/// What became of walking a list to its end.
enum Walked<T> {
    All(Vec<T>),
    TooLong,
    Missing(Fault),
}

impl Client {
    pub fn open() -> Result<Client, Fault> {
        Ok(Client { settings: Settings::read()?, carriers: OnceCell::new(), operatories: OnceCell::new() })
    }

    /// `key` is the field every row has: what has none is no row.
    pub fn page(
        &self,
        path: &str,
        key: &str,
        query: &[(&str, String)],
        offset: u64,
        limit: u32,
    ) -> Result<Rows, Fault> {
        self.look(path, key, query, offset, limit)?
    }

    /// The inner fault is an explained 404: there is nothing of what the list is asked for by.
    fn look(
        &self,
        path: &str,
        key: &str,
        query: &[(&str, String)],
        offset: u64,
        limit: u32,
    ) -> Result<Result<Rows, Fault>, Fault> {
        let asked = limit.clamp(1, self.settings.page);
        let mut parameters: Vec<String> =
            query.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        parameters.push(format!("Offset={offset}&Limit={asked}"));
        let answer = http::get(format!("{path}?{}", parameters.join("&"))).header("content-type", JSON).send_any()?;
        if !(200..=299).contains(&answer.status) {
            // An explanation may quote what was asked for.
            let quoted = query.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into())).collect();
            let fault = self.refusal("GET", path, &answer, Some(&Value::Object(quoted)));
            return if is_missing(&answer) { Ok(Err(fault)) } else { Err(fault) };
        }
        let Value::Array(rows) = answer.json()? else {
            return Err(unreadable("it is not a list"));
        };
        if !rows.iter().all(|row| has(row, key)) {
            return Err(unreadable("not all of its rows have a key"));
        }
        let now = rows.first().and_then(|row| crate::time::instant(row["serverDateTime"].as_str()?));
        Ok(Ok(Rows { full: rows.len() >= asked as usize, rows, now }))
    }

    /// A list to its end.
    fn walk<T: Row>(&self, path: &str, query: &[(&str, String)]) -> Result<Walked<T>, Fault> {
        let mut found = Vec::new();
        let mut offset = 0;
        for _ in 0..MAX_PAGES {
            let page = match self.look(path, T::KEY, query, offset, self.settings.page)? {
                Ok(page) => page,
                Err(fault) => return Ok(Walked::Missing(fault)),
            };
            offset += page.rows.len() as u64;
            // One that cannot be read may be the one that is looked for.
            for row in page.rows {
                found.push(typed(row).map_err(|why| unreadable(&why))?);
            }
            if !page.full {
                return Ok(Walked::All(found));
            }
        }
        Ok(Walked::TooLong)
    }

    /// All rows of a list.
    pub fn all<T: Row>(&self, path: &str, query: &[(&str, String)]) -> Result<Vec<T>, Fault> {
        let rows = self.up_to_limit(path, query)?;
        rows.ok_or_else(|| Fault::rejected(format!("{path} has more rows than can be looked through")))
    }

    /// All rows of a list; none where there are more than can be looked through.
    pub fn up_to_limit<T: Row>(&self, path: &str, query: &[(&str, String)]) -> Result<Option<Vec<T>>, Fault> {
        match self.walk(path, query)? {
            Walked::All(rows) => Ok(Some(rows)),
            Walked::TooLong => Ok(None),
            Walked::Missing(fault) => Err(fault),
        }
    }

    /// The rows of one patient; none of one whom the API says it does not have. Any other refusal says nothing about them.
    pub fn of_patient<T: Row>(&self, path: &str, patient: &str) -> Result<Vec<T>, Fault> {
        match self.walk(path, &[("PatNum", patient.to_owned())])? {
            Walked::All(rows) => Ok(rows),
            Walked::Missing(_) => Ok(Vec::new()),
            Walked::TooLong => {
                Err(Fault::retry_later(format!("a patient has more {path} than can be looked through"), None))
            }
        }
    }

    /// One record; none where there is none of this id.
    pub fn one<T: Row>(&self, path: &str, id: &str) -> Result<Option<T>, Fault> {
        let answer = http::get(format!("{path}/{}", encode(id))).header("content-type", JSON).send_any()?;
        match answer.status {
            _ if is_missing(&answer) => Ok(None),
            200..=299 => {
                let row: Value = answer.json()?;
                if !has(&row, T::KEY) {
                    return Err(unreadable("it has no key"));
                }
                typed(row).map(Some).map_err(|why| unreadable(&why))
            }
            _ => Err(self.refusal("GET", path, &answer, None)),
        }
    }

    pub fn post(&self, path: &str, body: &Value) -> Result<Response, Fault> {
        self.write("POST", path, http::post(path), body)
    }

    pub fn put(&self, path: &str, body: &Value) -> Result<Response, Fault> {
        self.write("PUT", path, http::put(path), body)
    }

    fn write(&self, method: &str, path: &str, call: Call, body: &Value) -> Result<Response, Fault> {
        let answer = call.json(body)?.send_any()?;
        match answer.status {
            200..=299 => Ok(answer),
            _ => Err(self.refusal(method, path, &answer, Some(body))),
        }
    }

    /// The API has one status for keys that are wrong and for methods they are not for, in words of its own: where the keys open
    /// something else, only this method is closed, and nothing else is to wait for it.
    fn refusal(&self, method: &str, path: &str, answer: &Response, sent: Option<&Value>) -> Fault {
        let resource = path.split('/').nth(1).unwrap_or_default();
        match faults::of_answer(answer, method == "GET", sent) {
            Fault::Unsupported(why) => Fault::unsupported(format!("{method} {resource}: {why}")),
            Fault::Unauthorized(_) if resource != PROOF && opens(PROOF) => {
                Fault::unsupported(format!("{method} {resource}: the keys are not for this method"))
            }
            fault => fault,
        }
    }

    /// What is gone already is as gone as it was to be.
    pub fn delete(&self, path: &str, id: &str) -> Result<(), Fault> {
        let answer = http::delete(format!("{path}/{}", encode(id))).header("content-type", JSON).send_any()?;
        match answer.status {
            200..=299 => Ok(()),
            _ if is_missing(&answer) => Ok(()),
            _ => Err(self.refusal("DELETE", path, &answer, None)),
        }
    }

    pub fn carriers(&self) -> Result<&BTreeMap<Num, Carrier>, Fault> {
        if self.carriers.get().is_none() {
            let carriers: Vec<Carrier> = self.all("/carriers", &[])?;
            let _ = self.carriers.set(carriers.into_iter().map(|carrier| (carrier.carrier_num, carrier)).collect());
        }
        self.carriers.get().ok_or_else(|| Fault::retry_later("the carriers were not read", None))
    }

    /// What the office's clock shows, for lists whose rows do not say it. An office has providers.
    pub fn now(&self) -> Option<i64> {
        self.page("/providers", Provider::KEY, &[], 0, 1).ok()?.now
    }

    /// The location's operatories.
    pub fn operatories(&self) -> Result<&[Operatory], Fault> {
        if self.operatories.get().is_none() {
            let _ = self.operatories.set(self.all("/operatories", &requests::clinic(&self.settings))?);
        }
        self.operatories
            .get()
            .map(Vec::as_slice)
            .ok_or_else(|| Fault::retry_later("the operatories were not read", None))
    }

    pub fn appointment_type(&self, id: &str) -> Result<Option<AppointmentType>, Fault> {
        let types: Vec<AppointmentType> = self.all("/appointmenttypes", &[])?;
        Ok(types.into_iter().find(|kind| kind.appointment_type_num.id().as_deref() == Some(id)))
    }

    /// The confirmation status that means confirmed, where the office has one of the names we were given.
    pub fn confirmed_status(&self) -> Result<Option<Num>, Fault> {
        let statuses: Vec<Definition> = self.all("/definitions", &[("Category", requests::CONFIRMED.to_string())])?;
        let named = |status: &Definition| self.settings.confirmed.contains(&status.item_name.trim().to_lowercase());
        Ok(statuses.iter().find(|status| named(status)).map(|status| status.def_num))
    }
}

/// Every request says that it is JSON: the API refuses others.
const JSON: &str = "application/json";

/// What `describe` asks for: the one thing that must work.
const PROOF: &str = "operatories";

fn opens(resource: &str) -> bool {
    let answer = http::get(format!("/{resource}?Offset=0&Limit=1")).header("content-type", JSON).send_any();
    answer.is_ok_and(|answer| (200..=299).contains(&answer.status))
}

/// The API itself does not have it.
fn is_missing(answer: &Response) -> bool {
    answer.status == 404 && faults::explains(answer)
}

fn has(row: &Value, key: &str) -> bool {
    row.is_object() && !row[key].is_null()
}

/// The id of what was made: of the object answered, or of the `location` header where an older version answers nothing else.
pub fn made(answer: &Response, field: &str) -> Option<String> {
    let object = serde_json::from_slice::<Value>(&answer.body).ok();
    let id = object.as_ref().and_then(|object| Num::of(object.get(field)?)?.id());
    id.or_else(|| {
        let at = answer.header("location")?.trim_end_matches('/').rsplit('/').next()?;
        at.parse().ok().and_then(|id| Num(id).id())
    })
}

/// The receipt of what was made; `look` finds it where the answer does not say which it is.
pub fn receipt(
    answer: &Response,
    field: &str,
    look: impl FnOnce() -> Result<Option<Receipt>, Fault>,
) -> Result<Receipt, Fault> {
    if let Some(id) = made(answer, field) {
        return Ok(Receipt::of(id));
    }
    match look() {
        Ok(Some(receipt)) => Ok(receipt),
        // The EHR said yes: only looking again can tell which record it is.
        _ => Err(Fault::unknown("Open Dental did not say which record it made")),
    }
}

fn unreadable(why: &str) -> Fault {
    Fault::retry_later(format!("Open Dental's answer cannot be read: {why}"), None)
}
