//! Answers of patients to forms.

use record_macro::record;

use crate::{Json, Seconds};

/// A patient's answers to a form.
#[record(
    resource = FormResponses, tag = 30, id = u32, scope = Source, contract = "form-response", name = "Form Response",
    writes(Create = "create-form-response")
)]
pub struct FormResponse {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: u32,
    /// The form that was answered.
    #[record(refers(form_schema = FormSchemas))]
    pub form_schema_id: u64,
    /// The answers as a JSON object.
    /// An object: `patient_submitted_data` of the API.
    pub answers_json: Json,
    /// Time of submission.
    pub submitted_at: Seconds,
}
