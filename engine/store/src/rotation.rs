//! A new key for a store in use. From a moment on it seals what is written; a pass beside the work seals anew what was written before,
//! each value as it is when the commit comes, or not at all. How far it is lies in the values themselves: each names its key. So a pass
//! may end anywhere and be begun again, and it is over when a look at all values finds none of another key.
//!
//! A value that is sealed anew keeps its version: it is the same writing. Nobody who has read it meets a conflict, and the watermark's
//! sum stays.

use std::collections::BTreeMap;

use tokio::sync::oneshot;

use super::{
    envelope::Envelope,
    error::{CommitError, StoreError},
    jobs::{Job, Outcome, Queue},
    key_id::KeyId,
    range::{Key, KeyRange},
    store_keys::StoreKeys,
};

/// Values looked at between two pauses, and values of one group of commits.
const PAGE: usize = 1_000;
const AT_ONCE: usize = 100;
/// More of them wait for their commits before the next are read.
const AT_ONCE_BYTES: usize = 1 << 20;

/// A store whose values are sealed. Its calls wait: they are for a thread that may.
pub trait Sealed: Send + Sync {
    /// The newest of these keys seals from now on. The file of keys has it already: what it seals can be read after a crash.
    fn use_keys(&self, keys: &StoreKeys);
    /// Which key each value is sealed with; no value is opened.
    fn seals(&self, range: KeyRange, limit: usize) -> Result<Vec<(Key, KeyId)>, StoreError>;
    /// The same of what the store writes for itself.
    fn own_seals(&self) -> Result<Vec<KeyId>, StoreError>;
    /// Seals values anew, without those that somebody writes meanwhile.
    fn reseal(&self, keys: &[Key]) -> Result<Resealed, StoreError>;
    /// The same of what the store writes for itself. All that was sealed before `use_keys` is written, or never will be, when this
    /// returns.
    fn reseal_own(&self) -> Result<(), StoreError>;
}

#[derive(Clone, Debug, Default)]
pub struct Resealed {
    pub values: u64,
    /// Why one of them, the first, could not be opened.
    pub refused: Option<StoreError>,
}

/// How many values each key seals. None when it was not to go on.
pub fn count(store: &dyn Sealed, mut go_on: impl FnMut() -> bool) -> Result<Option<BTreeMap<KeyId, u64>>, StoreError> {
    let (mut counts, mut rest) = (BTreeMap::new(), KeyRange::prefix(&[]));
    store.own_seals()?.into_iter().for_each(|id| *counts.entry(id).or_default() += 1);
    loop {
        let page = store.seals(rest.clone(), PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(Some(counts)) };
        rest = rest.after(last);
        page.iter().for_each(|(_, id)| *counts.entry(*id).or_default() += 1);
        if !go_on() {
            return Ok(None);
        }
    }
}

/// Seals everything anew that another key seals than the newest, `to`. `go_on` is asked between steps, which it may delay; it is told how
/// many values are left as soon as that is known. False: it was not to go on.
pub fn reseal(store: &dyn Sealed, to: KeyId, mut go_on: impl FnMut(Option<u64>) -> bool) -> Result<bool, StoreError> {
    loop {
        store.reseal_own()?;
        let Some(counts) = count(store, || go_on(None))? else { return Ok(false) };
        let mut left = counts.iter().filter(|(id, _)| **id != to).map(|(_, values)| *values).sum::<u64>();
        if !go_on(Some(left)) {
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
                if !go_on(Some(left)) {
                    return Ok(false);
                }
            }
        }
        // All that can be opened is sealed anew by now.
        if let Some(error) = refused {
            return Err(error);
        }
    }
}

/// Through the queue of a committer, which writes a value where it is still the one that was read.
pub(super) fn reseal_on(
    envelope: &Envelope,
    queue: &Queue,
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

/// Waits for a group that writes nothing of its own.
pub(super) fn commit_nothing(queue: &Queue) -> Result<(), StoreError> {
    let (reply, outcome) = oneshot::channel();
    queue.push(Job::nothing(reply))?;
    written(std::iter::once(outcome)).map(drop)
}

fn written(outcomes: impl Iterator<Item = oneshot::Receiver<Outcome>>) -> Result<u64, StoreError> {
    let mut values = 0;
    for outcome in outcomes {
        match outcome.blocking_recv() {
            Ok(Ok(())) => values += 1,
            // Somebody has written it since, sealed with the newest key.
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
        sled::salvage, testing,
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

    /// Some of them in several of sled's records.
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
    fn all_is_sealed_anew_while_others_write_and_nobody_meets_a_conflict() {
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
                let (mut told, mut steps) = (Vec::new(), 0);
                let whole = reseal(store, both.newest(), |left| {
                    steps += 1;
                    told.extend(left);
                    true
                });
                assert!(whole.unwrap());
                assert!(steps > 12 && told[0] <= VALUES + 3 && told.last() == Some(&0), "{told:?}");
                done.store(true, Ordering::SeqCst);
                writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<u64>>()
            });
            // With the number the feed has reached, its one value, and the watermark record.
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
    fn whichever_step_was_the_last_nothing_is_lost_and_the_next_start_goes_on() {
        for engine in EngineKind::ALL {
            let origin = tempfile::tempdir().unwrap();
            let before = values(&filled(engine, origin.path()));
            let both = first().and_a_new_one().unwrap();
            let (mut steps, mut half) = (0, 0);
            loop {
                let dir = tempfile::tempdir().unwrap();
                testing::copy(origin.path(), dir.path());
                // Before the first step the file has the new key and nothing is sealed with it.
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

    /// What else reads values: backups, a log made anew, salvage, a start.
    #[test]
    fn half_way_everything_works_with_both_keys_and_names_the_one_that_is_missing() {
        for engine in EngineKind::ALL {
            let dir = tempfile::tempdir().unwrap();
            let (data, both) = (dir.path().join("store"), first().and_a_new_one().unwrap());
            let (store, new) = (filled(engine, &data), both.newest());
            let before = values(&store);
            store.use_keys(&both);
            let mut left = VALUES;
            assert!(
                !reseal(&store, new, |told| {
                    left = told.unwrap_or(left);
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
    fn another_new_key_follows_the_one_before() {
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
