//! Compaction of sled's log, because sled does not return space to the disk. The records are copied unchanged
//! and in key order into a new log in `sled.compact/`, so versions stay. The new log is reopened and read;
//! its sum must match the watermark record. Then the folder is renamed to `sled.compacted/`, which commits
//! the compaction: its files are moved into the store, by the next start if this one is interrupted. Before
//! the rename, a start deletes the folder instead. A log and the snapshots of its page table stay together.
//! sled cannot read a log with the snapshots of another one, and not always one without snapshots.

use std::{
    fs::{self, File},
    io,
    path::Path,
    sync::Arc,
};

use super::{
    chunks::version,
    create::{LOG, wait_until_closed},
    faults::sled_error,
    log::open_log,
    view::Log,
};
use crate::{
    FIRST_RESERVED, StoreConfig, StoreError,
    envelope::Envelope,
    files,
    guard::{guarded, quiet_panics},
    integrity,
    shared::StoreState,
    watermark::{self, WATERMARK_KEY, WatermarkRecord},
    weight::Weight,
};

const DRAFT: &str = "sled.compact";
const WHOLE: &str = "sled.compacted";
/// Size of a batch.
const AT_ONCE_BYTES: usize = 1 << 20;

/// The result of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    pub values: u64,
    /// Size of the store's files before and after.
    pub before: u64,
    pub after: u64,
}

/// Compacts a store that no process has open. `progress` receives the number of copied values and their total
/// number.
pub(crate) fn compact(config: &StoreConfig, progress: impl FnMut(u64, u64)) -> Result<Compacted, StoreError> {
    quiet_panics();
    let dir = &*config.dir;
    let io = |error| StoreError::io(format!("compacting {}", dir.display()))(error);
    finish(dir).map_err(io)?;
    let before = files::bytes_below(dir).map_err(io)?;
    let last = rewrite(config, progress)?;
    let bytes = read_again(config, last)?;
    for step in STEPS {
        step(dir).map_err(io)?;
    }
    let (values, after) = (last.values(), files::bytes_below(dir).map_err(io)?);
    Weight { values, bytes, compacted: after }.write(dir).map_err(io)?;
    Ok(Compacted { values, before, after })
}

/// Recovers an interrupted compaction: completes it if committed, undoes it if not.
pub(super) fn finish(dir: &Path) -> io::Result<()> {
    remove_folder(&dir.join(DRAFT))?;
    if dir.join(WHOLE).try_exists()? {
        for step in &STEPS[COUNTS..] {
            step(dir)?;
        }
    }
    Ok(())
}

/// The steps of a compaction, which may be interrupted after each step.
const STEPS: [fn(&Path) -> io::Result<()>; 6] = [
    |dir| sync_files(&dir.join(DRAFT)),
    |dir| {
        fs::rename(dir.join(DRAFT), dir.join(WHOLE))?;
        files::sync_directory(dir)
    },
    remove_snapshots,
    |dir| move_files(dir, |name| name == LOG),
    |dir| move_files(dir, is_snapshot),
    |dir| remove_folder(&dir.join(WHOLE)),
];
/// Number of steps that commit the new log. The later steps can be repeated from the first one on.
const COUNTS: usize = 2;

fn is_snapshot(name: &str) -> bool {
    name.starts_with("snap.")
}

fn sync_files(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        File::open(entry?.path())?.sync_all()?;
    }
    files::sync_directory(folder)
}

/// Removes the snapshots of the old log, unless the new log is already moved.
fn remove_snapshots(dir: &Path) -> io::Result<()> {
    if !dir.join(WHOLE).join(LOG).try_exists()? {
        return Ok(());
    }
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_snapshot) {
            fs::remove_file(entry.path())?;
        }
    }
    files::sync_directory(dir)
}

fn move_files(dir: &Path, which: impl Fn(&str) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(dir.join(WHOLE))? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(&which) {
            fs::rename(entry.path(), dir.join(entry.file_name()))?;
        }
    }
    files::sync_directory(dir)
}

fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn rewrite(config: &StoreConfig, mut progress: impl FnMut(u64, u64)) -> Result<WatermarkRecord, StoreError> {
    let old = Arc::new(open_log(&config.dir, config.cache_bytes)?);
    let last = last_group(config, old.clone())?;
    let new = open_log(&config.dir.join(DRAFT), config.cache_bytes)?;
    let (mut batch, mut bytes, mut copied) = (sled::Batch::default(), 0, 0);
    let mut records = old.db.iter();
    while let Some((key, record)) = next(&mut records)? {
        copied += u64::from(is_value(&key));
        bytes += key.len() + record.len();
        batch.insert(key, record);
        if bytes >= AT_ONCE_BYTES {
            bytes = 0;
            apply(&new, std::mem::take(&mut batch))?;
            progress(copied, last.values());
        }
    }
    apply(&new, batch)?;
    progress(copied, last.values());
    guarded(|| new.db.flush()).map_err(|error| sled_error(WATERMARK_KEY, error))?;
    drop((records, old, new));
    closed(&config.dir)?;
    Ok(last)
}

/// Reads the new log from the disk and checks that it contains all values. Returns the size of its records.
fn read_again(config: &StoreConfig, last: WatermarkRecord) -> Result<u64, StoreError> {
    let (mut found, mut bytes) = (WatermarkRecord::before_counting(last.group), 0);
    let new = open_log(&config.dir.join(DRAFT), config.cache_bytes)?;
    let mut records = new.db.iter();
    while let Some((key, record)) = next(&mut records)? {
        if is_value(&key) {
            found.replace(None, Some(version(&record)));
        }
        bytes += (key.len() + record.len()) as u64;
    }
    drop((records, new));
    closed(&config.dir)?;
    found.is_all_of(last).map(|()| bytes)
}

fn next(records: &mut sled::Iter) -> Result<Option<(sled::IVec, sled::IVec)>, StoreError> {
    guarded(|| records.next().transpose()).map_err(|error| sled_error(WATERMARK_KEY, error))
}

/// Returns whether the key is neither the store's own nor that of a further chunk of a value.
fn is_value(key: &[u8]) -> bool {
    key.first().is_some_and(|space| *space < FIRST_RESERVED)
}

/// Waits until sled's threads have closed both logs.
fn closed(dir: &Path) -> Result<(), StoreError> {
    for log in [dir.join(LOG), dir.join(DRAFT).join(LOG)] {
        wait_until_closed(&log).map_err(StoreError::io(format!("closing {}", log.display())))?;
    }
    Ok(())
}

/// Returns the watermark record. A store that lost commits is not compacted.
fn last_group(config: &StoreConfig, old: Arc<Log>) -> Result<WatermarkRecord, StoreError> {
    let dir = config.dir.display().to_string();
    let last = integrity::read_record(&StoreState::new(old, Envelope::new(&config.keys)), &dir)?;
    let (found, expected) = (last.map_or(0, |last| last.group), watermark::read_mark(&config.dir.join("tide")));
    match last {
        Some(last) if found >= expected => Ok(last),
        _ => Err(StoreError::LostCommits { dir, found, expected }),
    }
}

