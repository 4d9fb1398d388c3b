//! The workload and its verification. Each writer counts its commits in a value; commit `n` writes some
//! values and deletes those of commit `n - KEPT`. The count therefore determines the exact expected values.
//! In later sessions, the key is rotated while the writers run.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write,
    path::Path,
    time::Duration,
};

use parking_lot::Mutex;
use store::{
    Batch, Direction, EmbeddedStore, EngineKind, Key, KeyRange, Sealed, Store, StoreConfig, StoreError, StoreKey,
    StoreKeys, rotation,
};

use crate::random::SeededRandom;

const WRITERS: usize = 4;
/// Small, because opening the values takes most of the time per state.
const KEPT: u64 = 10;
/// Sessions between which the store is reopened; some compact sled's log first.
const SESSIONS: u64 = 3;
const COMMITS: u64 = 60;

/// The key file, next to the store's directory.
const KEYS: &str = "store.key";

/// Number of commits of each writer.
pub type Counts = [u64; WRITERS];

pub fn run(engine: EngineKind, folder: &Path, seed: u64, log: &Path, acknowledged: &Path) {
    let acknowledged = Mutex::new(File::create(acknowledged).unwrap());
    for session in 0..SESSIONS {
        if engine == EngineKind::Sled && session > 0 && seed.is_multiple_of(2) {
            store::compact(&config(engine, folder), |_, _| {}).unwrap();
        }
        let store = open(engine, folder, "the process");
        std::thread::scope(|scope| {
            if session > 0 {
                scope.spawn(|| change_key(&store, folder));
            }
            for writer in 0..WRITERS {
                let (store, acknowledged) = (&store, &acknowledged);
                scope.spawn(move || {
                    let first = count(store, writer) + 1;
                    for number in first..first + COMMITS - seed % 7 * session {
                        wait(store.commit(commit(writer, number))).unwrap();
                        // The recording contains the sync of this commit by now.
                        let written = fs::metadata(log).unwrap().len();
                        writeln!(acknowledged.lock(), "{written} {writer} {number}").unwrap();
                    }
                });
            }
        });
    }
}

/// Removes unused keys of the previous session, and rotates to a new key while the writers run.
fn change_key(store: &EmbeddedStore, folder: &Path) {
    let file = folder.join(KEYS);
    let mut keys = keys(folder);
    let used = rotation::count(store, || true).unwrap().unwrap();
    for id in keys.ids().filter(|id| !used.contains_key(id) && *id != keys.newest()).collect::<Vec<_>>() {
        keys = keys.without(id);
    }
    let keys = keys.and_a_new_one().unwrap();
    keys.save(&file).unwrap();
    store.use_keys(&keys);
    assert!(rotation::reseal(store, keys.newest(), |_| true).unwrap());
}

/// Returns the keys in the file, or the initial key if there is no file.
fn keys(folder: &Path) -> StoreKeys {
    let file = folder.join(KEYS);
    if file.exists() { StoreKeys::load(&file).unwrap() } else { StoreKey::new([7; 32]).into() }
}

pub fn read_acknowledged(file: &Path) -> Vec<(u64, Counts)> {
    let line = |line: &str| {
        let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        let mut counts = Counts::default();
        counts[numbers[1] as usize] = numbers[2];
        (numbers[0], counts)
    };
    fs::read_to_string(file).unwrap().lines().map(line).collect()
}

/// Opens the store after a power loss, verifies all values, and writes to it.
pub fn verify_state(engine: EngineKind, folder: &Path, acknowledged: &Counts, what: &str) {
    let counts: Counts = {
        let store = open(engine, folder, what);
        assert_eq!(store.health().damage, None, "{what}");
        let counts = std::array::from_fn(|writer| compare(&store, writer, acknowledged[writer], what));
        for (writer, count) in counts.iter().enumerate() {
            wait(store.commit(commit(writer, count + 1))).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        counts
    };
    let store = open(engine, folder, what);
    for (writer, count) in counts.iter().enumerate() {
        assert_eq!(compare(&store, writer, 0, what), count + 1, "{what}");
    }
}

/// Opens the store, and retries while it is locked. A process being started by the other test inherits all
/// locks for a moment.
fn open(engine: EngineKind, folder: &Path, what: &str) -> EmbeddedStore {
    for _ in 0..500 {
        match EmbeddedStore::open(config(engine, folder)) {
            Err(StoreError::Locked { .. }) => std::thread::sleep(Duration::from_millis(10)),
            opened => return opened.unwrap_or_else(|error| panic!("{what}: {error}")),
        }
    }
    panic!("{what}: {} stays locked", folder.display());
}

fn config(engine: EngineKind, folder: &Path) -> StoreConfig {
    StoreConfig {
        engine,
        // Small, so that fjall flushes and merges tables meanwhile.
        cache_bytes: 1 << 20,
        floor_bytes: 0,
        verify: true,
        ..StoreConfig::new(folder.join("data"), keys(folder))
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn commit(writer: usize, number: u64) -> Batch {
    let mut batch = Batch::new();
    batch.put(count_key(writer), number.to_be_bytes().to_vec());
    for (key, value) in values(writer, number) {
        batch.put(key, value);
    }
    for (key, _) in number.checked_sub(KEPT).map(|gone| values(writer, gone)).unwrap_or_default() {
        batch.delete(key);
    }
    batch
}

/// Returns one to four values: most have some hundred bytes, a few are larger than a record of the store.
fn values(writer: usize, number: u64) -> Vec<(Key, Vec<u8>)> {
    let mut random = SeededRandom::new(number * WRITERS as u64 + writer as u64);
    let value = |part: u64, random: &mut SeededRandom| {
        let length = if random.below(25) == 0 { 5_000 + random.below(8_000) } else { random.below(900) };
        let key = [&[1, writer as u8][..], &number.to_be_bytes(), &part.to_be_bytes()].concat();
        (key, (0..length).map(|_| random.below(256) as u8).collect())
    };
    let parts = 1 + random.below(4);
    (0..parts).map(|part| value(part, &mut random)).collect()
}

fn count_key(writer: usize) -> Key {
    vec![2, writer as u8]
}

fn count(store: &impl Store, writer: usize) -> u64 {
    store.get(&count_key(writer)).unwrap().map_or(0, |value| u64::from_be_bytes(value.try_into().unwrap()))
}

/// Checks that the writer's values match its count exactly. Returns the count.
fn compare(store: &impl Store, writer: usize, acknowledged: u64, what: &str) -> u64 {
    let count = count(store, writer);
    assert!(
        count >= acknowledged,
        "{what}: commit {acknowledged} of writer {writer} was acknowledged, {count} are there"
    );
    let expected: BTreeMap<Key, Vec<u8>> =
        (count.saturating_sub(KEPT - 1).max(1)..=count).flat_map(|number| values(writer, number)).collect();
    let range = KeyRange::prefix(&[1, writer as u8]);
    let found: BTreeMap<Key, Vec<u8>> =
        store.scan(range, Direction::Forward, usize::MAX).unwrap().into_iter().collect();
    assert!(found == expected, "{what}: writer {writer} counts {count}, and its values are others");
    count
}
