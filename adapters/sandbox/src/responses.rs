//! The dialect's answers.

use adapter_sdk::{
    json,
    records::{RecurrenceUnit, Weekday},
};
use serde::Deserialize;
use serde_json::Value;

/// `GET /v1/about`.
#[derive(Debug, Deserialize)]
pub struct About {
    pub name: String,
    /// What it takes, in the dialect's words: `create_patient`, `update_appointment`, ...
    pub writes: Vec<String>,
    pub new_patients: bool,
    pub required_patient_fields: Vec<String>,
    pub max_plan_name: Option<u32>,
    pub requests_per_minute: Option<u32>,
}

/// A page of a list: what changed after the revision asked for.
#[derive(Debug, Deserialize)]
pub struct List {
    pub records: Vec<Value>,
    pub deleted: Vec<String>,
    pub revision: u64,
    pub more: bool,
    pub total: u64,
}

/// A refusal.
#[derive(Debug, Deserialize)]
pub struct Refusal {
    pub error: String,
}

/// What the answer to a write and `GET /v1/writes/<key>` have in common.
#[derive(Debug, Deserialize)]
pub struct Written {
    pub id: String,
    pub version: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub struct Patient {
    pub id: String,
    pub version: u64,
    pub first_name: String,
    pub middle_name: Option<String>,
    pub last_name: String,
    pub born: Option<String>,
    pub gender: Option<String>,
    pub email: Option<String>,
    pub cell: Option<String>,
    pub home: Option<String>,
    pub work: Option<String>,
    pub address: Option<Address>,
    pub guarantor: Option<String>,
    pub provider: Option<String>,
    pub chart: Option<String>,
    pub language: Option<String>,
    pub inactive: bool,
    pub new: bool,
    pub no_texts: bool,
    pub no_emails: bool,
}

#[derive(Debug, Deserialize)]
pub struct Address {
    pub street: Option<String>,
    pub street2: Option<String>,
    pub city: Option<String>,
    pub state: Option<String>,
    pub zip: Option<String>,
    pub country: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Provider {
    pub id: String,
    pub first_name: String,
    pub last_name: String,
    pub title: Option<String>,
    pub email: Option<String>,
    pub npi: Option<String>,
    pub specialty: Option<String>,
    pub retired: bool,
}

#[derive(Debug, Deserialize)]
pub struct Operatory {
    pub id: String,
    pub name: String,
    pub in_use: bool,
    pub web_booking: bool,
    pub types: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct AppointmentType {
    pub id: String,
    pub name: String,
    pub minutes: u32,
    pub web_booking: bool,
}

#[derive(Debug, Deserialize)]
pub struct Hours {
    pub id: String,
    pub provider: String,
    pub operatory: Option<String>,
    pub begin: String,
    pub end: String,
    #[serde(default, deserialize_with = "json::words")]
    pub days: Vec<Weekday>,
    pub date: Option<String>,
    pub every: Option<Every>,
    pub block: bool,
    pub types: Vec<String>,
    pub label: Option<String>,
    pub active: bool,
}

#[derive(Debug, Deserialize)]
pub struct Every {
    pub number: u32,
    #[serde(deserialize_with = "json::word")]
    pub unit: RecurrenceUnit,
    pub from: String,
}

#[derive(Debug, Deserialize)]
pub struct Appointment {
    pub id: String,
    pub version: u64,
    pub patient: Option<String>,
    pub provider: Option<String>,
    pub operatory: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub start: String,
    pub end: String,
    pub note: Option<String>,
    pub status: Status,
    pub reason: Option<String>,
    pub blocked: bool,
    pub patient_confirmed: bool,
    pub arrived_at: Option<String>,
    pub left_at: Option<String>,
    pub write_key: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Scheduled,
    Confirmed,
    Arrived,
    Done,
    Missed,
    Cancelled,
}
