//! Rotation of the sealing key while the store is in use. New writes are sealed with the new key. A
//! background pass reseals older values, each only if it is unchanged when the commit is applied. Progress is
//! recorded in the values themselves, which contain the id of their key. A pass can therefore stop and
//! restart at any point; it is complete when a scan finds no value of another key.
//!
//! A resealed value keeps its version, because its content is the same write. Readers of the value see no
//! conflict, and the sum of the watermark stays the same.

use std::collections::BTreeMap;

use tokio::sync::oneshot;

use super::{
    CommitError, Key, KeyId, KeyRange, StoreError, StoreKeys,
    envelope::Envelope,
    jobs::{CommitOutcome, CommitQueue, Job},
};

/// Values scanned between two pauses, and values per commit group.
const PAGE: usize = 1_000;
const AT_ONCE: usize = 100;
/// Size of resealed values after which the pass waits for their commits.
const AT_ONCE_BYTES: usize = 1 << 20;

/// A store with sealed values. The methods block, so they must run on a blocking thread.
pub trait Sealed: Send + Sync {
    /// Seals with the newest of these keys from now on. The key file must already contain it, so that its values
    /// are readable after a crash.
    fn use_keys(&self, keys: &StoreKeys);
    /// Returns the sealing key of each value, without opening the values.
    fn seals(&self, range: KeyRange, limit: usize) -> Result<Vec<(Key, KeyId)>, StoreError>;
    /// Returns the sealing keys of the store's internal records.
    fn own_seals(&self) -> Result<Vec<KeyId>, StoreError>;
    /// Reseals the values, except those changed concurrently.
    fn reseal(&self, keys: &[Key]) -> Result<Resealed, StoreError>;
    /// Reseals the store's internal records. On return, every value sealed before `use_keys` is either written or
    /// refused.
    fn reseal_own(&self) -> Result<(), StoreError>;
}

#[derive(Clone, Debug, Default)]
pub struct Resealed {
    pub values: u64,
    /// The error of the first value that could not be opened.
    pub refused: Option<StoreError>,
}

/// Counts the values per sealing key. Returns `None` if `may_continue` returned `false`.
pub fn count(
    store: &dyn Sealed,
    mut may_continue: impl FnMut() -> bool,
) -> Result<Option<BTreeMap<KeyId, u64>>, StoreError> {
    let (mut counts, mut rest) = (BTreeMap::new(), KeyRange::prefix(&[]));
    store.own_seals()?.into_iter().for_each(|id| *counts.entry(id).or_default() += 1);
    loop {
        let page = store.seals(rest.clone(), PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(Some(counts)) };
        rest = rest.after(last);
        page.iter().for_each(|(_, id)| *counts.entry(*id).or_default() += 1);
        if !may_continue() {
            return Ok(None);
        }
    }
}

/// Reseals all values that are not sealed with the newest key, `to`. Calls `may_continue` between steps with the
/// number of remaining values, once known; the callback may delay the pass. Returns `false` if `may_continue`
/// stopped the pass.
pub fn reseal(
    store: &dyn Sealed,
    to: KeyId,
    mut may_continue: impl FnMut(Option<u64>) -> bool,
) -> Result<bool, StoreError> {
    loop {
        store.reseal_own()?;
        let Some(counts) = count(store, || may_continue(None))? else { return Ok(false) };
        let mut left = counts.iter().filter(|(id, _)| **id != to).map(|(_, values)| *values).sum::<u64>();
        if !may_continue(Some(left)) {
            return Ok(false);
        }
        if left == 0 {
            return Ok(true);
        }
        let (mut rest, mut refused) = (KeyRange::prefix(&[]), None);
        loop {
            let page = store.seals(rest.clone(), PAGE)?;
            let Some((last, _)) = page.last() else { break };
            rest = rest.after(last);
            let old: Vec<Key> = page.into_iter().filter(|(_, id)| *id != to).map(|(key, _)| key).collect();
            for keys in old.chunks(AT_ONCE) {
                let done = store.reseal(keys)?;
                left = left.saturating_sub(done.values);
                refused = refused.or(done.refused);
                if !may_continue(Some(left)) {
                    return Ok(false);
                }
            }
        }
        // All values that can be opened are resealed by now.
        if let Some(error) = refused {
            return Err(error);
        }
    }
}

