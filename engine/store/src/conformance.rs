//! The conformance suite of stores: `conformance!(name, Subject)` runs it against an implementation.

#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use proptest::prelude::*;

use super::{
    Batch, CommitError, Direction, Expect, FIRST_RESERVED, Key, KeyRange, MAX_KEY_BYTES, MAX_VALUE_BYTES, Store,
    StoreError, Version,
    counters::{Counter, Ids},
    due, journal, keys,
};

/// An implementation under test, initially empty.
pub(crate) trait Subject: Sized {
    fn fresh() -> Self;
    fn store(&self) -> Arc<dyn Store>;
    /// Closes the store, like the end of its process, and opens it again.
    fn reopen(self) -> Self;
    /// Returns whether the tests are skipped, because this machine lacks a requirement.
    fn is_skipped() -> bool {
        false
    }
}

macro_rules! conformance {
    ($name:ident, $subject:ty) => {
        mod $name {
            use super::*;
            $crate::conformance::conformance!(@each $subject:
                absent_keys_are_none, writes_are_all_or_nothing, preconditions_are_checked, the_later_of_two_writes_to_a_key_wins,
                commits_take_effect_in_call_order, one_of_many_writers_wins_a_sequence_number, scans_run_in_both_directions,
                scans_see_whole_commits, values_of_all_sizes_grow_and_shrink, preconditions_on_large_values,
                durable_after_reopening, bad_batches_are_refused, a_dropped_future_still_commits, ids_survive_reopening,
                journals_survive_reopening, read_many_returns_the_keys_in_order,
                sealed_values_have_the_versions_and_contents_of_reads, appends_are_numbered_in_commit_order,
                a_refused_batch_appends_nothing, the_feed_continues_after_reopening, behaves_like_a_map
            );
        }
    };
    (@each $subject:ty: $($test:ident),*) => {
        $(
            #[test]
            fn $test() {
                if <$subject as $crate::conformance::Subject>::is_skipped() {
                    return;
                }
                let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
                runtime.block_on($crate::conformance::$test::<$subject>());
            }
        )*
    };
}
pub(crate) use conformance;

type FillBatch<'a> = &'a dyn for<'b> Fn(&'b mut Batch) -> &'b mut Batch;

async fn commit(store: &Arc<dyn Store>, fill: FillBatch<'_>) -> Result<(), CommitError> {
    let mut batch = Batch::new();
    fill(&mut batch);
    store.commit(batch).await
}

fn key(text: &str) -> Key {
    text.as_bytes().to_vec()
}

fn version(store: &Arc<dyn Store>, key: &str) -> Option<Version> {
    store.read(key.as_bytes()).unwrap().map(|found| found.version)
}

fn conflict_at(outcome: Result<(), CommitError>, at: &str) -> bool {
    matches!(outcome, Err(CommitError::Conflict { key }) if key == at.as_bytes())
}

fn everything() -> KeyRange {
    KeyRange::prefix(&[])
}

pub(crate) async fn absent_keys_are_none<S: Subject>() {
    let subject = S::fresh();
    let store = subject.store();
    assert_eq!(store.get(b"nothing").unwrap(), None);
    assert!(store.scan(everything(), Direction::Forward, 10).unwrap().is_empty());
    assert!(store.scan(everything(), Direction::Backward, 10).unwrap().is_empty());
    commit(&store, &|batch| batch.delete(key("nothing"))).await.unwrap();
    commit(&store, &|batch| batch).await.unwrap();
    commit(&store, &|batch| batch.put(key("empty"), vec![])).await.unwrap();
    assert_eq!(store.get(b"empty").unwrap(), Some(vec![]));
    assert!(store.health().accepts_writes());
}

pub(crate) async fn writes_are_all_or_nothing<S: Subject>() {
    let subject = S::fresh();
    let store = subject.store();
    commit(&store, &|batch| batch.put(key("a"), vec![1]).put(key("b"), vec![2])).await.unwrap();
    let refused = commit(&store, &|batch| {
        batch.put(key("a"), vec![9]).delete(key("b")).put(key("c"), vec![9]).expect_absent(key("b"))
    });
    assert!(conflict_at(refused.await, "b"));
    assert_eq!(store.get(b"a").unwrap(), Some(vec![1]));
    assert_eq!(store.get(b"b").unwrap(), Some(vec![2]));
    assert_eq!(store.get(b"c").unwrap(), None);
}

