//! What can be asked of a location from outside its machine: commands, and requests that first need documents.

use location::{
    command::{Command, Outcome},
    decision::Reply,
    pull::Resource,
};

use crate::{ehr, engine::BookRequest, records};

pub enum Request {
    Book(Box<BookRequest>),
    /// A pull call came back, in the EHR's words.
    Page {
        resource: Resource,
        call: u64,
        outcome: Outcome<Box<ehr::Page>>,
    },
    Command(Command),
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub reply: Reply,
    /// The appointment the reply is about, as stored.
    pub appointment: Option<records::Appointment>,
}

impl Default for Answer {
    fn default() -> Answer {
        Reply::Done.into()
    }
}
