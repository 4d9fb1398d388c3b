//! What an error of the database means for whoever asked.

use tokio_postgres::{Error, error::SqlState};

use crate::error::StoreError;

/// What to do about it.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Somebody else was in the way: the same again, from the start.
    Again(String),
    Failed(StoreError),
}

impl Trouble {
    pub(super) fn away(why: impl Into<String>) -> Self {
        Self::Failed(StoreError::Away { why: why.into() })
    }
}

/// With what the server said, which for most errors is not in the library's own text.
pub(super) fn text(error: &Error) -> String {
    match error.as_db_error() {
        Some(said) => format!("{} ({})", said.message(), said.code().code()),
        None => {
            let source = std::error::Error::source(error).map(|source| format!(": {source}"));
            format!("{error}{}", source.unwrap_or_default())
        }
    }
}

/// The server answered with an error: the statement came to nothing, and so does the transaction it belongs to.
pub(super) fn is_answer(error: &Error) -> bool {
    error.code().is_some()
}

pub(super) fn of(error: &Error) -> Trouble {
    let why = text(error);
    let Some(code) = error.code() else { return Trouble::away(why) };
    let again = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::UNIQUE_VIOLATION];
    if again.contains(code) {
        return Trouble::Again(why);
    }
    // Another process has held a row for as long as a statement may take.
    if *code == SqlState::LOCK_NOT_AVAILABLE {
        return Trouble::Failed(StoreError::Busy);
    }
    // Connections that fail, too little of something, an operator who intervenes, a server that has become a standby: it passes.
    let passes = ["08", "53", "57"].iter().any(|class| code.code().starts_with(class))
        || [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT].contains(code);
    match passes {
        true => Trouble::away(why),
        false => Trouble::Failed(StoreError::Database { why }),
    }
}

/// For reads and for what is outside of a group.
pub(super) fn plain(error: &Error) -> StoreError {
    match of(error) {
        Trouble::Again(why) => StoreError::Away { why },
        Trouble::Failed(error) => error,
    }
}
