//! Creating something once: a request with an idempotency key gets its first answer again for a day. The claim of a key is read and
//! written in the batch of what the request creates, so of two racing requests one wins and the other sees its answer.

use location::time::{DAY, Millis, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    actor::{
        docs::{Docs, decode},
        turn::TurnError,
    },
    store::{Batch, Direction, Store, StoreError, keys},
};

/// How long a key stands for its first answer.
pub const KEPT: Millis = DAY;

/// What identifies a request. Both are digests: the key's with whoever may use it, the fingerprint's of all the request says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Once {
    pub key: [u8; 32],
    pub fingerprint: [u8; 32],
}

impl std::fmt::Debug for Once {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Once(redacted)")
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    Fresh,
    /// The same request was answered so.
    Replay(serde_json::Value),
    /// The key was used for something else.
    Conflict,
}

/// The record that has a number already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbered {
    /// Made by a request that said the same.
    Same(u64),
    Other(u64),
}

#[derive(Serialize, Deserialize)]
struct NumberedRecord {
    fingerprint: [u8; 32],
    id: u64,
}

#[derive(Clone, Serialize, Deserialize)]
struct Claim {
    fingerprint: [u8; 32],
    answer: serde_json::Value,
    expires: Timestamp,
}

/// What the store knows of a key, for those whose batch is not a turn's.
pub(crate) struct Look {
    seen: Option<Vec<u8>>,
    claim: Option<Claim>,
}

impl Look {
    pub(crate) fn at(store: &dyn Store, once: &Once) -> Result<Look, StoreError> {
        let key = keys::once(&once.key);
        let seen = store.get(&key)?;
        let claim = seen.as_deref().map(serde_json::from_slice).transpose();
        Ok(Look { claim: claim.map_err(|_| StoreError::damaged(&key, "a claim nobody can read"))?, seen })
    }

    pub(crate) fn says(&self, once: &Once, now: Timestamp) -> Seen {
        match self.claim.as_ref().filter(|claim| now < claim.expires) {
            None => Seen::Fresh,
            Some(claim) if claim.fingerprint == once.fingerprint => Seen::Replay(claim.answer.clone()),
            Some(_) => Seen::Conflict,
        }
    }

    /// Pins the answer to the key in a batch that insists on what was seen.
    pub(crate) fn claim(self, once: &Once, answer: serde_json::Value, now: Timestamp, batch: &mut Batch) {
        let key = keys::once(&once.key);
        batch.expect_unchanged(key.clone(), self.seen);
        if let Some(old) = self.claim {
            batch.delete(keys::once_expiry(old.expires.0, &once.key));
        }
        let expires = now.plus(KEPT);
        let claim = Claim { fingerprint: once.fingerprint, answer, expires };
        batch.put(key, serde_json::to_vec(&claim).expect("plain data makes JSON"));
        batch.put(keys::once_expiry(expires.0, &once.key), Vec::new());
    }
}

impl Docs<'_> {
    /// Whether a request came before. The commit insists that this is still so.
    pub fn once(&mut self, once: &Once, now: Timestamp) -> Result<Seen, TurnError> {
        Ok(match self.once_claim(once)?.filter(|claim| now < claim.expires) {
            None => Seen::Fresh,
            Some(claim) if claim.fingerprint == once.fingerprint => Seen::Replay(claim.answer),
            Some(_) => Seen::Conflict,
        })
    }

    /// Pins the answer to the key, for a day.
    pub fn claim(&mut self, once: &Once, answer: serde_json::Value, now: Timestamp) -> Result<(), TurnError> {
        if let Some(old) = self.once_claim(once)? {
            self.delete(keys::once_expiry(old.expires.0, &once.key));
        }
        let expires = now.plus(KEPT);
        let claim = Claim { fingerprint: once.fingerprint, answer, expires };
        let value = serde_json::to_vec(&claim).map_err(|_| TurnError::Damaged("an answer that cannot be written"))?;
        self.put_raw(keys::once(&once.key), value);
        self.put_raw(keys::once_expiry(expires.0, &once.key), Vec::new());
        Ok(())
    }

    /// The record a client's own number stands for. The commit insists that this is still so.
    pub fn numbered(&mut self, number: &Once) -> Result<Option<Numbered>, TurnError> {
        let Some(bytes) = self.guarded(keys::numbered(&number.key))? else { return Ok(None) };
        let first: NumberedRecord = decode(&bytes)?;
        let same = first.fingerprint == number.fingerprint;
        Ok(Some(if same { Numbered::Same(first.id) } else { Numbered::Other(first.id) }))
    }

    /// From here on the number stands for this record: as long as there are records, so it has no expiry.
    pub fn number(&mut self, number: &Once, id: u64) -> Result<(), TurnError> {
        let first = NumberedRecord { fingerprint: number.fingerprint, id };
        let value = serde_json::to_vec(&first).map_err(|_| TurnError::Damaged("a number that cannot be written"))?;
        self.put_raw(keys::numbered(&number.key), value);
        Ok(())
    }

    fn once_claim(&mut self, once: &Once) -> Result<Option<Claim>, TurnError> {
        self.guarded(keys::once(&once.key))?.map(|bytes| decode(&bytes)).transpose()
    }
}

