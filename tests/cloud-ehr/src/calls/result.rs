//! Common parts of all calls: an answer without its frame, and the mark of the records.

use serde_json::Value;

use crate::{FormRefusal, application::Application};

/// The answer to a call, by the names of this crate and without the frame.
pub type CallResult = Result<Value, FormRefusal>;

/// Returns the current mark.
pub fn mark(application: &Application) -> String {
    mark_of(application, application.practice.revision())
}

pub fn mark_of(application: &Application, revision: u64) -> String {
    format!("{}.{revision}", application.epoch)
}
