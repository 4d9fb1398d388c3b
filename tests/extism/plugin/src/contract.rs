//! The JSON between host and plug-in: the part of the contract `wit/v1` for a pull of patients.

use serde::{Deserialize, Serialize};

/// Request for a page.
#[derive(Serialize, Deserialize)]
pub struct Pull {
    pub resource: String,
    pub cursor: Option<String>,
    pub limit: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullAnswer {
    Page(PatientPage),
    Fault(PullFault),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullFault {
    Rejected(String),
    RetryLater(String),
    Unsupported(String),
}

#[derive(Debug, Serialize, Deserialize)]
pub struct PatientPage {
    pub records: Vec<PulledPatient>,
    pub skipped: Vec<Skipped>,
    pub deleted: Vec<String>,
    pub cursor: String,
    pub last: bool,
    pub whole: bool,
    pub estimate: Option<u64>,
}

/// A row that could not be read.
#[derive(Debug, Serialize, Deserialize)]
pub struct Skipped {
    pub id: String,
    pub reason: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PulledPatient {
    pub id: String,
    pub first_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub middle_name: Option<String>,
    pub last_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date_of_birth: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gender: Option<Gender>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell_phone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home_phone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_phone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<PatientAddress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_language: Option<String>,
    pub inactive: bool,
    pub new_patient: bool,
    pub unsubscribed_sms: bool,
    pub unsubscribed_email: bool,
    pub extra: Vec<(String, String)>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gender {
    Female,
    Male,
    Other,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct PatientAddress {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line1: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line2: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
}

/// A request to the EHR, to be sent by the host.
#[derive(Serialize, Deserialize)]
pub struct EhrHttpRequest {
    pub method: String,
    /// Including the query.
    pub path: String,
}

/// The head of the EHR's answer, on one line before the body, so that the body is not encoded as JSON again.
#[derive(Serialize, Deserialize)]
pub struct ResponseHead {
    pub status: u16,
    pub headers: Vec<(String, String)>,
}
