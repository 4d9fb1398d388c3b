//! What can be asked of a location from outside its machine: commands, and requests that first need documents.

use location::{
    command::{Command, Hold, Outcome},
    decision::Reply,
    ids::WriteId,
    pull::Resource,
};
use records::{self, ehr};
use serde_json::Value;

use crate::requests::{BookRequest, SaveRequest, Unmet};

pub enum Request {
    Book(Box<BookRequest>),
    Save(Box<SaveRequest>),
    /// A pull call came back, in the EHR's words.
    Page {
        resource: Resource,
        call: u64,
        outcome: Outcome<Box<ehr::Page>>,
    },
    /// What it may not hold is the location's to say.
    Hold(Hold),
    Command(Command),
    /// An operator wants a failed write tried again, or a write given up.
    RetryWrite(WriteId),
    DropWrite(WriteId),
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub reply: Reply,
    /// The appointment the reply is about, as stored.
    pub appointment: Option<records::Appointment>,
    /// The record that was saved, as stored.
    pub saved: Option<Value>,
    /// `saved` is what an earlier request with the same idempotency key got.
    pub replay: bool,
    /// `saved` was there before.
    pub existing: bool,
    /// Why nothing was asked of the machine.
    pub unmet: Option<Unmet>,
    /// What the client should know though the request worked.
    pub warnings: Vec<String>,
}

impl Answer {
    pub fn replay(saved: Value) -> Answer {
        Answer { saved: Some(saved), replay: true, ..Answer::default() }
    }
}

impl Default for Answer {
    fn default() -> Answer {
        Reply::Done.into()
    }
}

/// The machine's reply as an answer without a document.
impl From<Reply> for Answer {
    fn from(reply: Reply) -> Answer {
        Answer {
            reply,
            appointment: None,
            saved: None,
            replay: false,
            existing: false,
            unmet: None,
            warnings: Vec::new(),
        }
    }
}
