//! Idempotency keys: a repeated request with the same key receives the first response for a day. The key is
//! read and written in the batch of the created record. Of two concurrent requests, one commits, and the
//! other one sees its response.

use location::time::{DAY, Millis, Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use store::{Batch, Direction, Key, Store, StoreError, keys};

/// Retention of idempotency keys.
pub const KEPT: Millis = DAY;

/// The identification of a request. `key` is a digest of the idempotency key and its owner, `fingerprint` a
/// digest of the request's content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub key: [u8; 32],
    pub fingerprint: [u8; 32],
}

impl std::fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IdempotencyKey(redacted)")
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Lookup {
    Fresh,
    /// The response to the same request.
    Replay(serde_json::Value),
    /// The key was used for a different request.
    Conflict,
}

/// The record that already has a client's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbered {
    /// Created by a request with the same content.
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

/// Access to values with preconditions: the commit fails if a value that was read has changed.
pub trait GuardedValues {
    fn read(&mut self, key: Key) -> Result<Option<Vec<u8>>, StoreError>;
    /// Writes a value; `None` deletes it.
    fn write(&mut self, key: Key, value: Option<Vec<u8>>);
}

/// Guarded access through a batch.
pub struct InBatch<'a> {
    pub store: &'a dyn Store,
    pub batch: &'a mut Batch,
}

impl GuardedValues for InBatch<'_> {
    fn read(&mut self, key: Key) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.store.read(&key)?;
        self.batch.expect_unchanged(key, found.as_ref().map(|found| found.version));
        Ok(found.map(|found| found.value))
    }

    fn write(&mut self, key: Key, value: Option<Vec<u8>>) {
        match value {
            Some(value) => self.batch.put(key, value),
            None => self.batch.delete(key),
        };
    }
}

/// Looks up an earlier request with the same key.
pub fn lookup(values: &mut impl GuardedValues, key: &IdempotencyKey, now: Timestamp) -> Result<Lookup, StoreError> {
    let claim: Option<Claim> = parsed(values, keys::once(&key.key))?;
    Ok(match claim.filter(|claim| now < claim.expires) {
        None => Lookup::Fresh,
        Some(claim) if claim.fingerprint == key.fingerprint => Lookup::Replay(claim.answer),
        Some(_) => Lookup::Conflict,
    })
}

/// Stores the response under the key for a day.
pub fn remember(
    values: &mut impl GuardedValues,
    key: &IdempotencyKey,
    answer: serde_json::Value,
    now: Timestamp,
) -> Result<(), StoreError> {
    let old: Option<Claim> = parsed(values, keys::once(&key.key))?;
    if let Some(old) = old {
        values.write(keys::once_expiry(old.expires.0, &key.key), None);
    }
    let expires = now.plus(KEPT);
    let claim = Claim { fingerprint: key.fingerprint, answer, expires };
    values.write(keys::once(&key.key), Some(json(&claim)));
    values.write(keys::once_expiry(expires.0, &key.key), Some(Vec::new()));
    Ok(())
}

/// Returns the record with a client's number, if any.
pub fn numbered(values: &mut impl GuardedValues, number: &IdempotencyKey) -> Result<Option<Numbered>, StoreError> {
    let first: Option<NumberedRecord> = parsed(values, keys::numbered(&number.key))?;
    Ok(first.map(|first| match first.fingerprint == number.fingerprint {
        true => Numbered::Same(first.id),
        false => Numbered::Other(first.id),
    }))
}

/// Assigns the client's number to this record. The assignment does not expire.
pub fn number(values: &mut impl GuardedValues, number: &IdempotencyKey, id: u64) {
    let first = NumberedRecord { fingerprint: number.fingerprint, id };
    values.write(keys::numbered(&number.key), Some(json(&first)));
}

fn parsed<T: DeserializeOwned>(values: &mut impl GuardedValues, key: Key) -> Result<Option<T>, StoreError> {
    let bytes = values.read(key.clone())?;
    let parsed = bytes.as_deref().map(serde_json::from_slice).transpose();
    parsed.map_err(|_| StoreError::damaged(&key, "an idempotency key that cannot be decoded"))
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain data makes JSON")
}

