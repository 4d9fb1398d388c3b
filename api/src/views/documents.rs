//! Documents of patients.

use engine::records::{Document, DocumentType, record::Record};
use schemars::JsonSchema;
use serde::Serialize;

use crate::values::times::At;

/// A type of document.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DocumentTypeView<'a> {
    /// Id of the document type.
    id: u64,
    /// Name of the document type.
    name: &'a str,
    /// `true` if the document type is in use; `false` once it has been deleted in the health record system.
    active: bool,
}

impl<'a> DocumentTypeView<'a> {
    pub(crate) fn from_record(entry: &'a Record<DocumentType>) -> DocumentTypeView<'a> {
        let active = entry.body.active && entry.deleted_at.is_none();
        DocumentTypeView { id: entry.id.into(), name: &entry.body.name, active }
    }
}

/// A document of a patient that the health record system stores.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PatientDocumentView<'a> {
    /// Id of the document.
    id: u64,
    /// File name of the document.
    filename: &'a str,
    /// Media type, for example `application/pdf`.
    #[serde(rename = "type")]
    media_type: &'a str,
    /// Always null: the content of documents stays in the health record system.
    url: Option<String>,
    /// Time at which the document was created in the health record system, in UTC; if unknown, the time at which this
    /// service first stored the record.
    created_at: At,
    /// Id of the document type; null if the health record system provides none.
    document_type_id: Option<u64>,
}

impl<'a> PatientDocumentView<'a> {
    /// `url`: the address from which an uploaded file can be fetched.
    pub(crate) fn from_record(entry: &'a Record<Document>, url: Option<String>) -> PatientDocumentView<'a> {
        PatientDocumentView {
            id: entry.id.into(),
            filename: &entry.body.filename,
            media_type: &entry.body.media_type,
            url,
            created_at: At(entry.body.created_at.map_or(entry.created_at, |it| it.at())),
            document_type_id: entry.body.document_type_id,
        }
    }
}
