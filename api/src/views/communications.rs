//! Alerts, communication log requests, conversations.

use engine::records::{
    CommunicationLog, Conversation, Direction, Mode, PatientAlert,
    record::{Record, Schema, WriteStatus},
    values::{Json, Seconds},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    values::{
        kinds::times::{Clock, instant},
        record_uuid::uuid,
        times::At,
        words::Word,
    },
    views::parts::{WriteState, failure_reason, foreign_id_type, second, status},
};

/// An alert of a patient.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PatientAlertView<'a> {
    /// Id of the alert.
    id: u64,
    /// Id of the patient that the alert is about.
    patient_id: u32,
    /// Text of the alert, shown to staff together with the patient.
    note: &'a str,
    /// Time at which the alert was disabled, or deleted in the health record system, in UTC; null while it is in force.
    disabled_at: Option<At>,
    /// Time at which this service first stored the record, in UTC.
    created_at: At,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
    #[serde(flatten)]
    write: WriteState<'a>,
}

impl<'a> PatientAlertView<'a> {
    pub(crate) fn from_record(entry: &'a Record<PatientAlert>) -> PatientAlertView<'a> {
        PatientAlertView {
            id: entry.id.into(),
            patient_id: entry.body.patient_id,
            note: &entry.body.note,
            disabled_at: entry.body.disabled_at.map(|it| second(it, entry.created_at)).or(entry.deleted_at.map(At)),
            created_at: At(entry.created_at),
            updated_at: At(entry.updated_at),
            write: WriteState::from_write(entry.write.as_ref()),
        }
    }
}

/// A request to append to a patient's communication log.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CommunicationLogView<'a> {
    /// Id of the request.
    #[schemars(with = "String", extend("format" = "uuid"))]
    id: Uuid,
    /// The state of the write to the health record system.
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
    occurred_at: At,
    /// Time at which this service first stored the record, in UTC.
    created_at: At,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
    /// Reason for which the health record system refused the entry; null unless the status is `failed`.
    failure_reason: Option<&'a str>,
}

impl<'a> CommunicationLogView<'a> {
    pub(crate) fn from_record(entry: &'a Record<CommunicationLog>) -> CommunicationLogView<'a> {
        CommunicationLogView {
            id: uuid(CommunicationLog::RESOURCE, entry.source(), entry.id),
            status: status(entry),
            patient_id: entry.body.patient_id,
            note: &entry.body.note,
            mode: Word(entry.body.mode),
            direction: Word(entry.body.direction),
            occurred_at: second(entry.body.occurred_at, entry.created_at),
            created_at: At(entry.created_at),
            updated_at: At(entry.updated_at),
            failure_reason: failure_reason(entry),
        }
    }
}

/// A conversation stored in the health record system.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ConversationView<'a> {
    /// Id of the conversation.
    id: u64,
    /// Id of the patient; null if the health record system provides none.
    patient_id: Option<u32>,
    /// Subject of the conversation; null if the health record system does not provide it.
    subject: Option<&'a str>,
    /// The messages, oldest first.
    messages: Vec<ConversationMessageView>,
    /// Opaque identifier in the health record system; null for a record that exists only in this service.
    foreign_id: Option<&'a str>,
    /// Name of the health record system's adapter; `nex` for a record that exists only in this service.
    foreign_id_type: &'a str,
    /// Time at which this service first stored the record, in UTC.
    created_at: At,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
    /// Time at which this service detected the deletion of the record in the health record system, in UTC; null if it
    /// was not deleted.
    deleted_at: Option<At>,
}

impl<'a> ConversationView<'a> {
    pub(crate) fn from_record(entry: &'a Record<Conversation>, adapter: Option<&'a str>) -> ConversationView<'a> {
        ConversationView {
            id: entry.id,
            patient_id: entry.body.patient_id,
            subject: entry.body.subject.as_deref(),
            messages: ConversationMessageView::all(&entry.body.messages),
            foreign_id: entry.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(entry.foreign_id.as_deref(), adapter),
            created_at: At(entry.created_at),
            updated_at: At(entry.updated_at),
            deleted_at: entry.deleted_at.map(At),
        }
    }
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