/// Reseals values through the queue of a committer, which writes a value only if its version is unchanged.
pub(super) fn reseal_on(
    envelope: &Envelope,
    queue: &CommitQueue,
    values: impl Iterator<Item = Result<(Key, Vec<u8>), StoreError>>,
) -> Result<Resealed, StoreError> {
    let (mut done, mut waiting, mut bytes) = (Resealed::default(), Vec::new(), 0);
    for value in values {
        let (key, sealed) = value?;
        let _sealing = envelope.sealing();
        match envelope.reseal(&key, sealed) {
            Ok(None) => {}
            Ok(Some(sealed)) => {
                bytes += sealed.len();
                let (reply, outcome) = oneshot::channel();
                queue.push(Job::reseal(key, sealed, reply))?;
                waiting.push(outcome);
            }
            Err(error) => drop(done.refused.get_or_insert(error)),
        }
        if bytes >= AT_ONCE_BYTES {
            bytes = 0;
            done.values += written(waiting.drain(..))?;
        }
    }
    done.values += written(waiting.into_iter())?;
    Ok(done)
}

/// Waits for a group that writes only the store's internal records.
pub(super) fn commit_nothing(queue: &CommitQueue) -> Result<(), StoreError> {
    let (reply, outcome) = oneshot::channel();
    queue.push(Job::nothing(reply))?;
    written(std::iter::once(outcome)).map(drop)
}

