//! Why the host, an adapter or a connection cannot be had. What goes wrong in a call is a `Fault`.

use std::path::PathBuf;

use super::manifest::{CONTRACT_PACKAGE, CONTRACT_VERSION};

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("the adapter cache {}: {source}", dir.display())]
    Cache { dir: PathBuf, source: std::io::Error },
    #[error("the adapter threads cannot be started: {0}")]
    Threads(std::io::Error),
    #[error("the adapter engine cannot be set up: {0}")]
    Engine(String),
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{0}")]
    Io(std::io::Error),
    #[error("larger than {0} bytes")]
    TooLarge(u64),
    #[error("not a component: {0}")]
    NotAComponent(String),
    #[error("not an adapter: it does not export {CONTRACT_PACKAGE}/ehr")]
    NoContract,
    #[error("it carries no manifest: build it with `practice-sync adapter build`")]
    NoManifest,
    #[error("its manifest is not understood: {0}")]
    Manifest(String),
    #[error("built for {built_for}, this engine offers {CONTRACT_PACKAGE}@{CONTRACT_VERSION}")]
    OtherContract { built_for: String },
    #[error(
        "it imports {0}, which this engine does not offer: adapters are built for wasm32-unknown-unknown, without WASI"
    )]
    ForeignImport(String),
    #[error("its side of the contract differs from {CONTRACT_PACKAGE}@{CONTRACT_VERSION} as this engine has it: {0}")]
    Shape(String),
    #[error("it does not start: {0}")]
    Start(String),
    #[error("it cannot be compiled: {0}")]
    Compile(String),
    #[error("the adapter host is shutting down")]
    ShuttingDown,
}

/// A component that could not be loaded, by its file.
#[derive(Debug, thiserror::Error)]
#[error("adapter {}: {reason}", path.display())]
pub struct LoadFailed {
    pub path: PathBuf,
    #[source]
    pub reason: LoadError,
}
