//! /form_schemas and /form_responses (specification 4.6)

use engine::{
    lists::Filter,
    records::{
        FormResponse, FormSchema,
        record::{Record, Schema},
        values::Json,
    },
};
use uuid::Uuid;

use super::patients::find_at;
use crate::{
    access::{call::Call, tenancy::OpenLocation},
    http::errors::{ApiError, HttpResult},
    values::{
        kinds::{Kind, id, json_object, long_id, uuid},
        limits::MAX_ANSWERS,
        record_uuid,
    },
    views::forms::{FormResponseView, FormSchemaDetail, FormSchemaView},
};

pub(crate) async fn schemas(mut call: Call) -> HttpResult {
    let (location, listing) = call.at_location(|input| Some(input.listing().without_deleted().done()))?;
    let page = listing.entries(&call, &location.sources(), |_| true)?;
    Ok(call.page_of(&page, FormSchemaView::of))
}

pub(crate) async fn schema(mut call: Call) -> HttpResult {
    let id = call.path("uuid", uuid())?;
    let (location, ()) = call.at_location(|_| Some(()))?;
    let schema: Record<FormSchema> = call.entry_at(&location, schema_id(&location, &id)?)?;
    Ok(call.show(FormSchemaDetail::of(&schema)))
}

fn schema_id(location: &OpenLocation, id: &Uuid) -> Result<u64, ApiError> {
    let found = record_uuid::id_in(FormSchema::RESOURCE, location.setup.source, id);
    found.map(|(_, id)| id).ok_or_else(|| ApiError::NotFound(format!("Form Schema with id {id}")))
}

pub(crate) async fn responses(mut call: Call) -> HttpResult {
    let (location, (listing, patient)) = call.at_location(|input| {
        let patient = input.query.required("patient_id", id());
        Some((input.listing().foreign_ids().without_deleted().done(), patient?))
    })?;
    find_at(&call, &location, patient)?;
    let listing = listing.filtered([Filter::Patient(patient.into())]);
    let page = listing.entries(&call, &location.sources(), |_| true)?;
    Ok(call.page_of(&page, |it| FormResponseView::of(it, call.adapter_of(it))))
}

pub(crate) async fn response(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (location, ()) = call.at_location(|_| Some(()))?;
    let response: Record<FormResponse> = call.entry_at(&location, id)?;
    Ok(call.show(FormResponseView::of(&response, call.adapter_of(&response))))
}

pub(crate) async fn respond(mut call: Call) -> HttpResult {
    let (location, (patient_id, schema, answers)) = call.at_location(|input| {
        let b = &mut input.body;
        let patient_id = b.required("form_response.patient_id", id());
        let schema = b.required("form_response.form_schema_id", uuid());
        let answers = b.required("form_response.patient_submitted_data", answers());
        Some((patient_id?, schema?, answers?))
    })?;
    let form_schema_id = schema_id(&location, &schema)?;
    let submitted_at = call.api.engine.now().into();
    let response = FormResponse { patient_id, form_schema_id, answers_json: answers, submitted_at, extra: Vec::new() };
    let saved = call.save_entry(&location, &response, Some(patient_id)).await?;
    Ok(call.made(saved.replay, FormResponseView::of(&saved.record, call.adapter_of(&saved.record))))
}

fn answers() -> Kind<Json> {
    json_object().and_then(|answers| {
        let text = Json::of(&answers).map_err(|_| "must be JSON".to_owned())?;
        let size = text.as_str().len();
        if size <= MAX_ANSWERS {
            Ok(text)
        } else {
            Err(format!("has {size} bytes of JSON: at most {MAX_ANSWERS} are taken"))
        }
    })
}
