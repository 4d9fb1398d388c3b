//! Documents of patients.

use engine::records::{Document, DocumentType, record::Record};
use schemars::JsonSchema;
use serde::Serialize;

use crate::values::times::At;

#[derive(Serialize, JsonSchema)]
pub(crate) struct DocumentTypeView<'a> {
    id: u64,
    name: &'a str,
    active: bool,
}

impl<'a> DocumentTypeView<'a> {
    pub(crate) fn of(entry: &'a Record<DocumentType>) -> DocumentTypeView<'a> {
        let active = entry.body.active && entry.deleted_at.is_none();
        DocumentTypeView { id: entry.id.into(), name: &entry.body.name, active }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PatientDocumentView<'a> {
    id: u64,
    filename: &'a str,
    /// Media type, for example `application/pdf`.
    #[serde(rename = "type")]
    media_type: &'a str,
    /// Where the file can be downloaded; null for a document that only the health record system stores.
    url: Option<String>,
    created_at: At,
    document_type_id: Option<u64>,
}

impl<'a> PatientDocumentView<'a> {
    /// `url`: where the bytes of an upload can be fetched.
    pub(crate) fn of(entry: &'a Record<Document>, url: Option<String>) -> PatientDocumentView<'a> {
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
