//! The office's API for one call: its rows, what is looked up once, and writes.

use std::{cell::OnceCell, collections::BTreeMap};

use adapter_sdk::{
    Fault, Receipt,
    http::{self, Call, Method, Response, encode},
    json::typed,
};
use serde_json::Value;

use crate::{
    faults,
    requests::{self, Parameter},
    responses::{AppointmentType, Carrier, Definition, Operatory, Provider, Row},
    settings::Settings,
    time,
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

/// The API said no.
pub struct Refused {
    fault: Fault,
    /// In its own words: it does not have what it was asked for.
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
        Ok(Client { settings: Settings::read()?, carriers: OnceCell::new(), operatories: OnceCell::new() })
    }

    /// `key` is the field every row has: what has none is no row.
    pub fn page(&self, path: &str, key: &str, query: &[Parameter], offset: u64, limit: u32) -> Result<Rows, Refused> {
        let asked = limit.clamp(1, self.settings.page);
        let place = [("Offset", offset.to_string()), ("Limit", asked.to_string())];
        let call = http::get(format!("{path}?{}", http::form(query.iter().chain(&place))));
        // An explanation may quote what was asked for.
        let quoted = query.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into())).collect();
        let Value::Array(rows) = self.send(Method::Get, path, call, Some(&Value::Object(quoted)))?.json()? else {
            return Err(unreadable("it is not a list").into());
        };
        if !rows.is_empty() && !rows.iter().any(|row| has(row, key)) {
            return Err(unreadable("none of its rows has a key").into());
        }
        let now = rows.first().and_then(|row| time::instant(row["serverDateTime"].as_str()?).ok().flatten());
        Ok(Rows { full: rows.len() >= asked as usize, rows, now })
    }

    /// A list to its end; none where there are more rows than can be looked through.
    pub fn walk<T: Row>(&self, path: &str, query: &[Parameter]) -> Result<Option<Vec<T>>, Refused> {
        let (mut found, mut read) = (Vec::new(), 0);
        for _ in 0..MAX_PAGES {
            let page = self.page(path, T::KEY, query, read, self.settings.page)?;
            read += page.rows.len() as u64;
            // One that cannot be read may be the one that is looked for.
            for row in page.rows.into_iter().filter(|row| answers(row, query)) {
                found.push(typed(row).map_err(|why| unreadable(&why))?);
            }
            if !page.full {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// All rows of a list.
    pub fn all<T: Row>(&self, path: &str, query: &[Parameter]) -> Result<Vec<T>, Fault> {
        let rows = self.walk(path, query)?;
        rows.ok_or_else(|| Fault::rejected(format!("{path} has more rows than can be looked through")))
    }

    /// The rows of one patient; none of one whom the API says it does not have. Any other refusal says nothing about them.
    pub fn of_patient<T: Row>(&self, path: &str, patient: &str) -> Result<Vec<T>, Fault> {
        match self.walk(path, &[("PatNum", patient.to_owned())]) {
            Err(refused) if refused.missing => Ok(Vec::new()),
            rows => rows?.ok_or_else(|| {
                Fault::retry_later(format!("a patient has more {path} than can be looked through"), None)
            }),
        }
    }

    /// One record; none where there is none of this id.
    pub fn one<T: Row>(&self, path: &str, id: &str) -> Result<Option<T>, Fault> {
        let Some(row) = self.found(path, id)? else { return Ok(None) };
        if Num::of(&row[T::KEY]).and_then(Num::id).as_deref() != Some(id) {
            return Err(unreadable("it has not the key that was asked for"));
        }
        typed(row).map(Some).map_err(|why| unreadable(&why))
    }

    /// A row that has no key, such as the totals of a family.
    pub fn keyless<T: Row>(&self, path: &str, name: &str) -> Result<Option<T>, Fault> {
        let row = self.found(path, name)?;
        row.map(|row| typed(row).map_err(|why| unreadable(&why))).transpose()
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

    /// What is gone already is as gone as it was to be.
    pub fn delete(&self, path: &str, id: &str) -> Result<(), Fault> {
        match self.send(Method::Delete, path, http::delete(record(path, id)), None) {
            Err(refused) if refused.missing => Ok(()),
            answer => Ok(answer.map(drop)?),
        }
    }

    /// `sent`: what an explanation may quote.
    fn send(&self, method: Method, path: &str, call: Call, sent: Option<&Value>) -> Result<Response, Refused> {
        let answer = call.header("content-type", JSON).send_any()?;
        if answer.is_success() {
            return Ok(answer);
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

    /// What the office's clock shows, for lists whose rows do not say it. An office has providers.
    pub fn now(&self) -> Option<i64> {
        self.page("/providers", Provider::KEY, &[], 0, 1).ok()?.now
    }

    /// The location's operatories.
    pub fn operatories(&self) -> Result<&[Operatory], Fault> {
        Ok(once(&self.operatories, || self.all("/operatories", &requests::clinic(&self.settings)))?)
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

/// The API has one status for keys that are wrong and for methods they are not for, in words of its own: where the keys open something
/// else, only this method is closed, and nothing else is to wait for it.
fn refusal(method: Method, path: &str, answer: &Response, sent: Option<&Value>) -> Fault {
    let resource = path.split('/').nth(1).unwrap_or_default();
    match faults::of_answer(answer, method == Method::Get, sent) {
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

/// The path of one record.
pub fn record(path: &str, id: &str) -> String {
    format!("{path}/{}", encode(id))
}

/// What is looked up at most once in a call.
fn once<T>(held: &OnceCell<T>, look: impl FnOnce() -> Result<T, Fault>) -> Result<&T, Fault> {
    match held.get() {
        Some(known) => Ok(known),
        None => look().map(|found| held.get_or_init(|| found)),
    }
}

/// The parameters that are a field of the rows they ask for.
const EXACT: [&str; 11] = [
    "PatNum",
    "ClinicNum",
    "Op",
    "InsSubNum",
    "PlanNum",
    "Subscriber",
    "CarrierNum",
    "TreatPlanNum",
    "PayNum",
    "Category",
    "SchedType",
];

/// Whether a row is one that was asked for: an office ignores the parameters its version does not know, and shows all
/// rows.
pub fn answers(row: &Value, query: &[Parameter]) -> bool {
    query.iter().filter(|(name, _)| EXACT.contains(name)).all(|(name, asked)| {
        match (&row[*name], asked.parse::<u64>()) {
            (Value::Null, _) => true,
            (held, Ok(asked)) => Num::of(held).is_none_or(|held| held.0 == asked),
            (held, Err(_)) => held.as_str().is_none_or(|held| held == asked),
        }
    })
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
