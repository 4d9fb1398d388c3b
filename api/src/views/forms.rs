//! Patient intake forms and their answers.

use engine::records::{
    FormResponse, FormSchema,
    record::{Record, Schema, WriteStatus},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use uuid::Uuid;
use view_macro::view;

use crate::{
    values::{record_uuid::uuid, times::At, words::Word},
    views::parts::{WriteState, foreign_id_type, second, status},
};

/// A patient intake form.
#[view(of = FormSchema, named = "form")]
#[derive(Serialize, JsonSchema)]
pub(crate) struct FormSchemaView<'a> {
    #[schemars(with = "String", extend("format" = "uuid"))]
    #[view(with = uuid(FormSchema::RESOURCE, entry.source(), entry.id))]
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
#[view(of = FormSchema)]
#[derive(Serialize, JsonSchema)]
pub(crate) struct FormSchemaDetail<'a> {
    #[serde(flatten)]
    #[view(with = FormSchemaView::from_record(entry))]
    form: FormSchemaView<'a>,
    /// The components of the form: `{components: [{key, type, label, input, values: [{label, value}], validate:
    /// {required}, conditional: {show, when, eq}}]}`.
    #[schemars(with = "serde_json::Map<String, Value>")]
    #[view(with = formio_schema(&entry.body))]
    formio_schema: Value,
}

/// Returns the form's definition: an object with `components`, however the EHR wraps them.
pub(crate) fn formio_schema(form: &FormSchema) -> Value {
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
#[derive(Serialize, JsonSchema)]
pub(crate) struct FormResponseView<'a> {
    /// Id of the response.
    id: u64,
    /// Id of the patient who gave the answers.
    patient_id: u32,
    /// Id of the form that was answered.
    #[schemars(with = "String", extend("format" = "uuid"))]
    form_schema_id: Uuid,
    /// The answers, keyed by the keys of the form's components.
    #[schemars(with = "Value")]
    patient_submitted_data: &'a RawValue,
    /// Time at which the answers were submitted, in UTC.
    submitted_at: At,
    /// Time at which this service first stored the record, in UTC.
    created_at: At,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
    /// Opaque identifier in the health record system; null until the response is stored there.
    foreign_id: Option<&'a str>,
    /// Name of the health record system's adapter; `nex` for a record that exists only in this service.
    foreign_id_type: &'a str,
    /// The state of the write to the health record system.
    status: Word<WriteStatus>,
    #[serde(flatten)]
    write: WriteState<'a>,
}

impl<'a> FormResponseView<'a> {
    pub(crate) fn from_record(entry: &'a Record<FormResponse>, adapter: Option<&'a str>) -> FormResponseView<'a> {
        let mut submitted_at = second(entry.body.submitted_at, entry.created_at);
        if entry.write.is_some() {
            // A response sent through the API is not submitted before its creation.
            submitted_at = At(submitted_at.0.max(entry.created_at));
        }
        FormResponseView {
            id: entry.id.into(),
            patient_id: entry.body.patient_id,
            form_schema_id: uuid(FormSchema::RESOURCE, entry.source(), entry.body.form_schema_id),
            patient_submitted_data: entry.body.answers_json.raw(),
            submitted_at,
            created_at: At(entry.created_at),
            updated_at: At(entry.updated_at),
            foreign_id: entry.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(entry.foreign_id.as_deref(), adapter),
            status: status(entry),
            write: WriteState::from_write(entry.write.as_ref()),
        }
    }
}
