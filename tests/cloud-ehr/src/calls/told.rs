//! What every call may say: an answer without its frame, and the mark of the books.

use serde_json::Value;

use crate::{Refusal, application::Application};

/// What a call is answered: own names, without frame.
pub type Told = Result<Value, Refusal>;

/// Where the books stand.
pub fn mark(application: &Application) -> String {
    mark_of(application, application.practice.revision())
}

pub fn mark_of(application: &Application, revision: u64) -> String {
    format!("{}.{revision}", application.epoch)
}
