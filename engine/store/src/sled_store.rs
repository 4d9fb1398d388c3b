//! The store on sled 0.34, one process and one disk. Reads go straight to sled, writes through the committer; whatever sled does not
//! promise is made good here and in `committer`, `envelope`, `directory` and `disk`.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fmt::Display,
    panic::{self, AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, Once, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use sled::IVec;
use tokio::sync::oneshot;

use super::{
    Batch, CommitFuture, Direction, Health, Key, KeyRange, MAX_BATCH_BYTES, Store, StoreError,
    audit::{self, Audit},
    check_key,
    committer::{Committer, Job, Queue},
    directory::Directory,
    disk::{Disk, Floor, RealDisk},
    envelope::{Envelope, StoreKey, further_pieces, piece_key},
    feed_number, keys,
    tide::{self, TIDE_KEY, TideMark},
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
        let (tide, mark) = TideMark::open(&directory.path).map_err(StoreError::io("opening the tide mark"))?;
        let last = tide::last_group(&shared, &directory, &*disk, mark)?;
        if config.verify {
            tide::verify(&shared, last)?;
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
            tide,
            last,
            feed_end: shared.feed_end()?,
        };
        let committer = Some(committer.start()?);
        let audit = if config.audit && !config.verify { Some(audit::start(shared.clone())?) } else { None };
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
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        check_key(key)?;
        self.shared.value(key)
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
            tracing::error!("the store's audit panicked");
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

/// What readers and the committer both see.
pub(super) struct Shared {
    pub db: sled::Db,
    pub envelope: Envelope,
    /// The records that the group under way replaces, as they were: what readers see of them until the group is durable.
    hidden: RwLock<BTreeMap<Key, Option<IVec>>>,
    refusing: OnceLock<String>,
    pub audit: Audit,
    /// What the audit found.
    pub damage: OnceLock<String>,
    last_commit: AtomicU64,
}

/// One value as it lies on the disk.
pub(super) struct Raw {
    pub head: IVec,
    pub pieces: Vec<IVec>,
}

pub(super) type Hidden = BTreeMap<Key, Option<IVec>>;

impl Shared {
    pub fn new(db: sled::Db, envelope: Envelope) -> Self {
        Self {
            db,
            envelope,
            hidden: RwLock::default(),
            refusing: OnceLock::new(),
            audit: Audit::default(),
            damage: OnceLock::new(),
            last_commit: AtomicU64::new(0),
        }
    }

    pub fn hide(&self, before: Hidden) {
        *self.hidden_mut() = before;
    }

    pub fn reveal(&self) {
        let durable = std::mem::take(&mut *self.hidden_mut());
        drop(durable);
    }

    fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(key)?.map(|raw| self.envelope.open(key, &raw.head, &raw.pieces)).transpose()
    }

    fn feed_end(&self) -> Result<u64, StoreError> {
        self.value(&keys::feed_end())?.map_or(Ok(0), |value| feed_number(&value))
    }

    pub fn refusing(&self) -> Result<(), StoreError> {
        match self.refusing.get() {
            Some(why) => Err(StoreError::Refusing { why: why.clone() }),
            None => Ok(()),
        }
    }

    /// The first reason stays.
    pub fn refuse(&self, why: String) -> String {
        tracing::error!(why, "the store takes no more writes until it is reopened");
        self.refusing.get_or_init(|| why).clone()
    }

    pub fn note_commit(&self, took: Duration) {
        self.last_commit.store(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub fn on_disk(&self, key: &[u8]) -> Result<Option<IVec>, StoreError> {
        guarded(|| self.db.get(key)).map_err(|error| sled_error(key, error))
    }

    pub fn read(&self, key: &[u8]) -> Result<Option<Raw>, StoreError> {
        let hidden = self.hidden();
        match self.record(&hidden, key)? {
            Some(head) => Ok(Some(self.with_pieces(key.to_vec(), head, &hidden)?.1)),
            None => Ok(None),
        }
    }

    fn record(&self, hidden: &Hidden, key: &[u8]) -> Result<Option<IVec>, StoreError> {
        match hidden.get(key) {
            Some(before) => Ok(before.clone()),
            None => self.on_disk(key),
        }
    }

    pub fn with_pieces(&self, key: Key, head: IVec, hidden: &Hidden) -> Result<(Key, Raw), StoreError> {
        let mut pieces = Vec::new();
        for index in 0..further_pieces(&head) {
            let piece = self.record(hidden, &piece_key(&key, index))?;
            pieces.push(piece.ok_or_else(|| StoreError::damaged(&key, "a piece of a record is missing"))?);
        }
        Ok((key, Raw { head, pieces }))
    }

    /// Walks sled's records and the hidden ones side by side; of two with the same key the hidden one counts. Holding the lock to the
    /// end is what makes a scan see one state.
    pub fn walk<T>(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: usize,
        take: impl Fn(&Self, Key, IVec, &Hidden) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let Some(KeyRange { start, end }) = range.clamped() else { return Ok(Vec::new()) };
        let hidden = self.hidden();
        let mut below = self.db.range(start.clone()..end.clone());
        let mut above = hidden.range(start.clone()..end);
        let mut next_below = || {
            let next = guarded(|| match direction {
                Direction::Forward => below.next().transpose(),
                Direction::Backward => below.next_back().transpose(),
            });
            next.map_err(|error| sled_error(&start, error))
        };
        let mut next_above = || match direction {
            Direction::Forward => above.next(),
            Direction::Backward => above.next_back(),
        };
        let (mut low, mut high) = (next_below()?, next_above());
        let mut found = Vec::new();
        while found.len() < limit {
            let order = match (&low, high) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some((low, _)), Some((high, _))) if direction == Direction::Forward => low.as_ref().cmp(high),
                (Some((low, _)), Some((high, _))) => high.as_slice().cmp(low),
            };
            if order.is_le()
                && let Some((key, head)) = low.take()
            {
                if order.is_lt() {
                    found.push(take(self, key.to_vec(), head, &hidden)?);
                }
                low = next_below()?;
            }
            if order.is_ge()
                && let Some((key, before)) = high.take()
            {
                if let Some(head) = before {
                    found.push(take(self, key.clone(), head.clone(), &hidden)?);
                }
                high = next_above();
            }
        }
        Ok(found)
    }

    fn hidden(&self) -> RwLockReadGuard<'_, Hidden> {
        self.hidden.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn hidden_mut(&self) -> RwLockWriteGuard<'_, Hidden> {
        self.hidden.write().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn open_sled(dir: &Path, cache_bytes: u64) -> Result<sled::Db, StoreError> {
    let sled = sled::Config::new()
        .path(dir)
        .cache_capacity(cache_bytes)
        .mode(sled::Mode::HighThroughput)
        .use_compression(false)
        .flush_every_ms(None);
    // sled's threads may hold its files a moment longer than the store that was closed here just before.
    let patience = Instant::now() + Duration::from_secs(2);
    loop {
        match guarded(|| sled.open()) {
            Ok(db) => return Ok(db),
            Err(error) if error.to_string().contains("could not acquire lock") => {
                if Instant::now() > patience {
                    return Err(StoreError::Locked { dir: dir.display().to_string() });
                }
                thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(sled_error(TIDE_KEY, error)),
        }
    }
}

thread_local! {
    /// This thread is inside sled, and a panic there becomes an error.
    static INSIDE_SLED: Cell<bool> = const { Cell::new(false) };
}

/// Whoever starts on a damaged log is told so in one sentence, not by a backtrace. Other panics are shown as before.
pub(super) fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let shown = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let own = thread::current().name().is_some_and(|name| name.starts_with("sled-"));
            match (INSIDE_SLED.get(), own) {
                (true, _) => {}
                (false, true) => tracing::error!(location = ?panic.location(), "sled panicked on a thread of its own"),
                (false, false) => shown(panic),
            }
        }));
    });
}

/// sled panics on some kinds of damage: an error like any other here.
pub(super) fn guarded<T, E: Into<SledFault>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, SledFault> {
    let outside = INSIDE_SLED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    INSIDE_SLED.set(outside);
    match done {
        Ok(done) => done.map_err(Into::into),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            Err(SledFault::Panicked(text.unwrap_or_else(|| "no message".into())))
        }
    }
}

pub(super) enum SledFault {
    Sled(sled::Error),
    Panicked(String),
}

impl From<sled::Error> for SledFault {
    fn from(error: sled::Error) -> Self {
        Self::Sled(error)
    }
}

impl Display for SledFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sled(error) => error.fmt(f),
            Self::Panicked(text) => write!(f, "sled panicked: {text}"),
        }
    }
}

pub(super) fn sled_error(key: &[u8], error: SledFault) -> StoreError {
    match error {
        SledFault::Sled(sled::Error::Io(source)) => StoreError::io("sled")(source),
        other => StoreError::damaged(key, other.to_string()),
    }
}
