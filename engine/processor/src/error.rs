//! Why a location or its store could not answer.

use location::decision::Refusal;
use store::StoreError;

use crate::requests::Unmet;

/// Why the engine could not answer; what the rules refuse is a `Refusal` instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    #[error("no such location")]
    UnknownLocation,
    #[error("the location has too much to do")]
    Busy { retry_after: u32 },
    #[error("the store takes no writes at present")]
    StoreFull,
    #[error("the location's schedule was not read to its end yet")]
    NotRead,
    /// It may be there after a restart, or not.
    #[error("whether it was stored is not known until the store is opened again")]
    OutcomeUnknown,
    /// However often it is asked for.
    #[error("it changes more than the store takes at once")]
    TooLarge,
    #[error("the location's records are damaged; an operator has to restore them")]
    Damaged,
    #[error("the adapter of the location is being prepared")]
    AdapterPreparing,
    #[error("the adapter of the location cannot be used; an operator has to mend it")]
    AdapterRefused,
    #[error("this lies too far back to go on from; start again")]
    Expired,
    #[error("the request met a fault inside the engine")]
    Internal,
}

/// A refusal by rule, or a failure of the engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    Rule(Refusal),
    Unmet(Unmet),
    Engine(EngineError),
}

impl From<EngineError> for Refused {
    fn from(error: EngineError) -> Refused {
        Refused::Engine(error)
    }
}

/// What a caller is told of a read that failed.
pub fn failed(error: StoreError) -> EngineError {
    tracing::error!(%error, "the store could not be read");
    match error {
        StoreError::Damaged { .. } => EngineError::Damaged,
        StoreError::TooLarge { .. } | StoreError::NotAKey => EngineError::Internal,
        StoreError::Busy => EngineError::Busy { retry_after: 1 },
        StoreError::Io { .. }
        | StoreError::Refusing { .. }
        | StoreError::Unknown { .. }
        | StoreError::Locked { .. }
        | StoreError::WrongKey { .. }
        | StoreError::LostCommits { .. }
        | StoreError::KeyFile { .. } => EngineError::StoreFull,
    }
}
