//! Runs the conformance suite on every implementation, and tests of disk faults on each engine.

#![allow(clippy::unwrap_used)]

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{
    Batch, CommitError, Direction, EmbeddedStore, EngineKind, Key, KeyRange, MemoryStore, Store, StoreConfig,
    StoreError, StoreKey, Version,
    conformance::{Subject, conformance},
    keys,
    testing::{config, copy, faulty_store, put},
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

/// Engine indices, because the suite is parameterized by types.
const SLED: usize = 0;
const FJALL: usize = 1;

/// Verifies the whole store on every reopening.
struct OnDisk<const ENGINE: usize> {
    store: Arc<EmbeddedStore>,
    dir: TempDir,
}

impl<const ENGINE: usize> OnDisk<ENGINE> {
    fn open(dir: &Path) -> Arc<EmbeddedStore> {
        Arc::new(EmbeddedStore::open(config(EngineKind::ALL[ENGINE], dir)).unwrap())
    }
}

impl<const ENGINE: usize> Subject for OnDisk<ENGINE> {
    fn fresh() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { store: Self::open(dir.path()), dir }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    fn reopen(self) -> Self {
        let Self { store, dir } = self;
        drop(Arc::into_inner(store).expect("the store has no other user when it is reopened"));
        let blobs = fs::read_dir(dir.path().join("blobs")).into_iter().flatten().count();
        assert_eq!(blobs, 0, "nothing may spill to sled's unsynced files");
        Self { store: Self::open(dir.path()), dir }
    }
}

conformance!(in_memory, InMemory);
conformance!(on_sled, OnDisk<SLED>);
conformance!(on_fjall, OnDisk<FJALL>);

/// Runs each of these tests on each engine.
macro_rules! on_each_engine {
    ($($test:ident),* $(,)?) => {
        mod with_sled {
            on_each_engine!(@of $crate::EngineKind::Sled; $($test),*);
        }
        mod with_fjall {
            on_each_engine!(@of $crate::EngineKind::Fjall; $($test),*);
        }
    };
    (@of $engine:expr; $($test:ident),*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test($engine).await;
            }
        )*
    };
}

on_each_engine!(
    a_second_open_is_refused,
    another_key_is_refused_without_changes,
    another_engine_is_refused_without_changes,
    a_store_of_format_3_is_upgraded_once_it_is_open,
    documents_are_compressed,
    preconditions_have_the_outcome_of_reading_each_key,
    a_full_disk_refuses_and_recovers,
    a_failed_sync_refuses_all_later_commits,
    a_failed_write_aborts_and_the_next_process_continues,
    commits_are_invisible_until_durable_and_a_full_queue_is_busy,
    a_scan_does_not_block_commits,
    a_crash_leaves_a_feed_without_gaps,
    closing_commits_queued_batches,
    lost_commits_are_detected,
    a_background_audit_finds_lost_values,
);

async fn a_second_open_is_refused(engine: EngineKind) {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(config(engine, dir.path())).unwrap();
    let error = EmbeddedStore::open(config(engine, dir.path())).err().unwrap();
    assert!(matches!(error, StoreError::Locked { .. }));
    assert!(error.to_string().contains("in use by another process"), "{error}");
    store.commit(put(b"a".to_vec(), vec![1])).await.unwrap();
    drop(store);
    assert_eq!(EmbeddedStore::open(config(engine, dir.path())).unwrap().get(b"a").unwrap(), Some(vec![1]));
}

