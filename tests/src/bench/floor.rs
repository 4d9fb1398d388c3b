//! Upper bound for stores on sled. The keys committed by a section are recorded and replayed on plain sled with the
//! same settings. Each batch has the same keys and sizes and is durable before the next. A store with a record per
//! key cannot be faster.

use std::{
    error::Error,
    fs::File,
    future::ready,
    io::{self, BufReader, BufWriter, ErrorKind, Read, Write},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use setup::EngineRules;
use store::{Batch, Store, StoreError, keys};
use testing::HookedStore;

/// Bytes that the store adds to a value: format, nonce, checksum.
const SEAL: usize = 41;
/// The largest record that the store keeps in one piece.
const MOST: usize = 3_584;
const DELETED: u32 = u32::MAX;

/// A recording of a store's commits without values.
pub struct RecordedStore {
    commits: Mutex<BufWriter<File>>,
    /// Number of appended feed entries.
    appended: AtomicU64,
}

impl RecordedStore {
    /// Records commits made through the returned store in a file.
    pub fn over(store: Arc<dyn Store>, file: &Path) -> io::Result<(Arc<dyn Store>, Arc<RecordedStore>)> {
        let commits = Mutex::new(BufWriter::new(File::create(file)?));
        let recorded = Arc::new(RecordedStore { commits, appended: AtomicU64::new(0) });
        let record = recorded.clone();
        let hooked = HookedStore::over(store).on_commit(move |store, batch| match record.note(&batch) {
            Ok(()) => store.commit(batch),
            Err(error) => {
                let why = format!("the commits cannot be written down: {error}");
                Box::pin(ready(Err(StoreError::Refusing { why }.into())))
            }
        });
        Ok((Arc::new(hooked), recorded))
    }

    pub fn flush(&self) -> io::Result<()> {
        self.commits.lock().flush()
    }

    fn note(&self, batch: &Batch) -> io::Result<()> {
        let mut commits = self.commits.lock();
        commits.write_all(&((batch.writes().len() + batch.appends().len()) as u32).to_le_bytes())?;
        let mut note = |key: &[u8], value: Option<usize>| {
            commits.write_all(&[key.len() as u8])?;
            commits.write_all(key)?;
            commits.write_all(&value.map_or(DELETED, |size| (size + SEAL) as u32).to_le_bytes())
        };
        for (key, value) in batch.writes() {
            note(key, value.as_ref().map(Vec::len))?;
        }
        for append in batch.appends() {
            let number = self.appended.fetch_add(append.numbers, Ordering::Relaxed) + append.numbers;
            note(&keys::feed(append.stream, number), Some(append.value.len()))?;
        }
        Ok(())
    }
}

pub struct Floor {
    pub commits: usize,
    pub keys: usize,
    pub took: Duration,
}

/// Replays the recording, with each commit as a durable batch.
pub fn replay(file: &Path, dir: &Path) -> Result<Floor, Box<dyn Error>> {
    let mut written = BufReader::new(File::open(file)?);
    let db = sled::Config::new()
        .path(dir)
        .cache_capacity(EngineRules::default().store_cache_bytes)
        .mode(sled::Mode::HighThroughput)
        .use_compression(false)
        .flush_every_ms(None)
        .open()?;
    let log = File::options().read(true).write(true).open(dir.join("db"))?;
    let mut floor = Floor { commits: 0, keys: 0, took: Duration::ZERO };
    loop {
        let mut batch = sled::Batch::default();
        let Some(keys) = next(&mut written, &mut batch)? else { return Ok(floor) };
        floor.commits += 1;
        floor.keys += keys;
        let started = Instant::now();
        db.apply_batch(batch)?;
        db.flush()?;
        log.sync_data()?;
        floor.took += started.elapsed();
    }
}

/// Reads the next commit into the batch. Returns `None` at the end, where the last commit may be truncated.
fn next(written: &mut impl Read, batch: &mut sled::Batch) -> io::Result<Option<usize>> {
    let mut whole = || -> io::Result<Vec<(Vec<u8>, u32)>> {
        let count = number(written)?;
        let mut writes = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let mut length = [0];
            written.read_exact(&mut length)?;
            let mut key = vec![0; length[0].into()];
            written.read_exact(&mut key)?;
            writes.push((key, number(written)?));
        }
        Ok(writes)
    };
    let writes = match whole() {
        Ok(writes) => writes,
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    };
    let count = writes.len();
    for (key, size) in writes {
        match size {
            DELETED => batch.remove(key),
            // A value that the store would split counts as one piece. The floor may be too fast, but never too slow.
            size => batch.insert(key, vec![7; (size as usize).min(MOST)]),
        }
    }
    Ok(Some(count))
}

fn number(written: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    written.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}
