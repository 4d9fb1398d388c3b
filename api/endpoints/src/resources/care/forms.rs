//! /form_schemas and /form_responses (specification 4.6)

use engine::records::{FormResponse, FormSchema, Json};
use framework::{
    access::arguments::FormId,
    values::{
        kinds::{json_object, uuid},
        limits::MAX_ANSWERS,
        record_uuid,
    },
};

use crate::{
    prelude::*,
    resources::patients::find_at,
    views::forms::{FormResponseView, FormSchemaDetail},
};

listing!(ListFormSchemas: |it| it.without_deleted());

pub async fn schema(
    call: ApiCall,
    FormId(id): FormId,
    location: OpenLocation,
) -> Answer<One<FormSchemaDetail<'static>>> {
    let schema: Record<FormSchema> = call.entry_at(&location, schema_id(&location, &id)?)?;
    Ok(call.show(FormSchemaDetail::from_record(&schema)))
}

fn schema_id(location: &OpenLocation, id: &Uuid) -> Result<u64, ApiError> {
    let found = record_uuid::id_in(FormSchema::RESOURCE, location.setup.source, id);
    found.map(|(_, id)| id).ok_or_else(|| ApiError::not_found(format!("Form Schema with id {id}")))
}

#[input]
pub struct ListFormResponses {
    #[query(patient(), name = "patient_id")]
    patient: u32,
    #[read(input.listing().foreign_ids().without_deleted().done())]
    listing: Listing,
}

pub async fn responses(
    call: ApiCall,
    AtLocation(location, ListFormResponses { listing, patient }): AtLocation<ListFormResponses>,
) -> Answer<Paged<FormResponseView<'static>>> {
    find_at(&call, &location, patient)?;
    let listing = listing.filtered([Filter::Patient(patient.into())]);
    let page = listing.entries(&call, &location.sources(), |_| true)?;
    call.page_of(&page, |it| FormResponseView::render(it, &call))
}

#[input(container("form_response", "The patient's answers."))]
pub struct NewFormResponse {
    #[body(patient())]
    patient_id: u32,
    /// Id of the form.
    #[body(uuid(), name = "form_response.form_schema_id")]
    schema: Uuid,
    /// The answers, keyed by the keys of the form's components.
    #[body(answers(), name = "form_response.patient_submitted_data")]
    answers: Json,
}

pub async fn respond(
    mut call: ApiCall,
    AtLocation(location, NewFormResponse { patient_id, schema, answers }): AtLocation<NewFormResponse>,
) -> Answer<Created<FormResponseView<'static>>> {
    let form_schema_id =
        schema_id(&location, &schema).map_err(|wrong| call.with_unknown(wrong, NewFormResponse::unknown))?;
    let submitted_at = call.api.engine.now().into();
    let response = FormResponse { patient_id, form_schema_id, answers_json: answers, submitted_at, extra: Vec::new() };
    let saved = call.save_entry(&location, &response, Some(patient_id)).await?;
    Ok(call.created(saved.replay, FormResponseView::render(&saved.record, &call)))
}

fn answers() -> Kind<Json> {
    json_object().and_then(|answers| {
        let text = Json::encode(&answers).map_err(|_| "must be JSON".to_owned())?;
        let size = text.as_str().len();
        if size <= MAX_ANSWERS {
            Ok(text)
        } else {
            Err(format!("has {size} bytes of JSON: at most {MAX_ANSWERS} are taken"))
        }
    })
}
