//! The store on sled 0.34, one process and one disk. Reads go straight to sled, writes through the committer; whatever sled does not
//! promise is made good here and in `committer`, `envelope`, `directory` and `disk`.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
    time::Duration,
};

use tokio::sync::oneshot;

use super::{
    batch::{Batch, MAX_BATCH_BYTES, check_key},
    committer::{Committer, Job, Queue},
    contract::{CommitFuture, Health, Store},
    directory::Directory,
    disk::{Disk, Floor, RealDisk},
    envelope::{Envelope, StoreKey, fingerprint},
    error::StoreError,
    integrity,
    range::{Direction, Key, KeyRange},
    shared::{Raw, Shared},
    sled_guard::{open_sled, quiet_panics},
    version::{Version, Versioned},
    watermark::WatermarkFile,
};

#[derive(Clone, Debug)]
pub struct SledConfig {
    pub dir: PathBuf,
    pub key: StoreKey,
    /// What sled keeps of its pages in memory.
    pub cache_bytes: u64,
    /// Commits are refused while less than this is free on the disk.
    pub floor_bytes: u64,
    /// Batches that may wait before commits are refused as `Busy`.
    pub queue: usize,
    /// Read through every record at the start and compare with what was written. Of bits flipped in a log of several segments that sled
    /// has to recover, about one in six loses records or brings old ones back without a trace; only this finds them. Costs 1 to 2 s per
    /// million records.
    pub verify: bool,
    /// The same beside the work, after the start: what is not there is reported by `Health::damage`, in the log too.
    pub audit: bool,
}

impl SledConfig {
    pub fn new(dir: impl Into<PathBuf>, key: StoreKey) -> Self {
        Self {
            dir: dir.into(),
            key,
            cache_bytes: 256 << 20,
            floor_bytes: 512 << 20,
            queue: 16_384,
            verify: false,
            audit: false,
        }
    }
}

pub struct SledStore {
    shared: Arc<Shared>,
    queue: Arc<Queue>,
    floor: Arc<Floor>,
    disk: Arc<dyn Disk>,
    committer: Option<JoinHandle<()>>,
    audit: Option<JoinHandle<()>>,
    /// Let go last, when the committer has ended and sled is closed.
    _directory: Directory,
}

impl SledStore {
    pub fn open(config: SledConfig) -> Result<Self, StoreError> {
        Self::open_on(config, |disk| Arc::new(disk))
    }

    /// With another disk around or instead of the real one.
    pub fn open_on(config: SledConfig, disk: impl FnOnce(RealDisk) -> Arc<dyn Disk>) -> Result<Self, StoreError> {
        let directory = Directory::claim(&config.dir)?;
        quiet_panics();
        let db = open_sled(&directory.path, config.cache_bytes)?;
        directory.sync_names()?;
        let real = RealDisk::open(&directory.path).map_err(StoreError::io("opening sled's log"))?;
        let disk = disk(real);
        let shared = Arc::new(Shared::new(db, Envelope::new(&config.key)));
        let (watermark, mark) =
            WatermarkFile::open(&directory.path).map_err(StoreError::io("opening the watermark"))?;
        let last = integrity::last_group(&shared, &directory, &*disk, mark)?;
        if config.verify {
            integrity::verify(&shared, last)?;
        }
        if config.audit && !config.verify {
            shared.audit.begin(last);
        }
        let queue = Arc::new(Queue::new(config.queue, MAX_BATCH_BYTES));
        let floor = Arc::new(Floor::new(config.floor_bytes));
        let committer = Committer {
            shared: shared.clone(),
            queue: queue.clone(),
            floor: floor.clone(),
            disk: disk.clone(),
            watermark,
            last,
            feed_end: shared.feed_end()?,
        };
        let committer = Some(committer.start()?);
        let audit = if config.audit && !config.verify { Some(integrity::start_audit(shared.clone())?) } else { None };
        Ok(Self { shared, queue, floor, disk, committer, audit, _directory: directory })
    }

    /// What the audit came to, once it is through.
    #[cfg(test)]
    pub(super) fn audited(&self) -> Option<bool> {
        match self.shared.damage.get() {
            Some(_) => Some(false),
            None => self.audit.as_ref().filter(|audit| audit.is_finished()).map(|_| true),
        }
    }

    fn submit(&self, batch: Batch) -> Result<oneshot::Receiver<super::committer::Outcome>, StoreError> {
        self.shared.refusing()?;
        let (reply, outcome) = oneshot::channel();
        self.queue.push(Job::seal(&self.shared, batch, reply)?)?;
        Ok(outcome)
    }
}

impl Store for SledStore {
    fn read(&self, key: &[u8]) -> Result<Option<Versioned>, StoreError> {
        check_key(key)?;
        let Some(raw) = self.shared.read(key)? else { return Ok(None) };
        let value = self.shared.envelope.open(key, &raw.head, &raw.pieces)?;
        Ok(Some(Versioned { value, version: Version(fingerprint(&raw.head)) }))
    }

    fn scan(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        let open = |(key, raw): (Key, Raw)| {
            let value = self.shared.envelope.open(&key, &raw.head, &raw.pieces)?;
            Ok((key, value))
        };
        self.shared.walk(range, direction, limit, Shared::with_pieces)?.into_iter().map(open).collect()
    }

    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError> {
        self.shared.walk(range, direction, limit, |_, key, _, _| Ok(key))
    }

    fn commit(&self, batch: Batch) -> CommitFuture {
        let submitted = self.submit(batch);
        Box::pin(async move {
            submitted?.await.unwrap_or_else(|_| Err(StoreError::Unknown { why: "the committer ended".into() }.into()))
        })
    }

    fn health(&self) -> Health {
        Health {
            free: self.floor.free(&*self.disk).ok(),
            floor: self.floor.bytes(),
            refusing: self.shared.refusing.get().cloned(),
            damage: self.shared.damage.get().cloned(),
            waiting: self.queue.len(),
            last_commit: Duration::from_nanos(self.shared.last_commit.load(Ordering::Relaxed)),
        }
    }
}

impl Drop for SledStore {
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
            // sled flushes when it is dropped. After a failed write that could make half a group durable, so it is left alone, and with
            // it the lock on its files: the next to open them is another process.
            std::mem::forget(self.shared.clone());
        }
    }
}
