//! A store whose calls tests count, delay or refuse.

use std::{
    collections::BTreeSet,
    mem,
    sync::{Arc, Mutex},
};

use store::{
    Batch, CommitFuture, Direction, Health, Key, KeyRange, MemoryStore, SealedValue, Store, StoreError, Versioned,
};
use tokio::sync::watch;

use crate::Counter;

type ReadHook = Box<dyn Fn(&[u8]) -> Result<(), StoreError> + Send + Sync>;
type CommitHook<S> = Box<dyn Fn(&Arc<S>, Batch) -> CommitFuture + Send + Sync>;

/// Passes each call to another store, through the hooks of a test.
pub struct HookedStore<S: ?Sized = MemoryStore> {
    /// The other store. Calls of it pass no hook and are not counted.
    pub inner: Arc<S>,
    /// Keys and values read. A read or scan that finds nothing counts as one.
    pub found: Counter,
    /// Reads of several keys at once.
    pub reads_of_many: Counter,
    opened: Mutex<Vec<Key>>,
    before_read: ReadHook,
    commit: CommitHook<S>,
    is_remote: bool,
    damaged: Mutex<BTreeSet<Key>>,
}

impl<S: Store + ?Sized> HookedStore<S> {
    /// Creates a store that counts reads from `inner`.
    pub fn over(inner: Arc<S>) -> HookedStore<S> {
        HookedStore {
            inner,
            found: Counter::default(),
            reads_of_many: Counter::default(),
            opened: Mutex::default(),
            before_read: Box::new(|_| Ok(())),
            commit: Box::new(|inner, batch| inner.commit(batch)),
            is_remote: false,
            damaged: Mutex::default(),
        }
    }

    /// Makes callers treat the store as one on another machine.
    pub fn remote(self) -> Self {
        HookedStore { is_remote: true, ..self }
    }

    /// Makes each call that opens the value of this key return `Damaged`.
    pub fn damage(&self, key: Key) {
        self.damaged.lock().unwrap().insert(key);
    }

    /// Returns the keys of the values opened after a read of sealed values, since the last call.
    pub fn take_opened(&self) -> Vec<Key> {
        mem::take(&mut *self.opened.lock().unwrap())
    }

    /// Calls `hook` before each read or scan, with the key or the start of the range. Its error becomes the result.
    pub fn before_read(self, hook: impl Fn(&[u8]) -> Result<(), StoreError> + Send + Sync + 'static) -> Self {
        HookedStore { before_read: Box::new(hook), ..self }
    }

    /// Calls `commit` instead of the inner store's commit.
    pub fn on_commit(self, commit: impl Fn(&Arc<S>, Batch) -> CommitFuture + Send + Sync + 'static) -> Self {
        HookedStore { commit: Box::new(commit), ..self }
    }

    /// Holds commits back while the gate is closed (`false`).
    pub fn commits_behind(self, gate: &watch::Sender<bool>) -> Self {
        let gate = gate.clone();
        self.on_commit(move |inner, batch| {
            let (inner, mut open) = (inner.clone(), gate.subscribe());
            Box::pin(async move {
                open.wait_for(|open| *open).await.expect("the hook holds a sender");
                inner.commit(batch).await
            })
        })
    }

    fn check_damage(&self, key: &[u8]) -> Result<(), StoreError> {
        match self.damaged.lock().unwrap().contains(key) {
            true => Err(StoreError::damaged(key, "by a test")),
            false => Ok(()),
        }
    }

    fn counted<T>(&self, found: Vec<T>) -> Vec<T> {
        self.found.add(found.len().max(1));
        found
    }
}

impl Default for HookedStore {
    fn default() -> Self {
        HookedStore::over(Arc::default())
    }
}

impl<S: Store + ?Sized> Store for HookedStore<S> {
    fn read(&self, key: &[u8]) -> Result<Option<Versioned>, StoreError> {
        (self.before_read)(key)?;
        self.check_damage(key)?;
        self.found.add(1);
        self.inner.read(key)
    }

    fn read_many(&self, keys: &[Key]) -> Result<Vec<Option<Versioned>>, StoreError> {
        keys.iter().try_for_each(|key| (self.before_read)(key).and_then(|()| self.check_damage(key)))?;
        self.found.add(keys.len());
        self.reads_of_many.add(1);
        self.inner.read_many(keys)
    }

    fn get_sealed(&self, keys: &[Key]) -> Result<Vec<Option<SealedValue>>, StoreError> {
        keys.iter().try_for_each(|key| (self.before_read)(key))?;
        self.found.add(keys.len());
        self.reads_of_many.add(1);
        self.inner.get_sealed(keys)
    }

    fn unseal(&self, key: &[u8], value: SealedValue) -> Result<Vec<u8>, StoreError> {
        self.opened.lock().unwrap().push(key.to_vec());
        self.check_damage(key)?;
        self.inner.unseal(key, value)
    }

    fn scan_sealed(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(Key, SealedValue)>, StoreError> {
        (self.before_read)(&range.start)?;
        Ok(self.counted(self.inner.scan_sealed(range, direction, limit)?))
    }

    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError> {
        (self.before_read)(&range.start)?;
        Ok(self.counted(self.inner.scan_keys(range, direction, limit)?))
    }

    fn commit(&self, batch: Batch) -> CommitFuture {
        (self.commit)(&self.inner, batch)
    }

    fn is_remote(&self) -> bool {
        self.is_remote
    }

    fn health(&self) -> Health {
        self.inner.health()
    }
}
