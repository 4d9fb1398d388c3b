//! State of the background integrity check. It opens the values page by page and adds up their versions. The
//! committer updates the sum for keys that have already been checked. At the end, the sum must match the
//! watermark record.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::{Key, KeyRange, Version, watermark::WatermarkRecord};

struct AuditProgress {
    found: WatermarkRecord,
    /// Values with keys below this one are included in `found`.
    passed: Key,
    /// The expected sum of the whole store.
    last: WatermarkRecord,
    /// Changes by groups since the current page was begun; the view of the page does not contain them.
    since: Vec<(Key, Option<Version>, Option<Version>)>,
}

#[derive(Default)]
pub(super) struct Audit {
    progress: Mutex<Option<AuditProgress>>,
    stop: AtomicBool,
}

/// A changed value of a group: its key, and its versions before and after.
pub(super) type Replaced<'a> = (&'a [u8], Option<Version>, Option<Version>);

/// The sums after all values have been checked.
pub(super) struct Sums {
    pub found: WatermarkRecord,
    pub last: WatermarkRecord,
}

impl Audit {
    /// Starts the check. Must be called before the first commit.
    pub(crate) fn begin(&self, last: WatermarkRecord) {
        let found = WatermarkRecord::default();
        *self.progress.lock() = Some(AuditProgress { found, passed: Key::new(), last, since: Vec::new() });
    }

    /// Makes a group visible and updates the sum atomically. Never waits for a page to be read.
    pub(crate) fn show(&self, next: WatermarkRecord, replaced: &[Replaced<'_>], show: impl FnOnce()) {
        let mut progress = self.progress.lock();
        show();
        let Some(progress) = &mut *progress else { return };
        progress.last = next;
        for (key, old, new) in replaced {
            if *key < progress.passed.as_slice() {
                progress.found.replace(*old, *new);
            } else {
                progress.since.push((key.to_vec(), *old, *new));
            }
        }
    }

    /// Returns the remaining range, and a view from which on the sums include every group. Returns `None` if no
    /// check is running.
    pub(crate) fn next_page<T>(&self, view: impl FnOnce() -> T) -> Option<(KeyRange, T)> {
        let mut progress = self.progress.lock();
        let progress = progress.as_mut()?;
        progress.since.clear();
        Some((KeyRange { start: progress.passed.clone(), ..KeyRange::prefix(&[]) }, view()))
    }

    /// Adds a page to the sum. Returns the sums after an empty page, which ends the check.
    pub(crate) fn add(&self, page: &[(Key, Version)]) -> Option<Sums> {
        let mut guard = self.progress.lock();
        let progress = guard.as_mut()?;
        let Some((last, _)) = page.last() else {
            // Groups may have added values after the last page while this page was read.
            for (_, old, new) in std::mem::take(&mut progress.since) {
                progress.found.replace(old, new);
            }
            return guard.take().map(|progress| Sums { found: progress.found, last: progress.last });
        };
        page.iter().for_each(|(_, version)| progress.found.replace(None, Some(*version)));
        progress.passed = [last.as_slice(), &[0]].concat();
        for (_, old, new) in progress.since.drain(..).filter(|(key, ..)| *key < progress.passed) {
            progress.found.replace(old, new);
        }
        None
    }

    pub(crate) fn end(&self) {
        self.progress.lock().take();
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
