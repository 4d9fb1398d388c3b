//! Errors of a location. Refusals, damage, conflicts, overload and faults stay distinct up to the caller.

use location::{Decision, LocationId, Refusal, Resource};
use query::lists::ListError;
use records::references::Missing;
use store::{CommitError, StoreError, counters::IdError, journal};

use crate::precondition::PreconditionError;

/// The error reported to the caller of a request.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EngineError {
    /// A rule of the location forbids the request.
    #[error("refused: {0:?}")]
    Refused(Refusal),
    /// A precondition of the request is not met.
    #[error("unmet: {0:?}")]
    Precondition(PreconditionError),
    #[error("no such location")]
    UnknownLocation,
    #[error("the location has too much to do")]
    Busy { retry_after: u32 },
    #[error("the location has moved to another node")]
    Moved,
    #[error("the store refuses writes")]
    StoreFull,
    /// Nothing was written. The store reconnects by itself.
    #[error("the database of the store cannot be reached")]
    StoreAway,
    #[error("the schedule of the location has not been read completely")]
    NotRead,
    /// The commit may or may not be stored.
    #[error("the outcome of the commit is unknown; read the record again")]
    OutcomeUnknown,
    /// A retry fails, too.
    #[error("the change exceeds the size limit of a commit")]
    TooLarge,
    #[error("the location's records are damaged; an operator has to restore them")]
    Damaged,
    /// The location is not served until the operator configures its former data source again.
    #[error("{0}")]
    OtherSource(String),
    #[error("the adapter of the location is being prepared")]
    AdapterPreparing,
    #[error("the adapter of the location was rejected; operator action required")]
    AdapterRefused,
    #[error("the position has expired; start again from the current one")]
    Expired,
    #[error("too many records to sort")]
    TooManyToSort,
    #[error("internal error of the engine")]
    Internal,
}

/// The machine's decision and the reply to a request, or the reason why it could not be prepared.
pub type Prepared<R> = Result<(Decision, R), Reject>;

/// The reason why a request could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum Reject {
    #[error("refused: {0:?}")]
    Refused(Refusal),
    #[error("unmet: {0:?}")]
    Precondition(PreconditionError),
    /// Ids must be fetched before the request is prepared again.
    #[error("no reserved ids of this resource")]
    NeedIds(Resource),
    #[error("damaged: {0}")]
    Damaged(&'static str),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<PreconditionError> for Reject {
    fn from(unmet: PreconditionError) -> Reject {
        Reject::Precondition(unmet)
    }
}

impl From<Missing> for Reject {
    fn from(_: Missing) -> Reject {
        Reject::Damaged("a record with a missing reference")
    }
}

impl From<Reject> for EngineError {
    fn from(reject: Reject) -> EngineError {
        match reject {
            Reject::Refused(refusal) => EngineError::Refused(refusal),
            Reject::Precondition(unmet) => EngineError::Precondition(unmet),
            Reject::Store(error) => error.into(),
            Reject::NeedIds(_) | Reject::Damaged(_) => {
                tracing::error!(error = %reject, "a command could not be prepared");
                EngineError::Internal
            }
        }
    }
}

