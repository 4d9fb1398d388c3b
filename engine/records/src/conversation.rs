//! Conversations.

use record_macro::record;

use crate::Json;

/// A conversation the EHR keeps.
#[record(
    resource = Conversations, tag = 28, id = u64, scope = Source, contract = "conversation", name = "Conversation"
)]
pub struct Conversation {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: Option<u32>,
    pub subject: Option<String>,
    /// The messages: an array of `{from, text, at}`, stored under the name of its former text form.
    #[serde(rename = "messages_json")]
    pub messages: Json,
}
