//! Channel between calls and the task that reloads the configuration.

use std::path::PathBuf;

use tokio::sync::{mpsc, oneshot};

pub struct ReloadRequest {
    /// Reports the changes without applying them.
    pub dry_run: bool,
    /// Allows the removal of institutions and locations.
    pub allow_removal: bool,
    /// With `dry_run`: path of the configuration to compare with the active one, instead of the server's own.
    pub config: Option<PathBuf>,
    pub answer: oneshot::Sender<ReloadOutcome>,
}

pub(crate) type ReloadSender = mpsc::Sender<ReloadRequest>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReloadOutcome {
    /// `true` if the new configuration is active.
    pub applied: bool,
    /// Differences from the previous configuration, one line each.
    pub changes: Vec<String>,
    /// Keys whose change needs a restart. Nothing is applied if there are any.
    pub needs_restart: Vec<String>,
    /// Institutions and locations whose removal was not allowed. Nothing is applied if there are any.
    pub removals: Vec<String>,
    pub problems: Vec<String>,
}
