//! Operators of the service. Their tokens are valid at the operators' listener only, where API keys are not accepted.
//! Only the hash of a token is kept.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use engine::setup::Environment;
use location::{Timestamp, key_kinds::not_empty};

use super::keys::{ApiKey, Grants, KeyHash, hash, hash_digits, parse_hash};
use crate::values::{role::Role, secret::random, words::pairs};

location::settings! {
    /// Operator token of the configuration.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OperatorToken {
        name: String = String::new(), text(not_empty).required().unique("operator name") =>
            reload, "The name of the operator, also used in the log and the audit trail.";
        hash: KeyHash = [0; 32], text_as(parse_hash, hash_digits).required().unique("key hash") =>
            reload "sha256", "The SHA-256 of the token, 64 hexadecimal digits. `practice-sync operators add` makes \
                              both.";
        role: Role = Role::Viewer, word(&pairs::<Role>()).required() => reload, "The role of the token.";
    }
}

#[derive(Debug)]
pub struct Operator {
    pub name: String,
    pub hash: KeyHash,
    pub role: Role,
    /// Timestamp of the last use; 0 if never used.
    last_used: AtomicI64,
    /// Timestamp of the last use that is stored.
    noted: AtomicI64,
}

impl Operator {
    /// Returns the public id of the token. A replaced token of the same name has another id.
    pub fn id(&self) -> String {
        hex::encode(&self.hash[..8])
    }

    pub fn last_used(&self) -> Option<Timestamp> {
        Some(Timestamp(self.last_used.load(Ordering::Relaxed))).filter(|used| used.0 > 0)
    }

    /// Returns the last use if it is not stored yet.
    pub(crate) fn unstored_use(&self) -> Option<Timestamp> {
        self.last_used().filter(|used| used.0 > self.noted.load(Ordering::Relaxed))
    }

    pub(crate) fn mark_stored(&self, used: Timestamp) {
        self.noted.fetch_max(used.0, Ordering::Relaxed);
    }

    pub fn used(&self, now: Timestamp) {
        self.last_used.fetch_max(now.0, Ordering::Relaxed);
    }

    /// Returns the API key that represents the operator in calls. It reaches every institution, within the limits of
    /// the role.
    pub(crate) fn as_caller(&self) -> ApiKey {
        ApiKey {
            name: self.name.clone(),
            hash: self.hash,
            environment: Environment::Production,
            institutions: Vec::new(),
            locations: None,
            grants: Grants { financial: true, beta: true },
            organisation: String::new(),
            channel: None,
            role: Some(self.role),
        }
    }
}

#[derive(Default)]
pub struct Operators {
    by_hash: HashMap<KeyHash, Arc<Operator>>,
}

impl Operators {
    /// Finds the operator by the token as sent.
    pub fn presented(&self, token: &str) -> Option<&Arc<Operator>> {
        self.by_hash.get(&hash(token))
    }

    pub fn by_id(&self, id: &str) -> Option<&Arc<Operator>> {
        self.all().find(|operator| operator.id() == id)
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<Operator>> {
        self.by_hash.values()
    }

    /// Returns the operators with these tokens. An unchanged token keeps its last use; `noted` returns the stored last
    /// use of a new token.
    pub(crate) fn replaced(
        &self,
        tokens: Vec<OperatorToken>,
        noted: impl Fn(&KeyHash) -> Option<Timestamp>,
    ) -> Operators {
        let new = tokens.iter().map(|token| token.hash).filter(|hash| !self.by_hash.contains_key(hash));
        let noted: HashMap<KeyHash, i64> = new.filter_map(|hash| Some((hash, noted(&hash)?.0))).collect();
        let by_hash = tokens.into_iter().map(|OperatorToken { name, hash, role }| {
            let load = |time: &AtomicI64| AtomicI64::new(time.load(Ordering::Relaxed));
            let (last_used, noted) = match self.by_hash.get(&hash) {
                Some(known) => (load(&known.last_used), load(&known.noted)),
                None => {
                    let used = noted.get(&hash).copied().unwrap_or_default();
                    (AtomicI64::new(used), AtomicI64::new(used))
                }
            };
            (hash, Arc::new(Operator { name, hash, role, last_used, noted }))
        });
        Operators { by_hash: by_hash.collect() }
    }
}

/// Prefix that distinguishes operator tokens from other credentials.
pub(crate) const PREFIX: &str = "pso_";

/// Creates a token. Only its hash may be stored.
pub fn new_token() -> String {
    format!("{PREFIX}{}", hex::encode(random::<32>()))
}
