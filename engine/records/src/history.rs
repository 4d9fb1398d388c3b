//! Medical history: the catalogues, and what of them applies to a patient.

use serde::{Deserialize, Serialize};

use super::values::Extra;

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryItem {
    pub category: HistoryCategory,
    pub name: String,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatientHistoryItem {
    pub patient_id: u32,
    pub category: HistoryCategory,
    pub item_id: u64,
    pub note: Option<String>,
    pub active: bool,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryCategory {
    Allergies,
    Conditions,
    Medications,
}
