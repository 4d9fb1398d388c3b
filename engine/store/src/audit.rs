//! Whether everything that was written is there, found out beside the work: page by page the values are opened and their fingerprints
//! added up, while the committer keeps the sum right for what has been passed already. At the end it must be the watermark record's.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use super::{range::Key, watermark::WatermarkRecord};

/// What has been looked at so far.
pub(super) struct Progress {
    pub found: WatermarkRecord,
    /// Values below this key are in `found`.
    pub passed: Key,
    /// What the whole store must come to.
    pub last: WatermarkRecord,
}

#[derive(Default)]
pub(super) struct Audit {
    progress: Mutex<Option<Progress>>,
    stop: AtomicBool,
}

/// One value of a group: its key, and its fingerprints before and after.
pub(super) type Replaced = (Key, Option<u128>, Option<u128>);

impl Audit {
    /// To be called before the first commit.
    pub(crate) fn begin(&self, last: WatermarkRecord) {
        *self.progress() = Some(Progress { found: WatermarkRecord::default(), passed: Key::new(), last });
    }

    /// Makes a group visible, and takes it into account in the same moment.
    pub(crate) fn reveal(&self, next: WatermarkRecord, replaced: &[Replaced], reveal: impl FnOnce()) {
        let mut progress = self.progress();
        reveal();
        let Some(progress) = &mut *progress else { return };
        progress.last = next;
        for (_, old, new) in replaced.iter().filter(|(key, ..)| *key < progress.passed) {
            progress.found.replace(*old, *new);
        }
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn progress(&self) -> MutexGuard<'_, Option<Progress>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
