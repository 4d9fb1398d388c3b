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
    views::common::{second, status},
};

/// A patient intake form.
#[view(of = FormSchema, named = "form")]
pub(crate) struct FormSchemaView<'a> {
    #[view(with = record_uuid::uuid(FormSchema::RESOURCE, entry.source(), entry.id))]
    id: Uuid,
    /// Title of the form.
    title: &'a str,
    /// Short name of the form for use in URLs; null if the health record system does not provide it.
    #[view(from = slug)]
    form_slug: Option<&'a str>,
    /// Version of the form; null if the health record system has no versions.
    #[view(from = version)]
    newest_version_id: Option<&'a str>,
}

/// A form with its components.
#[view(of = FormSchema, published)]
pub struct FormSchemaDetail<'a> {
    #[view(flatten = FormSchemaView::from_record(entry))]
    form: FormSchemaView<'a>,
    /// The components of the form: `{components: [{key, type, label, input, values: [{label, value}], validate:
    /// {required}, conditional: {show, when, eq}}]}`.
    #[schemars(with = "serde_json::Map<String, Value>")]
    #[view(with = formio_schema(&entry.body))]
    formio_schema: Value,
}

/// Returns the form's definition: an object with `components`, however the EHR wraps them.
pub fn formio_schema(form: &FormSchema) -> Value {
    match form.schema_json.value() {
        Value::Object(mut schema) => {
            schema.entry("components").or_insert_with(|| json!([]));
            Value::Object(schema)
        }
        Value::Array(components) => json!({ "components": components }),
        _ => json!({ "components": [] }),
    }
}

/// A patient's response to an intake form.
#[view(of = FormResponse, named = "response", published)]
pub struct FormResponseView<'a> {
    id: u64,
    /// Id of the patient who gave the answers.
    patient_id: u32,
    /// Id of the form that was answered.
    #[view(with = record_uuid::uuid(FormSchema::RESOURCE, entry.source(), entry.body.form_schema_id))]
    form_schema_id: Uuid,
    /// The answers, keyed by the keys of the form's components.
    #[schemars(with = "Value")]
    #[view(with = entry.body.answers_json.raw())]
    patient_submitted_data: &'a RawValue,
    /// Time at which the answers were submitted, in UTC.
    #[view(with = submitted_at(entry))]
    submitted_at: At,
    created_at: At,
    updated_at: At,
    /// Opaque identifier in the health record system; null until the response is stored there.
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    /// The state of the write to the health record system.
    #[view(with = status(entry))]
    status: Word<WriteStatus>,
    write: WriteState<'a>,
}

fn submitted_at(entry: &Record<FormResponse>) -> At {
    let submitted_at = second(entry.body.submitted_at, entry.created_at);
    // A response sent through the API is not submitted before its creation.
    if entry.write.is_some() { At(submitted_at.0.max(entry.created_at)) } else { submitted_at }
}

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
