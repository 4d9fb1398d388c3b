//! Errors of the host, of loading adapters and of connections. Errors in a call are `Fault`s.

use std::{path::PathBuf, time::Duration};

use adapter_component::InvalidComponent;

use super::{CONTRACT_PACKAGE, CONTRACT_VERSION};

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("the adapter threads cannot be started: {0}")]
    Threads(std::io::Error),
    #[error("the adapter engine cannot be set up: {0}")]
    Engine(String),
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{0}")]
    Io(std::io::Error),
    #[error(transparent)]
    InvalidComponent(#[from] InvalidComponent),
    #[error("its side of the contract differs from {CONTRACT_PACKAGE}@{CONTRACT_VERSION} as this engine has it: {0}")]
    Shape(String),
    #[error("it does not start: {0}")]
    Start(String),
    #[error("it cannot be compiled: {0}")]
    Compile(String),
    #[error("it was not compiled within {} s", .0.as_secs())]
    TooSlow(Duration),
    #[error("the adapter host is shutting down")]
    ShuttingDown,
}

/// A component file that could not be loaded.
#[derive(Debug, thiserror::Error)]
#[error("adapter {}: {reason}", path.display())]
pub struct LoadFailed {
    pub path: PathBuf,
    #[source]
    pub reason: LoadError,
}