fn apply(new: &Log, batch: sled::Batch) -> Result<(), StoreError> {
    guarded(|| new.db.apply_batch(batch)).map_err(|error| sled_error(WATERMARK_KEY, error))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        Batch, Direction, EmbeddedStore, EngineKind, Key, KeyRange, Store, Version, keys,
        testing::{self, put},
    };

    fn config(dir: &Path) -> StoreConfig {
        testing::config(EngineKind::Sled, dir)
    }

    /// Overwrites values repeatedly, some of them in chunks.
    async fn churned(dir: &Path) {
        for life in 0..3u8 {
            let store = EmbeddedStore::open(config(dir)).unwrap();
            for round in 0..20 {
                let mut batch = Batch::new();
                for n in 0..200u64 {
                    let bytes = if n.is_multiple_of(50) { 9_000 } else { 300 };
                    batch.put(keys::record(1, 1, n), vec![round ^ life; bytes]);
                }
                store.commit(batch).await.unwrap();
            }
            let mut batch = Batch::new();
            for n in 0..20 {
                batch.delete(keys::record(1, 1, n));
            }
            store.commit(batch).await.unwrap();
        }
    }

    fn values(store: &EmbeddedStore) -> BTreeMap<Key, (Version, Vec<u8>)> {
        let found = store.scan(KeyRange::prefix(&[]), Direction::Forward, usize::MAX).unwrap();
        found
            .into_iter()
            .map(|(key, value)| (key.clone(), (store.read(&key).unwrap().unwrap().version, value)))
            .collect()
    }

    #[tokio::test]
    async fn compaction_keeps_live_values_and_shrinks_the_files() {
        let dir = tempfile::tempdir().unwrap();
        churned(dir.path()).await;
        let (before, groups) = {
            let store = EmbeddedStore::open(config(dir.path())).unwrap();
            (values(&store), store.groups())
        };
        let mut reported = Vec::new();
        let done = compact(&config(dir.path()), |copied, all| reported.push((copied, all))).unwrap();
        assert_eq!((done.values, reported.last()), (180, Some(&(180, 180))));
        // sled allocates whole segments: their number depends on thread scheduling.
        assert!(done.after * 2 < done.before, "{done:?}");
        let weight = Weight::read(dir.path()).unwrap();
        assert!(weight.values == 180 && weight.bytes > 60_000 && weight.compacted == done.after, "{weight:?}");
        let store = EmbeddedStore::open(config(dir.path())).unwrap();
        assert!(values(&store) == before && store.groups() == groups);
        store.commit(put(vec![9], vec![9])).await.unwrap();
        drop(store);
        assert_eq!(EmbeddedStore::open(config(dir.path())).unwrap().get(&[9]).unwrap(), Some(vec![9]));
    }

    /// Before the first step, the new log may be incomplete.
    #[tokio::test]
    async fn a_compaction_interrupted_after_any_step_loses_nothing() {
        let origin = tempfile::tempdir().unwrap();
        churned(origin.path()).await;
        let before = values(&EmbeddedStore::open(config(origin.path())).unwrap());
        wait_until_closed(&origin.path().join(LOG)).unwrap();
        for steps in 0..=STEPS.len() {
            let dir = tempfile::tempdir().unwrap();
            testing::copy(origin.path(), dir.path());
            let size = |dir: &Path| fs::metadata(dir.join(LOG)).unwrap().len();
            let large = size(dir.path());
            let last = rewrite(&config(dir.path()), |_, _| {}).unwrap();
            read_again(&config(dir.path()), last).unwrap();
            if steps == 0 {
                let draft = File::options().write(true).open(dir.path().join(DRAFT).join(LOG)).unwrap();
                draft.set_len(300_000).unwrap();
            }
            for step in &STEPS[..steps] {
                step(dir.path()).unwrap();
            }
            for round in 0..2u8 {
                let store = EmbeddedStore::open(config(dir.path()));
                let store = store.unwrap_or_else(|error| panic!("{steps} steps: {error}"));
                assert!(!dir.path().join(DRAFT).exists() && !dir.path().join(WHOLE).exists());
                let mut found = values(&store);
                found.retain(|key, _| key.len() > 1);
                assert!(found == before, "{steps} steps");
                store.commit(put(vec![round + 1], vec![1])).await.unwrap();
            }
            // sled itself may truncate an empty end of a log that it opens.
            assert_eq!(size(dir.path()) < large / 2, steps >= COUNTS, "{steps} steps");
        }
    }

    /// Repeats each step after the commit, because a recovery may be interrupted, too.
    #[tokio::test]
    async fn interrupted_recoveries_of_a_compaction_complete_it() {
        let dir = tempfile::tempdir().unwrap();
        churned(dir.path()).await;
        let last = rewrite(&config(dir.path()), |_, _| {}).unwrap();
        read_again(&config(dir.path()), last).unwrap();
        STEPS[..COUNTS].iter().for_each(|step| step(dir.path()).unwrap());
        for broken_off in COUNTS..STEPS.len() {
            STEPS[COUNTS..broken_off].iter().for_each(|step| step(dir.path()).unwrap());
        }
        finish(dir.path()).unwrap();
        assert!(
            fs::read_dir(dir.path()).unwrap().any(|entry| is_snapshot(entry.unwrap().file_name().to_str().unwrap()))
        );
        assert_eq!(EmbeddedStore::open(config(dir.path())).unwrap().values().unwrap(), 180);
    }

    #[tokio::test]
    async fn a_store_with_losses_is_not_compacted() {
        let dir = tempfile::tempdir().unwrap();
        churned(dir.path()).await;
        {
            // Removes a value without the knowledge of the committer.
            let log = open_log(dir.path(), 16 << 20).unwrap();
            log.db.remove(keys::record(1, 1, 100)).unwrap().unwrap();
        }
        let refused = compact(&config(dir.path()), |_, _| {}).unwrap_err();
        assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
        watermark::WatermarkFile::open(dir.path()).unwrap().0.mark(1_000).unwrap();
        let refused = compact(&config(dir.path()), |_, _| {}).unwrap_err();
        assert!(matches!(refused, StoreError::LostCommits { expected: 1_000, .. }), "{refused}");
    }
}
