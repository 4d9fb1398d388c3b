//! Alerts, communication log requests, conversations.

use engine::records::{CommunicationLog, Conversation, Direction, Json, Mode};
use framework::values::{kinds::times::Clock, record_uuid::uuid};

use crate::{
    prelude::*,
    views::parts::{failure_reason, second, status},
};

/// An alert of a patient.
#[view(of = PatientAlert, named = "alert", published)]
pub struct PatientAlertView<'a> {
    id: u64,
    /// Id of the patient that the alert is about.
    patient_id: u32,
    /// Text of the alert, shown to staff together with the patient.
    note: &'a str,
    /// Time at which the alert was disabled, or deleted in the health record system, in UTC; null while it is in force.
    #[view(with = entry.body.disabled_at.map(|it| second(it, entry.created_at)).or(entry.deleted_at.map(At)))]
    disabled_at: Option<At>,
    created_at: At,
    updated_at: At,
    write: WriteState<'a>,
}

/// A request to append to a patient's communication log.
#[view(of = CommunicationLog, named = "request", published)]
pub struct CommunicationLogView<'a> {
    #[view(with = uuid(CommunicationLog::RESOURCE, entry.source(), entry.id))]
    id: Uuid,
    /// The state of the write to the health record system.
    #[view(with = status(entry))]
    status: Word<WriteStatus>,
    /// Id of the patient.
    patient_id: u32,
    /// The text of the entry.
    note: &'a str,
    /// The means of communication; `none` if none was specified.
    mode: Word<Mode>,
    /// Direction of the communication: `sent` by the practice, or `received` by it.
    direction: Word<Direction>,
    /// Time at which the communication took place, in UTC.
    #[view(with = second(entry.body.occurred_at, entry.created_at))]
    occurred_at: At,
    created_at: At,
    updated_at: At,
    /// Reason for which the health record system refused the entry; null unless the status is `failed`.
    #[view(with = failure_reason(entry))]
    failure_reason: Option<&'a str>,
}

/// A conversation stored in the health record system.
#[view(of = Conversation, named = "conversation", published)]
pub(crate) struct ConversationView<'a> {
    id: u64,
    patient_id: Option<u32>,
    /// Subject of the conversation; null if the health record system does not provide it.
    subject: Option<&'a str>,
    /// The messages, oldest first.
    #[view(with = ConversationMessageView::all(&entry.body.messages))]
    messages: Vec<ConversationMessageView>,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    created_at: At,
    updated_at: At,
    deleted_at: Option<At>,
}

/// A message of a conversation. Fields that the health record system does not provide are null.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ConversationMessageView {
    /// Author of the message, as named by the health record system.
    from: Option<String>,
    /// The text of the entry.
    text: Option<String>,
    /// Time of the message, in UTC.
    at: Option<At>,
}

impl ConversationMessageView {
    fn all(messages: &Json) -> Vec<ConversationMessageView> {
        let messages = messages.value();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let one = |it: &Value| ConversationMessageView {
            from: text(&it["from"]),
            text: text(&it["text"]),
            at: moment(&it["at"]),
        };
        messages.as_array().into_iter().flatten().map(one).collect()
    }
}

/// Parses seconds since 1970, as a number or digits, or a date-time. The contract allows all forms.
fn moment(at: &Value) -> Option<At> {
    let seconds = at.as_i64().or_else(|| at.as_str()?.trim().parse().ok());
    let seconds = seconds.and_then(|it| serde_json::from_value::<Seconds>(it.into()).ok());
    seconds.map(Seconds::at).or_else(|| instant(&Clock::default()).json(at).ok()).map(At)
}
