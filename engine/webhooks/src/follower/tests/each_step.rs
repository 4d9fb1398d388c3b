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
    /// charges are shared by the locations. Updates of appointments may have a fact.
    fn write_random(&self, random: &Random) {
        let mut state = self.state.lock();
        let location = 1 + random.below(2);
        let mut writes: Vec<Write> = Vec::new();
        for _ in 0..=random.below(3) {
            let resources = [Resource::Patients, Resource::Charges, Resource::WorkingHours, Resource::Appointments];
            let resource = resources[random.below(4) as usize];
            let id = 1 + random.below(3 + state.commits / 5);
            // Appointments and working hours belong to one location.
            let is_local = matches!(resource, Resource::WorkingHours | Resource::Appointments);
            let id = if is_local { 1_000 * location + id } else { id };
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
            let has_fact = resource == Resource::Appointments && change == ChangeKind::Updated && random.below(2) == 0;
            let fact = has_fact.then_some([VisitFact::Confirmed, VisitFact::Arrived][random.below(2) as usize]);
            writes.push(Write { ends, fact, ..Write::new(resource, id, change) });
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

/// Writes seven commits of two locations with all kinds of changes, and follows them. The follower stops before or
/// after one of its commits, if any, and another one continues. Returns the messages and the number of commits.
async fn follow_with_stop(mut stop: Option<(usize, bool)>) -> (Messages, usize) {
    use ChangeKind::{Created, Deleted, Updated};
    use Resource::{Appointments, Charges, Patients, WorkingHours};
    let (store, setup) = (Arc::new(MemoryStore::new()), setup_of(2));
    subscribe(store.clone()).await;
    let log = LogWriter::new(store.clone());
    let arrived = Write { fact: Some(VisitFact::Arrived), ..Write::new(Appointments, 1_001, Updated) };
    log.write(1, &[Write::new(Patients, 1, Created), Write::new(Charges, 1, Created)]);
    log.write(2, &[Write::new(Charges, 2, Created), Write::new(WorkingHours, 2_001, Created)]);
    log.write(1, &[Write { ends: true, ..Write::new(Charges, 1, Updated) }, Write::new(Patients, 1, Updated)]);
    log.write(2, &[Write::new(Charges, 1, Updated), Write::new(Charges, 2, Deleted)]);
    log.write(1, &[Write::new(Charges, 1, Deleted), Write::new(Patients, 1, Updated)]);
    log.write(1, &[Write::new(Appointments, 1_001, Created)]);
    log.write(1, &[arrived]);
    // Of several steps, only the first fits.
    let start = || start(store.clone(), &setup, Sizes { batch_keys: 1, ..Sizes::default() });
    let (mut follower, mut commits) = (start(), 0);
    loop {
        let mut step = follower.prepare(INSTITUTION, T0).unwrap();
        let Some(mut prepared) = step.batch.take() else {
            if step.more {
                continue;
            }
            assert_eq!(sent(&store), log.expected());
            return (sent(&store), commits);
        };
        if stop.take_if(|stop| *stop == (commits, false)).is_some() {
            follower = start();
            continue;
        }
        store.commit_now(std::mem::take(&mut prepared.batch)).unwrap();
        match stop.take_if(|stop| *stop == (commits, true)) {
            Some(_) => follower = start(),
            None => follower.committed(prepared),
        }
        commits += 1;
    }
}

#[tokio::test]
async fn messages_are_equal_wherever_the_follower_stops() {
    let (expected, commits) = follow_with_stop(None).await;
    let messages: usize = expected.values().map(Vec::len).sum();
    assert!(messages == 14 && commits >= messages, "{messages} messages in {commits} commits");
    for stop in (0..commits).flat_map(|number| [(number, false), (number, true)]) {
        assert_eq!(follow_with_stop(Some(stop)).await.0, expected, "stopped at {stop:?}");
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
    setup.store(setup_of(1).load_full());
    follow(&follower, &store);
    let sent: Vec<u64> = sent(&store).into_keys().map(|(_, id)| id).collect();
    assert_eq!(sent, [1, 3, 4]);
}
