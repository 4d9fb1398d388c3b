//! What the application answers: JSON of a release, or one of its pages.

use adapter_sdk::{http::Response, time::instant_of};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::markup::{Lacking, Markup, Names, REFUSAL};

/// An answer of the application's own, in a release we know.
#[derive(Clone, Debug)]
pub struct Told {
    pub markup: Markup,
    body: Value,
}

/// Why an answer tells nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The page that asks for user name and password: the session is over.
    LoginPage,
    /// Another page, or nothing of the application's.
    Foreign,
    /// A release we do not know, by its name.
    Release(String),
    /// It does not have what its release should have.
    Lacking(Lacking),
}

impl Told {
    pub fn of(answer: &Response) -> Result<Told, Unreadable> {
        let Ok(body) = serde_json::from_slice::<Value>(&answer.body) else {
            return Err(if is_login_page(&answer.body) { Unreadable::LoginPage } else { Unreadable::Foreign });
        };
        let word = body.get("markup").and_then(Value::as_str).ok_or(Unreadable::Foreign)?;
        match Markup::of(word) {
            Some(markup) => Ok(Told { markup, body }),
            None => Err(Unreadable::Release(plain(word))),
        }
    }

    /// The frame around the records.
    pub fn frame(&self, names: Names) -> Result<Value, Unreadable> {
        self.own(names, &self.body)
    }

    pub fn own(&self, names: Names, shown: &Value) -> Result<Value, Unreadable> {
        self.markup.own(names, shown).map_err(Unreadable::Lacking)
    }

    /// The application's word for why it says no.
    pub fn refusal(&self) -> Option<String> {
        self.frame(REFUSAL).ok()?["code"].as_str().map(plain)
    }
}

/// It asks for a password, however it is written.
fn is_login_page(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    let page = text.trim_start().starts_with('<');
    page && (text.contains("data-page=\"login\"") || text.contains("type=\"password\""))
}

/// A word of the application's: letters, digits and separators, and short. Its sentences may name a patient.
fn plain(word: &str) -> String {
    word.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')).take(40).collect()
}

#[derive(Debug, Deserialize)]
pub struct Session {
    pub csrf: String,
}

#[derive(Debug, Deserialize)]
pub struct Changes {
    pub items: Vec<Value>,
    pub removed: Vec<String>,
    pub mark: String,
    pub more: bool,
    pub total: u64,
}

#[derive(Debug, Deserialize)]
pub struct Patient {
    pub id: String,
    pub first_name: String,
    pub middle_name: Option<String>,
    pub last_name: String,
    pub born: Option<String>,
    pub sex: Option<String>,
    pub email: Option<String>,
    pub mobile: Option<String>,
    pub home_phone: Option<String>,
    pub work_phone: Option<String>,
    pub street: Option<String>,
    pub city: Option<String>,
    pub state: Option<String>,
    pub zip: Option<String>,
    pub country: Option<String>,
    pub language: Option<String>,
    pub provider: Option<String>,
    pub chart: Option<String>,
    pub inactive: bool,
    pub reference: Option<String>,
    pub revision: u64,
}

#[derive(Debug, Deserialize)]
pub struct Provider {
    pub id: String,
    pub first_name: String,
    pub last_name: String,
    pub email: Option<String>,
    pub npi: Option<String>,
    pub inactive: bool,
}

#[derive(Debug, Deserialize)]
pub struct Operatory {
    pub id: String,
    pub name: String,
    pub closed: bool,
}

#[derive(Debug, Deserialize)]
pub struct AppointmentType {
    pub id: String,
    pub name: String,
    pub minutes: u32,
}

#[derive(Debug, Deserialize)]
pub struct Hours {
    pub id: String,
    pub provider: String,
    pub operatory: String,
    pub days: Vec<Day>,
    pub begin: String,
    pub end: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Day {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Scheduled,
    Confirmed,
    Arrived,
    Completed,
    Missed,
    Cancelled,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Appointment {
    pub id: String,
    pub patient: Option<String>,
    pub provider: Option<String>,
    pub operatory: String,
    pub kind: Option<String>,
    #[serde(deserialize_with = "instant")]
    pub start: i64,
    #[serde(deserialize_with = "instant")]
    pub end: i64,
    pub note: Option<String>,
    pub status: Status,
    pub confirmed_by_patient: bool,
    #[serde(deserialize_with = "maybe_instant")]
    pub arrived_at: Option<i64>,
    #[serde(deserialize_with = "maybe_instant")]
    pub left_at: Option<i64>,
    pub cancel_reason: Option<String>,
    pub block: bool,
    pub reference: Option<String>,
    pub revision: u64,
}

impl Appointment {
    /// It takes up its place no more.
    pub fn is_off(&self) -> bool {
        matches!(self.status, Status::Missed | Status::Cancelled)
    }

    /// The patient is in the house, or was.
    pub fn came(&self) -> bool {
        matches!(self.status, Status::Arrived | Status::Completed)
    }
}

fn instant<'de, D: serde::Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    let text = String::deserialize(from)?;
    instant_of(&text).ok_or_else(|| serde::de::Error::custom("not an instant"))
}

fn maybe_instant<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    let read = text.map(|text| instant_of(&text).ok_or_else(|| serde::de::Error::custom("not an instant")));
    read.transpose()
}

/// serde's own message would quote the record.
pub fn typed<T: DeserializeOwned>(own: Value) -> Result<T, String> {
    serde_json::from_value(own).map_err(|_| "a field of the EHR's answer is not of the kind it should be".to_owned())
}
