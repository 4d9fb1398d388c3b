//! Whether everything that was written is there, found out beside the work: page by page the values are opened and their versions added
//! up, while the committer keeps the sum right for what has been passed already. At the end it must be the watermark record's.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use super::{
    range::{Key, KeyRange},
    version::Version,
    watermark::WatermarkRecord,
};

struct Progress {
    found: WatermarkRecord,
    /// Values below this key are in `found`.
    passed: Key,
    /// What the whole store must come to.
    last: WatermarkRecord,
    /// What groups have changed since the page under way was begun: it shows the state before them.
    since: Vec<Replaced>,
}

#[derive(Default)]
pub(super) struct Audit {
    progress: Mutex<Option<Progress>>,
    stop: AtomicBool,
}

/// One value of a group: its key, and its versions before and after.
pub(super) type Replaced = (Key, Option<Version>, Option<Version>);

/// What is left once everything has been looked at.
pub(super) struct Sums {
    pub found: WatermarkRecord,
    pub last: WatermarkRecord,
}

impl Audit {
    /// To be called before the first commit.
    pub(crate) fn begin(&self, last: WatermarkRecord) {
        let found = WatermarkRecord::default();
        *self.progress() = Some(Progress { found, passed: Key::new(), last, since: Vec::new() });
    }

    /// Makes a group visible, and takes it into account in the same moment. Never held up by a page.
    pub(crate) fn show(&self, next: WatermarkRecord, replaced: Vec<Replaced>, show: impl FnOnce()) {
        let mut progress = self.progress();
        show();
        let Some(progress) = &mut *progress else { return };
        progress.last = next;
        for (_, old, new) in replaced.iter().filter(|(key, ..)| *key < progress.passed) {
            progress.found.replace(*old, *new);
        }
        progress.since.extend(replaced.into_iter().filter(|(key, ..)| *key >= progress.passed));
    }

    /// What is still to be looked at, and a view of the state from which on every group is taken into account. None: nothing is.
    pub(crate) fn next_page<T>(&self, view: impl FnOnce() -> T) -> Option<(KeyRange, T)> {
        let mut progress = self.progress();
        let progress = progress.as_mut()?;
        progress.since.clear();
        Some((KeyRange { start: progress.passed.clone(), ..KeyRange::prefix(&[]) }, view()))
    }

    /// Adds a page to what was found; the sums after an empty one.
    pub(crate) fn add(&self, page: &[(Key, Version)]) -> Option<Sums> {
        let mut guard = self.progress();
        let progress = guard.as_mut()?;
        let Some((last, _)) = page.last() else {
            // Whatever came behind the last page while this one showed nothing there.
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
        self.progress().take();
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn progress(&self) -> MutexGuard<'_, Option<Progress>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
