//! The store's values in one keyspace of fjall.

use std::{fs, io, path::Path, sync::Arc};

use fjall::{AbstractTree, Database, Guard, Keyspace, KeyspaceCreateOptions, PersistMode, Readable, Snapshot};
use parking_lot::RwLock;

use super::{faults::fjall_error, torn};
use crate::{
    Direction, Key, KeyRange, StoreError, Version,
    engine::{KeyWrite, Medium, Opened, Outline, Reads, Writer},
    envelope::sealed_with,
    files,
    guard::{guarded, quiet_panics},
    watermark::WATERMARK_KEY,
};

/// Maximum size of a memtable, limited to a quarter of the cache. It bounds the memory before data is
/// flushed; opening replays at most about twice this size.
const MEMTABLE_BYTES: u64 = 16 << 20;
/// fjall requires at least 64 MiB. Journals are deleted once their contents are in tables.
const JOURNAL_BYTES: u64 = 64 << 20;
/// Number of fjall's threads, each of which flushes memtables and merges tables.
///
/// With two or more workers, worker 0 leaves merges to the others: it puts each `Compact` message back into the
/// queue and takes it out again, at full speed, for as long as the other workers merge. A single worker handles
/// all messages in order.
///
/// A flush then waits for the merge in progress. Meanwhile commits continue until four full memtables wait for
/// their flush. From then on, fjall blocks commits until the merge and one flush are done. Memtables take at most
/// about five times the size of one.
///
/// The worker adds messages to its own bounded queue, and blocks forever if the queue is full at that moment.
/// fjall would fill it during a long merge, with one request to rotate a full memtable per group. The writer
/// therefore rotates full memtables itself. The queue then holds a few messages per full memtable. fjall applies
/// the limit that a store was created with, so requests remain if its cache was below 64 MiB then and is larger now.
const WORKERS: usize = 1;

struct Values {
    db: Database,
    values: Keyspace,
    /// The snapshot after the last durable group.
    shown: RwLock<Arc<Snapshot>>,
}

pub(crate) fn open(dir: &Path, cache_bytes: u64) -> Result<Opened, StoreError> {
    quiet_panics();
    let fjall_dir = dir.join("fjall");
    let make = || if fjall_dir.try_exists()? { Ok(()) } else { create(dir, &fjall_dir, cache_bytes) };
    make().map_err(StoreError::io(format!("making {}", fjall_dir.display())))?;
    torn::repair(&fjall_dir)?;
    let (db, values) =
        guarded(|| open_database(&fjall_dir, cache_bytes)).map_err(|error| fjall_error(WATERMARK_KEY, error))?;
    let shown = RwLock::new(Arc::new(db.snapshot()));
    let medium = Arc::new(Values { db, values, shown });
    let writer = Box::new(ValuesWriter { medium: medium.clone(), memtable_bytes: memtable_bytes(cache_bytes) });
    let synced = medium.clone();
    let sync = Box::new(move || match guarded(|| synced.db.persist(PersistMode::SyncData)) {
        Ok(()) => Ok(()),
        Err(error) => Err(io::Error::other(error.to_string())),
    });
    Ok(Opened { medium, writer, sync })
}

fn open_database(fjall_dir: &Path, cache_bytes: u64) -> fjall::Result<(Database, Keyspace)> {
    let db = Database::builder(fjall_dir)
        .cache_size(cache_bytes)
        .max_journaling_size(JOURNAL_BYTES)
        .worker_threads(WORKERS)
        .manual_journal_persist(true)
        .open()?;
    let memtable = memtable_bytes(cache_bytes);
    let values = db.keyspace("values", || KeyspaceCreateOptions::default().max_memtable_size(memtable))?;
    Ok((db, values))
}

fn memtable_bytes(cache_bytes: u64) -> u64 {
    MEMTABLE_BYTES.min(cache_bytes / 4)
}

/// Creates the files under a temporary name, because fjall does not open files of an interrupted creation.
fn create(dir: &Path, fjall_dir: &Path, cache_bytes: u64) -> io::Result<()> {
    let draft = dir.join("fjall.draft");
    if draft.try_exists()? {
        fs::remove_dir_all(&draft)?;
    }
    drop(open_database(&draft, cache_bytes).map_err(|error| io::Error::other(error.to_string()))?);
    sync_folders(&draft)?;
    fs::rename(&draft, fjall_dir)?;
    files::sync_directory(dir)
}

/// Syncs all folders. fjall does not sync the folder with the names of its keyspaces.
fn sync_folders(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    files::sync_directory(folder)
}

impl Medium for Values {
    fn view(&self) -> Box<dyn Reads + '_> {
        let snapshot = self.shown.read().clone();
        Box::new(FjallView { values: &self.values, snapshot })
    }
}

struct FjallView<'a> {
    values: &'a Keyspace,
    snapshot: Arc<Snapshot>,
}

