//! What is written, and whether it is there. Each writer counts its commits in one value; commit `n` writes some values of its own and
//! deletes those of the commit `KEPT` before it. So the count says what must be there, to the byte. Beside the writers of a later session
//! the store gets a new key.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write,
    path::Path,
    sync::Mutex,
    time::Duration,
};

use store::{
    Batch, Direction, EmbeddedStore, EngineKind, Key, KeyRange, Sealed, Store, StoreConfig, StoreError, StoreKey,
    StoreKeys, rotation,
};

use crate::random::Random;

const WRITERS: usize = 4;
/// Few: to open their seals is most of what a state costs.
const KEPT: u64 = 10;
/// The store is closed and opened again between the sessions; some of them make sled's log anew first.
const SESSIONS: u64 = 3;
const COMMITS: u64 = 60;

/// In the folder of all, beside the store.
const KEYS: &str = "store.key";

/// Commits of each writer.
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
                        // The recording has the sync of this commit by now.
                        let written = fs::metadata(log).unwrap().len();
                        writeln!(acknowledged.lock().unwrap(), "{written} {writer} {number}").unwrap();
                    }
                });
            }
        });
    }
}

/// Drops what the session before has left behind, and makes a new key; what was written before is sealed with it beside the writers.
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

/// Until there is a file the store has the key it was made with.
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

/// Opens the store that a power cut left, reads all of it, and writes to it.
pub fn look(engine: EngineKind, folder: &Path, acknowledged: &Counts, what: &str) {
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

/// A process that the other test starts holds all our files for a moment, locks among them: until it is what it is to be.
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
        // So little that fjall writes tables and merges them meanwhile.
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

/// One to four values, most of some hundred bytes, a few larger than what the store writes as one.
fn values(writer: usize, number: u64) -> Vec<(Key, Vec<u8>)> {
    let mut random = Random::new(number * WRITERS as u64 + writer as u64);
    let value = |part: u64, random: &mut Random| {
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

/// All of the writer's commits up to its count, and nothing else. Answers the count.
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