pub(crate) async fn preconditions_are_checked<S: Subject>() {
    let subject = S::fresh();
    let store = subject.store();
    commit(&store, &|batch| batch.expect_absent(key("a")).put(key("a"), vec![1])).await.unwrap();
    assert!(conflict_at(commit(&store, &|batch| batch.expect_absent(key("a"))).await, "a"));
    assert!(conflict_at(commit(&store, &|batch| batch.expect_present(key("b"))).await, "b"));
    let first = version(&store, "a");
    assert_eq!(version(&store, "a"), first, "two reads of one value");
    assert!(conflict_at(commit(&store, &|batch| batch.expect_unchanged(key("b"), first)).await, "b"));
    commit(&store, &|batch| batch.expect_present(key("a")).expect_unchanged(key("a"), first)).await.unwrap();
    // Preconditions refer to the state before the batch.
    commit(&store, &|batch| batch.put(key("a"), vec![2]).expect_unchanged(key("a"), first)).await.unwrap();
    assert!(conflict_at(commit(&store, &|batch| batch.expect_unchanged(key("a"), first)).await, "a"));
    // A value that changed and changed back, or was deleted and written again, has a new version.
    commit(&store, &|batch| batch.put(key("a"), vec![1])).await.unwrap();
    assert!(conflict_at(commit(&store, &|batch| batch.expect_unchanged(key("a"), first)).await, "a"));
    let second = version(&store, "a");
    commit(&store, &|batch| batch.expect_unchanged(key("a"), second).delete(key("a"))).await.unwrap();
    commit(&store, &|batch| batch.expect_unchanged(key("a"), None)).await.unwrap();
    commit(&store, &|batch| batch.put(key("a"), vec![1])).await.unwrap();
    assert!(conflict_at(commit(&store, &|batch| batch.expect_unchanged(key("a"), second)).await, "a"));
    assert!(conflict_at(commit(&store, &|batch| batch.expect_unchanged(key("a"), None)).await, "a"));
    // An empty value is not an absent one.
    commit(&store, &|batch| batch.put(key("a"), vec![])).await.unwrap();
    assert!(conflict_at(commit(&store, &|batch| batch.expect_absent(key("a"))).await, "a"));
}

pub(crate) async fn the_later_of_two_writes_to_a_key_wins<S: Subject>() {
    let subject = S::fresh();
    let store = subject.store();
    let large = vec![5; 20_000];
    commit(&store, &|batch| {
        batch.put(key("a"), large.clone()).put(key("a"), vec![2]).put(key("b"), vec![1]).delete(key("b"));
        batch.delete(key("c")).put(key("c"), large.clone())
    })
    .await
    .unwrap();
    assert_eq!(store.get(b"a").unwrap(), Some(vec![2]));
    assert_eq!(store.get(b"b").unwrap(), None);
    assert_eq!(store.get(b"c").unwrap(), Some(large.clone()));
    assert_eq!(store.scan_keys(everything(), Direction::Forward, 10).unwrap(), [key("a"), key("c")]);
}

/// Many batches of one caller in one group: each sees those before it, and no writes of refused ones. Values
/// replaced by the group have new versions.
pub(crate) async fn commits_take_effect_in_call_order<S: Subject>() {
    let subject = S::fresh();
    let store = subject.store();
    for size in [8, 6_000] {
        let value = |n: u64| n.to_be_bytes().repeat(size / 8);
        let mut commits = Vec::new();
        commit(&store, &|batch| batch.put(key("a"), value(0))).await.unwrap();
        let seen = version(&store, "a");
        let step = |n: u64| key(&format!("step {n}"));
        for n in 1..=100 {
            let mut batch = Batch::new();
            match n {
                1 => batch.expect_unchanged(key("a"), seen),
                _ => batch.expect_present(step(n - 1)).delete(step(n - 1)),
            };
            batch.expect_absent(step(n)).put(step(n), value(n)).put(key("a"), value(n));
            commits.push(store.commit(batch));
            let mut stale = Batch::new();
            stale.expect_unchanged(key("a"), seen).put(key("a"), value(0));
            commits.push(store.commit(stale));
        }
        for (n, commit) in commits.into_iter().enumerate() {
            let outcome = commit.await;
            assert_eq!(outcome.is_ok(), n % 2 == 0, "{n} {outcome:?}");
        }
        assert_eq!(store.get(b"a").unwrap(), Some(value(100)));
        commit(&store, &|batch| batch.delete(key("a")).delete(step(100))).await.unwrap();
        assert!(store.scan_keys(everything(), Direction::Forward, 10).unwrap().is_empty());
    }
}

