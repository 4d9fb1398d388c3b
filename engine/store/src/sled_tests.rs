//! The suite against both implementations, and what only a real disk can do wrong.

#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{
    Batch, CommitError, Direction, Disk, Key, KeyRange, MemoryStore, RealDisk, SledConfig, SledStore, Store,
    StoreError, StoreKey,
    conformance::{Subject, conformance},
    feed_end, journal, keys, salvage,
};

struct InMemory(Arc<MemoryStore>);

impl Subject for InMemory {
    fn fresh() -> Self {
        Self(Arc::new(MemoryStore::new()))
    }

    fn store(&self) -> Arc<dyn Store> {
        self.0.clone()
    }

    fn reopen(self) -> Self {
        Self(Arc::new(self.0.fork()))
    }
}

/// Every reopening verifies the whole store as well.
struct OnDisk {
    store: Arc<SledStore>,
    dir: TempDir,
}

impl Subject for OnDisk {
    fn fresh() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { store: Arc::new(SledStore::open(config(dir.path())).unwrap()), dir }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    fn reopen(self) -> Self {
        let Self { store, dir } = self;
        drop(Arc::into_inner(store).expect("nobody else uses the store when it is reopened"));
        assert_eq!(fs::read_dir(dir.path().join("blobs")).unwrap().count(), 0, "nothing may spill to unsynced files");
        Self { store: Arc::new(SledStore::open(config(dir.path())).unwrap()), dir }
    }
}

conformance!(in_memory, InMemory);
conformance!(on_disk, OnDisk);

fn config(dir: &Path) -> SledConfig {
    SledConfig { cache_bytes: 16 << 20, floor_bytes: 0, verify: true, ..SledConfig::new(dir, StoreKey::new([42; 32])) }
}

fn put(key: Key, value: Vec<u8>) -> Batch {
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
struct Strings {
    free: Arc<AtomicU64>,
    broken: Arc<AtomicBool>,
    stuck: Arc<AtomicBool>,
    told: Arc<AtomicUsize>,
}

fn puppet(dir: &Path, floor_bytes: u64, queue: usize) -> (Arc<SledStore>, Strings) {
    let strings = Strings {
        free: Arc::new(AtomicU64::new(1_000)),
        broken: Arc::default(),
        stuck: Arc::default(),
        told: Arc::default(),
    };
    let Strings { free, broken, stuck, told } = strings.clone();
    let config = SledConfig { floor_bytes, queue, ..config(dir) };
    let store = SledStore::open_on(config, |real| Arc::new(Puppet { real, free, broken, stuck, told })).unwrap();
    (Arc::new(store), strings)
}

#[tokio::test]
async fn a_second_open_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = SledStore::open(config(dir.path())).unwrap();
    let error = SledStore::open(config(dir.path())).err().unwrap();
    assert!(matches!(error, StoreError::Locked { .. }));
    assert!(error.to_string().contains("in use by another process"), "{error}");
    store.commit(put(b"a".to_vec(), vec![1])).await.unwrap();
    drop(store);
    assert_eq!(SledStore::open(config(dir.path())).unwrap().get(b"a").unwrap(), Some(vec![1]));
}

#[tokio::test]
async fn another_key_is_refused_and_nothing_is_lost_by_trying() {
    let dir = tempfile::tempdir().unwrap();
    let store = SledStore::open(config(dir.path())).unwrap();
    store.commit(put(b"a".to_vec(), b"Jane Doe".to_vec())).await.unwrap();
    drop(store);
    let other = SledConfig { key: StoreKey::new([1; 32]), ..config(dir.path()) };
    assert!(matches!(SledStore::open(other).err().unwrap(), StoreError::WrongKey { .. }));
    assert_eq!(SledStore::open(config(dir.path())).unwrap().get(b"a").unwrap().unwrap(), b"Jane Doe");
    let log = fs::read(dir.path().join("db")).unwrap();
    assert!(!log.windows(8).any(|window| window == b"Jane Doe"));
}

