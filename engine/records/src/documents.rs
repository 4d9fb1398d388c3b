//! Documents of patients: what is known about them. The bytes of those uploaded here are kept elsewhere.

use serde::{Deserialize, Serialize};

use super::values::{Extra, Seconds};

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentType {
    pub name: String,
    pub active: bool,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    pub patient_id: u32,
    pub filename: String,
    pub media_type: String,
    pub document_type_id: Option<u64>,
    pub created_at: Option<Seconds>,
    #[serde(default)]
    pub extra: Extra,
    /// What was uploaded; none where the EHR keeps the document.
    #[serde(default)]
    pub upload: Option<Upload>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    pub bytes: u64,
    /// SHA-256 of the bytes, in hex.
    pub digest: String,
}
