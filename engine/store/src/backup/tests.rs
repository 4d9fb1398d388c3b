#![allow(clippy::unwrap_used)]
use super::*;
use crate::{EmbeddedStore, EngineKind, MemoryStore, StoreConfig, StoreKey, copy::contents, envelope, testing};

fn key() -> StoreKeys {
    testing::config(EngineKind::Sled, Path::new("")).keys
}

async fn filled(engine: EngineKind, dir: &Path) -> EmbeddedStore {
    let store = EmbeddedStore::open(testing::config(engine, dir)).unwrap();
    let mut batch = Batch::new();
    for n in 0..1_000u64 {
        batch.put(keys::record(1, 1, n), vec![n as u8; if n.is_multiple_of(200) { 9_000 } else { 50 }]);
    }
    batch.put(keys::journal(101, 1), vec![1]).put(keys::snapshot(102), vec![2]);
    batch.put(keys::counter("patient"), 7_000_u64.to_be_bytes().to_vec());
    batch.put(keys::counter("visit"), 90_u64.to_be_bytes().to_vec());
    batch.put(keys::lease(101), 3_u64.to_be_bytes().to_vec());
    batch.append(1 << 32, vec![5]);
    store.commit(batch).await.unwrap();
    store
}

fn number(store: &dyn Store, key: &[u8]) -> u64 {
    u64::from_be_bytes(store.get(key).unwrap().unwrap().try_into().unwrap())
}

#[tokio::test]
async fn a_restored_store_has_the_values_and_skips_used_numbers() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().unwrap();
        let store = filled(engine, &dir.path().join("store")).await;
        let file = dir.path().join("one.backup");
        let (mut reported, mut read) = (0, 0);
        let made = store.back_up(&file, &mut |values| reported += values).unwrap();
        assert_eq!((made.values, reported), (1_007, 1_007));
        assert_eq!(made.bytes, fs::metadata(&file).unwrap().len());
        assert_eq!(check(&file, &key(), |values| read += values).unwrap(), made);
        assert_eq!(read, 1_007);

        let to = MemoryStore::new();
        let ids = [Counter::up_to(8_000, "patient"), Counter::up_to((1 << 53) - 1, "fee")];
        restore(&file, &key(), &ids, &to, |_| {}).await.unwrap();
        assert_eq!(to.get(&keys::record(1, 1, 400)).unwrap(), Some(vec![400_u64 as u8; 9_000]));
        assert_eq!(number(&to, &keys::counter("patient")), 8_000, "its last id");
        assert_eq!(number(&to, &keys::counter("visit")), 90 + SKIPPED);
        assert_eq!(number(&to, &keys::counter("fee")), SKIPPED, "it may have been begun since");
        assert_eq!(number(&to, &keys::lease(101)), 3 + SKIPPED);
        assert_eq!(number(&to, &keys::feed_end()), 1 + SKIPPED);
        for location in [101, 102] {
            assert!(to.get(&keys::restored(location)).unwrap().is_some(), "{location}");
        }
        assert_eq!(to.get(&keys::restored(103)).unwrap(), None);
        // The additional values are the missing counter and the marks of two locations.
        assert_eq!(contents(&to, |_| {}).unwrap().values, contents(&store, |_| {}).unwrap().values + 3);
    }
}

#[tokio::test]
async fn a_store_that_lost_values_skips_used_numbers_like_a_restored_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = filled(EngineKind::Sled, &dir.path().join("store")).await;
    let mut batch = Batch::new();
    batch.put(keys::journal(101, 2), vec![1]).put(keys::journal(103, u64::MAX), vec![1]);
    batch.put(keys::audit_position(104), vec![1]).put(keys::active(105), Vec::new()).put(keys::asleep(106), vec![1]);
    batch.put(keys::audit_positions_set(), Vec::new());
    store.commit(batch).await.unwrap();
    let ids = [Counter::up_to(8_000, "patient"), Counter::up_to((1 << 53) - 1, "fee")];
    adjust_after_loss(&store, &ids).await.unwrap();
    assert_eq!(number(&store, &keys::counter("patient")), 8_000, "its last id");
    assert_eq!(number(&store, &keys::counter("visit")), 90 + SKIPPED);
    assert_eq!(number(&store, &keys::counter("fee")), SKIPPED, "it may be lost");
    assert_eq!(number(&store, &keys::lease(101)), 3 + SKIPPED);
    assert_eq!(number(&store, &keys::feed_end()), 1);
    for location in 101..=106 {
        assert!(store.get(&keys::restored(location)).unwrap().is_some(), "{location}");
    }
}