pub(crate) async fn one_of_many_writers_wins_a_sequence_number<S: Subject>() {
    const WRITERS: u64 = 16;
    const RECORDS: u64 = 20;
    let subject = S::fresh();
    let store = subject.store();
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let store = store.clone();
        writers.push(tokio::spawn(async move {
            let mut won = 0;
            for seq in 1..=RECORDS {
                let mut batch = Batch::new();
                journal::append(&mut batch, 7, seq, writer.to_be_bytes().to_vec());
                match store.commit(batch).await {
                    Ok(()) => won += 1,
                    Err(CommitError::Conflict { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
            won
        }));
    }
    let mut won = 0;
    for writer in writers {
        won += writer.await.unwrap();
    }
    assert_eq!(won, RECORDS);
    assert_eq!(journal::load(&*store, 7).unwrap().next_seq, RECORDS + 1);
}

pub(crate) async fn scans_run_in_both_directions<S: Subject>() {
    let subject = S::fresh();
    let store = subject.store();
    let all: Vec<(Key, Vec<u8>)> =
        (0..300u32).map(|n| (keys::journal(n / 100, n.into()), n.to_be_bytes().to_vec())).collect();
    commit(&store, &|batch| all.iter().fold(batch, |batch, (key, value)| batch.put(key.clone(), value.clone())))
        .await
        .unwrap();
    let both = |range: KeyRange, limit, expected: &[(Key, Vec<u8>)]| {
        let forward: Vec<_> = expected.iter().take(limit).cloned().collect();
        let backward: Vec<_> = expected.iter().rev().take(limit).cloned().collect();
        let keys = |pairs: &[(Key, Vec<u8>)]| pairs.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
        assert_eq!(store.scan(range.clone(), Direction::Forward, limit).unwrap(), forward);
        assert_eq!(store.scan(range.clone(), Direction::Backward, limit).unwrap(), backward);
        assert_eq!(store.scan_keys(range.clone(), Direction::Forward, limit).unwrap(), keys(&forward));
        assert_eq!(store.scan_keys(range, Direction::Backward, limit).unwrap(), keys(&backward));
    };
    for limit in [0, 1, 7, 1_000] {
        both(everything(), limit, &all);
        both(KeyRange::prefix(&keys::journal(1, 0)[..5]), limit, &all[100..200]);
        both(KeyRange::new(all[10].0.clone(), all[20].0.clone()), limit, &all[10..20]);
        both(KeyRange::new(all[10].0.clone(), all[10].0.clone()), limit, &[]);
        both(KeyRange::new(all[20].0.clone(), all[10].0.clone()), limit, &[]);
        both(KeyRange::new(all[290].0.clone(), vec![0xFF; 4]), limit, &all[290..]);
        both(everything().after(&all[50].0), limit, &all[51..]);
        both(KeyRange::new(vec![FIRST_RESERVED], vec![0xFF; 4]), limit, &[]);
    }
}

/// Readers never see part of a commit, nor a commit that is not yet durable. Writes continue until the reader
/// has finished its scans.
pub(crate) async fn scans_see_whole_commits<S: Subject>() {
    let subject = S::fresh();
    let store = subject.store();
    let durable = Arc::new(AtomicUsize::new(0));
    let scans = Arc::new(AtomicUsize::new(0));
    let reader = {
        let (store, scans, durable) = (store.clone(), scans.clone(), durable.clone());
        tokio::task::spawn_blocking(move || {
            while scans.fetch_add(1, Ordering::SeqCst) < 200 {
                let before = durable.load(Ordering::SeqCst);
                let pairs = store.scan(everything(), Direction::Forward, 100).unwrap();
                let Some((_, first)) = pairs.first() else { continue };
                assert!(pairs.iter().all(|(_, value)| value == first), "a scan saw two states");
                assert_eq!(pairs.len(), 12);
                let round = usize::from_be_bytes(*first.first_chunk().unwrap());
                assert!(round >= before, "a scan saw less than what is durable");
                let single = store.get(&keys::record(1, 0, 5)).unwrap().unwrap();
                assert!(usize::from_be_bytes(*single.first_chunk().unwrap()) >= round, "a get went back in time");
            }
        })
    };
    let mut round = 0usize;
    while round < 30 || !reader.is_finished() {
        round += 1;
        let value = round.to_be_bytes().repeat(if round.is_multiple_of(2) { 1 } else { 1_200 });
        commit(&store, &|batch| (0..12).fold(batch, |batch, id| batch.put(keys::record(1, 0, id), value.clone())))
            .await
            .unwrap();
        durable.store(round, Ordering::SeqCst);
    }
    reader.await.unwrap();
}

pub(crate) async fn values_of_all_sizes_grow_and_shrink<S: Subject>() {
    let mut subject = S::fresh();
    let sizes = [0, 3_500, 3_543, 3_544, 3_600, 4_096, 4_097, 100_000, 9_000, 3_543, 1, 1_000_000, 50_000, 0];
    let value = |size: usize| (0..size).map(|i| (i * 7 + size) as u8).collect::<Vec<u8>>();
    for size in sizes {
        let store = subject.store();
        commit(&store, &|batch| batch.put(key("a"), value(size)).put(key("b"), value(size / 2))).await.unwrap();
        assert_eq!(store.get(b"a").unwrap().unwrap(), value(size));
        assert_eq!(
            store.scan(everything(), Direction::Backward, 9).unwrap(),
            [(key("b"), value(size / 2)), (key("a"), value(size))]
        );
        drop(store);
        subject = subject.reopen();
        assert!(subject.store().get(b"a").unwrap().unwrap() == value(size));
    }
    let store = subject.store();
    commit(&store, &|batch| batch.put(key("a"), value(200_000))).await.unwrap();
    commit(&store, &|batch| batch.delete(key("a")).delete(key("b"))).await.unwrap();
    assert!(store.scan_keys(everything(), Direction::Forward, 9).unwrap().is_empty());
}

pub(crate) async fn preconditions_on_large_values<S: Subject>() {
    let subject = S::fresh();
    let store = subject.store();
    let (old, new) = (vec![1; 50_000], vec![2; 50_000]);
    commit(&store, &|batch| batch.put(key("a"), old.clone())).await.unwrap();
    let first = version(&store, "a");
    commit(&store, &|batch| batch.expect_unchanged(key("a"), first).put(key("a"), new.clone())).await.unwrap();
    assert!(conflict_at(commit(&store, &|batch| batch.expect_unchanged(key("a"), first)).await, "a"));
    let second = version(&store, "a");
    commit(&store, &|batch| batch.expect_unchanged(key("a"), second)).await.unwrap();
    // A version remains valid in the next process.
    drop(store);
    let subject = subject.reopen();
    let store = subject.store();
    assert!(conflict_at(commit(&store, &|batch| batch.expect_unchanged(key("a"), first)).await, "a"));
    commit(&store, &|batch| batch.expect_unchanged(key("a"), second).delete(key("a"))).await.unwrap();
}

pub(crate) async fn durable_after_reopening<S: Subject>() {
    let mut subject = S::fresh();
    let mut model = BTreeMap::new();
    for round in 0..4u64 {
        let store = subject.store();
        for n in 0..50 {
            let (key, value) = (keys::record(1, 2, n * 4 + round), vec![round as u8; (n * 97) as usize]);
            commit(&store, &|batch| batch.put(key.clone(), value.clone())).await.unwrap();
            model.insert(key, value);
        }
        let gone = keys::record(1, 2, round);
        commit(&store, &|batch| batch.delete(gone.clone())).await.unwrap();
        model.remove(&gone);
        drop(store);
        subject = subject.reopen();
        let found = subject.store().scan(everything(), Direction::Forward, 1_000).unwrap();
        assert!(found == model.clone().into_iter().collect::<Vec<_>>(), "round {round}");
    }
}

pub(crate) async fn bad_batches_are_refused<S: Subject>() {
    let subject = S::fresh();
    let store = subject.store();
    let refused = async |step: FillBatch<'_>| match commit(&store, step).await {
        Err(CommitError::Store(error)) => error,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refused(&|batch| batch.put(vec![], vec![])).await, StoreError::NotAKey));
    assert!(matches!(refused(&|batch| batch.delete(vec![FIRST_RESERVED])).await, StoreError::NotAKey));
    assert!(matches!(refused(&|batch| batch.expect_absent(vec![0xFF, 1])).await, StoreError::NotAKey));
    let long = vec![1; MAX_KEY_BYTES + 1];
    assert!(matches!(refused(&|batch| batch.put(long.clone(), vec![])).await, StoreError::TooLarge { .. }));
    let heavy = vec![0; MAX_VALUE_BYTES + 1];
    assert!(matches!(refused(&|batch| batch.put(key("a"), heavy.clone())).await, StoreError::TooLarge { .. }));
    assert!(matches!(store.get(&long), Err(StoreError::TooLarge { .. })));
    assert!(matches!(store.get(&[]), Err(StoreError::NotAKey)));
    assert!(matches!(store.get(&[FIRST_RESERVED]), Err(StoreError::NotAKey)));
    commit(&store, &|batch| batch.put(vec![1; MAX_KEY_BYTES], vec![7; 10_000])).await.unwrap();
    assert_eq!(store.get(&[1; MAX_KEY_BYTES]).unwrap().unwrap().len(), 10_000);
}

pub(crate) async fn a_dropped_future_still_commits<S: Subject>() {
    let subject = S::fresh();
    let store = subject.store();
    let mut batch = Batch::new();
    batch.put(key("a"), vec![1]);
    drop(store.commit(batch));
    commit(&store, &|batch| batch.expect_present(key("a"))).await.unwrap();
    assert_eq!(store.get(b"a").unwrap(), Some(vec![1]));
}

pub(crate) async fn ids_survive_reopening<S: Subject>() {
    let mut subject = S::fresh();
    let mut last = 0;
    for _ in 0..3 {
        let ids = Ids::new(subject.store());
        let next = ids.next(Counter::int32("patient"), 1_500).await.unwrap();
        assert!(next.start > last && next.start <= last + 1_001);
        last = next.end - 1;
        drop(ids);
        subject = subject.reopen();
    }
}

pub(crate) async fn journals_survive_reopening<S: Subject>() {
    let mut subject = S::fresh();
    let mut wake = None;
    for round in 0..3u64 {
        let store = subject.store();
        assert_eq!(due::next_due(&*store).unwrap(), wake);
        let mut loaded = journal::load(&*store, 1).unwrap();
        assert_eq!(loaded.next_seq, round * 10 + 1);
        assert_eq!(loaded.snapshot.is_some(), round > 0);
        for _ in 0..10 {
            let mut batch = Batch::new();
            journal::append(&mut batch, 1, loaded.next_seq, vec![9; 100]);
            let next = Some(loaded.next_seq as i64 - 15);
            due::set_wake(&mut batch, 1, wake, next);
            wake = next;
            if loaded.next_seq % 10 == 5 {
                journal::write_snapshot(&mut batch, 1, loaded.next_seq, &vec![8; 30_000]);
            }
            store.commit(batch).await.unwrap();
            loaded.next_seq += 1;
        }
        let mut batch = Batch::new();
        assert!(journal::trim(&*store, &mut batch, 1, 100, |_| true).unwrap() > 0);
        store.commit(batch).await.unwrap();
        drop(store);
        subject = subject.reopen();
        let loaded = journal::load(&*subject.store(), 1).unwrap();
        assert_eq!(loaded.tail.len(), 5);
        assert_eq!(due::due(&*subject.store(), i64::MAX, 9, |_| true).unwrap(), [(wake.unwrap(), 1)]);
    }
}

pub(crate) async fn read_many_returns_the_keys_in_order<S: Subject>() {
    let subject = S::fresh();
    let store = subject.store();
    let all: Vec<Key> =
        (0..40).map(|n| keys::journal(n % 7, n.into())).chain([key("a"), keys::claim(9, &[1; 32])]).collect();
    commit(&store, &|batch| {
        all.iter()
            .enumerate()
            .filter(|(n, _)| n % 3 != 0)
            .fold(batch, |batch, (n, key)| batch.put(key.clone(), vec![n as u8; n]))
    })
    .await
    .unwrap();
    let asked: Vec<Key> = all.iter().rev().chain(&all[..3]).cloned().collect();
    let found = store.read_many(&asked).unwrap();
    let one_by_one: Vec<_> = asked.iter().map(|key| store.read(key).unwrap()).collect();
    assert_eq!(found, one_by_one);
    assert_eq!(found.iter().flatten().count(), 28 + 2);
    assert!(store.read_many(&[]).unwrap().is_empty());
    assert!(matches!(store.read_many(&[key("a"), vec![]]), Err(StoreError::NotAKey)));
}

pub(crate) async fn sealed_values_have_the_versions_and_contents_of_reads<S: Subject>() {
    let subject = S::fresh();
    let store = subject.store();
    let (large, keys) = (vec![2; 50_000], [key("a"), key("b"), key("c")]);
    let mut versions = Vec::new();
    // A value written again has another version, even with the same content, and if it was deleted before.
    for _ in 0..2 {
        commit(&store, &|batch| batch.put(key("a"), vec![1]).put(key("b"), large.clone())).await.unwrap();
        let read = store.read_many(&keys).unwrap().into_iter().map(|found| found.map(|it| (it.version, it.value)));
        let sealed = keys.iter().zip(store.get_sealed(&keys).unwrap());
        let sealed = sealed.map(|(key, found)| found.map(|it| (it.version, store.unseal(key, it).unwrap())));
        assert!(sealed.eq(read));
        let scanned = store.scan_sealed(everything(), Direction::Backward, 9).unwrap();
        assert!(
            scanned.iter().all(|(key, found)| Some(found.version) == store.read(key).unwrap().map(|it| it.version))
        );
        versions.extend(scanned.iter().map(|(_, found)| found.version));
        let opened = scanned.into_iter().map(|(key, found)| (key.clone(), store.unseal(&key, found).unwrap()));
        assert!(opened.eq([(key("b"), large.clone()), (key("a"), vec![1])]));
        commit(&store, &|batch| batch.delete(key("b"))).await.unwrap();
    }
    assert!((0..4).all(|at| !versions[..at].contains(&versions[at])));
}

fn appended(store: &Arc<dyn Store>, stream: u64) -> Vec<(u64, Vec<u8>)> {
    let found = store.scan(keys::feed_after(stream, 0), Direction::Forward, usize::MAX).unwrap();
    found.into_iter().map(|(key, value)| (keys::parse_feed(&key).unwrap().1, value)).collect()
}

/// Many callers with several batches in one group: numbers have no gaps and follow the order of each caller's
/// calls.
pub(crate) async fn appends_are_numbered_in_commit_order<S: Subject>() {
    const WRITERS: u64 = 8;
    const BATCHES: u64 = 25;
    let subject = S::fresh();
    let store = subject.store();
    assert_eq!(store.feed_end(Some(1)).unwrap(), 0);
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let store = store.clone();
        writers.push(tokio::spawn(async move {
            let mut commits = Vec::new();
            for n in 0..BATCHES {
                let mut batch = Batch::new();
                batch.append(writer, (2 * n).to_be_bytes().to_vec()).append(99, writer.to_be_bytes().to_vec());
                batch.append(writer, (2 * n + 1).to_be_bytes().to_vec());
                commits.push(store.commit(batch));
            }
            for commit in commits {
                commit.await.unwrap();
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let mut numbers = Vec::new();
    for writer in 0..WRITERS {
        let found = appended(&store, writer);
        let values: Vec<Vec<u8>> = (0..2 * BATCHES).map(|n| n.to_be_bytes().to_vec()).collect();
        assert_eq!(found.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>(), values);
        // Values of one batch have adjacent numbers.
        assert!(found.chunks(2).all(|pair| pair[0].0 + 2 == pair[1].0));
        numbers.extend(found.into_iter().map(|(number, _)| number));
    }
    numbers.extend(appended(&store, 99).into_iter().map(|(number, _)| number));
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=3 * WRITERS * BATCHES).collect::<Vec<_>>());
    assert_eq!(store.feed_end(Some(1)).unwrap(), 3 * WRITERS * BATCHES);
}

pub(crate) async fn a_refused_batch_appends_nothing<S: Subject>() {
    let subject = S::fresh();
    let store = subject.store();
    let commits = (0..20u64).map(|n| {
        let mut batch = Batch::new();
        batch.append(7, n.to_be_bytes().to_vec());
        if n % 2 == 1 {
            batch.expect_present(key("nothing")).put(key("written"), vec![1]);
        }
        store.commit(batch)
    });
    for (n, commit) in commits.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(commit.await.is_ok(), n % 2 == 0);
    }
    let expected = (0..10u64).map(|n| (n + 1, (2 * n).to_be_bytes().to_vec())).collect::<Vec<_>>();
    assert_eq!(appended(&store, 7), expected);
    assert_eq!(store.feed_end(Some(1)).unwrap(), 10);
    assert_eq!(store.get(b"written").unwrap(), None);
    let heavy = commit(&store, &|batch| batch.append(7, vec![0; MAX_VALUE_BYTES + 1])).await;
    assert!(matches!(heavy, Err(CommitError::Store(StoreError::TooLarge { .. }))));
}

pub(crate) async fn the_feed_continues_after_reopening<S: Subject>() {
    let mut subject = S::fresh();
    for round in 0..4u64 {
        let store = subject.store();
        assert_eq!(store.feed_end(Some(1)).unwrap(), round * 3);
        commit(&store, &|batch| batch.append(1, vec![1; 10]).append(2, vec![2; 9_000]).append(1, vec![]))
            .await
            .unwrap();
        // Pruning does not release numbers.
        commit(&store, &|batch| batch.delete(keys::feed(1, round * 3 + 3))).await.unwrap();
        drop(store);
        subject = subject.reopen();
    }
    let store = subject.store();
    assert_eq!(appended(&store, 1), [1, 4, 7, 10].map(|number| (number, vec![1; 10])));
    assert_eq!(appended(&store, 2), [2, 5, 8, 11].map(|number| (number, vec![2; 9_000])));
}

#[derive(Clone, Debug)]
enum ScriptAction {
    Commit { expects: Vec<(Key, Wish)>, writes: Vec<(Key, Option<usize>)>, appends: Vec<(u64, usize)> },
    Scan { from: Key, to: Key, backward: bool, limit: usize },
    Reopen,
}

/// A kind of precondition, before it is decided whether it holds.
#[derive(Clone, Debug)]
enum Wish {
    AsIs,
    Absent,
    Present,
    /// The version at the last read, which may be outdated.
    Seen,
}

fn some_key() -> impl Strategy<Value = Key> {
    prop::collection::vec(prop::sample::select(vec![0u8, 1, 2, 0xEF]), 1..4)
}

fn some_size() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0..40usize, 2 => 3_500..3_600usize, 1 => 7_000..20_000usize]
}

