//! Operators: who runs the service. They have tokens of their own, which open the operators' listener and nothing else; API keys open nothing
//! there. Only the hash of a token is known here.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicI64, Ordering},
    },
};

use engine::setup::Environment;
use location::time::Timestamp;

use super::keys::{ApiKey, Grants, KeyHash, hash};
use crate::values::{role::Role, secret::random};

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
    /// When it was last presented; 0: never.
    last_used: AtomicI64,
    /// What of that is in the store.
    noted: AtomicI64,
}

impl Operator {
    /// Names the token; no secret. A token that is replaced under the same name has another id.
    pub fn id(&self) -> String {
        hex::encode(&self.hash[..8])
    }

    pub fn last_used(&self) -> Option<Timestamp> {
        Some(Timestamp(self.last_used.load(Ordering::Relaxed))).filter(|used| used.0 > 0)
    }

    /// What the store does not know yet.
    pub(crate) fn unnoted(&self) -> Option<Timestamp> {
        self.last_used().filter(|used| used.0 > self.noted.load(Ordering::Relaxed))
    }

    pub(crate) fn is_noted(&self, used: Timestamp) {
        self.noted.fetch_max(used.0, Ordering::Relaxed);
    }

    pub(crate) fn used(&self, now: Timestamp) {
        self.last_used.fetch_max(now.0, Ordering::Relaxed);
    }

    /// As calls know who calls: somebody who reaches everything, as far as the role goes.
    pub(crate) fn as_caller(&self) -> ApiKey {
        ApiKey {
            name: self.name.clone(),
            hash: self.hash,
            environment: Environment::Production,
            institutions: Vec::new(),
            locations: None,
            grants: Grants { financial: true, beta: true },
            organisation: String::new(),
            role: Some(self.role),
        }
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

    /// A token that stays keeps when it was last used; `noted` says it of one that comes.
    pub(crate) fn replace(&self, tokens: Vec<OperatorToken>, noted: impl Fn(&KeyHash) -> Option<Timestamp>) {
        // The store is asked before the lock is held, for every call of an operator waits for that.
        let before = self.operators();
        let new = tokens.iter().map(|token| token.hash).filter(|hash| !before.by_hash.contains_key(hash));
        let noted: HashMap<KeyHash, i64> = new.filter_map(|hash| Some((hash, noted(&hash)?.0))).collect();
        let mut now = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let by_hash = tokens.into_iter().map(|OperatorToken { name, hash, role }| {
            let load = |time: &AtomicI64| AtomicI64::new(time.load(Ordering::Relaxed));
            let (last_used, noted) = match now.by_hash.get(&hash) {
                Some(before) => (load(&before.last_used), load(&before.noted)),
                None => {
                    let used = noted.get(&hash).copied().unwrap_or_default();
                    (AtomicI64::new(used), AtomicI64::new(used))
                }
            };
            (hash, Arc::new(Operator { name, hash, role, last_used, noted }))
        });
        *now = Arc::new(Operators { by_hash: by_hash.collect() });
    }
}

/// What tells a token of operators from other credentials.
pub(crate) const PREFIX: &str = "pso_";

/// A new token; nothing but its hash should be kept.
pub(crate) fn new_token() -> String {
    format!("{PREFIX}{}", hex::encode(random::<32>()))
}
