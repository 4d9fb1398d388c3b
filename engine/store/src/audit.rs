//! Whether everything that was written is there, found out beside the work: page by page the values are opened and their fingerprints
//! added up, while the committer keeps the sum right for what has been passed already. At the end it must be the tide record's.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use super::{Direction, Key, KeyRange, StoreError, envelope::fingerprint, sled_store::Shared, tide::TideRecord};

/// Values looked at while commits wait, and the pause after them: some 20,000 values a second, a fraction of what a disk reads.
const AT_ONCE: usize = 200;
const PAUSE: Duration = Duration::from_millis(10);
/// It stays an alarm: said again as often.
const SAID_EVERY: Duration = Duration::from_secs(3_600);

/// What has been looked at so far.
pub(super) struct Progress {
    found: TideRecord,
    /// Values below this key are in `found`.
    passed: Key,
    /// What the whole store must come to.
    last: TideRecord,
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
    pub fn begin(&self, last: TideRecord) {
        *self.progress() = Some(Progress { found: TideRecord::default(), passed: Key::new(), last });
    }

    /// Makes a group visible, and takes it into account in the same moment.
    pub fn reveal(&self, next: TideRecord, replaced: &[Replaced], reveal: impl FnOnce()) {
        let mut progress = self.progress();
        reveal();
        let Some(progress) = &mut *progress else { return };
        progress.last = next;
        for (_, old, new) in replaced.iter().filter(|(key, ..)| *key < progress.passed) {
            progress.found.replace(*old, *new);
        }
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn progress(&self) -> MutexGuard<'_, Option<Progress>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `Ok(true)`: there is more.
    fn step(&self, shared: &Shared) -> Result<bool, StoreError> {
        let mut guard = self.progress();
        let Some(progress) = &mut *guard else { return Ok(false) };
        let rest = KeyRange { start: progress.passed.clone(), ..KeyRange::prefix(&[]) };
        let look = |shared: &Shared, key: Key, head, hidden: &_| {
            let (key, raw) = shared.with_pieces(key, head, hidden)?;
            shared.envelope.open(&key, &raw.head, &raw.pieces)?;
            Ok((key, fingerprint(&raw.head)))
        };
        let page = shared.walk(rest, Direction::Forward, AT_ONCE, look)?;
        page.iter().for_each(|(_, print)| progress.found.replace(None, Some(*print)));
        if let Some((key, _)) = page.last() {
            progress.passed = [key.as_slice(), &[0]].concat();
            return Ok(true);
        }
        let done = guard.take();
        done.map_or(Ok(()), |progress| progress.found.is_all_of(progress.last)).map(|()| false)
    }
}

/// Runs until everything has been looked at, or the store is closed.
pub(super) fn start(shared: Arc<Shared>) -> Result<JoinHandle<()>, StoreError> {
    let run = move || {
        let found = loop {
            if shared.audit.stop.load(Ordering::Relaxed) {
                return;
            }
            match shared.audit.step(&shared) {
                Ok(true) => thread::sleep(PAUSE),
                Ok(false) => {
                    return tracing::info!("the store was looked through: everything that was written is there");
                }
                Err(error) => break error,
            }
        };
        shared.audit.progress().take();
        let damage = shared.damage.get_or_init(|| found.to_string());
        let mut said: Option<std::time::Instant> = None;
        while !shared.audit.stop.load(Ordering::Relaxed) {
            if said.is_none_or(|said| said.elapsed() >= SAID_EVERY) {
                tracing::error!(
                    damage,
                    "the store is damaged: restore it from a backup, or copy what is sound with `practice-sync store salvage`"
                );
                said = Some(std::time::Instant::now());
            }
            thread::sleep(Duration::from_millis(100));
        }
    };
    thread::Builder::new().name("store-audit".into()).spawn(run).map_err(StoreError::io("starting the store's audit"))
}
