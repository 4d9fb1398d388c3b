//! Effects of flipped bits in fjall's files.

#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    EmbeddedStore, EngineKind, Key, Store, StoreConfig, keys,
    testing::{self, Effect, flip, put},
};

fn config(dir: &Path) -> StoreConfig {
    testing::config(EngineKind::Fjall, dir)
}

/// Writes values to merged and unmerged tables and to the journal.
async fn three_lives(dir: &Path) -> BTreeMap<Key, Vec<u8>> {
    let mut model = BTreeMap::new();
    for life in 0..3u8 {
        let store = EmbeddedStore::open(config(dir)).unwrap();
        let mut commits = Vec::new();
        for n in 0..600u64 {
            let (key, value) = (keys::record(1, 1, n), vec![life.wrapping_add(n as u8); (n as usize % 10) * 60]);
            match (n + u64::from(life)) % 7 {
                0 => {
                    let mut batch = crate::Batch::new();
                    batch.delete(key.clone());
                    commits.push(store.commit(batch));
                    model.remove(&key);
                }
                _ => {
                    commits.push(store.commit(put(key.clone(), value.clone())));
                    model.insert(key, value);
                }
            }
            if n % 7 == 0 {
                for commit in commits.drain(..) {
                    commit.await.unwrap();
                }
            }
        }
        for commit in commits {
            commit.await.unwrap();
        }
        drop(store);
        if life < 2 {
            let db = fjall::Database::builder(dir.join("fjall")).open().unwrap();
            let values = db.keyspace("values", || unreachable!("the keyspace was created with the store")).unwrap();
            values.rotate_memtable_and_wait().unwrap();
        }
    }
    model
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// A first start killed while the files were created. The next start creates them again.
#[tokio::test]
async fn an_interrupted_creation_is_repeated() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("fjall.draft/keyspaces")).unwrap();
    fs::write(dir.path().join("fjall.draft/0.jnl"), "half").unwrap();
    for round in 0..2u8 {
        let store = EmbeddedStore::open(config(dir.path())).unwrap();
        store.commit(put(vec![round], vec![1])).await.unwrap();
    }
    assert!(!dir.path().join("fjall.draft").exists());
    assert_eq!(EmbeddedStore::open(config(dir.path())).unwrap().get(&[0]).unwrap(), Some(vec![1]));
}

#[tokio::test]
async fn keys_that_were_read_or_written_are_not_looked_up_at_commit() {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(config(dir.path())).unwrap();
    store.commit(put(b"a".to_vec(), vec![1])).await.unwrap();
    drop(store);
    let store = EmbeddedStore::open(config(dir.path())).unwrap();
    let version = |key: &[u8]| store.read(key).unwrap().map(|found| found.version);
    let (a, b) = (version(b"a"), version(b"b"));
    assert!(a.is_some() && b.is_none());
    let mut batch = put(b"a".to_vec(), vec![2]);
    batch.expect_unchanged(b"a".to_vec(), a).expect_unchanged(b"b".to_vec(), b).put(b"b".to_vec(), vec![2]);
    store.commit(batch.clone()).await.unwrap();
    assert!(store.commit(batch).await.is_err(), "both have changed");
    let mut batch = put(b"a".to_vec(), vec![3]);
    batch.expect_present(b"b".to_vec()).delete(b"b".to_vec());
    store.commit(batch).await.unwrap();
    assert_eq!(store.lookups(), 0);
    // A key that was not read is looked up once, with or without a precondition.
    let mut batch = put(b"c".to_vec(), vec![3]);
    batch.expect_absent(b"c".to_vec()).put(b"d".to_vec(), vec![3]);
    store.commit(batch).await.unwrap();
    assert_eq!(store.lookups(), 2);
    // Values read without their version are not recorded, so that lists do not displace other keys.
    assert_eq!(store.get(b"e").unwrap(), None);
    store.commit(put(b"e".to_vec(), vec![3])).await.unwrap();
    assert_eq!(store.lookups(), 3);
}

/// Memtables of 256 KiB. Groups are faster than the worker, so flushes wait for merges.
#[tokio::test]
async fn one_worker_flushes_and_merges_while_groups_are_written() {
    const VALUES: u64 = 4_000;
    let dir = tempfile::tempdir().unwrap();
    let config = StoreConfig { cache_bytes: 1 << 20, ..config(dir.path()) };
    let value = |n: u64| n.to_be_bytes().repeat(500);
    let store = EmbeddedStore::open(config.clone()).unwrap();
    let mut commits = Vec::new();
    for n in 0..VALUES {
        commits.push(store.commit(put(keys::record(1, 1, n % 1_000), value(n))));
        if commits.len() == 100 {
            for commit in commits.drain(..) {
                commit.await.unwrap();
            }
        }
    }
    drop(store);
    assert!(files(&dir.path().join("fjall")).iter().any(|file| file.to_string_lossy().contains("tables")));
    let store = EmbeddedStore::open(config).unwrap();
    for n in VALUES - 1_000..VALUES {
        assert_eq!(store.get(&keys::record(1, 1, n % 1_000)).unwrap(), Some(value(n)), "{n}");
    }
}

/// Flips one bit of any of fjall's files. Every read afterwards is correct or an error: no old, missing or
/// invented values.
#[tokio::test]
async fn a_flipped_bit_never_becomes_data() {
    let flips: usize = std::env::var("STORE_FLIPS").ok().map_or(90, |count| count.parse().unwrap());
    let origin = tempfile::tempdir().unwrap();
    let model = three_lives(origin.path()).await;
    // Reopened, so that the journals have no preallocated space.
    drop(EmbeddedStore::open(config(origin.path())).unwrap());
    let all: Vec<(PathBuf, usize)> = files(&origin.path().join("fjall"))
        .into_iter()
        .map(|file| {
            let bytes = fs::read(&file).unwrap();
            let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            (file.strip_prefix(origin.path()).unwrap().to_path_buf(), used)
        })
        .filter(|(_, used)| *used > 0)
        .collect();
    assert!(all.iter().any(|(file, _)| file.to_string_lossy().contains("tables")), "{all:?}");
    let (mut reported, mut none, mut silent) = (0, 0, 0);
    for (file, used) in &all {
        let share = (flips / all.len()).max(2);
        for n in 0..share {
            let (at, bit) = ((used * n / share + n % 13).min(used - 1), (n % 8) as u8);
            match flip(EngineKind::Fjall, origin.path(), file, at, bit, true, &model) {
                Effect::Silent => panic!("bit {bit} of byte {at} of {used} in {}", file.display()),
                Effect::Reported => reported += 1,
                Effect::None => none += 1,
            }
            if flip(EngineKind::Fjall, origin.path(), file, at, bit, false, &model) == Effect::Silent {
                silent += 1;
                eprintln!("without `verify` silent: bit {bit} of byte {at} in {}", file.display());
            }
        }
    }
    eprintln!(
        "flipped bits in {} files: {reported} reported, {none} without effect; without `verify` {silent} silent",
        all.len()
    );
    assert!(reported > 0);
}
