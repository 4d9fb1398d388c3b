//! Responses to errors of the engine's services for operators, workstations and webhooks.

use engine::{
    BackupError, EngineError, KeyError, VersionError,
    simulated::ControlError,
    store::{CommitError, StoreError, counters::IdError},
    webhooks::registry::RegistryError,
    workstations::WorkstationError,
};

use crate::http::errors::{ApiError, sentence};

/// Seconds until a full store or a full queue may accept writes again.
const RETRY_LATER: u64 = 30;

/// Logs a failure of the store itself as `what`. A full store or a conflict is expected.
fn not_committed(error: CommitError, what: &str) -> ApiError {
    if let CommitError::Store(error) = error {
        tracing::error!(%error, "{what}");
    }
    ApiError::unavailable(RETRY_LATER)
}

impl From<ControlError> for ApiError {
    fn from(error: ControlError) -> ApiError {
        match error {
            ControlError::Malformed(why) => ApiError::bad(sentence(&why)),
            ControlError::NotFound => ApiError::not_found("The record of the simulated system"),
            ControlError::Refused(why) => ApiError::conflict(sentence(&why)),
            ControlError::Commit(error) => not_committed(error, "the changes of the simulated EHR cannot be stored"),
        }
    }
}

impl From<WorkstationError> for ApiError {
    fn from(error: WorkstationError) -> ApiError {
        match error {
            WorkstationError::NotGated => {
                ApiError::refused("The location's health record system is not reached through workstations.")
            }
            WorkstationError::UnknownCode => ApiError::not_found("Pairing code"),
            WorkstationError::TooMany { retry_after } => {
                ApiError::too_many("Too many wrong codes; please wait before you try again.", retry_after.into())
            }
            WorkstationError::Refused(why) => ApiError::refused(sentence(why)),
            WorkstationError::Store(error) => not_committed(error, "workstation records cannot be read or written"),
        }
    }
}

impl From<KeyError> for ApiError {
    fn from(error: KeyError) -> ApiError {
        let text = sentence(&error.to_string());
        match error {
            KeyError::NoSuchKey(_) => ApiError::not_found("Key of the store"),
            KeyError::InProgress | KeyError::Newest(_) | KeyError::Needed { .. } => ApiError::conflict(text),
            KeyError::NotSealed
            | KeyError::Nodes
            | KeyError::Served
            | KeyError::Folder { .. }
            | KeyError::Incomplete(_)
            | KeyError::Store(_) => ApiError::refused(text),
        }
    }
}

impl From<BackupError> for ApiError {
    fn from(error: BackupError) -> ApiError {
        match error {
            BackupError::NotConfigured => {
                ApiError::refused("No backups are made here: set `folder` in [backup] of the configuration.")
            }
            BackupError::InProgress(_) => ApiError::conflict(sentence(&error.to_string())),
            BackupError::Folder { .. } => ApiError::refused(sentence(&error.to_string())),
        }
    }
}

impl From<VersionError> for ApiError {
    fn from(error: VersionError) -> ApiError {
        match error {
            VersionError::NoAdapter(_) => ApiError::not_found("Adapter"),
            VersionError::NoVersion(_) => ApiError::not_found("Adapter version"),
            VersionError::Trial { call, fault } => {
                ApiError::refused(format!("The trial failed and nothing was changed. {call}: {fault}."))
            }
            VersionError::NoneAtLocation | VersionError::NothingBefore | VersionError::Refused(_) => {
                ApiError::refused(sentence(&error.to_string()))
            }
            VersionError::Store(error) => not_committed(error, "versions of adapters cannot be read or written"),
        }
    }
}

impl From<RegistryError> for ApiError {
    fn from(error: RegistryError) -> ApiError {
        match error {
            RegistryError::TargetUrl(_)
            | RegistryError::UnknownPair(_)
            | RegistryError::NoTarget(_)
            | RegistryError::NotActive(_)
            | RegistryError::TooMany { .. } => ApiError::bad(format!("{}.", error.to_string().trim_end_matches('.'))),
            RegistryError::NotFound => ApiError::not_found("Webhook endpoint"),
            RegistryError::Duplicate { .. } | RegistryError::Rotating | RegistryError::KeyReused => {
                ApiError::conflict(sentence(&error.to_string()))
            }
            RegistryError::Store(StoreError::Away { .. })
            | RegistryError::Ids(IdError::Commit(CommitError::Store(StoreError::Away { .. })))
            | RegistryError::Commit(CommitError::Store(StoreError::Away { .. })) => {
                ApiError::from(EngineError::StoreAway)
            }
            RegistryError::Ids(_) | RegistryError::Commit(_) | RegistryError::Store(_) => {
                ApiError::from(EngineError::StoreFull)
            }
        }
    }
}
