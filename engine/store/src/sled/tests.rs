//! Tests of faults that are specific to sled.

#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use super::salvage;
use crate::{
    Batch, Direction, EmbeddedStore, EngineKind, Key, KeyRange, Store, StoreConfig, StoreError, StoreKey, journal,
    keys,
    testing::{self, Effect, copy, flip, put},
};

fn config(dir: &Path) -> StoreConfig {
    testing::config(EngineKind::Sled, dir)
}

#[test]
fn unfinished_snapshots_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    drop(EmbeddedStore::open(config(dir.path())).unwrap());
    let half = dir.path().join("snap.00000000000000FF.generating");
    fs::write(&half, b"half").unwrap();
    drop(EmbeddedStore::open(config(dir.path())).unwrap());
    assert!(!half.exists());
}

#[tokio::test]
async fn no_value_spills_to_blob_files() {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(config(dir.path())).unwrap();
    let long = |n: u64| [&[3; 248][..], &n.to_be_bytes()].concat();
    for round in 0..3 {
        // The largest possible pages, with the longest keys and fullest records, and values of many chunks.
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
    let store = EmbeddedStore::open(config(dir.path())).unwrap();
    assert_eq!(store.scan_keys(KeyRange::prefix(&[3]), Direction::Forward, 999).unwrap().len(), 29);
    assert_eq!(store.get(&keys::snapshot(39)).unwrap().unwrap(), vec![2; 300_000]);
}

#[test]
fn a_foreign_database_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let db = sled::open(dir.path()).unwrap();
    db.insert(b"not", b"ours").unwrap();
    db.flush().unwrap();
    drop(db);
    assert!(matches!(EmbeddedStore::open(config(dir.path())).err().unwrap(), StoreError::Layout { .. }));
    fs::write(dir.path().join("format"), "practice-sync store\nformat 3\nengine sled\n").unwrap();
    assert!(matches!(EmbeddedStore::open(config(dir.path())).err().unwrap(), StoreError::Damaged { .. }));
}

/// Opens a store twice, so that sled reads one part of its log through the snapshot and one by recovery.
async fn two_lives(dir: &Path, values: u64, size_of: impl Fn(u64) -> usize) -> BTreeMap<Key, Vec<u8>> {
    let mut model = BTreeMap::new();
    for life in 0..2u8 {
        let store = EmbeddedStore::open(config(dir)).unwrap();
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

/// Flips one bit of the log. Every read afterwards is correct or an error: no old, missing or invented
/// values.
#[tokio::test]
async fn a_flipped_bit_never_becomes_data() {
    let flips: usize = std::env::var("STORE_FLIPS").ok().map_or(60, |count| count.parse().unwrap());
    // A short log within sled's current segment, and a log of many segments, of which sled skips unreadable ones.
    for (values, flips) in [(60, flips), (4_000, flips / 6)] {
        let origin = tempfile::tempdir().unwrap();
        let model = two_lives(origin.path(), values, |n| (n as usize % 10) * 42_000 / values as usize).await;
        let log = fs::read(origin.path().join("db")).unwrap();
        let used = log.iter().rposition(|byte| *byte != 0).unwrap();
        let mut effects = [0; 3];
        for n in 0..flips {
            let (at, bit) = (used * n / flips + n % 13, (n % 8) as u8);
            let effect = flip(EngineKind::Sled, origin.path(), Path::new("db"), at, bit, true, &model);
            assert_ne!(effect, Effect::Silent, "bit {bit} of byte {at}");
            effects[effect as usize] += 1;
            effects[2] += usize::from(
                flip(EngineKind::Sled, origin.path(), Path::new("db"), at, bit, false, &model) == Effect::Silent,
            );
        }
        let [none, reported, silent] = effects;
        eprintln!(
            "{flips} flipped bits in {used} bytes: {reported} reported, {none} without effect; without `verify` {silent} silent"
        );
        assert!(reported > 0);
    }
}

/// Run in a release build: `cargo test --release -- --nocapture --ignored measure`.
#[test]
#[ignore = "a measurement"]
fn measure_group_commit() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(
        EmbeddedStore::open(StoreConfig { verify: false, cache_bytes: 256 << 20, ..config(dir.path()) }).unwrap(),
    );
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
        drop(EmbeddedStore::open(StoreConfig { verify, ..config(dir.path()) }).unwrap());
        eprintln!("reopened with verify {verify} in {:?}", started.elapsed());
    }
}

