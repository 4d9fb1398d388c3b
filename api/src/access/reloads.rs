//! How a call asks for the configuration to be read again; what does it is behind this channel.

use std::path::PathBuf;

use tokio::sync::{mpsc, oneshot};

/// Somebody waits for the outcome.
pub(crate) struct AskedToReload {
    /// Only tell what would change.
    pub dry_run: bool,
    /// Institutions and locations may be removed.
    pub allow_removal: bool,
    /// With `dry_run`: the configuration to compare with the one in force, instead of the server's own.
    pub config: Option<PathBuf>,
    pub answer: oneshot::Sender<Reloaded>,
}

pub(crate) type AskToReload = mpsc::Sender<AskedToReload>;

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// The configuration that was read is in force.
    pub applied: bool,
    /// What tells it from the one before, a line each.
    pub changes: Vec<String>,
    /// Keys whose change takes a restart: with any of them nothing is applied.
    pub needs_restart: Vec<String>,
    /// Institutions and locations whose removal was not allowed: with any of them nothing is applied.
    pub removals: Vec<String>,
    /// What is wrong with it.
    pub problems: Vec<String>,
}
