//! Documents of patients.

use engine::records::DocumentType;

use crate::prelude::*;

/// A type of document.
#[view(of = DocumentType, named = "document type", published)]
pub struct DocumentTypeView<'a> {
    id: u64,
    name: &'a str,
    #[view(active)]
    active: bool,
}

/// A document of a patient that the health record system stores.
#[view(of = Document, named = "document", args(url: Option<String>))]
pub struct PatientDocumentView<'a> {
    id: u64,
    /// File name of the document.
    filename: &'a str,
    /// Media type, for example `application/pdf`.
    #[serde(rename = "type")]
    media_type: &'a str,
    /// Always null: the content of documents stays in the health record system.
    #[view(with = url)]
    url: Option<String>,
    /// Time at which the document was created in the health record system, in UTC; if unknown, the time at which this
    /// service first stored the record.
    #[view(with = At(entry.body.created_at.map_or(entry.created_at, |it| it.at())))]
    created_at: At,
    /// Id of the document type; null if the health record system provides none.
    document_type_id: Option<u64>,
}