fn some_action() -> impl Strategy<Value = ScriptAction> {
    let expect = prop_oneof![
        6 => Just(Wish::AsIs),
        1 => Just(Wish::Absent),
        1 => Just(Wish::Present),
        2 => Just(Wish::Seen),
    ];
    let commit = (
        prop::collection::vec((some_key(), expect), 0..3),
        prop::collection::vec((some_key(), prop::option::weighted(0.7, some_size())), 0..6),
        prop::collection::vec((0..3u64, some_size()), 0..3),
    );
    prop_oneof![
        12 => commit.prop_map(|(expects, writes, appends)| ScriptAction::Commit { expects, writes, appends }),
        4 => (some_key(), some_key(), any::<bool>(), 0..20usize)
            .prop_map(|(from, to, backward, limit)| ScriptAction::Scan { from, to, backward, limit }),
        1 => Just(ScriptAction::Reopen),
    ]
}

fn value_of(size: usize) -> Vec<u8> {
    vec![size as u8; size]
}

/// The versions at the last read, and the keys written since.
#[derive(Default)]
struct SeenVersions {
    versions: BTreeMap<Key, Version>,
    written: BTreeSet<Key>,
}

impl SeenVersions {
    fn at(store: &Arc<dyn Store>, model: &BTreeMap<Key, Vec<u8>>) -> Self {
        let versions = model.keys().map(|key| (key.clone(), store.read(key).unwrap().unwrap().version)).collect();
        Self { versions, written: BTreeSet::new() }
    }

