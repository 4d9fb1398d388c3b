//! Tests of two processes on one database.

use super::*;

fn rivals() -> [Arc<PostgresStore>; 2] {
    let config = own_tables(server().port());
    [open(&config), open(&config)]
}

/// Concurrent read-modify-write increments of the same values. None is lost, and none is applied twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_update_is_lost_between_two_processes() {
    if is_skipped() {
        return;
    }
    const VALUES: u32 = 4;
    const ADDITIONS: u64 = 40;
    let stores = rivals();
    let mut writers = Vec::new();
    for writer in 0..4 {
        let store = stores[writer % 2].clone();
        writers.push(tokio::spawn(async move {
            let mut conflicts = 0;
            for n in 0..ADDITIONS {
                // Values of several owners, initially absent. Writers use opposite orders.
                let mut wanted: Vec<Key> = (0..VALUES).map(keys::snapshot).collect();
                if (n as usize + writer).is_multiple_of(2) {
                    wanted.reverse();
                }
                loop {
                    let mut batch = Batch::new();
                    for (key, found) in wanted.iter().zip(store.read_many(&wanted).unwrap()) {
                        let count =
                            found.as_ref().map_or(0, |it| u64::from_be_bytes(it.value.clone().try_into().unwrap()));
                        batch.expect_unchanged(key.clone(), found.map(|it| it.version));
                        batch.put(key.clone(), (count + 1).to_be_bytes().to_vec());
                    }
                    match store.commit(batch).await {
                        Ok(()) => break,
                        Err(CommitError::Conflict { key }) => {
                            assert!(wanted.contains(&key));
                            conflicts += 1;
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            }
            conflicts
        }));
    }
    let mut conflicts = 0;
    for writer in writers {
        conflicts += writer.await.unwrap();
    }
    assert!(conflicts > 0, "they never met");
    for n in 0..VALUES {
        let value = stores[0].get(&keys::snapshot(n)).unwrap().unwrap();
        assert_eq!(u64::from_be_bytes(value.try_into().unwrap()), 4 * ADDITIONS, "value {n}");
    }
}

/// Only one process can create an absent key. A commit that expects the absence of a key is not overtaken by
/// its creation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_one_of_two_processes_creates_an_absent_key() {
    if is_skipped() {
        return;
    }
    let stores = rivals();
    for round in 0..60 {
        let (mine, theirs) = (keys::journal(7, 2 * round + 1), keys::claim(9, &[round as u8; 32]));
        let first = |store: &Arc<PostgresStore>, by: u8| {
            let mut batch = put(mine.clone(), vec![by]);
            batch.expect_absent(mine.clone());
            store.commit(batch)
        };
        // Each writes the key that the other expects to be absent.
        let crossed = |store: &Arc<PostgresStore>, makes: &Key, without: &Key| {
            let mut batch = put(makes.clone(), vec![1]);
            batch.expect_absent(without.clone());
            store.commit(batch)
        };
        let other = keys::claim(8, &[round as u8; 32]);
        let [a, b] = &stores;
        let (one, two) = (first(a, 1), first(b, 2));
        let (left, right) = (crossed(a, &theirs, &other), crossed(b, &other, &theirs));
        let (one, two, left, right) = tokio::join!(one, two, left, right);
        assert_eq!(usize::from(one.is_ok()) + usize::from(two.is_ok()), 1, "{one:?} {two:?}");
        let winner = if one.is_ok() { 1 } else { 2 };
        assert_eq!(a.get(&mine).unwrap(), Some(vec![winner]));
        assert!(!(left.is_ok() && right.is_ok()), "both rested on what the other one made");
        assert!(left.is_ok() || right.is_ok(), "{left:?} {right:?}");
        let conflict = [one, two, left, right].into_iter().filter_map(Result::err);
        assert!(conflict.into_iter().all(|error| matches!(error, CommitError::Conflict { .. })));
    }
    assert_eq!(stores[1].scan_keys(keys::Space::Claim.range(), Direction::Forward, 999).unwrap().len(), 60);
}

/// Numbers of one owner become visible in order and without gaps, across processes. Owners have separate
/// sequences.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_feed_of_each_owner_is_one_sequence_over_all_processes() {
    if is_skipped() {
        return;
    }
    const BATCHES: u64 = 60;
    // Institution 1 has locations 3 and 6, institution 2 has location 4.
    let of = |location: u64| 2 << 32 | location;
    let stores = rivals();
    let mut writers = Vec::new();
    for (writer, location) in [3, 6, 3, 4].into_iter().enumerate() {
        let store = stores[writer % 2].clone();
        writers.push(tokio::spawn(async move {
            for _ in 0..BATCHES {
                let mut batch = Batch::new();
                batch.append(of(location), vec![writer as u8]);
                store.commit(batch).await.unwrap();
            }
        }));
    }
    let reader = {
        let store = stores[1].clone();
        tokio::task::spawn_blocking(move || {
            let mut seen = 0;
            while seen < 3 * BATCHES {
                let end = store.feed_end(Some(of(6))).unwrap();
                let numbers = numbers(&store, &[of(3), of(6)]);
                assert!(numbers.len() as u64 >= end, "{end} was shown before what bears it");
                assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "a gap is shown");
                assert!(end >= seen);
                seen = end;
            }
        })
    };
    for writer in writers {
        writer.await.unwrap();
    }
    reader.await.unwrap();
    let [store, _] = &stores;
    assert_eq!(numbers(store, &[of(4)]), (1..=BATCHES).collect::<Vec<_>>());
    assert_eq!(store.feed_end(Some(of(4))).unwrap(), BATCHES);
    assert_eq!(store.feed_end(None).unwrap(), 3 * BATCHES);
    assert_eq!(store.feed_end(Some(3 << 32 | 3)).unwrap(), 0, "institution 3 has none");
}