async fn another_key_is_refused_without_changes(engine: EngineKind) {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(config(engine, dir.path())).unwrap();
    store.commit(put(b"a".to_vec(), b"Jane Doe".to_vec())).await.unwrap();
    drop(store);
    let other = StoreConfig { keys: StoreKey::new([1; 32]).into(), ..config(engine, dir.path()) };
    assert!(matches!(EmbeddedStore::open(other).err().unwrap(), StoreError::WrongKey { .. }));
    assert_eq!(EmbeddedStore::open(config(engine, dir.path())).unwrap().get(b"a").unwrap().unwrap(), b"Jane Doe");
    let files = files_below(dir.path());
    assert!(files.len() > 2);
    for file in files {
        let bytes = fs::read(&file).unwrap();
        assert!(!bytes.windows(8).any(|window| window == b"Jane Doe"), "{}", file.display());
    }
}

async fn a_store_of_format_3_is_upgraded_once_it_is_open(engine: EngineKind) {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(config(engine, dir.path())).unwrap();
    store.commit(put(b"a".to_vec(), vec![1])).await.unwrap();
    drop(store);
    let file = dir.path().join("format");
    let current = fs::read_to_string(&file).unwrap();
    let format_3 = current.replace("format 15", "format 3");
    assert_ne!(format_3, current);
    fs::write(&file, &format_3).unwrap();
    let other = StoreConfig { keys: StoreKey::new([1; 32]).into(), ..config(engine, dir.path()) };
    assert!(EmbeddedStore::open(other).is_err());
    assert_eq!(fs::read_to_string(&file).unwrap(), format_3, "a refused start changes nothing");
    let store = EmbeddedStore::open(config(engine, dir.path())).unwrap();
    assert_eq!(store.get(b"a").unwrap(), Some(vec![1]));
    assert_eq!(fs::read_to_string(&file).unwrap(), current);
}

