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

#[derive(Serialize, Deserialize)]
struct Claim {
    fingerprint: [u8; 32],
    answer: serde_json::Value,
    expires: Timestamp,
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