/// Deletes up to `limit` expired keys and returns their number. A key renewed in the meantime has another
/// expiry time, which makes the batch fail.
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
    use store::{CommitError, MemoryStore, keys::Space};

    use super::*;
    use crate::{feed::Followed, retention};

    const ONE: IdempotencyKey = IdempotencyKey { key: [1; 32], fingerprint: [7; 32] };
    const OTHER_BODY: IdempotencyKey = IdempotencyKey { key: [1; 32], fingerprint: [8; 32] };
    const OTHER_KEY: IdempotencyKey = IdempotencyKey { key: [2; 32], fingerprint: [7; 32] };

    struct IdempotencyWorld {
        store: Arc<MemoryStore>,
    }

    impl IdempotencyWorld {
        fn new() -> IdempotencyWorld {
            IdempotencyWorld { store: Arc::new(MemoryStore::new()) }
        }

        /// Responds with the time, unless the request is a repetition.
        fn prepare(&self, key: &IdempotencyKey, now: i64) -> (Lookup, Batch) {
            let mut batch = Batch::new();
            let mut values = InBatch { store: &*self.store, batch: &mut batch };
            let seen = lookup(&mut values, key, Timestamp(now)).unwrap();
            if seen == Lookup::Fresh {
                remember(&mut values, key, json!({ "at": now }), Timestamp(now)).unwrap();
            }
            (seen, batch)
        }

        fn ask(&self, once: &IdempotencyKey, now: i64) -> Lookup {
            let (seen, batch) = self.prepare(once, now);
            self.store.commit_now(batch).unwrap();
            seen
        }

        fn count(&self, space: Space) -> usize {
            self.store.scan_keys(space.range(), Direction::Forward, 9_999).unwrap().len()
        }
    }

    #[test]
    fn the_first_response_is_replayed_for_a_day() {
        let world = IdempotencyWorld::new();
        assert_eq!(world.ask(&ONE, 5), Lookup::Fresh);
        assert_eq!(world.ask(&ONE, 6), Lookup::Replay(json!({ "at": 5 })));
        assert_eq!(world.ask(&OTHER_BODY, 7), Lookup::Conflict);
        assert_eq!(world.ask(&OTHER_KEY, 8), Lookup::Fresh);
        assert_eq!(world.ask(&ONE, 4 + DAY), Lookup::Replay(json!({ "at": 5 })));
        assert_eq!(world.ask(&OTHER_BODY, 5 + DAY), Lookup::Fresh);
        assert_eq!(world.ask(&OTHER_BODY, 6 + DAY), Lookup::Replay(json!({ "at": 5 + DAY })));
        assert_eq!((world.count(Space::Once), world.count(Space::OnceExpiry)), (2, 2));
    }

    #[test]
    fn only_one_of_two_racing_requests_commits() {
        let world = IdempotencyWorld::new();
        let ((first, one), (second, other)) = (world.prepare(&ONE, 5), world.prepare(&ONE, 5));
        assert_eq!((first, second), (Lookup::Fresh, Lookup::Fresh));
        world.store.commit_now(one).unwrap();
        assert!(matches!(world.store.commit_now(other), Err(CommitError::Conflict { .. })));
        assert_eq!(world.ask(&ONE, 6), Lookup::Replay(json!({ "at": 5 })));
    }

    #[test]
    fn expired_keys_are_deleted_unless_renewed_meanwhile() {
        let world = IdempotencyWorld::new();
        for n in 0..1_200u64 {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&n.to_be_bytes());
            world.ask(&IdempotencyKey { key, fingerprint: [0; 32] }, n as i64);
        }
        world.ask(&ONE, 0);
        let later = Timestamp(DAY + 599);
        let mut batch = Batch::new();
        assert_eq!(forget(&*world.store, later, 3, &mut batch).unwrap(), 3);
        assert_eq!(world.ask(&ONE, later.0), Lookup::Fresh);
        assert!(matches!(world.store.commit_now(batch), Err(CommitError::Conflict { .. })));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let followed: Arc<Followed> = Arc::new(|_| Ok(u64::MAX));
        runtime
            .block_on(retention::all(
                &Arc::default(),
                &(world.store.clone() as Arc<dyn Store>),
                &followed,
                later,
                std::time::Duration::ZERO,
            ))
            .unwrap();
        assert_eq!((world.count(Space::Once), world.count(Space::OnceExpiry)), (601, 601));
        assert_eq!(world.ask(&ONE, later.0 + 1), Lookup::Replay(json!({ "at": later.0 })));
    }
}
