//! Recovery of disk space. sled's log keeps replaced values and never shrinks. Opening rewrites it if its
//! files are much larger than the live data; an operator can do the same while the server is stopped. fjall
//! compacts in the background.

use std::time::{Duration, Instant};

pub use super::sled::Compacted;
use super::{
    DirectoryLock, EngineKind, LayoutProblem, StoreConfig, StoreError,
    engine::Opened,
    envelope::Envelope,
    files, integrity, layout,
    shared::StoreState,
    weight::{self, Weight},
};

/// Factor by which the new log may exceed the live data.
const ROOM: u64 = 2;
const LOG_EVERY: Duration = Duration::from_secs(5);

/// Compacts the files of a store, which must not be in use.
pub fn compact(config: &StoreConfig, progress: impl FnMut(u64, u64)) -> Result<Compacted, StoreError> {
    let refused = |problem| StoreError::Layout { dir: config.dir.display().to_string(), problem };
    match layout::engine_of(&config.dir)? {
        Some(EngineKind::Sled) => {}
        Some(EngineKind::Fjall) => return Err(refused(LayoutProblem::GivesBack)),
        None => return Err(refused(LayoutProblem::Missing)),
    }
    let _directory = DirectoryLock::claim(&config.dir)?;
    super::sled::compact(config, progress)
}

/// Opens the engine, after compaction if that is due. If compaction fails, opens the files unchanged.
pub(super) fn open(config: &StoreConfig, directory: &DirectoryLock) -> Result<Opened, StoreError> {
    let opened = open_engine(config, directory)?;
    if !is_due(config, directory, &opened)? {
        return Ok(opened);
    }
    drop(opened);
    let mut logged_at = Instant::now();
    let progress = |values, of| {
        if logged_at.elapsed() >= LOG_EVERY {
            logged_at = Instant::now();
            tracing::info!(values, of, "compacting the store");
        }
    };
    tracing::info!(dir = %directory.path.display(), "compacting the store: most of its data is not live (`store_compact_ratio`)");
    match super::sled::compact(config, progress) {
        Ok(Compacted { values, before, after }) => {
            tracing::info!(values, before, after, "the store was compacted, bytes before and after")
        }
        Err(error) => tracing::error!(%error, "the store was not compacted"),
    }
    open_engine(config, directory)
}

fn open_engine(config: &StoreConfig, directory: &DirectoryLock) -> Result<Opened, StoreError> {
    match config.engine {
        EngineKind::Sled => super::sled::open(&directory.path, config.cache_bytes),
        EngineKind::Fjall => super::fjall::open(&directory.path, config.cache_bytes),
    }
}

fn is_due(config: &StoreConfig, directory: &DirectoryLock, opened: &Opened) -> Result<bool, StoreError> {
    if config.engine != EngineKind::Sled || config.compact_ratio == 0 {
        return Ok(false);
    }
    let io = |error| StoreError::io(format!("the store's directory {}", directory.name()))(error);
    let files = files::bytes_below(&directory.path).map_err(io)?;
    let Some(weight) = Weight::read(&directory.path).filter(|_| files > config.compact_above_bytes) else {
        return Ok(false);
    };
    let shared = StoreState::new(opened.medium.clone(), Envelope::new(&config.keys));
    let Some(last) = integrity::read_record(&shared, &directory.name())? else { return Ok(false) };
    if !weight.is_too_little(last.values(), files, config.compact_ratio) {
        return Ok(false);
    }
    let needed = weight.estimate_bytes(last.values()).saturating_mul(ROOM).saturating_add(config.floor_bytes);
    let free = fs4::available_space(&directory.path).map_err(io)?;
    if free < needed {
        tracing::warn!(
            free,
            needed,
            "the store is not compacted: the disk has too little space for a copy of the live data"
        );
    }
    Ok(free >= needed)
}