/// The second value takes several records of sled.
async fn documents_are_compressed(engine: EngineKind) {
    let dir = tempfile::tempdir().unwrap();
    let document = |id: u64| {
        let times = r#""created_at":1795255200000,"updated_at":1795255200000"#;
        format!(r#"{{"id":{id},"institution_id":1,"source_id":1,{times},"body":{{"first_name":"Ann{id}"}}}}"#)
    };
    let rows: Vec<String> = (0..2_000).map(document).collect();
    let large = format!(r#"{{"rows":[{}]}}"#, rows.join(",")).into_bytes();
    let values = [(keys::record(1, 1, 7), document(7).into_bytes()), (keys::snapshot(1), large)];
    let store = EmbeddedStore::open(config(engine, dir.path())).unwrap();
    for (key, value) in &values {
        store.commit(put(key.clone(), value.clone())).await.unwrap();
    }
    drop(store);
    let store = EmbeddedStore::open(config(engine, dir.path())).unwrap();
    for (key, value) in &values {
        assert_eq!(store.get(key).unwrap().as_ref(), Some(value));
        let sealed = store.view().sealed(key).unwrap().unwrap();
        assert!(sealed.len() < value.len(), "{} bytes of {}", sealed.len(), value.len());
    }
    assert!(values[1].1.len() > 100_000);
    let stored = store.view().sealed(&keys::snapshot(1)).unwrap().unwrap();
    assert!(stored.len() > 10_000, "{} bytes: one record of sled", stored.len());
}

/// Stale and fresh preconditions on more keys than the store keeps versions of. The watermark is verified at the
/// end, so previous versions are exact, too.
async fn preconditions_have_the_outcome_of_reading_each_key(engine: EngineKind) {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(config(engine, dir.path())).unwrap();
    let mut state = 1_u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    let (mut seen, mut outcomes): (Vec<(Key, Option<Version>)>, _) = (Vec::new(), [0; 2]);
    for _ in 0..600 {
        let key = vec![1, below(24) as u8];
        if below(2) == 0 {
            let version = store.read(&key).unwrap().map(|found| found.version);
            seen.push((key, version));
            continue;
        }
        let (mut batch, mut holds) = (Batch::new(), true);
        for _ in 0..below(3) {
            let Some((key, version)) = seen.iter().rev().nth(below(12)) else { continue };
            // Reads the engine only.
            let stored = store.view().sealed(key).unwrap().map(|sealed| Version::from_sealed(&sealed));
            holds &= stored == *version;
            batch.expect_unchanged(key.clone(), *version);
        }
        match below(4) {
            0 => batch.delete(key),
            _ => batch.put(key, vec![7; below(5_000)]),
        };
        match store.commit(batch).await {
            Ok(()) => assert!(holds),
            Err(CommitError::Conflict { .. }) => assert!(!holds),
            Err(other) => panic!("{other}"),
        }
        outcomes[usize::from(holds)] += 1;
    }
    assert!(outcomes.iter().all(|count| *count > 10), "{outcomes:?}");
    drop(store);
    EmbeddedStore::open(config(engine, dir.path())).unwrap();
}

async fn another_engine_is_refused_without_changes(engine: EngineKind) {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(config(engine, dir.path())).unwrap();
    store.commit(put(b"a".to_vec(), vec![1])).await.unwrap();
    drop(store);
    let before = files_below(dir.path());
    for other in EngineKind::ALL.into_iter().filter(|other| *other != engine) {
        let refused = EmbeddedStore::open(config(other, dir.path())).err().unwrap();
        assert!(matches!(&refused, StoreError::Layout { .. }), "{refused}");
    }
    assert_eq!(files_below(dir.path()), before);
    // Without the file `format`, the directory has the first layout.
    let format = fs::read(dir.path().join("format")).unwrap();
    fs::remove_file(dir.path().join("format")).unwrap();
    for other in EngineKind::ALL {
        let refused = EmbeddedStore::open(config(other, dir.path())).err().unwrap().to_string();
        assert!(refused.contains("earlier version"), "{refused}");
    }
    fs::write(dir.path().join("format"), format).unwrap();
    assert_eq!(EmbeddedStore::open(config(engine, dir.path())).unwrap().get(b"a").unwrap(), Some(vec![1]));
}

/// A view shows one consistent state while groups are committed.
async fn a_scan_does_not_block_commits(engine: EngineKind) {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(config(engine, dir.path())).unwrap();
    let value = |round: u8, n: u64| vec![round; if n.is_multiple_of(100) { 9_000 } else { 60 }];
    let mut batch = Batch::new();
    for n in 0..1_500 {
        batch.put(keys::record(1, 1, 2 * n), value(0, n));
    }
    store.commit(batch).await.unwrap();
    let everything = || KeyRange::prefix(&[]);
    let model = store.scan(everything(), Direction::Forward, usize::MAX).unwrap();
    let view = store.view();
    for round in 1..4 {
        let mut batch = Batch::new();
        for n in (0..1_500).filter(|n| n % 3 == u64::from(round) % 3) {
            batch.put(keys::record(1, 1, 2 * n), value(round, n + 1));
            batch.put(keys::record(1, 1, 2 * n + 1), value(round, n)).delete(keys::record(1, 1, 2 * n + 2));
        }
        store.commit(batch).await.unwrap();
    }
    assert_ne!(store.scan(everything(), Direction::Forward, usize::MAX).unwrap(), model);
    for limit in [1, 700, 1_499, 9_999] {
        let keys: Vec<_> = model.iter().map(|(key, _)| key.clone()).collect();
        let count = limit.min(keys.len());
        assert_eq!(view.scan_keys(everything(), Direction::Forward, limit).unwrap(), keys[..count]);
        let backward: Vec<_> = keys.iter().rev().take(limit).cloned().collect();
        assert_eq!(view.scan_keys(everything(), Direction::Backward, limit).unwrap(), backward);
    }
    let opened = store.opened(view.scan(everything(), Direction::Backward, usize::MAX).unwrap()).unwrap();
    assert!(opened.into_iter().rev().eq(model));
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            false => files.push(path),
        }
    }
    files.sort();
    files
}

