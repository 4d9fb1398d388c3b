//! Documents of patients, and their types. The bytes of uploads are stored separately.

use record_macro::record;
use serde::{Deserialize, Serialize};

use crate::Seconds;

/// A kind of document.
#[record(
    resource = DocumentTypes, tag = 39, id = u32, scope = Source, contract = "document-type", name = "Document Type"
)]
pub struct DocumentType {
    pub name: String,
    #[record(in_use)]
    pub active: bool,
}

/// Metadata of a document kept in the EHR.
#[record(
    resource = Documents, tag = 40, id = u32, scope = Source, contract = "document", name = "Document",
    list = "patient_documents"
)]
pub struct Document {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: u32,
    #[record(refers(document_type = DocumentTypes))]
    pub document_type_id: Option<u64>,
    pub filename: String,
    /// Media type, for example `application/pdf`.
    pub media_type: String,
    pub created_at: Option<Seconds>,
    /// The uploaded file; `None` if the EHR keeps the document.
    #[record(local)]
    pub upload: Option<Upload>,
}

/// A document that was uploaded here.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    pub bytes: u64,
    /// SHA-256 of the bytes, in hex.
    pub digest: String,
}