    fn resolve(&self, model: &BTreeMap<Key, Vec<u8>>, key: &Key, wish: &Wish) -> (Expect, bool) {
        let held = model.contains_key(key);
        let seen = self.versions.get(key).map_or(Expect::Absent, |version| Expect::Version(*version));
        match wish {
            Wish::AsIs if !self.written.contains(key) => (seen, true),
            Wish::AsIs => (if held { Expect::Present } else { Expect::Absent }, true),
            Wish::Absent => (Expect::Absent, !held),
            Wish::Present => (Expect::Present, held),
            // A rewritten value has a new version, even with the same content. A key absent then and now is unchanged.
            Wish::Seen => (seen, !self.written.contains(key) || (seen == Expect::Absent && !held)),
        }
    }
}

/// Compares random batches with a map. Commits are submitted in runs, so that many share a group, and awaited
/// before the next read.
pub(crate) async fn behaves_like_a_map<S: Subject>() {
    let mut runner = prop::test_runner::TestRunner::new(ProptestConfig { cases: 24, ..ProptestConfig::default() });
    let script = prop::collection::vec(some_action(), 1..60);
    let handle = tokio::runtime::Handle::current();
    let run = |script: Vec<ScriptAction>| tokio::task::block_in_place(|| handle.block_on(play::<S>(script)));
    runner.run(&script, run).unwrap();
}