impl FjallView<'_> {
    fn walk<T>(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: usize,
        take: impl Fn(Guard) -> fjall::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let Some(KeyRange { start, end }) = range.clamped() else { return Ok(Vec::new()) };
        if limit == 0 {
            return Ok(Vec::new());
        }
        let walked = guarded(|| {
            let found = self.snapshot.range(self.values, start.as_slice()..end.as_slice());
            match direction {
                Direction::Forward => found.take(limit).map(take).collect(),
                Direction::Backward => found.rev().take(limit).map(take).collect(),
            }
        });
        walked.map_err(|error| fjall_error(&start, error))
    }
}

impl Reads for FjallView<'_> {
    fn sealed(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let found = guarded(|| self.snapshot.get(self.values, key)).map_err(|error| fjall_error(key, error))?;
        Ok(found.map(|sealed| sealed.to_vec()))
    }

    fn scan(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        self.walk(range, direction, limit, |found| {
            found.into_inner().map(|(key, sealed)| (key.to_vec(), sealed.to_vec()))
        })
    }

    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError> {
        self.walk(range, direction, limit, |found| found.key().map(|key| key.to_vec()))
    }

    /// Returns 0, because replaced values are kept on the disk.
    fn kept_bytes(&self) -> u64 {
        0
    }

    fn outlines(&self, range: KeyRange, limit: usize) -> Result<Vec<Outline>, StoreError> {
        self.walk(range, Direction::Forward, limit, |found| {
            let (key, sealed) = found.into_inner()?;
            let bytes = (key.len() + sealed.len()) as u64;
            Ok(Outline {
                key: key.to_vec(),
                version: Version::from_sealed(&sealed),
                sealed_with: sealed_with(&sealed),
                bytes,
            })
        })
    }
}

struct ValuesWriter {
    medium: Arc<Values>,
    /// Size from which a memtable is full.
    memtable_bytes: u64,
}

impl ValuesWriter {
    /// Hands a full memtable to the worker (`WORKERS`). All its groups are synced by now.
    fn rotate_full_memtable(&self) -> Result<(), String> {
        let values = &self.medium.values;
        let rotated = guarded(|| {
            let is_full = values.tree.active_memtable().size() >= self.memtable_bytes;
            if is_full { values.rotate_memtable().map(|_| ()) } else { Ok(()) }
        });
        rotated.map_err(|error| format!("rotating a memtable failed: {error}"))
    }
}

impl Writer for ValuesWriter {
    fn version(&mut self, key: &[u8]) -> Result<Option<Version>, StoreError> {
        let found = guarded(|| self.medium.values.get(key)).map_err(|error| fjall_error(key, error))?;
        Ok(found.map(|sealed| Version::from_sealed(&sealed)))
    }

    /// Returns `false`, because fjall itself keeps old values for readers.
    fn keeps_replaced(&self) -> bool {
        false
    }

    fn replacing(&mut self, key: &[u8]) -> Result<Option<Version>, StoreError> {
        self.version(key)
    }

    fn fresh(&mut self, _: &[u8]) {}

    fn apply(&mut self, writes: &[KeyWrite<'_>]) -> Result<(), String> {
        self.rotate_full_memtable()?;
        let Values { db, values, .. } = &*self.medium;
        let applied = guarded(|| {
            let mut batch = db.batch();
            for (key, sealed) in writes {
                match sealed {
                    Some(sealed) => batch.insert(values, *key, *sealed),
                    None => batch.remove(values, *key),
                }
            }
            batch.commit()
        });
        applied.map_err(|error| format!("writing failed: {error}"))
    }

    fn show(&mut self) {
        let snapshot = Arc::new(self.medium.db.snapshot());
        let earlier = std::mem::replace(&mut *self.medium.shown.write(), snapshot);
        drop(earlier);
    }

    fn forget(&mut self) {}
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// fjall's own limit is not reached here.
    #[test]
    fn a_full_memtable_is_rotated_before_the_next_group() {
        let dir = tempfile::tempdir().unwrap();
        let (db, values) = open_database(dir.path(), 16 << 20).unwrap();
        let shown = RwLock::new(Arc::new(db.snapshot()));
        let medium = Arc::new(Values { db, values, shown });
        let mut writer = ValuesWriter { medium, memtable_bytes: 10_000 };
        let size = |writer: &ValuesWriter| writer.medium.values.tree.active_memtable().size();
        let group = |writer: &mut ValuesWriter, key: u8| writer.apply(&[(&[key], Some(&[key; 6_000]))]).unwrap();
        group(&mut writer, 1);
        group(&mut writer, 2);
        let full = size(&writer);
        assert!((12_000..13_000).contains(&full), "{full} bytes: rotated before it was full");
        group(&mut writer, 3);
        assert!(size(&writer) < 7_000, "{} bytes: not rotated", size(&writer));
        for key in 1..=3u8 {
            let found = writer.medium.values.get([key]).unwrap().unwrap();
            assert_eq!(found.to_vec(), [key; 6_000]);
        }
    }
}
