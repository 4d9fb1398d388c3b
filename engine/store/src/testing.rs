//! What the tests of stores share: stores on directories of their own, and a disk that does as it is told.

#![allow(clippy::unwrap_used)]

use std::{
    fs, io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::{Batch, Disk, EmbeddedStore, EngineKind, Key, RealDisk, StoreConfig, StoreKey};

/// Every opening verifies the whole store as well.
pub(crate) fn config(engine: EngineKind, dir: &Path) -> StoreConfig {
    let own = StoreConfig::new(dir, StoreKey::new([42; 32]));
    StoreConfig { engine, cache_bytes: 16 << 20, floor_bytes: 0, verify: true, ..own }
}

pub(crate) fn put(key: Key, value: Vec<u8>) -> Batch {
    let mut batch = Batch::new();
    batch.put(key, value);
    batch
}

/// A disk that does as it is told.
struct Puppet {
    real: RealDisk,
    free: Arc<AtomicU64>,
    broken: Arc<AtomicBool>,
    stuck: Arc<AtomicBool>,
    told: Arc<AtomicUsize>,
}

impl Disk for Puppet {
    fn sync(&self) -> io::Result<()> {
        while self.stuck.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.broken.load(Ordering::SeqCst) { Err(io::Error::other("EIO")) } else { self.real.sync() }
    }

    fn free(&self) -> io::Result<u64> {
        Ok(self.free.load(Ordering::SeqCst))
    }

    fn failed(&self, _: &str) {
        self.told.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Clone)]
pub(crate) struct Strings {
    pub free: Arc<AtomicU64>,
    pub broken: Arc<AtomicBool>,
    pub stuck: Arc<AtomicBool>,
    pub told: Arc<AtomicUsize>,
}

pub(crate) fn puppet(engine: EngineKind, dir: &Path, floor_bytes: u64, queue: usize) -> (Arc<EmbeddedStore>, Strings) {
    let strings = Strings {
        free: Arc::new(AtomicU64::new(1_000)),
        broken: Arc::default(),
        stuck: Arc::default(),
        told: Arc::default(),
    };
    let Strings { free, broken, stuck, told } = strings.clone();
    let config = StoreConfig { floor_bytes, queue, ..config(engine, dir) };
    let store = EmbeddedStore::open_on(config, |real| Arc::new(Puppet { real, free, broken, stuck, told })).unwrap();
    (Arc::new(store), strings)
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}
