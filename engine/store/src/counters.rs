//! Internal ids. A process leases blocks of a counter and hands out their ids. The rest of a block is lost
//! when the process ends, so ids increase with gaps of at most a block per restart. No id is handed out
//! twice, by any number of processes.

use std::{collections::HashMap, ops::Range, sync::Arc};

use super::{Batch, CommitError, Store, StoreError, keys};

/// Ids per lease: one commit per thousand ids.
const BLOCK: u64 = 1_000;
/// Maximum number of ids per call.
pub const MAX_IDS: u32 = 100_000;
/// Number of attempts to extend a lease. Each conflict means that another process got its block.
const RACES: usize = 100;

/// A sequence of ids. The first id is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter<'a> {
    pub(crate) name: &'a str,
    pub(crate) last: u64,
}

impl<'a> Counter<'a> {
    /// Returns the counter of ids up to `last`.
    pub const fn up_to(last: u64, name: &'a str) -> Self {
        Self { name, last }
    }

    /// Returns a counter of ids that fit into 32 bits.
    pub const fn int32(name: &'a str) -> Self {
        Self::up_to(i32::MAX as u64, name)
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum IdError {
    #[error("the counter `{name}` has no {wanted} ids left below {last}")]
    Exhausted { name: String, wanted: u32, last: u64 },
    #[error("{wanted} ids at once are too many, the limit is {MAX_IDS}")]
    TooMany { wanted: u32 },
    #[error("the counter `{name}` holds something that is not a number")]
    Damaged { name: String },
    #[error("other processes won every race for the counter `{name}`")]
    Contended { name: String },
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl From<StoreError> for IdError {
    fn from(error: StoreError) -> Self {
        Self::Commit(error.into())
    }
}

pub struct Ids {
    store: Arc<dyn Store>,
    leases: parking_lot::Mutex<HashMap<String, Arc<tokio::sync::Mutex<Range<u64>>>>>,
}

impl Ids {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, leases: parking_lot::Mutex::default() }
    }

    /// Returns the next `n` ids, which are consecutive.
    pub async fn next(&self, counter: Counter<'_>, n: u32) -> Result<Range<u64>, IdError> {
        if n > MAX_IDS {
            return Err(IdError::TooMany { wanted: n });
        }
        let lease = self.lease(counter.name);
        let mut lease = lease.lock().await;
        let wanted = u64::from(n);
        if lease.end - lease.start < wanted {
            let fresh = self.extend(counter, lease.end - lease.start, n).await?;
            // Ids must be consecutive: the rest of the old block is used only if the new block follows it.
            let joins = fresh.start == lease.end && lease.start > 0;
            *lease = if joins { lease.start..fresh.end } else { fresh };
            if lease.end - lease.start < wanted {
                return Err(exhausted(counter, n));
            }
        }
        let ids = lease.start..lease.start + wanted;
        lease.start = ids.end;
        Ok(ids)
    }

    pub async fn next_one(&self, counter: Counter<'_>) -> Result<u64, IdError> {
        Ok(self.next(counter, 1).await?.start)
    }

    fn lease(&self, name: &str) -> Arc<tokio::sync::Mutex<Range<u64>>> {
        let mut leases = self.leases.lock();
        match leases.get(name) {
            Some(lease) => lease.clone(),
            None => leases.entry(name.to_owned()).or_insert_with(|| Arc::new(tokio::sync::Mutex::new(0..0))).clone(),
        }
    }

    /// Advances the counter by a block, or by `n` if that is more.
    async fn extend(&self, counter: Counter<'_>, left: u64, n: u32) -> Result<Range<u64>, IdError> {
        let key = keys::counter(counter.name);
        for _ in 0..RACES {
            let held = self.store.read(&key)?;
            let last = last_leased(counter.name, held.as_ref().map(|held| held.value.as_slice()))?;
            let room = counter.last.saturating_sub(last);
            if room + left < u64::from(n) || room == 0 {
                return Err(exhausted(counter, n));
            }
            let end = last + BLOCK.max(u64::from(n)).min(room);
            let mut batch = Batch::new();
            batch
                .expect_unchanged(key.clone(), held.map(|held| held.version))
                .put(key.clone(), end.to_be_bytes().to_vec());
            match self.store.commit(batch).await {
                Ok(()) => return Ok(last + 1..end + 1),
                Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(IdError::Contended { name: counter.name.to_owned() })
    }
}

fn last_leased(name: &str, held: Option<&[u8]>) -> Result<u64, IdError> {
    let Some(held) = held else { return Ok(0) };
    let number = held.try_into().map_err(|_| IdError::Damaged { name: name.to_owned() })?;
    Ok(u64::from_be_bytes(number))
}

fn exhausted(counter: Counter<'_>, wanted: u32) -> IdError {
    IdError::Exhausted { name: counter.name.to_owned(), wanted, last: counter.last }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use super::{super::MemoryStore, *};

    const PATIENT: Counter<'_> = Counter::int32("patient");

    fn at(store: &MemoryStore, last: u64) {
        let mut batch = Batch::new();
        batch.put(keys::counter("patient"), last.to_be_bytes().to_vec());
        store.commit_now(batch).unwrap();
    }

    #[tokio::test]
    async fn ids_are_consecutive_within_a_process_and_rise_over_restarts() {
        let store = Arc::new(MemoryStore::new());
        let ids = Ids::new(store.clone());
        assert_eq!(ids.next(PATIENT, 3).await.unwrap(), 1..4);
        assert_eq!(ids.next_one(PATIENT).await.unwrap(), 4);
        assert_eq!(ids.next(PATIENT, 2_500).await.unwrap(), 5..2_505);
        assert_eq!(ids.next(PATIENT, 0).await.unwrap().count(), 0);
        assert_eq!(ids.next_one(Counter::int32("event")).await.unwrap(), 1);
        let restarted = Ids::new(store).next_one(PATIENT).await.unwrap();
        assert!(restarted > 2_504 && restarted <= 2_504 + 2 * BLOCK);
    }

    #[tokio::test]
    async fn one_commit_pays_for_a_block() {
        let store = Arc::new(MemoryStore::new());
        let ids = Ids::new(store.clone());
        for _ in 0..BLOCK {
            ids.next_one(PATIENT).await.unwrap();
        }
        assert_eq!(store.commits(), 1);
    }

    #[tokio::test]
    async fn a_counter_ends_at_what_its_clients_can_hold() {
        let store = Arc::new(MemoryStore::new());
        let max = i32::MAX as u64;
        at(&store, max - 3);
        let ids = Ids::new(store.clone());
        assert!(matches!(ids.next(PATIENT, 4).await, Err(IdError::Exhausted { .. })));
        assert_eq!(ids.next(PATIENT, 2).await.unwrap(), max - 2..max);
        assert_eq!(ids.next_one(PATIENT).await.unwrap(), max);
        assert!(matches!(ids.next_one(PATIENT).await, Err(IdError::Exhausted { .. })));
        at(&store, u64::MAX);
        assert!(matches!(Ids::new(store).next_one(PATIENT).await, Err(IdError::Exhausted { .. })));
    }

    #[tokio::test]
    async fn a_failed_lease_gives_no_ids_and_a_lost_answer_only_a_gap() {
        let store = Arc::new(MemoryStore::new());
        let ids = Ids::new(store.clone());
        store.fail_next_commit(crate::memory::Fault::LoseAnswer);
        assert!(matches!(ids.next_one(PATIENT).await, Err(IdError::Commit(_))));
        assert_eq!(ids.next_one(PATIENT).await.unwrap(), BLOCK + 1);
        let mut batch = Batch::new();
        batch.put(keys::counter("odd"), b"x".to_vec());
        store.commit_now(batch).unwrap();
        assert!(matches!(ids.next_one(Counter::int32("odd")).await, Err(IdError::Damaged { .. })));
        assert!(matches!(ids.next(PATIENT, MAX_IDS + 1).await, Err(IdError::TooMany { .. })));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_id_is_given_twice_by_many_processes() {
        let store = Arc::new(MemoryStore::new());
        let mut tasks = Vec::new();
        for process in 0..4 {
            let ids = Arc::new(Ids::new(store.clone()));
            for _ in 0..4 {
                let ids = ids.clone();
                tasks.push(tokio::spawn(async move {
                    let mut got = Vec::new();
                    for _ in 0..500 {
                        got.extend(ids.next(PATIENT, 1 + process).await.unwrap());
                        tokio::task::yield_now().await;
                    }
                    got
                }));
            }
        }
        let (mut seen, mut count) = (BTreeSet::new(), 0);
        for task in tasks {
            let got = task.await.unwrap();
            count += got.len();
            seen.extend(got);
        }
        assert_eq!(count, 4 * 500 * (1 + 2 + 3 + 4));
        assert_eq!(seen.len(), count);
    }
}