#[test]
fn half_snapshots_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    drop(SledStore::open(config(dir.path())).unwrap());
    let half = dir.path().join("snap.00000000000000FF.generating");
    fs::write(&half, b"half").unwrap();
    drop(SledStore::open(config(dir.path())).unwrap());
    assert!(!half.exists());
}

#[tokio::test]
async fn nothing_spills_to_blobs() {
    let dir = tempfile::tempdir().unwrap();
    let store = SledStore::open(config(dir.path())).unwrap();
    let long = |n: u64| [&[3; 248][..], &n.to_be_bytes()].concat();
    for round in 0..3 {
        // The heaviest pages there can be: longest keys, fullest records; and values of many pieces.
        for n in 0..40 {
            let mut batch = Batch::new();
            for m in 0..5 {
                batch.put(long(n * 5 + m), vec![round; 3_543]);
            }
            batch.put(keys::snapshot(n as u32), vec![round; 300_000]);
            store.commit(batch).await.unwrap();
        }
    }
    for n in (0..200).filter(|n| n % 7 != 0) {
        let mut batch = Batch::new();
        batch.delete(long(n));
        store.commit(batch).await.unwrap();
    }
    assert_eq!(fs::read_dir(dir.path().join("blobs")).unwrap().count(), 0);
    drop(store);
    let store = SledStore::open(config(dir.path())).unwrap();
    assert_eq!(store.scan_keys(KeyRange::prefix(&[3]), Direction::Forward, 999).unwrap().len(), 29);
    assert_eq!(store.get(&keys::snapshot(39)).unwrap().unwrap(), vec![2; 300_000]);
}

#[tokio::test]
async fn a_full_disk_refuses_and_recovers() {
    let dir = tempfile::tempdir().unwrap();
    let (store, strings) = puppet(dir.path(), 500, 100);
    store.commit(put(b"a".to_vec(), vec![1])).await.unwrap();
    strings.free.store(499, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(1_050)).await;
    let refused = store.commit(put(b"a".to_vec(), vec![2])).await;
    assert!(matches!(refused, Err(CommitError::Full { free: 499, floor: 500 })), "{refused:?}");
    assert!(!store.health().accepts_writes());
    assert_eq!(store.get(b"a").unwrap(), Some(vec![1]));
    strings.free.store(10_000, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(1_050)).await;
    store.commit(put(b"a".to_vec(), vec![3])).await.unwrap();
    // Between two readings what was written counts.
    store.commit(put(b"b".to_vec(), vec![0; 9_600])).await.unwrap();
    assert!(matches!(store.commit(put(b"a".to_vec(), vec![4])).await, Err(CommitError::Full { .. })));
}

#[tokio::test]
async fn a_failed_sync_ends_everything() {
    let dir = tempfile::tempdir().unwrap();
    let (store, strings) = puppet(dir.path(), 0, 100);
    store.commit(put(b"a".to_vec(), vec![1])).await.unwrap();
    strings.broken.store(true, Ordering::SeqCst);
    let failed = store.commit(put(b"a".to_vec(), vec![2])).await;
    assert!(matches!(failed, Err(CommitError::Store(StoreError::Unknown { .. }))), "{failed:?}");
    assert_eq!(strings.told.load(Ordering::SeqCst), 1, "the process would have ended here");
    strings.broken.store(false, Ordering::SeqCst);
    let refused = store.commit(put(b"a".to_vec(), vec![3])).await;
    assert!(
        matches!(&refused, Err(CommitError::Store(StoreError::Refusing { why })) if why.contains("syncing failed")),
        "{refused:?}"
    );
    assert_eq!(strings.told.load(Ordering::SeqCst), 1, "never synced again");
    assert_eq!(store.get(b"a").unwrap(), Some(vec![1]), "readers see durable state only");
    assert!(store.health().refusing.is_some());
}

/// Of the child: where its store is.
const UNTIL_FULL: &str = "PRACTICE_SYNC_TEST_UNTIL_FULL";

