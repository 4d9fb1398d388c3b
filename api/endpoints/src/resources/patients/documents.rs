//! Documents of a patient in the EHR, and their types.

use engine::records::{Document, DocumentType};
use framework::access::respond::Never;

use super::find;
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

impl Published for Document {
    type View = PatientDocumentView<'static>;

    fn publish(entry: &Record<Document>, _: &ViewContext<'_>, _: &dyn RelatedRecords) -> Rendered {
        to_json(&PatientDocumentView::from_record(entry, None))
    }
}

pub async fn list(mut call: ApiCall, Id(id): Id<u32>, tenant: Tenant) -> Answer<Listed<PatientDocumentView<'static>>> {
    let source: Vec<u32> = find(&call, &tenant, id)?.source_id.into_iter().collect();
    let theirs = vec![Filter::Patient(id.into())];
    let documents: Vec<Record<Document>> = call.all_entries(&source, theirs)?;
    Ok(call.list(&documents.iter().map(|it| PatientDocumentView::from_record(it, None)).collect::<Vec<_>>()))
}

/// Refuses uploads, because the contract of adapters has no write for documents.
pub async fn create(call: ApiCall, Id(id): Id<u32>, location: OpenLocation) -> Answer<Never> {
    super::find_at(&call, &location, id)?;
    Err(Failure::UploadNotSupported.into())
}

#[input]
pub struct ListDocumentTypes {
    #[query(active(), default = true)]
    active: bool,
}

pub async fn types(
    mut call: ApiCall,
    AtLocation(location, ListDocumentTypes { active }): AtLocation<ListDocumentTypes>,
) -> Answer<Listed<DocumentTypeView<'static>>> {
    let mut types: Vec<Record<DocumentType>> = call.all_entries_including_deleted(&location.sources(), Vec::new())?;
    types.retain(|it| active == (it.body.active && it.deleted_at.is_none()));
    Ok(call.list(&types.iter().map(DocumentTypeView::from_record).collect::<Vec<_>>()))
}
