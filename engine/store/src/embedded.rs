//! The store on an embedded engine, for one process and one disk. Reads go directly to the engine, writes
//! through the committer. Guarantees that engines lack are added here and in `committer`, `envelope`,
//! `directory`, `disk` and `integrity`.

use std::{path::Path, sync::Arc, thread::JoinHandle};

use tokio::sync::oneshot;

use super::{
    BackedUp, Batch, CommitFuture, Direction, DirectoryLock, Disk, Health, Key, KeyId, KeyRange, MAX_BATCH_BYTES,
    RealDisk, Sealed, SealedValue, Store, StoreConfig, StoreError, StoreKeys, Version, Versioned, backup,
    batch::check_key,
    committer::Committer,
    compact,
    disk::Floor,
    engine::{Opened, Outline, Reads},
    envelope::{Envelope, sealed_with},
    integrity,
    jobs::{CommitOutcome, CommitQueue, Job},
    keys, layout,
    rotation::{Resealed, commit_nothing, reseal_on},
    shared::StoreState,
    watermark::{WATERMARK_KEY, WatermarkFile, WatermarkRecord},
};

pub struct EmbeddedStore {
    shared: Arc<StoreState>,
    queue: Arc<CommitQueue>,
    floor: Arc<Floor>,
    disk: Arc<dyn Disk>,
    backup_kept: u64,
    found: WatermarkRecord,
    committer: Option<JoinHandle<()>>,
    audit: Option<JoinHandle<()>>,
    /// Dropped last, after the committer has ended and the engine is closed.
    directory: Arc<DirectoryLock>,
}

impl EmbeddedStore {
    pub fn open(config: StoreConfig) -> Result<Self, StoreError> {
        Self::open_on(config, |disk| Arc::new(disk))
    }

    /// Opens the store with a disk that wraps or replaces the real one.
    pub fn open_on(config: StoreConfig, disk: impl FnOnce(RealDisk) -> Arc<dyn Disk>) -> Result<Self, StoreError> {
        let directory = DirectoryLock::claim(&config.dir)?;
        layout::claim(&directory.path, config.engine)?;
        let Opened { medium, mut writer, sync } = compact::open(&config, &directory)?;
        directory.sync_names()?;
        let disk = disk(RealDisk::new(sync, &directory.path));
        let shared = Arc::new(StoreState::new(medium, Envelope::new(&config.keys)));
        let (watermark, mark) =
            WatermarkFile::open(&directory.path).map_err(StoreError::io("opening the watermark"))?;
        let found = integrity::last_group(&shared, &mut *writer, &directory, || disk.sync(), mark)?;
        if config.verify {
            let bytes = integrity::verify(&shared, found)?;
            compact::note(&config, found.values(), bytes);
        }
        layout::upgrade(&directory.path)?;
        let audited = config.audit && !config.verify;
        if audited {
            shared.audit.begin(found);
        }
        let queue = Arc::new(CommitQueue::new(config.queue, MAX_BATCH_BYTES));
        let floor = Arc::new(Floor::new(config.floor_bytes));
        let committer = Committer {
            shared: shared.clone(),
            writer,
            queue: queue.clone(),
            floor: floor.clone(),
            disk: disk.clone(),
            watermark,
            last: found,
            feed_end: shared.feed_end()?,
        };
        let (committer, backup_kept) = (Some(committer.start()?), config.backup_kept_bytes);
        let whole = move |values, bytes| compact::note(&config, values, bytes);
        let audit = audited.then(|| integrity::start_audit(shared.clone(), whole)).transpose()?;
        Ok(Self { shared, queue, floor, disk, backup_kept, found, committer, audit, directory: Arc::new(directory) })
    }

    /// Returns the number of values at the time of opening, without the record of the feed's last number.
    pub fn values(&self) -> Result<u64, StoreError> {
        let numbered = self.get(&keys::feed_end())?.is_some();
        Ok(self.found.values() - u64::from(numbered))
    }

    /// Returns the number of commit groups at the time of opening. The data is unchanged as long as the number is
    /// the same.
    pub fn groups(&self) -> u64 {
        self.found.group
    }

    /// Returns the lock of the directory. It keeps other processes out after the store was closed.
    pub fn directory_lock(&self) -> Arc<DirectoryLock> {
        self.directory.clone()
    }

    /// Returns the result of the audit, or `None` while it runs.
    #[cfg(test)]
    pub(super) fn audited(&self) -> Option<bool> {
        match self.shared.damage.get() {
            Some(_) => Some(false),
            None => self.audit.as_ref().filter(|audit| audit.is_finished()).map(|_| true),
        }
    }

    /// Returns the number of versions that the committer had to look up in the engine. sled looks up all keys that
    /// are written, which are not included.
    #[cfg(test)]
    pub(super) fn lookups(&self) -> u64 {
        self.shared.recent.lookups.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Returns a view of one consistent state.
    #[cfg(test)]
    pub(super) fn view(&self) -> Box<dyn Reads + '_> {
        self.shared.medium.view()
    }

