//! What is said about a patient and with them: alerts, communication log, conversations.

use serde::{Deserialize, Serialize};

use super::values::{Extra, Json, Seconds};

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatientAlert {
    pub patient_id: u32,
    pub note: String,
    pub disabled_at: Option<Seconds>,
    #[serde(default)]
    pub extra: Extra,
}

/// Made here only; its status is the entry's write.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommunicationLog {
    pub patient_id: u32,
    pub note: String,
    pub mode: Mode,
    pub direction: Direction,
    pub occurred_at: Seconds,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    None,
    Email,
    Mail,
    Phone,
    InPerson,
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Sent,
    Received,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    pub patient_id: Option<u32>,
    pub subject: Option<String>,
    /// An array of `{from, text, at}`.
    pub messages_json: Json,
    #[serde(default)]
    pub extra: Extra,
}
