//! Shared test helpers: stores in temporary directories, and a disk with injected faults.

#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::{Batch, Direction, Disk, EmbeddedStore, EngineKind, Key, KeyRange, RealDisk, Store, StoreConfig, StoreKey};

/// Returns options that verify the whole store on every opening.
pub(crate) fn config(engine: EngineKind, dir: &Path) -> StoreConfig {
    let own = StoreConfig::new(dir, StoreKey::new([42; 32]));
    StoreConfig { engine, cache_bytes: 16 << 20, floor_bytes: 0, verify: true, ..own }
}

pub(crate) fn put(key: Key, value: Vec<u8>) -> Batch {
    let mut batch = Batch::new();
    batch.put(key, value);
    batch
}

/// A disk with injected faults.
struct FaultyDisk {
    real: RealDisk,
    free: Arc<AtomicU64>,
    broken: Arc<AtomicBool>,
    stuck: Arc<AtomicBool>,
    failures: Arc<AtomicUsize>,
}

impl Disk for FaultyDisk {
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
        self.failures.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Clone)]
pub(crate) struct Faults {
    pub free: Arc<AtomicU64>,
    pub broken: Arc<AtomicBool>,
    pub stuck: Arc<AtomicBool>,
    pub failures: Arc<AtomicUsize>,
}

pub(crate) fn faulty_store(
    engine: EngineKind,
    dir: &Path,
    floor_bytes: u64,
    queue: usize,
) -> (Arc<EmbeddedStore>, Faults) {
    let faults = Faults {
        free: Arc::new(AtomicU64::new(1_000)),
        broken: Arc::default(),
        stuck: Arc::default(),
        failures: Arc::default(),
    };
    let Faults { free, broken, stuck, failures } = faults.clone();
    let config = StoreConfig { floor_bytes, queue, ..config(engine, dir) };
    let store =
        EmbeddedStore::open_on(config, |real| Arc::new(FaultyDisk { real, free, broken, stuck, failures })).unwrap();
    (Arc::new(store), faults)
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

#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    None,
    Reported,
    /// Wrong data without an error, the worst possible effect.
    Silent,
}

/// Flips a bit of a file in a copy of the store and returns the effect.
pub(crate) fn flip(
    engine: EngineKind,
    origin: &Path,
    file: &Path,
    at: usize,
    bit: u8,
    verify: bool,
    model: &BTreeMap<Key, Vec<u8>>,
) -> Effect {
    let dir = tempfile::tempdir().unwrap();
    copy(origin, dir.path());
    let path = dir.path().join(file);
    let mut bytes = fs::read(&path).unwrap();
    bytes[at] ^= 1 << bit;
    fs::write(&path, bytes).unwrap();
    let Ok(store) = EmbeddedStore::open(StoreConfig { verify, ..config(engine, dir.path()) }) else {
        return Effect::Reported;
    };
    let mut effect = Effect::None;
    for (key, value) in model {
        match store.get(key) {
            Ok(found) if found.as_ref() != Some(value) => return Effect::Silent,
            Ok(_) => {}
            Err(_) => effect = Effect::Reported,
        }
    }
    match store.scan(KeyRange::prefix(&[]), Direction::Forward, usize::MAX) {
        Ok(found) if found != model.clone().into_iter().collect::<Vec<_>>() => Effect::Silent,
        Ok(_) => effect,
        Err(_) => Effect::Reported,
    }
}
