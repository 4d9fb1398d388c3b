//! A follower that stops after each step, while locations commit between its reads.

use std::sync::atomic::{AtomicUsize, Ordering};

use testing::HookedStore;

use super::*;

/// Commits of a run.
const COMMITS: usize = 60;

/// A generator of random numbers (xorshift).
struct Random(Mutex<u64>);

impl Random {
    fn below(&self, limit: u64) -> u64 {
        let mut state = self.0.lock();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % limit
    }
}

impl LogWriter {
    /// Commits a random turn of one of two locations: it creates, updates or deletes up to three records. Patients and
    /// charges are shared by the locations.
    fn write_random(&self, random: &Random) {
        let mut state = self.state.lock();
        let location = 1 + random.below(2);
        let mut writes: Vec<Write> = Vec::new();
        for _ in 0..=random.below(3) {
            let resource = [Resource::Patients, Resource::Charges, Resource::WorkingHours][random.below(3) as usize];
            let id = 1 + random.below(3 + state.commits / 5);
            // Working hours belong to one location.
            let id = if resource == Resource::WorkingHours { 1_000 * location + id } else { id };
            let record = (resource, id);
            if state.deleted.contains(&record) || writes.iter().any(|it| (it.resource, it.id) == record) {
                continue;
            }
            let change = match (state.expected.contains_key(&record), random.below(4)) {
                (false, _) => ChangeKind::Created,
                (true, 0) => ChangeKind::Deleted,
                (true, _) => ChangeKind::Updated,
            };
            let ends = change == ChangeKind::Updated && random.below(4) == 0;
            writes.push(Write { ends, ..Write::new(resource, id, change) });
        }
        if !writes.is_empty() {
            self.commit(&mut state, location as u32, &writes);
        }
    }
}

/// The test fails, for example, if
/// - a batch is stored without its position: a message is sent twice
/// - the position passes a step that did not fit into the batch: its message is lost
/// - the number of steps is not part of the position: the first steps of a commit are sent again
/// - `prepare` reads the changed records after the look-ahead: a message shows a state that is too new
/// - delivery ids of a new process do not continue above the earlier ones: messages about a record change places
#[tokio::test]
async fn follower_that_stops_after_each_step_sends_each_message_once_with_its_states() {
    for seed in 1..=24_u64 {
        let (store, setup) = (Arc::new(MemoryStore::new()), setup_of(2));
        subscribe(store.clone()).await;
        let log = LogWriter::new(store.clone());
        let random = Arc::new(Random(Mutex::new(seed.wrapping_mul(88_172_645_463_325_252))));
        let left = Arc::new(AtomicUsize::new(COMMITS));
        let commit = {
            let (log, random, left) = (log.clone(), random.clone(), left.clone());
            move || {
                let take = |left: usize| left.checked_sub(1);
                if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {
                    log.write_random(&random);
                }
            }
        };
        let commit_in_between = {
            let (commit, random) = (commit.clone(), random.clone());
            move |_: &[u8]| {
                if random.below(12) == 0 {
                    commit();
                }
                Ok(())
            }
        };
        let hooked: Arc<dyn Store> = Arc::new(HookedStore::over(store.clone()).before_read(commit_in_between));
        // Of several steps, only the first fits.
        let sizes = Sizes { batch_keys: 1, ..Sizes::default() };
        let mut follower = start(hooked.clone(), &setup, sizes);
        let mut batches = 0;
        loop {
            if random.below(3) == 0 {
                commit();
            }
            let mut step = follower.prepare(INSTITUTION, T0).unwrap();
            let Some(mut prepared) = step.batch.take() else {
                if !step.more && left.load(Ordering::SeqCst) == 0 && follower.lag().is_none() {
                    break;
                }
                continue;
            };
            let stops = random.below(4);
            if stops > 0 {
                store.commit_now(std::mem::take(&mut prepared.batch)).unwrap();
                batches += 1;
            }
            match stops {
                // With its memory.
                3 => follower.committed(prepared),
                _ => follower = start(hooked.clone(), &setup, sizes),
            }
        }
        assert_eq!(sent(&store), log.expected(), "seed {seed}");
        assert!(batches >= deliveries(&store).len(), "seed {seed}: a batch has several steps");
    }
}

#[tokio::test]
async fn steps_of_a_removed_location_do_not_count_for_the_next_commit() {
    let (store, setup) = (Arc::new(MemoryStore::new()), setup_of(2));
    subscribe(store.clone()).await;
    let log = LogWriter::new(store.clone());
    let create = |id| Write::new(Resource::Charges, id, ChangeKind::Created);
    log.write(2, &[create(1), create(2)]);
    log.write(1, &[create(3), create(4)]);
    let follower = start(store.clone(), &setup, Sizes { batch_keys: 1, ..Sizes::default() });
    let mut first = follower.prepare(INSTITUTION, T0).unwrap().batch.unwrap();
    store.commit_now(std::mem::take(&mut first.batch)).unwrap();
    follower.committed(first);
    setup.replace(setup_of(1).now());
    follow(&follower, &store);
    let sent: Vec<u64> = sent(&store).into_keys().map(|(_, id)| id).collect();
    assert_eq!(sent, [1, 3, 4]);
}
