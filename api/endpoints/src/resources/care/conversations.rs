//! /conversations, as read from the EHR

use engine::records::{Conversation, Json};
use framework::{access::respond::Never, values::kinds::times::Clock};

use crate::prelude::*;

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

listing!(ListConversations: |it| it.foreign_ids().since().patient().include_deleted());

/// Refuses every message, because no EHR accepts them (specification 4.10).
pub async fn message(_: ApiCall, _: Id<u64>, _: Tenant) -> Answer<Never> {
    Err(Failure::MessagesNotSupported.into())
}