/// A location with many journal records and a snapshot near their end.
#[tokio::test]
async fn a_long_journal_loads_from_its_snapshot() {
    let records: u64 = std::env::var("STORE_JOURNAL_RECORDS").ok().map_or(20_000, |count| count.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let config = StoreConfig { verify: false, ..config(dir.path()) };
    let store = EmbeddedStore::open(config.clone()).unwrap();
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
    let store = EmbeddedStore::open(config).unwrap();
    eprintln!("store opened in {:?}", started.elapsed());
    for way in ["cold", "warm"] {
        let started = Instant::now();
        let loaded = journal::load(&store, 1).unwrap();
        eprintln!("{way} load in {:?}", started.elapsed());
        assert_eq!((loaded.next_seq, loaded.tail.len()), (records + 1, 500));
        assert_eq!(loaded.snapshot.unwrap().1.len(), 1 << 20);
    }
}

/// A flipped bit that keeps the store closed or removes records is corrected by salvage, because the checksum
/// locates it.
#[tokio::test]
async fn a_store_with_one_flipped_bit_is_salvaged_completely() {
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
            let key = StoreKey::new([42; 32]).into();
            let report = salvage::salvage(&bent, &key, &to, &dir.path().join("scratch")).await.unwrap();
            assert!(report.is_whole(), "bit {bit} of byte {at}: {report:?}");
            assert_eq!(fs::read(bent.join("db")).unwrap(), bytes, "the damaged store stays as it was");
            let store = EmbeddedStore::open(config(&to)).unwrap();
            let found = store.scan(KeyRange::prefix(&[]), Direction::Forward, usize::MAX).unwrap();
            assert_eq!(found, model.clone().into_iter().collect::<Vec<_>>());
        }
    }
}

/// If more than a bit is lost, the undamaged values are salvaged and the loss is reported.
#[tokio::test]
async fn values_lost_in_a_hole_are_reported_and_the_rest_is_salvaged() {
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
        let key = StoreKey::new([42; 32]).into();
        let Ok(report) = salvage::salvage(&bent, &key, &to, &dir.path().join("scratch")).await else { continue };
        let store = EmbeddedStore::open(config(&to)).unwrap();
        let found: BTreeMap<_, _> =
            store.scan(KeyRange::prefix(&[]), Direction::Forward, usize::MAX).unwrap().into_iter().collect();
        assert!(found.keys().all(|key| model.contains_key(key)), "nothing is made up");
        if found != model {
            lossy += 1;
            assert!(!report.is_whole(), "an unreported loss: {report:?}");
            eprintln!("hole at {at}: {} of {} values, {report:?}", found.len(), model.len());
        }
        there += found.len();
        were += model.len();
    }
    // The loss per hole depends on sled's placement: in the worst case, it is the only copy of a tree page.
    assert!(were > 0 && there * 10 > were * 8, "{there} of {were} values");
    eprintln!("{lossy} of {holes} holes took something");
}

/// sled finds nothing in some logs without a snapshot of their page table. Salvage must still recover an
/// undamaged store.
#[tokio::test]
async fn an_undamaged_store_is_salvaged_completely() {
    for starts in 0..4 {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        for life in 0..3u8 {
            let store = EmbeddedStore::open(config(&from)).unwrap();
            for round in 0..20 {
                let mut batch = Batch::new();
                for n in 0..200u64 {
                    let bytes = if n.is_multiple_of(50) { 9_000 } else { 300 };
                    batch.put(keys::record(1, 1, n), vec![round ^ life; bytes]);
                }
                store.commit(batch).await.unwrap();
            }
        }
        for _ in 0..starts {
            drop(EmbeddedStore::open(config(&from)).unwrap());
        }
        super::create::wait_until_closed(&from.join("db")).unwrap();
        let report = salvage::salvage(&from, &config(&from).keys, &to, &dir.path().join("scratch")).await.unwrap();
        assert!(report.is_whole(), "{starts}: {report:?}");
        assert_eq!(report.spaces.values().map(|space| space.sound).sum::<u64>(), 200, "{starts}");
    }
}
