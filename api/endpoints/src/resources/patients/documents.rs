//! Documents of a patient in the EHR, and their types.

use engine::records::DocumentType;
use framework::access::respond::Never;

use super::find;
use crate::{
    prelude::*,
    views::documents::{DocumentTypeView, PatientDocumentView},
};

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