/// A write below the store fails, as on a disk that another process has filled: a process that may not make its files any larger. It
/// says what was acknowledged, and ends by itself; the next one, with room again, has all of that and goes on.
#[tokio::test]
async fn a_failed_write_ends_the_process_and_the_next_one_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    // Blocks of 512 bytes: eight segments of sled's log.
    let script = "trap '' XFSZ; ulimit -f 8192; exec \"$0\" \"$@\"";
    let child = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "sled_tests::writes_until_the_disk_refuses", "--ignored", "--nocapture"])
        .env(UNTIL_FULL, dir.path())
        .output()
        .unwrap();
    let (said, log) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    let acknowledged: Vec<u64> =
        said.lines().filter_map(|line| line.strip_prefix("acknowledged ")?.parse().ok()).collect();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&child.status),
        Some(6),
        "it ends, and does not live on: {said} {log}"
    );
    assert!(log.contains("the store could not be written; the process ends"), "{log}");
    assert!(acknowledged.len() > 20, "{said}");
    let store = SledStore::open(config(dir.path())).unwrap();
    for n in acknowledged {
        assert_eq!(store.get(&keys::record(1, 1, n)).unwrap(), Some(vec![n as u8; 30_000]), "{n}");
    }
    store.commit(put(b"a".to_vec(), vec![1])).await.unwrap();
}

#[tokio::test]
#[ignore = "a part of the test above"]
#[allow(clippy::print_stdout)] // the test above reads it
async fn writes_until_the_disk_refuses() {
    let Some(dir) = std::env::var_os(UNTIL_FULL) else { return };
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    let store = SledStore::open(config(Path::new(&dir))).unwrap();
    for n in 0..10_000 {
        match store.commit(put(keys::record(1, 1, n), vec![n as u8; 30_000])).await {
            Ok(()) => println!("acknowledged {n}"),
            Err(error) => println!("refused {n}: {error}"),
        }
    }
}

#[tokio::test]
async fn what_is_not_durable_is_not_seen_and_a_full_queue_is_busy() {
    let dir = tempfile::tempdir().unwrap();
    let (store, strings) = puppet(dir.path(), 0, 3);
    store.commit(put(b"a".to_vec(), vec![1; 9_000])).await.unwrap();
    strings.stuck.store(true, Ordering::SeqCst);
    let mut batch = put(b"a".to_vec(), vec![2; 5]);
    batch.put(b"b".to_vec(), vec![2]).append(1, vec![2; 9_000]);
    let first = store.commit(batch);
    let patience = Instant::now() + Duration::from_secs(10);
    while store.health().waiting > 0 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(1));
    }
    // The committer is in the sync by now, or about to be; either way nothing of the batch may be seen.
    for _ in 0..50 {
        assert_eq!(store.get(b"a").unwrap(), Some(vec![1; 9_000]));
        assert_eq!(store.get(b"b").unwrap(), None);
        assert_eq!(feed_end(&*store).unwrap(), 0);
        for direction in [Direction::Forward, Direction::Backward] {
            assert_eq!(store.scan(KeyRange::prefix(&[]), direction, 9).unwrap(), [(b"a".to_vec(), vec![1; 9_000])]);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let waiting: Vec<_> = (0..3).map(|n| store.commit(put(b"c".to_vec(), vec![n]))).collect();
    let busy = store.commit(put(b"c".to_vec(), vec![9])).await;
    assert!(matches!(busy, Err(CommitError::Store(StoreError::Busy))), "{busy:?}");
    strings.stuck.store(false, Ordering::SeqCst);
    first.await.unwrap();
    for commit in waiting {
        commit.await.unwrap();
    }
    assert_eq!(store.get(b"a").unwrap(), Some(vec![2; 5]));
    assert_eq!(store.get(b"c").unwrap(), Some(vec![2]));
    assert_eq!(feed_end(&*store).unwrap(), 1);
    assert_eq!(store.get(&keys::feed(1, 1)).unwrap(), Some(vec![2; 9_000]));
}

/// Copies of the directory while commits go on: whatever a crash leaves, the last number and the changes that bear numbers agree, and
/// what was reported as durable is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_leaves_a_feed_without_gaps() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(SledStore::open(SledConfig { verify: false, ..config(dir.path()) }).unwrap());
    let durable = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (store, durable, stop) = (store.clone(), durable.clone(), stop.clone());
        tokio::spawn(async move {
            while !stop.load(Ordering::SeqCst) {
                let mut batch = Batch::new();
                batch.append(1, vec![1; 50]).append(2, vec![2; 5_000]).append(1, vec![3]);
                store.commit(batch).await.unwrap();
                durable.fetch_add(3, Ordering::SeqCst);
            }
        })
    };
    let mut crashes = 0;
    while crashes < 8 {
        tokio::time::sleep(Duration::from_millis(15)).await;
        let reported = durable.load(Ordering::SeqCst);
        let crashed = tempfile::tempdir().unwrap();
        copy(dir.path(), crashed.path());
        // The mark is copied at another moment than the log: it may be ahead of what the copy holds.
        fs::remove_file(crashed.path().join("tide")).unwrap();
        let left = SledStore::open(SledConfig { verify: false, ..config(crashed.path()) }).unwrap();
        let end = feed_end(&left).unwrap();
        let found = left.scan_keys(keys::Space::Feed.range(), Direction::Forward, usize::MAX).unwrap();
        let mut numbers: Vec<u64> = found.iter().map(|key| keys::parse_feed(key).unwrap().1).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=end).collect::<Vec<_>>());
        assert!(end >= reported, "{end} of {reported}");
        left.commit({
            let mut batch = Batch::new();
            batch.append(3, vec![]);
            batch
        })
        .await
        .unwrap();
        assert!(left.get(&keys::feed(3, end + 1)).unwrap().is_some());
        crashes += 1;
    }
    stop.store(true, Ordering::SeqCst);
    writer.await.unwrap();
}

