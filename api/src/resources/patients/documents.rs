//! Documents of a patient, as their EHR lists them, and their types.

use engine::{
    lists::Filter,
    records::{Document, DocumentType, record::Record},
};

use super::find;
use crate::{
    access::call::Call,
    http::errors::{ApiError, HttpResult},
    values::{
        kinds::{boolean, id, long_id},
        reasons::Reason,
    },
    views::documents::{DocumentTypeView, PatientDocumentView},
};

pub(crate) async fn list(mut call: Call) -> HttpResult {
    let id = call.path_id(id())?;
    let (tenant, ()) = call.in_tenant(|_| Some(()))?;
    let source: Vec<u32> = find(&call, &tenant, id)?.source_id.into_iter().collect();
    let theirs = vec![Filter::Patient(id.into())];
    let documents: Vec<Record<Document>> = call.whole_entries(&source, theirs)?;
    Ok(call.list(&documents.iter().map(|it| PatientDocumentView::of(it, None)).collect::<Vec<_>>()))
}

/// No adapter can be told to keep a document.
pub(crate) async fn create(mut call: Call) -> HttpResult {
    let id = call.path_id(id())?;
    let (location, ()) = call.at_location(|_| Some(()))?;
    super::find_at(&call, &location, id)?;
    Err(ApiError::bad("EMR does not support uploading documents.").because(Reason::UploadNotSupported))
}

pub(crate) async fn types(mut call: Call) -> HttpResult {
    let (location, active) = call.at_location(|input| Some(input.query.defaulted("active", boolean(), true)))?;
    let mut types: Vec<Record<DocumentType>> = call.whole_entries_ever(&location.sources(), Vec::new())?;
    types.retain(|it| active == (it.body.active && it.deleted_at.is_none()));
    Ok(call.list(&types.iter().map(DocumentTypeView::of).collect::<Vec<_>>()))
}

pub(crate) async fn show_type(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (location, ()) = call.at_location(|_| Some(()))?;
    Ok(call.show(DocumentTypeView::of(&call.entry_at(&location, id)?)))
}