/// Returns the numbers of the streams, read in one statement.
fn numbers(store: &Arc<PostgresStore>, streams: &[u64]) -> Vec<u64> {
    let found = store.scan_keys(keys::Space::Feed.range(), Direction::Forward, usize::MAX).unwrap();
    let parsed = found.iter().filter_map(|key| keys::parse_feed(key));
    let mut numbers: Vec<u64> = parsed.filter(|(stream, _)| streams.contains(stream)).map(|(_, it)| it).collect();
    numbers.sort_unstable();
    numbers
}

/// A stream without a data source is shared by several institutions. Its numbers increase for each
/// institution that appends to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shared_stream_is_in_order_for_each_owner() {
    if is_skipped() {
        return;
    }
    struct SharedSource;
    impl Owners for SharedSource {
        fn records_owner(&self, _: u8, scope: u32) -> KeyOwner {
            KeyOwner::Location(scope)
        }
        fn owner(&self, key_owner: KeyOwner) -> u64 {
            if key_owner == KeyOwner::Source(0) { 0 } else { Thirds.owner(key_owner) }
        }
    }
    let config = own_tables(server().port());
    let store = PostgresStore::open(&config, &key(), Arc::new(SharedSource)).unwrap();
    let (shared, institution) = (1u64 << 32, |id: u64| 3 << 32 | id);
    let mut last = [0; 2];
    for round in 0..10u32 {
        let which = usize::from(round % 3 == 0);
        // Location 3 belongs to institution 1, location 4 to institution 2.
        let (location, own) = [(3, institution(1)), (4, institution(2))][which];
        let mut batch = put(keys::journal(location, round.into()), vec![]);
        batch.append(own, vec![1]).append(shared, vec![2]);
        store.commit(batch).await.unwrap();
        let newest = |stream| {
            let keys = store.scan_keys(keys::feed_after(stream, 0), Direction::Backward, 1).unwrap();
            keys::parse_feed(&keys[0]).unwrap().1
        };
        assert!(newest(own) > last[which], "what the institution has seen is before it");
        assert_eq!(newest(shared), newest(own) + 1);
        last[which] = store.feed_end(Some(own)).unwrap();
        assert_eq!(last[which], newest(shared));
    }
    assert_eq!(store.scan_keys(keys::feed_after(shared, 0), Direction::Forward, 99).unwrap().len(), 10);
}

/// A configuration that later maps a location to another institution does not hide earlier values.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_owner_of_a_location_stays_valid() {
    if is_skipped() {
        return;
    }
    struct Moved;
    impl Owners for Moved {
        fn records_owner(&self, _: u8, scope: u32) -> KeyOwner {
            KeyOwner::Location(scope)
        }
        fn owner(&self, _: KeyOwner) -> u64 {
            77
        }
    }
    let config = own_tables(server().port());
    let before = open(&config);
    before.commit(put(keys::snapshot(4), vec![1])).await.unwrap();
    drop(before);
    let after = PostgresStore::open(&config, &key(), Arc::new(Moved)).unwrap();
    assert_eq!(after.get(&keys::snapshot(4)).unwrap(), Some(vec![1]));
    let mut batch = put(keys::snapshot(4), vec![2]);
    batch.put(keys::snapshot(5), vec![3]);
    after.commit(batch).await.unwrap();
    let found = after.scan(keys::Space::Snapshot.range(), Direction::Forward, 9).unwrap();
    assert_eq!(found, [(keys::snapshot(4), vec![2]), (keys::snapshot(5), vec![3])]);
}