#[tokio::test]
async fn closing_writes_what_waits() {
    let dir = tempfile::tempdir().unwrap();
    let store = SledStore::open(config(dir.path())).unwrap();
    let commits: Vec<_> = (0..200).map(|n| store.commit(put(keys::record(1, 0, n), vec![1; 500]))).collect();
    drop(store);
    for commit in commits {
        commit.await.unwrap();
    }
    let store = SledStore::open(config(dir.path())).unwrap();
    assert_eq!(store.scan_keys(keys::Space::Record.range(), Direction::Forward, 999).unwrap().len(), 200);
}

#[tokio::test]
async fn lost_commits_are_seen() {
    let dir = tempfile::tempdir().unwrap();
    let old = tempfile::tempdir().unwrap();
    let store = SledStore::open(config(dir.path())).unwrap();
    store.commit(put(b"a".to_vec(), vec![1])).await.unwrap();
    drop(store);
    copy(dir.path(), old.path());
    let store = SledStore::open(config(dir.path())).unwrap();
    store.commit(put(b"a".to_vec(), vec![2])).await.unwrap();
    drop(store);
    // The log as it was one commit earlier, the mark as it is now.
    fs::copy(dir.path().join("tide"), old.path().join("tide")).unwrap();
    let error = SledStore::open(config(old.path())).err().unwrap();
    assert!(matches!(error, StoreError::LostCommits { found: 1, expected: 2, .. }), "{error}");
    fs::remove_file(old.path().join("tide")).unwrap();
    assert_eq!(SledStore::open(config(old.path())).unwrap().get(b"a").unwrap(), Some(vec![1]));
    // The whole log is gone: not a new store.
    for file in ["db", "conf"] {
        fs::remove_file(dir.path().join(file)).unwrap();
    }
    for entry in fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains("snap.") {
            fs::remove_file(path).unwrap();
        }
    }
    let error = SledStore::open(config(dir.path())).err().unwrap();
    assert!(matches!(error, StoreError::LostCommits { found: 0, expected: 2, .. }), "{error}");
}

#[test]
fn a_foreign_database_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let db = sled::open(dir.path()).unwrap();
    db.insert(b"not", b"ours").unwrap();
    db.flush().unwrap();
    drop(db);
    assert!(matches!(SledStore::open(config(dir.path())).err().unwrap(), StoreError::Damaged { .. }));
}

