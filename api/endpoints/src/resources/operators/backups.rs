//! GET and POST /backups: the store's backups, for operators (our addition).

use engine::{BackupFile, BackupsNow};

use crate::prelude::*;

/// The backups of the server's store.
#[view(value = BackupsNow)]
pub struct BackupsView {
    /// Backups in the configured folder, newest first.
    #[view(with = entry.files.iter().map(BackupView::from_value).collect())]
    backups: Vec<BackupView>,
    /// The backup in progress; null if there is none.
    #[view(with = entry.running.clone().map(|(name, values)| BackupUnderWay { name, values }))]
    under_way: Option<BackupUnderWay>,
    /// Reason why the last backup failed; null once another backup succeeds, and after a server start.
    failed: Option<String>,
}

/// A complete backup.
#[view(value = BackupFile)]
pub(crate) struct BackupView {
    /// The name of the file.
    name: String,
    /// Time at which the file was written, in UTC.
    made_at: At,
    /// Size of the file, in bytes.
    bytes: u64,
}

/// A backup in progress.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BackupUnderWay {
    /// Name of the file after completion.
    name: String,
    /// Number of values of the store that have been written.
    values: u64,
}

/// A backup that was started.
#[derive(Serialize, JsonSchema)]
pub struct BackupBegun {
    /// Name of the file once the backup is complete.
    name: String,
}

pub async fn list(call: ApiCall, Anywhere(()): Anywhere<()>) -> Answer<One<BackupsView>> {
    Ok(call.show(BackupsView::from_value(&call.api.engine.backups().await?)))
}

pub async fn make(call: ApiCall, Anywhere(()): Anywhere<()>) -> Answer<One<BackupBegun>> {
    let name = call.api.engine.begin_backup()?;
    call.audit_action("start backup", "store");
    tracing::info!(key = %call.key.name, name, "backup requested");
    Ok(call.show(BackupBegun { name }))
}