/// Forgets up to `limit` expired claims; answers how many. A claim renewed meanwhile has another expiry, which fails the batch.
pub(crate) fn forget(store: &dyn Store, now: Timestamp, limit: usize, batch: &mut Batch) -> Result<usize, StoreError> {
    let expired = store.scan_keys(keys::once_expired(now.0), Direction::Forward, limit)?;
    for key in &expired {
        let Some((_, digest)) = keys::parse_once_expiry(key) else { continue };
        batch.expect_present(key.clone()).delete(key.clone()).delete(keys::once(&digest));
    }
    Ok(expired.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::{
        actor::{docs::Home, pool::Pool},
        secrets::Secrets,
        store::{CommitError, MemoryStore, keys::Space},
        upkeep,
    };

    const ONE: Once = Once { key: [1; 32], fingerprint: [7; 32] };
    const OTHER_BODY: Once = Once { key: [1; 32], fingerprint: [8; 32] };
    const OTHER_KEY: Once = Once { key: [2; 32], fingerprint: [7; 32] };

    struct World {
        store: Arc<MemoryStore>,
        pool: Pool,
        secrets: Secrets,
    }

    impl World {
        fn new() -> World {
            World { store: Arc::new(MemoryStore::new()), pool: Pool::default(), secrets: Secrets::from_seed([1; 32]) }
        }

        fn docs(&self, now: i64) -> Docs<'_> {
            let home = Home { source: None, location: 1, now: Timestamp(now) };
            Docs::new(&*self.store, &self.pool, &self.secrets, home)
        }

        /// Answers with the time, unless the request was answered before.
        fn prepare(&self, once: &Once, now: i64) -> (Seen, Batch) {
            let mut docs = self.docs(now);
            let seen = docs.once(once, Timestamp(now)).unwrap();
            if seen == Seen::Fresh {
                docs.claim(once, json!({ "at": now }), Timestamp(now)).unwrap();
            }
            let mut batch = Batch::new();
            docs.into_batch(&mut batch).unwrap();
            (seen, batch)
        }

        fn ask(&self, once: &Once, now: i64) -> Seen {
            let (seen, batch) = self.prepare(once, now);
            self.store.commit_now(batch).unwrap();
            seen
        }

        fn count(&self, space: Space) -> usize {
            self.store.scan_keys(space.range(), Direction::Forward, 9_999).unwrap().len()
        }
    }

    #[test]
    fn the_first_answer_stands_for_a_day() {
        let world = World::new();
        assert_eq!(world.ask(&ONE, 5), Seen::Fresh);
        assert_eq!(world.ask(&ONE, 6), Seen::Replay(json!({ "at": 5 })));
        assert_eq!(world.ask(&OTHER_BODY, 7), Seen::Conflict);
        assert_eq!(world.ask(&OTHER_KEY, 8), Seen::Fresh);
        assert_eq!(world.ask(&ONE, 4 + DAY), Seen::Replay(json!({ "at": 5 })));
        assert_eq!(world.ask(&OTHER_BODY, 5 + DAY), Seen::Fresh);
        assert_eq!(world.ask(&OTHER_BODY, 6 + DAY), Seen::Replay(json!({ "at": 5 + DAY })));
        assert_eq!((world.count(Space::Once), world.count(Space::OnceExpiry)), (2, 2));
    }

    #[test]
    fn of_two_racing_requests_one_passes() {
        let world = World::new();
        let ((first, one), (second, other)) = (world.prepare(&ONE, 5), world.prepare(&ONE, 5));
        assert_eq!((first, second), (Seen::Fresh, Seen::Fresh));
        world.store.commit_now(one).unwrap();
        assert!(matches!(world.store.commit_now(other), Err(CommitError::Conflict { .. })));
        assert_eq!(world.ask(&ONE, 6), Seen::Replay(json!({ "at": 5 })));
    }

    #[test]
    fn expired_claims_are_forgotten_but_not_those_renewed_meanwhile() {
        let world = World::new();
        for n in 0..1_200u64 {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&n.to_be_bytes());
            world.ask(&Once { key, fingerprint: [0; 32] }, n as i64);
        }
        world.ask(&ONE, 0);
        let later = Timestamp(DAY + 599);
        let mut batch = Batch::new();
        assert_eq!(forget(&*world.store, later, 3, &mut batch).unwrap(), 3);
        assert_eq!(world.ask(&ONE, later.0), Seen::Fresh);
        assert!(matches!(world.store.commit_now(batch), Err(CommitError::Conflict { .. })));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime
            .block_on(upkeep::all(&(world.store.clone() as Arc<dyn Store>), later, std::time::Duration::ZERO))
            .unwrap();
        assert_eq!((world.count(Space::Once), world.count(Space::OnceExpiry)), (601, 601));
        assert_eq!(world.ask(&ONE, later.0 + 1), Seen::Replay(json!({ "at": later.0 })));
    }
}