/// A batch has a limited number of keys, and a store may have more locations.
#[tokio::test]
async fn marks_of_many_restored_locations_are_written_in_several_commits() {
    let dir = tempfile::tempdir().unwrap();
    let store = filled(EngineKind::Sled, &dir.path().join("store")).await;
    let mut batch = Batch::new();
    for location in 1_000..3_500 {
        batch.put(keys::snapshot(location), vec![1]);
    }
    store.commit(batch).await.unwrap();
    let file = dir.path().join("one.backup");
    store.back_up(&file, &mut |_| {}).unwrap();
    let (to, mut largest) = (MemoryStore::new(), 0);
    restore(&file, &key(), &[], &to, |values| largest = largest.max(values)).await.unwrap();
    assert_eq!(largest, 1_000);
    for location in 1_000..3_500 {
        assert!(to.get(&keys::restored(location)).unwrap().is_some(), "{location}");
    }
}

/// Only the final record is sealed in the current format.
#[test]
fn backups_of_earlier_versions_are_readable() {
    for magic in EARLIER_MAGIC {
        let dir = tempfile::tempdir().unwrap();
        let (file, mut bytes, mut found) = (dir.path().join("one.backup"), magic.to_vec(), WatermarkRecord::default());
        for n in 0..3u8 {
            let mut nonce = [n; 24];
            nonce[16..20].fill(0);
            let record = keys::record(1, 1, n.into());
            let sealed = envelope::seal_in_format_1([42; 32], nonce, &record, &[n]);
            found.replace(None, Some(Version::from_sealed(&sealed)));
            put(&mut bytes, &record, &sealed).unwrap();
        }
        put(&mut bytes, WATERMARK_KEY, &found.seal(&Envelope::new(&key())).unwrap()).unwrap();
        fs::write(&file, bytes).unwrap();
        assert_eq!(check(&file, &key(), |_| {}).unwrap().values, 3);
        assert_eq!(keys_of(&file).unwrap(), [KeyId::FIRST].into());
    }
}

/// Each commit keeps the number of values constant, so a backup of several partial commits would have another
/// number.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_during_commits_has_one_state() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().unwrap();
        let store = std::sync::Arc::new(filled(engine, &dir.path().join("store")).await);
        let busy = store.clone();
        let writer = tokio::spawn(async move {
            for round in 1..=200u64 {
                let mut batch = Batch::new();
                for n in 0..50 {
                    batch.put(keys::record(1, 1, n * 20), round.to_be_bytes().to_vec());
                    batch.delete(keys::record(2, 1, (round - 1) * 50 + n));
                    batch.put(keys::record(2, 1, round * 50 + n), round.to_be_bytes().to_vec());
                }
                busy.commit(batch).await.unwrap();
            }
        });
        let mut states = BTreeSet::new();
        while !writer.is_finished() {
            let (store, file) = (store.clone(), dir.path().join("some.backup"));
            let made = tokio::task::spawn_blocking(move || {
                store.back_up(&file, &mut |_| {}).unwrap();
                file
            });
            let to = MemoryStore::new();
            restore(&made.await.unwrap(), &key(), &[], &to, |_| {}).await.unwrap();
            let of = |n: u64| to.get(&keys::record(1, 1, n * 20)).unwrap().unwrap();
            let begun = of(0).len() == 8;
            assert!(!begun || (1..50).all(|n| of(n) == of(0)), "parts of several commits");
            let moving = to.scan(KeyRange::prefix(&[Space::Record as u8, 2]), Direction::Forward, 1_000).unwrap();
            assert!(moving.is_empty() || moving.len() == 50 && moving.iter().all(|(_, value)| *value == of(0)));
            states.insert(of(0));
        }
        writer.await.unwrap();
        assert!(states.len() > 1, "none was made while commits went on");
    }
}

