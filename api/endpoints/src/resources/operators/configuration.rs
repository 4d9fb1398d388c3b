//! POST /configuration/reload: the server reads its configuration again (our addition).

use std::path::PathBuf;

use tokio::sync::oneshot;

use framework::access::reloads::{ReloadOutcome, ReloadRequest};

use crate::prelude::*;

/// Longest path of a configuration.
const MAX_PATH: usize = 4_096;

const RETRY_LATER: u64 = 5;

/// The result of a reload.
#[derive(Serialize, JsonSchema)]
pub struct ReloadView {
    /// `true` if the new configuration is in force. It is applied as a whole or not at all.
    applied: bool,
    /// Differences from the configuration in force, one line per change. Credentials are reported only as changed.
    changes: Vec<String>,
    /// Keys whose change needs a restart. If there are any, nothing is applied.
    needs_restart: Vec<String>,
    /// Institutions and locations that are no longer in the configuration. If there are any, nothing is applied unless
    /// the call sets `allow_removal`.
    removals: Vec<String>,
    /// Problems, each with file and line. If there are any, only the readable API keys are applied.
    problems: Vec<String>,
}

#[input]
pub struct ConfigurationReload {
    /// `true` to only compare the new configuration with the one in force.
    #[body(boolean(), or = false)]
    dry_run: bool,
    /// `true` to allow the removal of institutions and locations.
    #[body(boolean().omit_from_example(), or = false)]
    allow_removal: bool,
    /// With `dry_run`, the path on the server's machine of a file or folder to compare with the configuration in force.
    /// Without this path, the server's own files are read again.
    #[body(text(MAX_PATH).omit_from_example())]
    config: Option<String>,
}

pub async fn reload(
    call: ApiCall,
    Anywhere(ConfigurationReload { dry_run, allow_removal, config }): Anywhere<ConfigurationReload>,
) -> Answer<One<ReloadView>> {
    let config = config.map(PathBuf::from);
    if config.as_ref().is_some_and(|path| !dry_run || !path.is_absolute()) {
        return Err(ApiError::refused("config must be an absolute path, and needs dry_run."));
    }
    let Some(reloads) = call.api.reloads.get() else {
        return Err(ApiError::refused("The configuration of this server is in no file."));
    };
    let (answer, reloaded) = oneshot::channel();
    let unavailable = || ApiError::unavailable(RETRY_LATER);
    reloads.send(ReloadRequest { dry_run, allow_removal, config, answer }).await.map_err(|_| unavailable())?;
    let ReloadOutcome { applied, changes, needs_restart, removals, problems } =
        reloaded.await.map_err(|_| unavailable())?;
    if !dry_run {
        call.audit_action("reload configuration", "configuration");
        tracing::info!(key = %call.key.name, applied, "configuration reload requested");
    }
    Ok(call.show(ReloadView { applied, changes, needs_restart, removals, problems }))
}
