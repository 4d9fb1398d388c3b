//! Rotation of the store's keys while it is served: adds a new key, reseals older values in the background, and drops
//! keys that nothing needs. The progress follows from the values, so a start continues where the previous process
//! ended.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};
use store::{KeyId, Store, StoreError, StoreKeys, rotation};

use crate::{KeyError, backups::Backups, store_keys::drop_unneeded};

/// Pause between two steps, because bookings use the same disk.
const PAUSE: Duration = Duration::from_millis(5);
const CHECK_INTERVAL: Duration = Duration::from_millis(200);
/// Free space above the floor of the store, for writes during the rotation.
const ROOM_TO_SPARE: u64 = 256 << 20;
/// Pause after a failed pass.
const AGAIN: Duration = Duration::from_secs(60);

/// The state of the store's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeysNow {
    /// The newest key is the last one, and seals new values.
    pub keys: Vec<KeyId>,
    /// Number of values sealed with other keys. `None` until they are counted.
    pub left: Option<u64>,
    /// The reason why resealing failed, until it has succeeded.
    pub failed: Option<String>,
}

pub(crate) struct Rotation {
    store: Arc<dyn Store>,
    file: Option<PathBuf>,
    nodes: bool,
    backups: Arc<Backups>,
    state: Mutex<RotationState>,
    /// Held while a key is added or dropped.
    changing: Mutex<()>,
    stopped: AtomicBool,
}

#[derive(Default)]
struct RotationState {
    /// The key for all values, while some are sealed with others.
    to: Option<KeyId>,
    /// A pass is running, as opposed to waiting for its next attempt.
    passes: bool,
    left: Option<u64>,
    failed: Option<String>,
}

impl RotationState {
    /// Returns the number of values left. Returns 0 only after a pass has found none, because only then may keys be
    /// dropped.
    fn remaining(&self) -> Option<u64> {
        self.left.filter(|left| *left > 0 || self.to.is_none())
    }
}

impl Rotation {
    /// Creates the rotation. `file` contains the keys with which the store was opened.
    pub(crate) fn new(store: Arc<dyn Store>, file: Option<PathBuf>, nodes: bool, backups: Arc<Backups>) -> Arc<Self> {
        let (state, changing, stopped) = (Mutex::default(), Mutex::default(), AtomicBool::new(false));
        Arc::new(Self { store, file, nodes, backups, state, changing, stopped })
    }

    fn file(&self) -> Result<&Path, KeyError> {
        self.file.as_deref().filter(|_| self.store.sealed().is_some()).ok_or(KeyError::NotSealed)
    }

    fn sealed(&self) -> Result<&dyn rotation::Sealed, KeyError> {
        self.store.sealed().ok_or(KeyError::NotSealed)
    }

    fn change(&self) -> Result<MutexGuard<'_, ()>, KeyError> {
        if self.nodes {
            return Err(KeyError::Nodes);
        }
        self.changing.try_lock().ok_or(KeyError::InProgress)
    }

    /// Resumes the rotation of the previous process. With several nodes there is none: their keys are rotated while
    /// they are stopped.
    pub(crate) fn resume(self: &Arc<Self>) -> Result<(), StoreError> {
        let Ok(file) = self.file() else { return Ok(()) };
        let keys = StoreKeys::load(file)?;
        if keys.ids().count() > 1 && !self.nodes {
            return self.begin(keys.newest());
        }
        self.state.lock().left = (keys.ids().count() == 1).then_some(0);
        Ok(())
    }

    /// Adds a key that seals all values from now on. Waits for a disk.
    pub(crate) fn rotate(self: &Arc<Self>) -> Result<KeyId, KeyError> {
        let (file, _changing) = (self.file()?, self.change()?);
        if self.state.lock().passes {
            return Err(KeyError::InProgress);
        }
        let keys = StoreKeys::load(file)?.and_a_new_one()?;
        keys.save(file)?;
        self.sealed()?.use_keys(&keys);
        tracing::info!(key = %keys.newest(), "the store is sealed with a new key: keep a copy of store.key, which new backups require");
        self.begin(keys.newest())?;
        Ok(keys.newest())
    }

    fn begin(self: &Arc<Self>, to: KeyId) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        (state.left, state.failed) = (None, None);
        if state.to.replace(to).is_some() {
            // The running thread notices the new key.
            return Ok(());
        }
        state.passes = true;
        let own = self.clone();
        let spawned = thread::Builder::new().name("store-keys".into()).spawn(move || own.run());
        spawned.map(drop).map_err(|source| {
            *state = RotationState { failed: Some(source.to_string()), ..RotationState::default() };
            StoreError::Io { what: "starting to reseal values".into(), source: Arc::new(source) }
        })
    }

    fn run(&self) {
        while let (Some(to), Ok(sealed)) = (self.pass(), self.sealed()) {
            match rotation::reseal(sealed, to, |left| self.note_progress(left)) {
                Ok(true) if self.is_over(to) => {
                    tracing::info!(key = %to, "all values are sealed with the newest key: `practice-sync store drop-key` drops the others");
                    return;
                }
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::warn!(%error, "resealing with the newest key failed; retrying in a minute");
                    let mut state = self.state.lock();
                    (state.passes, state.failed) = (false, Some(error.to_string()));
                }
            }
            let again = Instant::now() + AGAIN;
            while Instant::now() < again && self.state.lock().to == Some(to) && !self.is_stopped() {
                thread::sleep(CHECK_INTERVAL);
            }
        }
    }

    fn pass(&self) -> Option<KeyId> {
        let mut state = self.state.lock();
        state.passes = true;
        state.to.filter(|_| !self.is_stopped())
    }

    fn is_over(&self, to: KeyId) -> bool {
        let mut state = self.state.lock();
        let over = state.to == Some(to);
        if over {
            *state = RotationState { left: Some(0), ..RotationState::default() };
        }
        over
    }

    /// Records the progress, and waits between steps. Nothing is resealed during a backup, which keeps replaced values
    /// in memory, or while bookings need the disk space.
    fn note_progress(&self, left: Option<u64>) -> bool {
        if left.is_some() {
            self.state.lock().left = left;
        }
        thread::sleep(PAUSE);
        let tight = || {
            let health = self.store.health();
            health.free.is_some_and(|free| free < health.floor.saturating_add(ROOM_TO_SPARE))
        };
        while (self.backups.running().is_some() || tight()) && !self.is_stopped() {
            thread::sleep(CHECK_INTERVAL);
        }
        !self.is_stopped()
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Ends the pass after its current step.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> Result<KeysNow, KeyError> {
        let keys = StoreKeys::load(self.file()?)?.ids().collect();
        let state = self.state.lock();
        Ok(KeysNow { keys, left: state.remaining(), failed: state.failed.clone() })
    }

    /// Returns the number of values not sealed with the newest key, once they are counted.
    pub(crate) fn remaining(&self) -> Option<u64> {
        self.state.lock().remaining()
    }

    /// Removes an unneeded key from the file, after a check of all values and of all backups in the folder.
    pub(crate) fn drop_key(&self, id: KeyId) -> Result<(), KeyError> {
        let (file, _changing) = (self.file()?, self.change()?);
        if self.state.lock().to.is_some() {
            return Err(KeyError::InProgress);
        }
        // Later backups contain no value sealed with the key, but one in progress may.
        let none_is_made = || match self.backups.running() {
            Some(name) => Err(KeyError::Needed { id, by: format!("the backup {name}, which is being made") }),
            None => Ok(()),
        };
        drop_unneeded(self.sealed()?, file, self.backups.folder().as_deref(), id, none_is_made, || thread::sleep(PAUSE))
    }
}