/// fjall keeps replaced values on disk while a view exists.
#[test]
fn a_backup_fails_at_its_memory_limit() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        drop(runtime.block_on(filled(engine, &dir.path().join("store"))));
        let config = testing::config(engine, &dir.path().join("store"));
        let store = EmbeddedStore::open(StoreConfig { backup_kept_bytes: 2 << 20, ..config }).unwrap();
        let mut pages = 0_u64;
        let made = store.back_up(&dir.path().join("one.backup"), &mut |_| {
            pages += 1;
            let mut batch = Batch::new();
            for n in 0..100 {
                batch.put(keys::record(3, 1, n), vec![pages as u8; 5_000]);
            }
            runtime.block_on(store.commit(batch)).unwrap();
        });
        match engine {
            EngineKind::Fjall => assert_eq!((made.unwrap().values, pages), (1_007, 11)),
            EngineKind::Sled => {
                let refused = made.unwrap_err().to_string();
                assert!(refused.contains("2 MiB") && (6..11).contains(&pages), "{pages}: {refused}");
                assert!(!dir.path().join("one.part").exists());
            }
        }
    }
}

#[tokio::test]
#[ignore = "a measurement"]
async fn measure_a_backup() {
    const VALUES: u64 = 500_000;
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(testing::config(engine, &dir.path().join("store"))).unwrap();
        for from in (0..VALUES).step_by(1_000) {
            let mut batch = Batch::new();
            for n in from..from + 1_000 {
                batch.put(keys::record(1, 1, n), vec![n as u8; 260]);
            }
            store.commit(batch).await.unwrap();
        }
        let (file, began) = (dir.path().join("one.backup"), std::time::Instant::now());
        let made = store.back_up(&file, &mut |_| {}).unwrap();
        let (took, began) = (began.elapsed(), std::time::Instant::now());
        check(&file, &key(), |_| {}).unwrap();
        let (checked, began) = (began.elapsed(), std::time::Instant::now());
        let to = EmbeddedStore::open(testing::config(engine, &dir.path().join("to"))).unwrap();
        restore(&file, &key(), &[], &to, |_| {}).await.unwrap();
        eprintln!("{engine}: {made:?} in {took:?}, checked in {checked:?}, restored in {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_backup_that_is_incomplete_or_of_another_key_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = filled(EngineKind::Sled, &dir.path().join("store")).await;
    let file = dir.path().join("one.backup");
    store.back_up(&file, &mut |_| {}).unwrap();
    let whole = fs::read(&file).unwrap();
    let reported = |bytes: &[u8], key: &StoreKeys| {
        fs::write(&file, bytes).unwrap();
        check(&file, key, |_| {}).unwrap_err().to_string()
    };
    assert!(reported(&whole, &StoreKey::new([9; 32]).into()).contains("another key 00000000"));
    assert!(reported(&whole[..whole.len() - 1], &key()).contains("cut short"));
    assert!(reported(&whole[..whole.len() / 2], &key()).contains("cut short"));
    assert!(reported(&[&whole[..], &[0]].concat(), &key()).contains("longer"));
    assert!(reported(b"PSBACK5\nand more", &key()).contains("not a backup"));
    assert!(reported(b"", &key()).contains("cut short"));
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let damaged = reported(&flipped, &key());
    assert!(damaged.contains("damaged") || damaged.contains("cut short"), "{damaged}");
    // Without its first value, whose size is the sum of its lengths.
    let length = |at: usize| u32::from_be_bytes(whole[at..at + 4].try_into().unwrap()) as usize;
    let first = 8 + length(8) + length(12);
    assert!(reported(&[&whole[..8], &whole[8 + first..]].concat(), &key()).contains("values are missing"));
    fs::write(&file, &whole).unwrap();
    assert!(check(&file, &key(), |_| {}).is_ok());
    let full = StoreConfig { floor_bytes: u64::MAX, ..testing::config(EngineKind::Sled, &dir.path().join("full")) };
    let full = EmbeddedStore::open(full).unwrap().back_up(&dir.path().join("full.backup"), &mut |_| {}).unwrap_err();
    assert!(full.to_string().contains("MiB left") && !dir.path().join("full.part").exists(), "{full}");
    let nowhere = store.back_up(&dir.path().join("no").join("one.backup"), &mut |_| {}).unwrap_err().to_string();
    assert!(nowhere.contains("no/one.part"), "{nowhere}");
}
