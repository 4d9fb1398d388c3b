//! The office's API during one call: reads, cached lookups and writes.

use std::{cell::OnceCell, collections::BTreeMap};

use adapter_sdk::{
    Fault, Receipt,
    http::{self, Call, Method, Response, encode},
    json::typed,
    settings,
};
use serde_json::Value;

use crate::{
    faults,
    requests::{self, Parameter},
    responses::{AppointmentType, Carrier, Definition, Operatory, Provider, Row},
    settings::OpenDentalSettings,
    time,
    values::Num,
};

/// Maximum pages of a list that is read to its end within one call.
const MAX_PAGES: u32 = 30;
/// Rows of a full page of the Remote API, even if more are requested.
const REMOTE_PAGE: usize = 100;
/// Rows of the smallest page that overlaps another one and has a new row.
const OVERLAPPING: u32 = 2;

pub struct Client {
    pub settings: OpenDentalSettings,
    carriers: OnceCell<BTreeMap<Num, Carrier>>,
    operatories: OnceCell<Vec<Operatory>>,
}

/// A page of rows.
pub struct Rows {
    pub rows: Vec<Value>,
    /// More rows may follow.
    pub full: bool,
    /// The office's clock, if the rows contain it.
    pub now: Option<i64>,
}

/// A refusal by the API.
pub struct Refused {
    fault: Fault,
    /// The API itself reports that the requested record does not exist.
    missing: bool,
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Refused {
        Refused { fault, missing: false }
    }
}

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Fault {
        refused.fault
    }
}

impl Client {
    pub fn open() -> Result<Client, Fault> {
        Ok(Client { settings: settings::read()?, carriers: OnceCell::new(), operatories: OnceCell::new() })
    }

