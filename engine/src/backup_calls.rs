//! Backups of the store, as the API layer asks for them.

use location::time::Timestamp;
use runtime::clock;

use crate::{
    Engine,
    backups::{BackupError, BackupsNow},
};

impl Engine {
    /// Begins a backup of the store, and says how it is called.
    pub fn begin_backup(&self) -> Result<String, BackupError> {
        self.backups.begin(clock::now())
    }

    pub fn backups(&self) -> Result<BackupsNow, BackupError> {
        self.backups.now()
    }

    /// When the newest backup was made, and how many came to nothing since the start; none where no backups are made.
    pub fn backup_numbers(&self) -> Option<(Option<Timestamp>, u64)> {
        self.backups.newest().map(|newest| (newest, self.backups.failures()))
    }
}
