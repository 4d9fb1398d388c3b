//! Backups of the store, as the API layer asks for them.

use location::Timestamp;
use runtime::{clock, run_blocking};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::{BackupEnded, BackupError, BackupsNow, Engine};

impl Engine {
    /// Begins a backup of the store, and returns its name.
    pub fn begin_backup(&self) -> Result<String, BackupError> {
        self.backups.begin(clock::now())
    }

    /// Returns the state of the backups. Waits for the disk of the folder, which may be on another machine.
    pub async fn backups(&self) -> Result<BackupsNow, BackupError> {
        let backups = self.backups.clone();
        run_blocking(move || backups.now()).await
    }

    /// Returns a receiver for the ends of backups from now on, including scheduled ones. Only the first receiver gets
    /// them.
    pub fn backups_ended(&self) -> UnboundedReceiver<BackupEnded> {
        self.backups.ended()
    }

    /// Returns the time of the newest backup and the number of failures since the start, or `None` without a backup
    /// folder.
    pub fn backup_numbers(&self) -> Option<(Option<Timestamp>, u64)> {
        self.backups.newest().map(|newest| (newest, self.backups.failures()))
    }
}