fn copy(from: &Path, to: &Path) {
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

/// Two lives of a store, so that one part of its log is read through sled's snapshot and one by sled's recovery.
async fn two_lives(dir: &Path, values: u64, size_of: impl Fn(u64) -> usize) -> BTreeMap<Key, Vec<u8>> {
    let mut model = BTreeMap::new();
    for life in 0..2u8 {
        let store = SledStore::open(config(dir)).unwrap();
        let mut commits = Vec::new();
        for n in 0..values {
            let (key, value) = (keys::record(1, 1, n), vec![life.wrapping_add(n as u8); size_of(n)]);
            commits.push(store.commit(put(key.clone(), value.clone())));
            model.insert(key, value);
            if n % 7 == 0 {
                for commit in commits.drain(..) {
                    commit.await.unwrap();
                }
            }
        }
        for commit in commits {
            commit.await.unwrap();
        }
    }
    model
}

#[derive(Debug, PartialEq)]
enum Effect {
    None,
    Reported,
    /// The worst a store can do.
    Silent,
}

/// What a flipped bit does to a copy of the store.
fn flip(origin: &Path, log: &[u8], at: usize, bit: u8, verify: bool, model: &BTreeMap<Key, Vec<u8>>) -> Effect {
    let dir = tempfile::tempdir().unwrap();
    copy(origin, dir.path());
    let mut bent = log.to_vec();
    bent[at] ^= 1 << bit;
    fs::write(dir.path().join("db"), bent).unwrap();
    let Ok(store) = SledStore::open(SledConfig { verify, ..config(dir.path()) }) else { return Effect::Reported };
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

/// One bit of the log flips. Whatever is read afterwards is right or an error: no old value, no missing one, nothing made up.
#[tokio::test]
async fn a_flipped_bit_never_becomes_data() {
    let flips: usize = std::env::var("STORE_FLIPS").ok().map_or(60, |count| count.parse().unwrap());
    // A short log, all of it in sled's current segment; and one of many segments, where sled skips what it cannot read.
    for (values, flips) in [(60, flips), (4_000, flips / 6)] {
        let origin = tempfile::tempdir().unwrap();
        let model = two_lives(origin.path(), values, |n| (n as usize % 10) * 42_000 / values as usize).await;
        let log = fs::read(origin.path().join("db")).unwrap();
        let used = log.iter().rposition(|byte| *byte != 0).unwrap();
        let mut effects = [0; 3];
        for n in 0..flips {
            let (at, bit) = (used * n / flips + n % 13, (n % 8) as u8);
            let effect = flip(origin.path(), &log, at, bit, true, &model);
            assert_ne!(effect, Effect::Silent, "bit {bit} of byte {at}");
            effects[effect as usize] += 1;
            effects[2] += usize::from(flip(origin.path(), &log, at, bit, false, &model) == Effect::Silent);
        }
        let [none, reported, silent] = effects;
        eprintln!(
            "{flips} flipped bits in {used} bytes: {reported} reported, {none} without effect; without `verify` {silent} silent"
        );
        assert!(reported > 0);
    }
}

/// Figures for a release build: `cargo test --release -- --nocapture --ignored measure`.
#[test]
#[ignore = "a measurement"]
fn measure_group_commit() {
    let dir = tempfile::tempdir().unwrap();
    let store =
        Arc::new(SledStore::open(SledConfig { verify: false, cache_bytes: 256 << 20, ..config(dir.path()) }).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let seconds: u64 = std::env::var("STORE_SECONDS").ok().map_or(3, |count| count.parse().unwrap());
    let rounds = [(1u32, 8, 100), (64, 1, 200), (64, 8, 100), (256, 8, 100)];
    for (round, (callers, keys_per_batch, bytes)) in (0u32..).zip(rounds) {
        let until = Instant::now() + Duration::from_secs(seconds);
        let started = Instant::now();
        let commits: u64 = runtime.block_on(async {
            let mut tasks = Vec::new();
            for caller in 0..callers {
                let store = store.clone();
                let location = round * 1_000 + caller;
                tasks.push(tokio::spawn(async move {
                    let mut seq = 0;
                    while Instant::now() < until {
                        let mut batch = Batch::new();
                        journal::append(&mut batch, location, seq + 1, vec![7; bytes]);
                        for n in 1..keys_per_batch {
                            batch.put(keys::record(n as u8, location, seq), vec![9; bytes]);
                        }
                        store.commit(batch).await.unwrap();
                        seq += 1;
                    }
                    seq
                }));
            }
            let mut total = 0;
            for task in tasks {
                total += task.await.unwrap();
            }
            total
        });
        let rate = commits as f64 / started.elapsed().as_secs_f64();
        eprintln!(
            "{callers} callers, {keys_per_batch} keys of {bytes} bytes: {rate:.0} durable commits/s, {:.0} keys/s, last group {:?}",
            rate * f64::from(keys_per_batch),
            store.health().last_commit
        );
    }
    let started = Instant::now();
    drop(Arc::into_inner(store));
    eprintln!(
        "closed in {:?}, {} MiB on disk",
        started.elapsed(),
        fs::metadata(dir.path().join("db")).unwrap().len() >> 20
    );
    for verify in [false, true] {
        let started = Instant::now();
        drop(SledStore::open(SledConfig { verify, ..config(dir.path()) }).unwrap());
        eprintln!("reopened with verify {verify} in {:?}", started.elapsed());
    }
}

/// A location with many journal records and a snapshot near their end.
#[tokio::test]
async fn a_long_journal_loads_from_its_snapshot() {
    let records: u64 = std::env::var("STORE_JOURNAL_RECORDS").ok().map_or(20_000, |count| count.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let config = SledConfig { verify: false, ..config(dir.path()) };
    let store = SledStore::open(config.clone()).unwrap();
    let started = Instant::now();
    let mut waiting = Vec::new();
    for seq in 1..=records {
        let mut batch = Batch::new();
        journal::append(&mut batch, 1, seq, vec![seq as u8; 150]);
        if seq == records - 500 {
            journal::write_snapshot(&mut batch, 1, seq, &vec![5; 1 << 20]);
        }
        waiting.push(store.commit(batch));
        if waiting.len() == 8_000 {
            for commit in waiting.drain(..) {
                commit.await.unwrap();
            }
        }
    }
    for commit in waiting {
        commit.await.unwrap();
    }
    eprintln!(
        "{records} records written in {:?}, {} MiB",
        started.elapsed(),
        fs::metadata(dir.path().join("db")).unwrap().len() >> 20
    );
    drop(store);
    let started = Instant::now();
    let store = SledStore::open(config).unwrap();
    eprintln!("store opened in {:?}", started.elapsed());
    for way in ["cold", "warm"] {
        let started = Instant::now();
        let loaded = journal::load(&store, 1).unwrap();
        eprintln!("{way} load in {:?}", started.elapsed());
        assert_eq!((loaded.next_seq, loaded.tail.len()), (records + 1, 500));
        assert_eq!(loaded.snapshot.unwrap().1.len(), 1 << 20);
    }
}

/// A flipped bit that keeps the store closed, or takes records with it, costs nothing when it is salvaged: the checksum says which bit.
#[tokio::test]
async fn what_one_flipped_bit_spoils_is_salvaged_whole() {
    let flips: usize = std::env::var("STORE_FLIPS").ok().map_or(12, |count| count.parse().unwrap());
    for (values, flips) in [(60, flips), (2_000, flips / 3)] {
        let origin = tempfile::tempdir().unwrap();
        let model = two_lives(origin.path(), values, |n| (n as usize % 10) * 42_000 / values as usize).await;
        let log = fs::read(origin.path().join("db")).unwrap();
        let used = log.iter().rposition(|byte| *byte != 0).unwrap();
        for n in 0..flips {
            let (at, bit) = (used * n / flips + n % 13, (n % 8) as u8);
            let dir = tempfile::tempdir().unwrap();
            let (bent, to) = (dir.path().join("bent"), dir.path().join("to"));
            copy(origin.path(), &bent);
            let mut bytes = log.clone();
            bytes[at] ^= 1 << bit;
            fs::write(bent.join("db"), &bytes).unwrap();
            let key = StoreKey::new([42; 32]);
            let report = salvage::salvage(&bent, &key, &to, &dir.path().join("scratch")).await.unwrap();
            assert!(report.is_whole(), "bit {bit} of byte {at}: {report:?}");
            assert_eq!(fs::read(bent.join("db")).unwrap(), bytes, "the damaged store stays as it was");
            let store = SledStore::open(config(&to)).unwrap();
            let found = store.scan(KeyRange::prefix(&[]), Direction::Forward, usize::MAX).unwrap();
            assert_eq!(found, model.clone().into_iter().collect::<Vec<_>>());
        }
    }
}

/// Where more than a bit is gone, what is sound comes over, and what does not is told.
#[tokio::test]
async fn what_a_hole_took_is_told_and_the_rest_is_salvaged() {
    let origin = tempfile::tempdir().unwrap();
    let model = two_lives(origin.path(), 2_000, |n| (n as usize % 10) * 200).await;
    let log = fs::read(origin.path().join("db")).unwrap();
    let used = log.iter().rposition(|byte| *byte != 0).unwrap();
    let holes: usize = std::env::var("STORE_HOLES").ok().map_or(6, |count| count.parse().unwrap());
    let (mut lossy, mut there, mut were) = (0, 0, 0);
    for n in 0..holes {
        let dir = tempfile::tempdir().unwrap();
        let (bent, to) = (dir.path().join("bent"), dir.path().join("to"));
        copy(origin.path(), &bent);
        let (mut bytes, at) = (log.clone(), used * n / holes);
        bytes[at..at + 512].fill(0);
        fs::write(bent.join("db"), &bytes).unwrap();
        let key = StoreKey::new([42; 32]);
        let Ok(report) = salvage::salvage(&bent, &key, &to, &dir.path().join("scratch")).await else { continue };
        let store = SledStore::open(config(&to)).unwrap();
        let found: BTreeMap<_, _> =
            store.scan(KeyRange::prefix(&[]), Direction::Forward, usize::MAX).unwrap().into_iter().collect();
        assert!(found.keys().all(|key| model.contains_key(key)), "nothing is made up");
        if found != model {
            lossy += 1;
            assert!(!report.is_whole(), "a loss that is not told: {report:?}");
            eprintln!("hole at {at}: {} of {} values, {report:?}", found.len(), model.len());
        }
        there += found.len();
        were += model.len();
    }
    // How much one hole takes depends on where sled happened to put what: at worst the only copy of a page of the tree.
    assert!(were > 0 && there * 10 > were * 8, "{there} of {were} values");
    eprintln!("{lossy} of {holes} holes took something");
}

/// A record that is lost without a trace is found beside the work, while the store is written, and not before.
#[tokio::test]
async fn an_audit_beside_the_work_finds_what_is_missing() {
    let audited = |dir: &Path| SledConfig { verify: false, audit: true, ..config(dir) };
    let dir = tempfile::tempdir().unwrap();
    for sound in [true, false] {
        let store = SledStore::open(SledConfig { verify: false, ..config(dir.path()) }).unwrap();
        for n in 0..1_500 {
            store.commit(put(keys::record(1, 1, n), vec![1; 40])).await.unwrap();
        }
        drop(store);
        if !sound {
            // As if sled had lost it.
            let db = sled::Config::new().path(dir.path()).mode(sled::Mode::HighThroughput).open().unwrap();
            db.remove(keys::record(1, 1, 700)).unwrap();
            db.flush().unwrap();
        }
        let store = SledStore::open(audited(dir.path())).unwrap();
        let until = Instant::now() + Duration::from_secs(120);
        let mut n = 0;
        // Values before and behind what it has looked at are made, changed and removed meanwhile: so many that it catches up with them,
        // however seldom it gets its turn.
        while store.audited().is_none() && Instant::now() < until {
            n += 1;
            let mut batch = put(keys::record(1, 1, n * 37 % 1_500), vec![2; 50]);
            batch.delete(keys::record(1, 1, n * 11 % 600)).put(keys::record(2, 1, n % 1_000), vec![3; 5_000]);
            store.commit(batch).await.unwrap();
        }
        assert_eq!(store.audited(), Some(sound));
        assert_eq!(store.health().damage.is_some(), !sound, "{:?}", store.health());
        assert!(store.health().accepts_writes());
    }
}
