//! Patient intake forms.

use record_macro::record;

use crate::Json;

/// A patient intake form.
#[record(resource = FormSchemas, tag = 29, id = u64, scope = Source, contract = "form-schema", name = "Form Schema")]
pub struct FormSchema {
    pub title: String,
    /// Short name for addresses.
    pub slug: Option<String>,
    pub version: Option<String>,
    /// The form's components as JSON.
    /// `{components: [...]}`, or the components alone.
    pub schema_json: Json,
}