async fn a_full_disk_refuses_and_recovers(engine: EngineKind) {
    let dir = tempfile::tempdir().unwrap();
    let (store, faults) = faulty_store(engine, dir.path(), 500, 100);
    store.commit(put(b"a".to_vec(), vec![1])).await.unwrap();
    faults.free.store(499, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(1_050)).await;
    let refused = store.commit(put(b"a".to_vec(), vec![2])).await;
    assert!(matches!(refused, Err(CommitError::Full { free: 499, floor: 500 })), "{refused:?}");
    assert!(!store.health().accepts_writes());
    assert_eq!(store.get(b"a").unwrap(), Some(vec![1]));
    faults.free.store(10_000, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(1_050)).await;
    store.commit(put(b"a".to_vec(), vec![3])).await.unwrap();
    // Between two readings, written bytes are subtracted from the free space.
    store.commit(put(b"b".to_vec(), vec![0; 9_600])).await.unwrap();
    assert!(matches!(store.commit(put(b"a".to_vec(), vec![4])).await, Err(CommitError::Full { .. })));
}

async fn a_failed_sync_refuses_all_later_commits(engine: EngineKind) {
    let dir = tempfile::tempdir().unwrap();
    let (store, faults) = faulty_store(engine, dir.path(), 0, 100);
    store.commit(put(b"a".to_vec(), vec![1])).await.unwrap();
    faults.broken.store(true, Ordering::SeqCst);
    let failed = store.commit(put(b"a".to_vec(), vec![2])).await;
    assert!(matches!(failed, Err(CommitError::Store(StoreError::Unknown { .. }))), "{failed:?}");
    assert_eq!(faults.failures.load(Ordering::SeqCst), 1, "the process would have ended here");
    faults.broken.store(false, Ordering::SeqCst);
    let refused = store.commit(put(b"a".to_vec(), vec![3])).await;
    assert!(
        matches!(&refused, Err(CommitError::Store(StoreError::Refusing { why })) if why.contains("syncing failed")),
        "{refused:?}"
    );
    assert_eq!(faults.failures.load(Ordering::SeqCst), 1, "never synced again");
    assert_eq!(store.get(b"a").unwrap(), Some(vec![1]), "readers see durable state only");
    assert!(store.health().refusing.is_some());
}

/// Environment variable of the child process: the directory of its store.
const UNTIL_FULL: &str = "PRACTICE_SYNC_TEST_UNTIL_FULL";
const ENGINE: &str = "PRACTICE_SYNC_TEST_ENGINE";

/// A write below the store fails, as on a full disk, because the process has a file size limit. The process
/// reports what was acknowledged and aborts. After a restart without the limit, all acknowledged values exist
/// and writes continue.
async fn a_failed_write_aborts_and_the_next_process_continues(engine: EngineKind) {
    let dir = tempfile::tempdir().unwrap();
    // fjall preallocates a journal larger than the child may write. Reopening truncates it to the used size.
    for _ in 0..2 {
        drop(EmbeddedStore::open(config(engine, dir.path())).unwrap());
    }
    // Blocks of 512 bytes: eight segments of sled's log.
    let script = "trap '' XFSZ; ulimit -f 8192; exec \"$0\" \"$@\"";
    let child = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "suites::writes_until_the_disk_refuses", "--ignored", "--nocapture"])
        .env(UNTIL_FULL, dir.path())
        .env(ENGINE, engine.name())
        .output()
        .unwrap();
    let (output, log) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    let acknowledged: Vec<u64> =
        output.lines().filter_map(|line| line.strip_prefix("acknowledged ")?.parse().ok()).collect();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&child.status),
        Some(6),
        "it ends, and does not live on: {output} {log}"
    );
    assert!(log.contains("the store could not be written; the process ends"), "{log}");
    assert!(acknowledged.len() > 20, "{output}");
    let store = EmbeddedStore::open(config(engine, dir.path())).unwrap();
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
    let engine = std::env::var(ENGINE).unwrap().parse().unwrap();
    let store = EmbeddedStore::open(config(engine, Path::new(&dir))).unwrap();
    for n in 0..10_000 {
        match store.commit(put(keys::record(1, 1, n), vec![n as u8; 30_000])).await {
            Ok(()) => println!("acknowledged {n}"),
            Err(error) => println!("refused {n}: {error}"),
        }
    }
}