/// Scans without the number that a store may keep for its feed.
fn own_scan(store: &Arc<dyn Store>, range: KeyRange, direction: Direction, limit: usize) -> Vec<(Key, Vec<u8>)> {
    let mut found = store.scan(range, direction, limit.saturating_add(1)).unwrap();
    found.retain(|(key, _)| *key != keys::feed_end());
    found.truncate(limit);
    found
}

async fn play<S: Subject>(script: Vec<ScriptAction>) -> Result<(), TestCaseError> {
    let mut subject = S::fresh();
    let mut model: BTreeMap<Key, Vec<u8>> = BTreeMap::new();
    let (mut pending, mut seen) = (Vec::new(), SeenVersions::default());
    let mut last = 0;
    for action in script.into_iter().chain([ScriptAction::Reopen]) {
        if let ScriptAction::Commit { expects, writes, appends } = action {
            let mut batch = Batch::new();
            let mut holds = true;
            for (key, expect) in expects {
                let (expect, met) = seen.resolve(&model, &key, &expect);
                batch.expect(key, expect);
                holds &= met;
            }
            for (key, size) in writes {
                match size {
                    Some(size) => batch.put(key.clone(), value_of(size)),
                    None => batch.delete(key.clone()),
                };
                if holds {
                    seen.written.insert(key.clone());
                    match size {
                        Some(size) => model.insert(key, value_of(size)),
                        None => model.remove(&key),
                    };
                }
            }
            for (stream, size) in appends {
                let numbers = 1 + stream % 2 * 4;
                batch.append_many(stream, numbers, value_of(size));
                if holds {
                    last += numbers;
                    seen.written.insert(keys::feed(stream, last));
                    model.insert(keys::feed(stream, last), value_of(size));
                }
            }
            pending.push((subject.store().commit(batch), holds));
            continue;
        }
        for (commit, holds) in pending.drain(..) {
            prop_assert_eq!(commit.await.is_ok(), holds);
        }
        if let ScriptAction::Scan { from, to, backward, limit } = action {
            let direction = if backward { Direction::Backward } else { Direction::Forward };
            let found = own_scan(&subject.store(), KeyRange::new(from.clone(), to.clone()), direction, limit);
            let mut expected: Vec<_> = model
                .iter()
                .filter(|(key, _)| from <= **key && **key < to)
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect();
            if backward {
                expected.reverse();
            }
            expected.truncate(limit);
            prop_assert!(found == expected);
        } else {
            subject = subject.reopen();
            let found = own_scan(&subject.store(), everything(), Direction::Forward, usize::MAX);
            prop_assert_eq!(subject.store().feed_end(Some(0)).unwrap(), last);
            prop_assert!(found == model.clone().into_iter().collect::<Vec<_>>());
            for key in model.keys().take(10) {
                prop_assert!(subject.store().get(key).unwrap().as_ref() == model.get(key));
            }
        }
        seen = SeenVersions::at(&subject.store(), &model);
    }
    Ok(())
}
