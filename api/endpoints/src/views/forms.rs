//! Patient intake forms and their answers.

use engine::records::{FormResponse, FormSchema};
use framework::values::record_uuid::uuid;

use crate::{
    prelude::*,
    views::parts::{second, status},
};

/// A patient intake form.
#[view(of = FormSchema, named = "form")]
pub(crate) struct FormSchemaView<'a> {
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
    #[view(with = uuid(FormSchema::RESOURCE, entry.source(), entry.body.form_schema_id))]
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