    /// Reads a page. `key` is the field that every row must have.
    pub fn page(&self, path: &str, key: &str, query: &[Parameter], offset: u64, limit: u32) -> Result<Rows, Refused> {
        let asked = limit.clamp(1, self.settings.page.max(OVERLAPPING));
        let place = [("Offset", offset.to_string()), ("Limit", asked.to_string())];
        let call = http::get(format!("{path}?{}", http::form(query.iter().chain(&place))));
        // An explanation may quote the parameters.
        let quoted = query.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into())).collect();
        let Value::Array(rows) = self.send(Method::Get, path, call, Some(&Value::Object(quoted)))?.json()? else {
            return Err(unreadable("it is not a list").into());
        };
        if !rows.is_empty() && !rows.iter().any(|row| has(row, key)) {
            return Err(unreadable("none of its rows has a key").into());
        }
        let now = rows.first().and_then(|row| time::instant(row["serverDateTime"].as_str()?).ok().flatten());
        Ok(Rows { full: rows.len() >= asked as usize || rows.len() == REMOTE_PAGE, rows, now })
    }

    /// Reads a list to its end, in pages that overlap by a row. If that row has moved, another one may have been
    /// missed. Returns `None` if the list has too many rows.
    pub fn walk<T: Row>(&self, path: &str, query: &[Parameter]) -> Result<Option<Vec<T>>, Refused> {
        let (mut found, mut read, mut last) = (Vec::new(), 0_u64, None::<Value>);
        for _ in 0..MAX_PAGES {
            let offset = read - u64::from(last.is_some());
            let Rows { mut rows, full, .. } = self.page(path, T::KEY, query, offset, u32::MAX)?;
            if let Some(last) = last {
                if rows.first().map(|row| &row[T::KEY]) != Some(&last) {
                    return Err(unreadable("its rows changed while they were read").into());
                }
                rows.remove(0);
            }
            read += rows.len() as u64;
            last = rows.last().map(|row| row[T::KEY].clone());
            // An unreadable row may be the one the caller looks for.
            for row in rows.into_iter().filter(|row| answers(row, query)) {
                found.push(typed(row).map_err(|why| unreadable(&why))?);
            }
            if !full {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    pub fn all<T: Row>(&self, path: &str, query: &[Parameter]) -> Result<Vec<T>, Fault> {
        let rows = self.walk(path, query)?;
        rows.ok_or_else(|| Fault::rejected(format!("{path} has too many rows to search")))
    }

    /// Returns the rows of one patient, or none if the API reports that the patient does not exist. Other refusals are
    /// errors.
    pub fn list_for_patient<T: Row>(&self, path: &str, patient: &str) -> Result<Vec<T>, Fault> {
        match self.walk(path, &[("PatNum", patient.to_owned())]) {
            Err(refused) if refused.missing => Ok(Vec::new()),
            rows => rows?.ok_or_else(|| Fault::retry_later(format!("a patient has too many {path} to search"), None)),
        }
    }

    /// Returns one record, or `None` if this id does not exist.
    pub fn one<T: Row>(&self, path: &str, id: &str) -> Result<Option<T>, Fault> {
        let Some(row) = self.found(path, id)? else { return Ok(None) };
        if Num::from_json(&row[T::KEY]).and_then(Num::id).as_deref() != Some(id) {
            return Err(unreadable("it has not the key that was asked for"));
        }
        typed(row).map(Some).map_err(|why| unreadable(&why))
    }

    /// Returns a row without an id, such as the totals of a family. `KEY` is a field that it must have.
    pub fn keyless<T: Row>(&self, path: &str, name: &str) -> Result<Option<T>, Fault> {
        let Some(row) = self.found(path, name)? else { return Ok(None) };
        if !has(&row, T::KEY) {
            return Err(unreadable(&format!("`{}` is missing", T::KEY)));
        }
        typed(row).map(Some).map_err(|why| unreadable(&why))
    }

    fn found(&self, path: &str, id: &str) -> Result<Option<Value>, Fault> {
        match self.send(Method::Get, path, http::get(record(path, id)), None) {
            Err(refused) if refused.missing => Ok(None),
            answer => Ok(Some(answer?.json()?)),
        }
    }

    pub fn post(&self, path: &str, body: &Value) -> Result<Response, Fault> {
        Ok(self.send(Method::Post, path, http::post(path).json(body)?, Some(body))?)
    }

    pub fn put(&self, path: &str, body: &Value) -> Result<Response, Fault> {
        Ok(self.send(Method::Put, path, http::put(path).json(body)?, Some(body))?)
    }

    /// Deletes a record. One that is already deleted counts as deleted by this write.
    pub fn delete(&self, path: &str, id: &str) -> Result<(), Fault> {
        match self.send(Method::Delete, path, http::delete(record(path, id)), None) {
            Err(refused) if refused.missing => Ok(()),
            answer => Ok(answer.map(drop)?),
        }
    }

    /// Sends a request. `sent`: the data that an explanation may quote.
    fn send(&self, method: Method, path: &str, call: Call, sent: Option<&Value>) -> Result<Response, Refused> {
        let answer = call.header("content-type", JSON).send_any()?;
        if answer.is_success() {
            let lost = || Fault::lost("a page came in place of Open Dental's answer", method == Method::Get);
            return if faults::is_page(&answer) { Err(lost().into()) } else { Ok(answer) };
        }
        let missing = answer.status == 404 && faults::explains(&answer);
        Err(Refused { fault: refusal(method, path, &answer, sent), missing })
    }

    pub fn carriers(&self) -> Result<&BTreeMap<Num, Carrier>, Fault> {
        once(&self.carriers, || {
            let carriers: Vec<Carrier> = self.all("/carriers", &[])?;
            Ok(carriers.into_iter().map(|carrier| (carrier.carrier_num, carrier)).collect())
        })
    }

    /// Returns the office's clock, for lists whose rows do not contain it. Every office has providers.
    pub fn now(&self) -> Option<i64> {
        self.page("/providers", Provider::KEY, &[], 0, 1).ok()?.now
    }

    /// Returns the location's operatories.
    pub fn operatories(&self) -> Result<&[Operatory], Fault> {
        Ok(once(&self.operatories, || self.all("/operatories", &requests::clinic(&self.settings)))?)
    }

    pub fn appointment_type(&self, id: &str) -> Result<Option<AppointmentType>, Fault> {
        let types: Vec<AppointmentType> = self.all("/appointmenttypes", &[])?;
        Ok(types.into_iter().find(|kind| kind.appointment_type_num.id().as_deref() == Some(id)))
    }

    /// Returns the confirmation status with one of the configured names that mean confirmed.
    pub fn confirmed_status(&self) -> Result<Option<Num>, Fault> {
        let statuses: Vec<Definition> = self.all("/definitions", &[("Category", requests::CONFIRMED.to_string())])?;
        let named = |status: &Definition| self.settings.confirmed.contains(&status.item_name.trim().to_lowercase());
        Ok(statuses.iter().find(|status| named(status)).map(|status| status.def_num))
    }
}

/// Content type of every request; the API refuses others.
const JSON: &str = "application/json";

/// The resource that `describe` reads; access to it proves that the keys are valid.
const PROOF: &str = "operatories";

/// Maps a refusal to a fault. The API uses one status for invalid keys and for methods the keys are not allowed to use.
/// If the keys work for another resource, only this method is unsupported, and other requests continue.
fn refusal(method: Method, path: &str, answer: &Response, sent: Option<&Value>) -> Fault {
    let resource = path.split('/').nth(1).unwrap_or_default();
    match faults::from_response(answer, method == Method::Get, sent) {
        Fault::Unsupported(why) => Fault::unsupported(format!("{method} {resource}: {why}")),
        Fault::Unauthorized(_) if resource != PROOF && opens(PROOF) => {
            Fault::unsupported(format!("{method} {resource}: the keys are not for this method"))
        }
        fault => fault,
    }
}

fn opens(resource: &str) -> bool {
    let answer = http::get(format!("/{resource}?Offset=0&Limit=1")).header("content-type", JSON).send_any();
    answer.is_ok_and(|answer| answer.is_success())
}

pub fn record(path: &str, id: &str) -> String {
    format!("{path}/{}", encode(id))
}

/// Returns the cached value, or looks it up once per call.
fn once<T>(held: &OnceCell<T>, look: impl FnOnce() -> Result<T, Fault>) -> Result<&T, Fault> {
    match held.get() {
        Some(known) => Ok(known),
        None => look().map(|found| held.get_or_init(|| found)),
    }
}

/// Parameters with the same name and value as a field of the requested rows.
const EXACT: [&str; 11] = [
    "PatNum", "ClinicNum", "Op", "InsSubNum", "PlanNum", "Subscriber", "CarrierNum", "TreatPlanNum", "PayNum",
    "Category", "SchedType",
];

/// Returns `true` if a row matches the query. An office ignores the parameters that its version does not support and
/// returns all rows.
pub fn answers(row: &Value, query: &[Parameter]) -> bool {
    query.iter().filter(|(name, _)| EXACT.contains(name)).all(|(name, asked)| {
        match (&row[*name], asked.parse::<u64>()) {
            (Value::Null, _) => true,
            (held, Ok(asked)) => Num::from_json(held).is_none_or(|held| held.0 == asked),
            (held, Err(_)) => held.as_str().is_none_or(|held| held == asked),
        }
    })
}

fn has(row: &Value, key: &str) -> bool {
    row.is_object() && !row[key].is_null()
}

/// Returns the id of the created record from the body, or from the `location` header, the only answer of older
/// versions.
pub fn created_id(answer: &Response, field: &str) -> Option<String> {
    let object = serde_json::from_slice::<Value>(&answer.body).ok();
    let id = object.as_ref().and_then(|object| Num::from_json(object.get(field)?)?.id());
    id.or_else(|| {
        let at = answer.header("location")?.trim_end_matches('/').rsplit('/').next()?;
        at.parse().ok().and_then(|id| Num(id).id())
    })
}

/// Returns the receipt of the created record. If the response does not identify the record, `look` searches for it.
pub fn receipt(
    answer: &Response,
    field: &str,
    look: impl FnOnce() -> Result<Option<Receipt>, Fault>,
) -> Result<Receipt, Fault> {
    if let Some(id) = created_id(answer, field) {
        return Ok(Receipt::new(id));
    }
    match look() {
        Ok(Some(receipt)) => Ok(receipt),
        // The EHR accepted the write; only another lookup can identify the record.
        _ => Err(Fault::unknown("Open Dental did not say which record it made")),
    }
}

fn unreadable(why: &str) -> Fault {
    Fault::retry_later(format!("Open Dental's answer cannot be read: {why}"), None)
}