/// Records the result of a full read. Small stores are skipped, because they are never compacted.
pub(super) fn note(config: &StoreConfig, values: u64, bytes: u64) {
    let dir = &config.dir;
    let large = files::bytes_below(dir).is_ok_and(|files| files > config.compact_above_bytes);
    if config.engine == EngineKind::Sled
        && large
        && let Err(error) = weight::note(dir, values, bytes)
    {
        tracing::warn!(%error, "the size of the live data was not recorded: the next start does not compact the store");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;

    use super::*;
    use crate::{Batch, EmbeddedStore, Store, keys, testing};

    fn config(dir: &Path, engine: EngineKind) -> StoreConfig {
        StoreConfig { compact_above_bytes: 1 << 20, ..testing::config(engine, dir) }
    }

    async fn churn(config: &StoreConfig) {
        let store = EmbeddedStore::open(config.clone()).unwrap();
        for round in 0..40u8 {
            let mut batch = Batch::new();
            for n in 0..100u64 {
                batch.put(keys::record(1, 1, n), vec![round; 2_000]);
            }
            store.commit(batch).await.unwrap();
        }
    }

    fn is_as_it_was(config: &StoreConfig) {
        let store = EmbeddedStore::open(config.clone()).unwrap();
        assert_eq!(store.values().unwrap(), 100);
        assert!((0..100).all(|n| store.get(&keys::record(1, 1, n)).unwrap() == Some(vec![39; 2_000])));
    }

    /// The first start after the writes measures the live data; the next one uses the result.
    #[tokio::test]
    async fn a_start_compacts_a_log_with_little_live_data() {
        for verify in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let config = StoreConfig { verify, audit: !verify, ..config(dir.path(), EngineKind::Sled) };
            // A background audit during the writes would make the first start compact the log, depending on the load of
            // the machine.
            churn(&StoreConfig { verify: false, audit: false, ..config.clone() }).await;
            let large = files::bytes_below(dir.path()).unwrap();
            // The number of segments that sled reuses depends on thread scheduling: the size was 2 to 3.7 MB.
            assert!(large > 1 << 20, "{large}");
            {
                let store = EmbeddedStore::open(config.clone()).unwrap();
                while !verify && store.audited().is_none() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
            let weight = Weight::read(dir.path()).unwrap();
            assert_eq!((weight.values, weight.compacted), (100, 0));
            is_as_it_was(&StoreConfig { compact_ratio: 0, ..config.clone() });
            assert_eq!(Weight::read(dir.path()).unwrap().compacted, 0, "switched off");
            is_as_it_was(&StoreConfig { floor_bytes: u64::MAX, ..config.clone() });
            assert_eq!(Weight::read(dir.path()).unwrap().compacted, 0, "the disk has no room for a copy");
            is_as_it_was(&config);
            let compacted = Weight::read(dir.path()).unwrap().compacted;
            assert!(compacted > 0 && compacted < large, "{compacted} of {large}");
            is_as_it_was(&config);
            assert!(files::bytes_below(dir.path()).unwrap() < large);
        }
    }

    #[tokio::test]
    async fn manual_compaction_requires_an_unused_sled_store() {
        let dir = tempfile::tempdir().unwrap();
        let config = config(dir.path(), EngineKind::Sled);
        let missing = compact(&config, |_, _| {}).unwrap_err().to_string();
        assert!(missing.contains("is not there"), "{missing}");
        churn(&config).await;
        {
            let _store = EmbeddedStore::open(config.clone()).unwrap();
            assert!(matches!(compact(&config, |_, _| {}), Err(StoreError::Locked { .. })));
        }
        let Compacted { values, before, after } = compact(&config, |_, _| {}).unwrap();
        assert!(values == 100 && after < before, "{after} of {before}");
        is_as_it_was(&config);
        let other = tempfile::tempdir().unwrap();
        let config = self::config(other.path(), EngineKind::Fjall);
        churn(&config).await;
        let refused = compact(&config, |_, _| {}).unwrap_err().to_string();
        assert!(refused.contains("by itself"), "{refused}");
    }
}