async fn commits_are_invisible_until_durable_and_a_full_queue_is_busy(engine: EngineKind) {
    let dir = tempfile::tempdir().unwrap();
    let (store, faults) = faulty_store(engine, dir.path(), 0, 3);
    store.commit(put(b"a".to_vec(), vec![1; 9_000])).await.unwrap();
    faults.stuck.store(true, Ordering::SeqCst);
    let mut batch = put(b"a".to_vec(), vec![2; 5]);
    batch.put(b"b".to_vec(), vec![2]).append(1, vec![2; 9_000]);
    let first = store.commit(batch);
    let patience = Instant::now() + Duration::from_secs(10);
    while store.health().waiting > 0 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(1));
    }
    // The committer is in the sync or about to be; in both cases no write of the batch may be visible.
    for _ in 0..50 {
        assert_eq!(store.get(b"a").unwrap(), Some(vec![1; 9_000]));
        assert_eq!(store.get(b"b").unwrap(), None);
        assert_eq!(store.feed_end(Some(1)).unwrap(), 0);
        for direction in [Direction::Forward, Direction::Backward] {
            assert_eq!(store.scan(KeyRange::prefix(&[]), direction, 9).unwrap(), [(b"a".to_vec(), vec![1; 9_000])]);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let waiting: Vec<_> = (0..3).map(|n| store.commit(put(b"c".to_vec(), vec![n]))).collect();
    let busy = store.commit(put(b"c".to_vec(), vec![9])).await;
    assert!(matches!(busy, Err(CommitError::Store(StoreError::Busy))), "{busy:?}");
    faults.stuck.store(false, Ordering::SeqCst);
    first.await.unwrap();
    for commit in waiting {
        commit.await.unwrap();
    }
    assert_eq!(store.get(b"a").unwrap(), Some(vec![2; 5]));
    assert_eq!(store.get(b"c").unwrap(), Some(vec![2]));
    assert_eq!(store.feed_end(Some(1)).unwrap(), 1);
    assert_eq!(store.get(&keys::feed(1, 1)).unwrap(), Some(vec![2; 9_000]));
}

/// Copies the directory during commits. In every copy, the last number agrees with the numbered changes, and
/// everything reported as durable exists.
async fn a_crash_leaves_a_feed_without_gaps(engine: EngineKind) {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(EmbeddedStore::open(StoreConfig { verify: false, ..config(engine, dir.path()) }).unwrap());
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
        // The mark is copied later than the log, so it may be ahead of the copy.
        fs::remove_file(crashed.path().join("tide")).unwrap();
        let left = EmbeddedStore::open(StoreConfig { verify: false, ..config(engine, crashed.path()) }).unwrap();
        let end = left.feed_end(None).unwrap();
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

async fn closing_commits_queued_batches(engine: EngineKind) {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(config(engine, dir.path())).unwrap();
    let commits: Vec<_> = (0..200).map(|n| store.commit(put(keys::record(1, 0, n), vec![1; 500]))).collect();
    drop(store);
    for commit in commits {
        commit.await.unwrap();
    }
    let store = EmbeddedStore::open(config(engine, dir.path())).unwrap();
    assert_eq!(store.scan_keys(keys::Space::Record.range(), Direction::Forward, 999).unwrap().len(), 200);
}

async fn lost_commits_are_detected(engine: EngineKind) {
    let dir = tempfile::tempdir().unwrap();
    let old = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(config(engine, dir.path())).unwrap();
    store.commit(put(b"a".to_vec(), vec![1])).await.unwrap();
    drop(store);
    copy(dir.path(), old.path());
    let store = EmbeddedStore::open(config(engine, dir.path())).unwrap();
    store.commit(put(b"a".to_vec(), vec![2])).await.unwrap();
    drop(store);
    // The log of one commit earlier with the current mark.
    fs::copy(dir.path().join("tide"), old.path().join("tide")).unwrap();
    let error = EmbeddedStore::open(config(engine, old.path())).err().unwrap();
    assert!(matches!(error, StoreError::LostCommits { found: 1, expected: 2, .. }), "{error}");
    fs::remove_file(old.path().join("tide")).unwrap();
    assert_eq!(EmbeddedStore::open(config(engine, old.path())).unwrap().get(b"a").unwrap(), Some(vec![1]));
    // A store without any log is not a new store.
    for file in files_below(dir.path()) {
        if !["tide", "format", "lock"].iter().any(|kept| file == dir.path().join(kept)) {
            fs::remove_file(file).unwrap();
        }
    }
    let error = EmbeddedStore::open(config(engine, dir.path())).err().unwrap();
    assert!(matches!(error, StoreError::LostCommits { found: 0, expected: 2, .. }), "{error}");
}

/// Deletes a value behind the store's back, as if the engine had lost it.
fn lose(engine: EngineKind, dir: &Path, key: &[u8]) {
    match engine {
        EngineKind::Sled => {
            let db = sled::Config::new().path(dir).mode(sled::Mode::HighThroughput).open().unwrap();
            db.remove(key).unwrap();
            db.flush().unwrap();
        }
        EngineKind::Fjall => {
            let db = fjall::Database::builder(dir.join("fjall")).open().unwrap();
            let values = db.keyspace("values", || unreachable!("the keyspace was created with the store")).unwrap();
            values.remove(key).unwrap();
            db.persist(fjall::PersistMode::SyncAll).unwrap();
        }
    }
}

/// A background audit detects a silently lost record while the store is written, and not before.
async fn a_background_audit_finds_lost_values(engine: EngineKind) {
    let audited = |dir: &Path| StoreConfig { verify: false, audit: true, ..config(engine, dir) };
    let dir = tempfile::tempdir().unwrap();
    for sound in [true, false] {
        let store = EmbeddedStore::open(StoreConfig { verify: false, ..config(engine, dir.path()) }).unwrap();
        for n in 0..1_500 {
            store.commit(put(keys::record(1, 1, n), vec![1; 40])).await.unwrap();
        }
        drop(store);
        if !sound {
            lose(engine, dir.path(), &keys::record(1, 1, 700));
        }
        let store = EmbeddedStore::open(audited(dir.path())).unwrap();
        let until = Instant::now() + Duration::from_secs(120);
        let mut n = 0;
        // Values before and after the position of the audit are created, changed and removed meanwhile. Their number
        // is limited, so that the audit catches up even if it is scheduled rarely.
        while store.audited().is_none() && Instant::now() < until {
            n += 1;
            let mut batch = put(keys::record(1, 1, n * 37 % 1_500), vec![2; 50]);
            batch.delete(keys::record(1, 1, n * 11 % 600)).put(keys::record(2, 1, n % 1_000), vec![3; 5_000]);
            match store.commit(batch).await {
                Ok(_) => {}
                Err(error) => assert!(!sound && store.audited() == Some(false), "{error}"),
            }
        }
        assert_eq!(store.audited(), Some(sound));
        assert_eq!(store.health().damage.is_some(), !sound, "{:?}", store.health());
        assert_eq!(store.health().accepts_writes(), sound);
        let refused = store.commit(put(keys::record(1, 1, 1), vec![4; 40])).await.err();
        assert_eq!(refused.is_some(), !sound);
        let is_named = |error| matches!(error, CommitError::Store(StoreError::Damaged { .. }));
        assert!(refused.is_none_or(is_named), "a write to a damaged store was refused without naming the damage");
    }
}