fn written(outcomes: impl Iterator<Item = oneshot::Receiver<CommitOutcome>>) -> Result<u64, StoreError> {
    let mut values = 0;
    for outcome in outcomes {
        match outcome.blocking_recv() {
            Ok(Ok(())) => values += 1,
            // Another writer has changed the value since, sealed with the newest key.
            Ok(Err(CommitError::Conflict { .. })) => {}
            Ok(Err(CommitError::Store(error))) => return Err(error),
            Ok(Err(full @ CommitError::Full { .. })) => return Err(StoreError::Refusing { why: full.to_string() }),
            Err(_) => return Err(StoreError::Unknown { why: "the committer ended".into() }),
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::{
        collections::BTreeMap,
        path::Path,
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;
    use crate::{
        Batch, Direction, EmbeddedStore, EngineKind, Store, StoreConfig, StoreKey, Version, backup, compact, keys,
        salvage, testing,
    };

    const VALUES: u64 = 1_200;

    fn first() -> StoreKeys {
        testing::config(EngineKind::Sled, Path::new("")).keys
    }

    fn open(engine: EngineKind, dir: &Path, keys: &StoreKeys) -> Result<EmbeddedStore, StoreError> {
        EmbeddedStore::open(StoreConfig { keys: keys.clone(), ..testing::config(engine, dir) })
    }

    fn now<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    /// Some values span several records of sled.
    fn filled(engine: EngineKind, dir: &Path) -> EmbeddedStore {
        let store = open(engine, dir, &first()).unwrap();
        let mut batch = Batch::new();
        for n in 0..VALUES {
            batch.put(keys::record(1, 1, n), vec![n as u8; if n.is_multiple_of(100) { 9_000 } else { 50 }]);
        }
        now(store.commit(batch.append(1 << 32, vec![5]).clone())).unwrap();
        store
    }

    type Values = BTreeMap<Key, (Version, Vec<u8>)>;

    fn values(store: &EmbeddedStore) -> Values {
        let found = store.scan(KeyRange::prefix(&[]), Direction::Forward, usize::MAX).unwrap();
        let read = |(key, value): (Key, Vec<u8>)| (key.clone(), (store.read(&key).unwrap().unwrap().version, value));
        found.into_iter().map(read).collect()
    }

    fn counted(store: &EmbeddedStore) -> BTreeMap<KeyId, u64> {
        count(store, || true).unwrap().unwrap()
    }

    #[test]
    fn resealing_during_writes_causes_no_conflict() {
        for engine in EngineKind::ALL {
            let dir = tempfile::tempdir().unwrap();
            let store = filled(engine, dir.path());
            let both = first().and_a_new_one().unwrap();
            let (done, before) = (AtomicBool::new(false), values(&store));
            let written = std::thread::scope(|scope| {
                let (store, done) = (&store, &done);
                let writers: Vec<_> = (0..3)
                    .map(|writer: u64| {
                        scope.spawn(move || {
                            let mut round = 0_u64;
                            while !done.load(Ordering::SeqCst) {
                                round += 1;
                                for n in (0..VALUES).filter(|n| n % 40 == writer) {
                                    let key = keys::record(1, 1, n);
                                    let seen = store.read(&key).unwrap().unwrap();
                                    let mut batch = Batch::new();
                                    batch.expect_unchanged(key.clone(), Some(seen.version));
                                    batch.put(key, round.to_be_bytes().to_vec());
                                    now(store.commit(batch)).unwrap();
                                }
                            }
                            round
                        })
                    })
                    .collect();
                store.use_keys(&both);
                let (mut reported, mut steps) = (Vec::new(), 0);
                let whole = reseal(store, both.newest(), |left| {
                    steps += 1;
                    reported.extend(left);
                    true
                });
                assert!(whole.unwrap());
                assert!(steps > 12 && reported[0] <= VALUES + 3 && reported.last() == Some(&0), "{reported:?}");
                done.store(true, Ordering::SeqCst);
                writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<u64>>()
            });
            // Includes the feed's last number, its one value, and the watermark record.
            assert_eq!(counted(&store), [(both.newest(), VALUES + 3)].into());
            drop(store);
            let store = open(engine, dir.path(), &both.without(KeyId::FIRST)).unwrap();
            for (key, (version, value)) in values(&store) {
                let number = (0..VALUES).find(|n| keys::record(1, 1, *n) == key).filter(|n| n % 40 < 3);
                match number.map(|number| written[(number % 40) as usize]) {
                    Some(round) => assert_eq!(value, round.to_be_bytes(), "an update is lost"),
                    None => assert!(before[&key] == (version, value), "another value or version"),
                }
            }
        }
    }

    #[test]
    fn a_rotation_interrupted_after_any_step_loses_nothing_and_resumes() {
        for engine in EngineKind::ALL {
            let origin = tempfile::tempdir().unwrap();
            let before = values(&filled(engine, origin.path()));
            let both = first().and_a_new_one().unwrap();
            let (mut steps, mut half) = (0, 0);
            loop {
                let dir = tempfile::tempdir().unwrap();
                testing::copy(origin.path(), dir.path());
                // Before the first step, the file contains the new key but no value is sealed with it.
                let store = open(engine, dir.path(), &both).unwrap();
                let mut taken = 0;
                let whole = steps > 0 && {
                    store.use_keys(&both);
                    reseal(&store, both.newest(), |_| {
                        taken += 1;
                        taken < steps
                    })
                    .unwrap()
                };
                half += usize::from(counted(&store).len() == 2);
                drop(store);
                let store = open(engine, dir.path(), &both).unwrap_or_else(|error| panic!("{steps} steps: {error}"));
                assert!(values(&store) == before, "{engine}: {steps} steps");
                assert!(reseal(&store, both.newest(), |_| true).unwrap());
                assert_eq!(counted(&store).into_keys().collect::<Vec<_>>(), [both.newest()]);
                if whole {
                    break;
                }
                steps += 1;
            }
            assert!(steps > 10 && half > 10, "{engine}: {steps} steps, {half} of them left values of both keys");
        }
    }

    /// Covers the other readers of values: backups, compaction, salvage, reopening.
    #[test]
    fn a_partly_resealed_store_works_with_both_keys_and_names_a_missing_one() {
        for engine in EngineKind::ALL {
            let dir = tempfile::tempdir().unwrap();
            let (data, both) = (dir.path().join("store"), first().and_a_new_one().unwrap());
            let (store, new) = (filled(engine, &data), both.newest());
            let before = values(&store);
            store.use_keys(&both);
            let mut left = VALUES;
            assert!(
                !reseal(&store, new, |reported| {
                    left = reported.unwrap_or(left);
                    left > VALUES / 2
                })
                .unwrap()
            );
            let half = counted(&store);
            assert!(half[&KeyId::FIRST] > 500 && half[&new] > 500, "{half:?}");

            let file = dir.path().join("one.backup");
            store.back_up(&file, &mut |_| {}).unwrap();
            assert_eq!(backup::keys_of(&file).unwrap(), [KeyId::FIRST, new].into());
            assert_eq!(backup::check(&file, &both, |_| {}).unwrap().values, before.len() as u64);
            for (given, missing) in [(first(), new), (both.without(KeyId::FIRST), KeyId::FIRST)] {
                let refused = backup::check(&file, &given, |_| {}).unwrap_err().to_string();
                assert!(refused.contains(&format!("the key {missing}")), "{refused}");
            }
            drop(store);

            let old = open(engine, &data, &first()).err().unwrap().to_string();
            assert!(old.contains(&format!("another key {new}")) && old.contains("holds 00000000"), "{old}");
            let config = |keys: &StoreKeys| StoreConfig { keys: keys.clone(), ..testing::config(engine, &data) };
            if engine == EngineKind::Sled {
                assert!(compact(&config(&first()), |_, _| {}).is_err());
                compact(&config(&both), |_, _| {}).unwrap();
                let to = dir.path().join("salvaged");
                let report = now(salvage::salvage(&data, &both, &to, &dir.path().join("scratch"))).unwrap();
                assert!(report.is_whole(), "{report:?}");
                let salvaged = open(engine, &to, &both.without(KeyId::FIRST)).unwrap();
                let copied =
                    |values: Values| values.into_iter().map(|(key, (_, value))| (key, value)).collect::<Vec<_>>();
                assert!(copied(values(&salvaged)) == copied(before.clone()));
            }
            let refused = open(engine, &data, &both.without(KeyId::FIRST)).err().unwrap().to_string();
            assert!(refused.contains("the key 00000000, which the key file does not hold"), "{refused}");
            let lacking = open(engine, &data, &both).unwrap();
            lacking.use_keys(&both.without(KeyId::FIRST));
            let refused = lacking.scan(KeyRange::prefix(&[]), Direction::Forward, usize::MAX).unwrap_err().to_string();
            assert!(refused.contains("the key 00000000"), "{refused}");
            assert!(matches!(reseal(&lacking, new, |_| true), Err(StoreError::NoKey { id: KeyId::FIRST, .. })));
            assert_eq!(counted(&lacking)[&KeyId::FIRST], half[&KeyId::FIRST], "they stay as they are");
            drop(lacking);
            assert!(values(&open(engine, &data, &both).unwrap()) == before);
        }
    }

    #[test]
    fn keys_can_be_rotated_repeatedly() {
        let dir = tempfile::tempdir().unwrap();
        let store = filled(EngineKind::Sled, dir.path());
        let mut keys = first();
        for _ in 0..3 {
            keys = keys.and_a_new_one().unwrap();
            store.use_keys(&keys);
            assert!(reseal(&store, keys.newest(), |_| true).unwrap());
            assert_eq!(counted(&store), [(keys.newest(), VALUES + 3)].into());
        }
        let empty = tempfile::tempdir().unwrap();
        let store = open(EngineKind::Fjall, empty.path(), &StoreKey::new([42; 32]).into()).unwrap();
        store.use_keys(&keys);
        assert!(reseal(&store, keys.newest(), |_| true).unwrap());
        assert_eq!(counted(&store), [(keys.newest(), 1)].into(), "the store's own record");
    }
}
