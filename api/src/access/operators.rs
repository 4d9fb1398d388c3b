//! Operators: who runs the service. They have tokens of their own, which open the operators' listener and nothing else; API keys open nothing
//! there. Only the hash of a token is known here.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicI64, Ordering},
    },
};

use location::time::Timestamp;

use super::keys::{KeyHash, hash};
use crate::values::role::Role;

/// As the configuration has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorToken {
    pub name: String,
    pub hash: KeyHash,
    pub role: Role,
}

/// Whose token it is.
#[derive(Debug)]
pub struct Operator {
    pub name: String,
    pub hash: KeyHash,
    pub role: Role,
    /// When it was last presented; 0: never since the start.
    last_used: AtomicI64,
}

impl Operator {
    /// Names the token; no secret. A token that is replaced under the same name has another id.
    pub fn id(&self) -> String {
        hex::encode(&self.hash[..8])
    }

    pub fn last_used(&self) -> Option<Timestamp> {
        Some(Timestamp(self.last_used.load(Ordering::Relaxed))).filter(|used| used.0 > 0)
    }

    pub(crate) fn used(&self, now: Timestamp) {
        self.last_used.fetch_max(now.0, Ordering::Relaxed);
    }
}

/// Those there are now.
#[derive(Default)]
pub struct Operators {
    by_hash: HashMap<KeyHash, Arc<Operator>>,
}

impl Operators {
    /// The token itself, as an operator sends it.
    pub fn presented(&self, token: &str) -> Option<&Arc<Operator>> {
        self.by_hash.get(&hash(token))
    }

    pub fn by_id(&self, id: &str) -> Option<&Arc<Operator>> {
        self.all().find(|operator| operator.id() == id)
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<Operator>> {
        self.by_hash.values()
    }
}

#[derive(Default)]
pub(crate) struct OperatorRing(RwLock<Arc<Operators>>);

impl OperatorRing {
    pub(crate) fn operators(&self) -> Arc<Operators> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A token that stays keeps when it was last used.
    pub(crate) fn replace(&self, tokens: Vec<OperatorToken>) {
        let mut now = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let by_hash = tokens.into_iter().map(|OperatorToken { name, hash, role }| {
            let used = now.by_hash.get(&hash).map_or(0, |before| before.last_used.load(Ordering::Relaxed));
            (hash, Arc::new(Operator { name, hash, role, last_used: AtomicI64::new(used) }))
        });
        *now = Arc::new(Operators { by_hash: by_hash.collect() });
    }
}
