//! The keys of the store: a new one while it is served, and what was sealed before sealed anew beside the work; old ones that nothing needs
//! any more. How far it is lies in the values: a start goes on where the process before ended.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use store::{KeyId, Store, StoreError, StoreKeys, rotation};

use crate::{
    backups::Backups,
    store_keys::{KeyError, drop_unneeded},
};

/// Between two steps: bookings want the same disk.
const PAUSE: Duration = Duration::from_millis(5);
const LOOK: Duration = Duration::from_millis(200);
/// Above the floor of the store, for what has to be written meanwhile.
const ROOM_TO_SPARE: u64 = 256 << 20;
/// After a pass that came to nothing.
const AGAIN: Duration = Duration::from_secs(60);

/// How the keys of the store stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeysNow {
    /// The newest last: it seals what is written.
    pub keys: Vec<KeyId>,
    /// Values that are sealed with another one; none until they are counted.
    pub left: Option<u64>,
    /// Why they were not sealed anew, until they are.
    pub failed: Option<String>,
}

pub(crate) struct Rotation {
    store: Arc<dyn Store>,
    file: Option<PathBuf>,
    nodes: bool,
    backups: Arc<Backups>,
    state: Mutex<State>,
    /// Held by whoever makes a key or drops one.
    changing: Mutex<()>,
    stopped: AtomicBool,
}

#[derive(Default)]
struct State {
    /// What everything is to be sealed with, while something is not.
    to: Option<KeyId>,
    /// A pass is on its way, and not waiting for its next try.
    passes: bool,
    left: Option<u64>,
    failed: Option<String>,
}

impl State {
    /// None are left once a look at all of them has found none: until then a key may not be dropped.
    fn left(&self) -> Option<u64> {
        self.left.filter(|left| *left > 0 || self.to.is_none())
    }
}

impl Rotation {
    /// `file` has the keys that the store was opened with.
    pub(crate) fn new(store: Arc<dyn Store>, file: Option<PathBuf>, nodes: bool, backups: Arc<Backups>) -> Arc<Self> {
        let (state, changing, stopped) = (Mutex::default(), Mutex::default(), AtomicBool::new(false));
        Arc::new(Self { store, file, nodes, backups, state, changing, stopped })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        match self.changing.try_lock() {
            Ok(guard) => Ok(guard),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => Err(KeyError::UnderWay),
        }
    }

    /// Goes on with what the process before has left. Nodes were stopped for a new key, and nothing was left of the old one.
    pub(crate) fn resume(self: &Arc<Self>) -> Result<(), StoreError> {
        let Ok(file) = self.file() else { return Ok(()) };
        let keys = StoreKeys::load(file)?;
        if keys.ids().count() > 1 && !self.nodes {
            return self.begin(keys.newest());
        }
        self.state().left = (keys.ids().count() == 1).then_some(0);
        Ok(())
    }

    /// A new key that seals from now on. Waits for a disk.
    pub(crate) fn rotate(self: &Arc<Self>) -> Result<KeyId, KeyError> {
        let (file, _changing) = (self.file()?, self.change()?);
        if self.state().passes {
            return Err(KeyError::UnderWay);
        }
        let keys = StoreKeys::load(file)?.and_a_new_one()?;
        keys.save(file)?;
        self.sealed()?.use_keys(&keys);
        tracing::info!(key = %keys.newest(), "a new key seals the store: keep a copy of store.key, without it new backups cannot be read");
        self.begin(keys.newest())?;
        Ok(keys.newest())
    }

    fn begin(self: &Arc<Self>, to: KeyId) -> Result<(), StoreError> {
        let mut state = self.state();
        (state.left, state.failed) = (None, None);
        if state.to.replace(to).is_some() {
            // Whoever waits for the next try sees that it is another key.
            return Ok(());
        }
        state.passes = true;
        let own = self.clone();
        let spawned = thread::Builder::new().name("store-keys".into()).spawn(move || own.run());
        spawned.map(drop).map_err(|source| {
            *state = State { failed: Some(source.to_string()), ..State::default() };
            StoreError::Io { what: "starting to seal values anew".into(), source: Arc::new(source) }
        })
    }

    fn run(&self) {
        while let (Some(to), Ok(sealed)) = (self.pass(), self.sealed()) {
            match rotation::reseal(sealed, to, |left| self.go_on(left)) {
                Ok(true) if self.is_over(to) => {
                    tracing::info!(key = %to, "all values are sealed with the newest key: `practice-sync store drop-key` drops the others");
                    return;
                }
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::warn!(%error, "not all values were sealed with the newest key; it is tried again in a minute");
                    let mut state = self.state();
                    (state.passes, state.failed) = (false, Some(error.to_string()));
                }
            }
            let again = Instant::now() + AGAIN;
            while Instant::now() < again && self.state().to == Some(to) && !self.is_stopped() {
                thread::sleep(LOOK);
            }
        }
    }

    fn pass(&self) -> Option<KeyId> {
        let mut state = self.state();
        state.passes = true;
        state.to.filter(|_| !self.is_stopped())
    }

    fn is_over(&self, to: KeyId) -> bool {
        let mut state = self.state();
        let over = state.to == Some(to);
        if over {
            *state = State { left: Some(0), ..State::default() };
        }
        over
    }

    /// What a backup needs of replaced values stays in memory until it is written: nothing is sealed anew meanwhile, nor where bookings will
    /// need the room.
    fn go_on(&self, left: Option<u64>) -> bool {
        if left.is_some() {
            self.state().left = left;
        }
        thread::sleep(PAUSE);
        let tight = || {
            let health = self.store.health();
            health.free.is_some_and(|free| free < health.floor.saturating_add(ROOM_TO_SPARE))
        };
        while (self.backups.under_way().is_some() || tight()) && !self.is_stopped() {
            thread::sleep(LOOK);
        }
        !self.is_stopped()
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// What is under way ends with its step.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> Result<KeysNow, KeyError> {
        let keys = StoreKeys::load(self.file()?)?.ids().collect();
        let state = self.state();
        Ok(KeysNow { keys, left: state.left(), failed: state.failed.clone() })
    }

    /// Values that are not sealed with the newest key, once they are counted.
    pub(crate) fn left(&self) -> Option<u64> {
        self.state().left()
    }

    /// Takes a key that nothing needs any more out of the file. Looks at all values, and at all backups of the folder.
    pub(crate) fn drop_key(&self, id: KeyId) -> Result<(), KeyError> {
        let (file, _changing) = (self.file()?, self.change()?);
        if self.state().to.is_some() {
            return Err(KeyError::UnderWay);
        }
        // One that begins later has none of its values; one that has begun may have.
        let none_is_made = || match self.backups.under_way() {
            Some(name) => Err(KeyError::Needed { id, by: format!("the backup {name}, which is being made") }),
            None => Ok(()),
        };
        drop_unneeded(self.sealed()?, file, self.backups.folder().as_deref(), id, none_is_made, || thread::sleep(PAUSE))
    }
}
