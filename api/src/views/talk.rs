//! Alerts, communication log requests, conversations.

use engine::records::{
    CommunicationLog, Conversation, Direction, Mode, PatientAlert,
    record::{Record, Schema},
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
    },
    views::parts::{WriteState, failure_reason, foreign_id_type, second, status},
};

/// An alert of a patient.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PatientAlertView<'a> {
    id: u64,
    patient_id: u32,
    note: &'a str,
    /// When it was disabled, or deleted in the health record system.
    disabled_at: Option<At>,
    created_at: At,
    updated_at: At,
    #[serde(flatten)]
    write: WriteState<'a>,
}

impl<'a> PatientAlertView<'a> {
    pub(crate) fn of(entry: &'a Record<PatientAlert>) -> PatientAlertView<'a> {
        PatientAlertView {
            id: entry.id.into(),
            patient_id: entry.body.patient_id,
            note: &entry.body.note,
            disabled_at: entry.body.disabled_at.map(|it| second(it, entry.created_at)).or(entry.deleted_at.map(At)),
            created_at: At(entry.created_at),
            updated_at: At(entry.updated_at),
            write: WriteState::of(entry.write.as_ref()),
        }
    }
}

/// A request to append to a patient's communication log (specification 2.7).
#[derive(Serialize, JsonSchema)]
pub(crate) struct CommunicationLogView<'a> {
    #[schemars(with = "String", extend("format" = "uuid"))]
    id: Uuid,
    /// The state of the write to the health record system.
    #[schemars(extend("enum" = ["pending", "succeeded", "failed"]))]
    status: &'static str,
    patient_id: u32,
    note: &'a str,
    #[schemars(with = "String", extend("enum" = ["none", "email", "mail", "phone", "in_person", "text"]))]
    mode: Mode,
    #[schemars(with = "String", extend("enum" = ["sent", "received"]))]
    direction: Direction,
    occurred_at: At,
    created_at: At,
    updated_at: At,
    /// Null unless failed.
    failure_reason: Option<&'a str>,
}

impl<'a> CommunicationLogView<'a> {
    pub(crate) fn of(entry: &'a Record<CommunicationLog>) -> CommunicationLogView<'a> {
        CommunicationLogView {
            id: uuid(CommunicationLog::RESOURCE, entry.source(), entry.id),
            status: status(entry),
            patient_id: entry.body.patient_id,
            note: &entry.body.note,
            mode: entry.body.mode,
            direction: entry.body.direction,
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
    id: u64,
    patient_id: Option<u32>,
    subject: Option<&'a str>,
    messages: Vec<ConversationMessageView>,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    created_at: At,
    updated_at: At,
    deleted_at: Option<At>,
}

impl<'a> ConversationView<'a> {
    pub(crate) fn of(entry: &'a Record<Conversation>, adapter: Option<&'a str>) -> ConversationView<'a> {
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
    from: Option<String>,
    text: Option<String>,
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

/// Seconds since 1970, as a number or in digits, or a date-time: systems differ, and the contract leaves it to them.
fn moment(at: &Value) -> Option<At> {
    let seconds = at.as_i64().or_else(|| at.as_str()?.trim().parse().ok());
    let seconds = seconds.and_then(|it| serde_json::from_value::<Seconds>(it.into()).ok());
    seconds.map(Seconds::at).or_else(|| instant(&Clock::default()).json(at).ok()).map(At)
}
