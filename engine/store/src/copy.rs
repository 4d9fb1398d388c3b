//! Copies all values of one store to another, in key order, and resumes an interrupted copy. The last number
//! of the feed is copied separately, because one store has a single number and another one per owner.

use sha2::{Digest, Sha256};

use super::{Batch, CommitError, Direction, KeyRange, Store, StoreError, keys};

/// Values per read: few enough that even the largest values fit into memory.
const PAGE: usize = 100;
/// Number and size of the values per commit.
const AT_ONCE: usize = 1_000;
const AT_ONCE_BYTES: usize = 4 << 20;

/// A summary of the contents of a store, for comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Number of values, without the feed's last number, which is part of the digest.
    pub values: u64,
    pub digest: [u8; 32],
}

/// Copies the values after the last key of `to`, which must have no other writer. Reports the number of
/// values copied by each step.
pub async fn copy(from: &dyn Store, to: &dyn Store, mut copied: impl FnMut(u64)) -> Result<(), StoreError> {
    let mut rest = KeyRange::prefix(&[]);
    if let Some(last) = to.scan_keys(rest.clone(), Direction::Backward, 1)?.pop() {
        rest = rest.after(&last);
    }
    let (mut batch, mut bytes) = (Batch::new(), 0);
    loop {
        let page = from.scan(rest.clone(), Direction::Forward, PAGE)?;
        let Some((last, _)) = page.last() else { break };
        rest = rest.after(last);
        for (key, value) in page.into_iter().filter(|(key, _)| *key != keys::feed_end()) {
            bytes += value.len();
            batch.put(key, value);
            if batch.writes().len() >= AT_ONCE || bytes >= AT_ONCE_BYTES {
                bytes = 0;
                copied(write(to, std::mem::take(&mut batch)).await?);
            }
        }
    }
    let end = from.feed_end(None)?;
    if end > 0 {
        batch.put(keys::feed_end(), end.to_be_bytes().to_vec());
    }
    copied(write(to, batch).await?);
    Ok(())
}

pub(crate) async fn write(to: &dyn Store, batch: Batch) -> Result<u64, StoreError> {
    let values = batch.writes().len() as u64;
    match to.commit(batch).await {
        Ok(()) => Ok(values),
        Err(CommitError::Store(error)) => Err(error),
        Err(other) => Err(StoreError::Refusing { why: other.to_string() }),
    }
}

/// Reads the whole store. Reports the number of values read by each step.
pub fn contents(of: &dyn Store, mut read: impl FnMut(u64)) -> Result<Contents, StoreError> {
    let (mut values, mut hash, mut rest) = (0, Sha256::new(), KeyRange::prefix(&[]));
    loop {
        let page = of.scan(rest.clone(), Direction::Forward, PAGE)?;
        let Some((last, _)) = page.last() else { break };
        rest = rest.after(last);
        let own = page.iter().filter(|(key, _)| *key != keys::feed_end());
        for part in own.clone().flat_map(|(key, value)| [key, value]) {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let count = own.count() as u64;
        values += count;
        read(count);
    }
    hash.update(of.feed_end(None)?.to_be_bytes());
    Ok(Contents { values, digest: hash.finalize().into() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{MemoryStore, keys, memory::Fault};

    fn filled(values: u64) -> MemoryStore {
        let store = MemoryStore::new();
        let mut batch = Batch::new();
        for n in 0..values {
            batch.put(keys::record(1, 1, n), vec![n as u8; (n % 90) as usize]);
        }
        batch.append(7, vec![1]).append(7, vec![2]);
        store.commit_now(batch).unwrap();
        store
    }

    #[tokio::test]
    async fn an_interrupted_copy_resumes_at_its_end() {
        let (from, to) = (filled(3_500), MemoryStore::new());
        let (mut reported, mut again) = (0, 0);
        for _ in 0..2 {
            to.fail_next_commit(Fault::LoseAnswer);
        }
        assert!(copy(&from, &to, |values| reported += values).await.is_err());
        assert_eq!(contents(&to, |_| {}).unwrap().values, 1_000, "one commit was written");
        assert!(copy(&from, &to, |values| reported += values).await.is_err());
        copy(&from, &to, |values| again += values).await.unwrap();
        assert_eq!((reported, again), (0, 1_503));
        let (mut read, left) = (0, contents(&from, |_| {}).unwrap());
        assert_eq!(contents(&to, |values| read += values).unwrap(), left);
        assert_eq!((left.values, read), (3_502, 3_502));
    }

    #[test]
    fn contents_differ_by_any_key_or_value() {
        let all = contents(&filled(300), |_| {}).unwrap();
        assert_eq!(contents(&filled(300), |_| {}).unwrap(), all);
        for (key, value) in [(keys::record(1, 1, 7), vec![8; 7]), (keys::record(1, 1, 300), vec![])] {
            let store = filled(300);
            let mut batch = Batch::new();
            batch.put(key, value);
            store.commit_now(batch).unwrap();
            assert_ne!(contents(&store, |_| {}).unwrap(), all);
        }
    }
}
