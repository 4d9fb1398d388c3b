//! Patient intake forms, and what patients answered.

use serde::{Deserialize, Serialize};

use super::values::{Extra, Json, Seconds};

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormSchema {
    pub title: String,
    pub slug: Option<String>,
    pub version: Option<String>,
    /// `{components: [...]}`, or the components alone.
    pub schema_json: Json,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormResponse {
    pub patient_id: u32,
    pub form_schema_id: u64,
    /// An object: `patient_submitted_data` of the API.
    pub answers_json: Json,
    pub submitted_at: Seconds,
    #[serde(default)]
    pub extra: Extra,
}
