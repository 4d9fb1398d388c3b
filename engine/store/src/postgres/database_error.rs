//! Classification of database errors.

use tokio_postgres::{Error, error::SqlState};

use crate::StoreError;

/// The reaction to a database error.
#[derive(Debug)]
pub(super) enum DatabaseFailure {
    /// A conflict with another process. The group must be retried from the start.
    Retry(String),
    Failed(StoreError),
}

impl DatabaseFailure {
    pub(super) fn away(why: impl Into<String>) -> Self {
        Self::Failed(StoreError::Away { why: why.into() })
    }
}

/// Returns the error text including the server's message, which the library omits for most errors.
pub(super) fn text(error: &Error) -> String {
    match error.as_db_error() {
        Some(response) => format!("{} ({})", response.message(), response.code().code()),
        None => {
            let source = std::error::Error::source(error).map(|source| format!(": {source}"));
            format!("{error}{}", source.unwrap_or_default())
        }
    }
}

/// Returns whether the server responded with an error, which aborts the statement and its transaction.
pub(super) fn is_answer(error: &Error) -> bool {
    error.code().is_some()
}

pub(super) fn classify(error: &Error) -> DatabaseFailure {
    let why = text(error);
    let Some(code) = error.code() else { return DatabaseFailure::away(why) };
    let again = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::UNIQUE_VIOLATION];
    if again.contains(code) {
        return DatabaseFailure::Retry(why);
    }
    // Another process has locked a row for the whole timeout.
    if *code == SqlState::LOCK_NOT_AVAILABLE {
        return DatabaseFailure::Failed(StoreError::Busy);
    }
    // Temporary errors: connection failures, lack of resources, operator intervention, a server that became a
    // standby.
    let passes = ["08", "53", "57"].iter().any(|class| code.code().starts_with(class))
        || [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT].contains(code);
    match passes {
        true => DatabaseFailure::away(why),
        false => DatabaseFailure::Failed(StoreError::Database { why }),
    }
}

/// Errors of reads and of statements outside of a group.
impl From<Error> for StoreError {
    fn from(error: Error) -> StoreError {
        match classify(&error) {
            DatabaseFailure::Retry(why) => StoreError::Away { why },
            DatabaseFailure::Failed(error) => error,
        }
    }
}
