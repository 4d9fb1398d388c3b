//! Backups of the store, as the API layer asks for them.

use location::time::Timestamp;
use runtime::clock;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::{
    Engine,
    backups::{BackupEnded, BackupError, BackupsNow},
};

impl Engine {
    /// Begins a backup of the store, and says how it is called.
    pub fn begin_backup(&self) -> Result<String, BackupError> {
        self.backups.begin(clock::now())
    }

    /// Waits for the folder's disk, which may be another machine's.
    pub async fn backups(&self) -> Result<BackupsNow, BackupError> {
        let backups = self.backups.clone();
        match tokio::task::spawn_blocking(move || backups.now()).await {
            Ok(now) => now,
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends, and with it whoever waits.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// The ends of backups from now on, scheduled ones too. There is one receiver, the first.
    pub fn backups_ended(&self) -> UnboundedReceiver<BackupEnded> {
        self.backups.ended()
    }

    /// When the newest backup was made, and how many came to nothing since the start; none where no backups are made.
    pub fn backup_numbers(&self) -> Option<(Option<Timestamp>, u64)> {
        self.backups.newest().map(|newest| (newest, self.backups.failures()))
    }
}