    #[cfg(test)]
    pub(super) fn opened(&self, found: Vec<(Key, Vec<u8>)>) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        let open = |(key, sealed): (Key, Vec<u8>)| {
            let value = self.shared.envelope.open(&key, sealed)?;
            Ok((key, value))
        };
        found.into_iter().map(open).collect()
    }

    fn submit(&self, batch: Batch) -> Result<oneshot::Receiver<CommitOutcome>, StoreError> {
        self.shared.refusing()?;
        let (reply, outcome) = oneshot::channel();
        let _sealing = self.shared.envelope.sealing();
        self.queue.push(Job::seal(&self.shared.envelope, batch, reply)?)?;
        Ok(outcome)
    }

    /// Reads a value of a view that was created after the group `shown` was shown.
    fn read_in(&self, view: &dyn Reads, shown: u64, key: &[u8]) -> Result<Option<Versioned>, StoreError> {
        let found = match view.sealed(key)? {
            Some(sealed) => {
                let version = Version::from_sealed(&sealed);
                Some(Versioned { value: self.shared.envelope.open(key, sealed)?, version })
            }
            None => None,
        };
        self.shared.recent.observe(shown, key, found.as_ref().map(|found| found.version));
        Ok(found)
    }
}

impl Store for EmbeddedStore {
    fn read(&self, key: &[u8]) -> Result<Option<Versioned>, StoreError> {
        check_key(key)?;
        let (shown, view) = (self.shared.recent.visible_group(), self.shared.medium.view());
        self.read_in(&*view, shown, key)
    }

    fn read_many(&self, keys: &[Key]) -> Result<Vec<Option<Versioned>>, StoreError> {
        keys.iter().try_for_each(|key| check_key(key))?;
        let (shown, view) = (self.shared.recent.visible_group(), self.shared.medium.view());
        keys.iter().map(|key| self.read_in(&*view, shown, key)).collect()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        check_key(key)?;
        self.shared.value(key)
    }

    fn get_sealed(&self, keys: &[Key]) -> Result<Vec<Option<SealedValue>>, StoreError> {
        keys.iter().try_for_each(|key| check_key(key))?;
        let view = self.shared.medium.view();
        keys.iter().map(|key| Ok(view.sealed(key)?.map(SealedValue::new))).collect()
    }

    fn unseal(&self, key: &[u8], value: SealedValue) -> Result<Vec<u8>, StoreError> {
        self.shared.envelope.open(key, value.bytes)
    }

    fn scan_sealed(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(Key, SealedValue)>, StoreError> {
        let found = self.shared.medium.view().scan(range, direction, limit)?;
        Ok(found.into_iter().map(|(key, sealed)| (key, SealedValue::new(sealed))).collect())
    }

    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError> {
        self.shared.medium.view().scan_keys(range, direction, limit)
    }

    fn commit(&self, batch: Batch) -> CommitFuture {
        let submitted = self.submit(batch);
        Box::pin(async move {
            submitted?.await.unwrap_or_else(|_| Err(StoreError::Unknown { why: "the committer ended".into() }.into()))
        })
    }

    fn sealed(&self) -> Option<&dyn Sealed> {
        Some(self)
    }

    fn back_up(&self, to: &Path, written: &mut dyn FnMut(u64)) -> Result<BackedUp, StoreError> {
        let limits = backup::Limits { floor: self.floor.bytes, kept: self.backup_kept };
        backup::write(&self.shared, to, limits, written)
    }

    fn health(&self) -> Health {
        Health {
            free: self.floor.free(&*self.disk).ok(),
            floor: self.floor.bytes,
            refusing: self.shared.refusing.get().cloned(),
            damage: self.shared.damage.get().map(StoreError::to_string),
            waiting: self.queue.len(),
            last_commit: self.shared.last_commit(),
        }
    }
}

impl Sealed for EmbeddedStore {
    fn use_keys(&self, keys: &StoreKeys) {
        self.shared.envelope.use_keys(keys);
    }

    fn seals(&self, range: KeyRange, limit: usize) -> Result<Vec<(Key, KeyId)>, StoreError> {
        let outlines = self.shared.medium.view().outlines(range, limit)?;
        Ok(outlines.into_iter().map(|Outline { key, sealed_with, .. }| (key, sealed_with)).collect())
    }

    fn own_seals(&self) -> Result<Vec<KeyId>, StoreError> {
        let record = self.shared.medium.view().sealed(WATERMARK_KEY)?;
        Ok(record.iter().map(|sealed| sealed_with(sealed)).collect())
    }

    fn reseal(&self, keys: &[Key]) -> Result<Resealed, StoreError> {
        self.shared.refusing()?;
        let view = self.shared.medium.view();
        let values =
            keys.iter().filter_map(|key| Some(view.sealed(key).transpose()?.map(|sealed| (key.clone(), sealed))));
        reseal_on(&self.shared.envelope, &self.queue, values)
    }

    /// Every group rewrites the watermark record, so an empty group is sufficient.
    fn reseal_own(&self) -> Result<(), StoreError> {
        self.shared.refusing()?;
        commit_nothing(&self.queue)
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        self.shared.audit.stop();
        if let Some(audit) = self.audit.take()
            && audit.join().is_err()
        {
            tracing::error!("the integrity check of the store panicked");
        }
        self.queue.close();
        if let Some(committer) = self.committer.take()
            && committer.join().is_err()
        {
            tracing::error!("the committer panicked");
        }
        if self.shared.refusing.get().is_some() {
            // Engines flush when they are dropped. After a failed write that could make half a group durable. The
            // engine is therefore leaked together with its file lock, and only another process can open the files.
            std::mem::forget(self.shared.clone());
        }
    }
}