impl From<ListError> for EngineError {
    fn from(error: ListError) -> EngineError {
        match error {
            ListError::Store(error) => error.into(),
            ListError::TooManyToSort => EngineError::TooManyToSort,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Journal(#[from] journal::JournalError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a record of location {location} cannot be understood: {why}")]
    Record { location: LocationId, why: String },
    #[error("no such location")]
    Unknown,
    /// The records of the location are of another EHR than the configured one.
    #[error("{0}")]
    OtherSource(String),
}

impl LoadError {
    /// Returns `true` if another read cannot succeed either.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Journal(journal::JournalError::Damaged { .. }) | Self::Record { .. } => true,
            Self::Journal(journal::JournalError::Store(error)) | Self::Store(error) => {
                matches!(error, StoreError::Damaged { .. })
            }
            Self::Unknown | Self::OtherSource(_) => false,
        }
    }
}

impl From<LoadError> for EngineError {
    fn from(error: LoadError) -> EngineError {
        match error {
            LoadError::Store(error) | LoadError::Journal(journal::JournalError::Store(error)) => error.into(),
            LoadError::Journal(_) | LoadError::Record { .. } => EngineError::Damaged,
            LoadError::Unknown => EngineError::UnknownLocation,
            LoadError::OtherSource(why) => EngineError::OtherSource(why),
        }
    }
}

/// Errors while ids are reserved.
impl From<IdError> for EngineError {
    fn from(error: IdError) -> EngineError {
        match error {
            IdError::Commit(error) => not_stored(&error),
            IdError::Contended { .. } => EngineError::Busy { retry_after: 1 },
            IdError::Exhausted { .. } | IdError::TooMany { .. } | IdError::Damaged { .. } => EngineError::StoreFull,
        }
    }
}

/// Returns the error for a failed commit. Callers may retry without checking only if nothing was written.
pub fn not_stored(error: &CommitError) -> EngineError {
    match error {
        CommitError::Store(StoreError::Unknown { .. }) => EngineError::OutcomeUnknown,
        CommitError::Store(StoreError::TooLarge { .. }) => EngineError::TooLarge,
        CommitError::Store(StoreError::Busy) => EngineError::Busy { retry_after: 1 },
        CommitError::Store(StoreError::Away { .. }) => EngineError::StoreAway,
        CommitError::Store(StoreError::Damaged { .. }) => EngineError::Damaged,
        CommitError::Store(StoreError::NotAKey) => EngineError::Internal,
        CommitError::Conflict { .. } => EngineError::Busy { retry_after: 1 },
        CommitError::Full { .. } | CommitError::Store(_) => EngineError::StoreFull,
    }
}

/// Errors of a failed read.
impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> EngineError {
        tracing::error!(%error, "the store could not be read");
        match error {
            StoreError::Damaged { .. } => EngineError::Damaged,
            StoreError::TooLarge { .. } | StoreError::NotAKey => EngineError::Internal,
            StoreError::Busy => EngineError::Busy { retry_after: 1 },
            StoreError::Away { .. } => EngineError::StoreAway,
            StoreError::Io { .. }
            | StoreError::Refusing { .. }
            | StoreError::Unknown { .. }
            | StoreError::Locked { .. }
            | StoreError::WrongKey { .. }
            | StoreError::NoKey { .. }
            | StoreError::LostCommits { .. }
            | StoreError::Database { .. }
            | StoreError::Layout { .. }
            | StoreError::KeyFile { .. }
            | StoreError::Backup { .. }
            | StoreError::BackupDisk { .. }
            | StoreError::BackupKept { .. }
            | StoreError::NoBackup => EngineError::StoreFull,
        }
    }
}

#[cfg(test)]
mod tests {
    use store::MAX_BATCH_KEYS;

    use super::*;

    #[test]
    fn unknown_outcome_and_too_large_are_not_reported_as_full() {
        let converted = |error: StoreError| not_stored(&CommitError::Store(error));
        assert_eq!(converted(StoreError::Unknown { why: "EIO".into() }), EngineError::OutcomeUnknown);
        let size = MAX_BATCH_KEYS + 1;
        let too_large = StoreError::TooLarge { what: "keys in a batch", size, limit: MAX_BATCH_KEYS };
        assert_eq!(converted(too_large), EngineError::TooLarge);
        assert_eq!(converted(StoreError::Away { why: "cut".into() }), EngineError::StoreAway);
        assert_eq!(converted(StoreError::Refusing { why: "closed".into() }), EngineError::StoreFull);
        assert_eq!(not_stored(&CommitError::Full { free: 1, floor: 2 }), EngineError::StoreFull);
    }
}
