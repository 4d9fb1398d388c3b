//! API keys and their permissions. Only the hash of a key is kept.

use std::{collections::HashMap, sync::Arc};

use arc_swap::ArcSwap;
use engine::setup::{Environment, Institution};
use location::{InstitutionId, LocationId};
use sha2::{Digest, Sha256};

use crate::values::{grant::Grant, role::Role, secret::random, words::WireEnum};

pub(crate) type KeyHash = [u8; 32];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    pub name: String,
    pub hash: KeyHash,
    pub environment: Environment,
    pub institutions: Vec<InstitutionId>,
    /// `None` for all locations of the institutions.
    pub locations: Option<Vec<LocationId>>,
    pub grants: Grants,
    /// The organisation that owns the webhook endpoints created with this key.
    pub organisation: String,
    /// The channel of the caller, such as `voice`, for which booking rules may differ.
    pub channel: Option<String>,
    /// Role of an operator, who reaches every institution; `None` for an API key.
    pub role: Option<Role>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Access to charges, claims, payments, fee schedules and insurance plans (specification 5.10).
    pub financial: bool,
    /// Access to version v3.1.0.
    pub beta: bool,
}

impl Grants {
    pub fn has(self, grant: Grant) -> bool {
        match grant {
            Grant::Financial => self.financial,
            Grant::Beta => self.beta,
        }
    }

    pub fn give(&mut self, grant: Grant) {
        match grant {
            Grant::Financial => self.financial = true,
            Grant::Beta => self.beta = true,
        }
    }

    pub fn listed(self) -> impl Iterator<Item = Grant> {
        Grant::ALL.iter().copied().filter(move |grant| self.has(*grant))
    }
}

impl ApiKey {
    /// Returns the key's id in tokens. A replaced key of the same name has another id.
    pub fn id(&self) -> String {
        hex::encode(&self.hash[..8])
    }

    /// Returns a numeric id for internal use.
    pub fn short(&self) -> u64 {
        self.hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    pub fn reaches_institution(&self, institution: &Institution) -> bool {
        let granted = || self.environment == institution.environment && self.institutions.contains(&institution.id);
        self.role.is_some() || granted()
    }

    pub fn reaches(&self, location: LocationId) -> bool {
        self.locations.as_ref().is_none_or(|only| only.contains(&location))
    }

    /// Returns the key with the rights that it has in both versions. Returns `None` if `new` is another key, or belongs
    /// to another environment.
    pub fn restricted_to(&self, new: &ApiKey) -> Option<ApiKey> {
        if (self.hash, self.environment) != (new.hash, new.environment) {
            return None;
        }
        let mut key = self.clone();
        key.institutions.retain(|id| new.institutions.contains(id));
        key.locations = match (key.locations.take(), &new.locations) {
            (Some(before), Some(now)) => Some(before.into_iter().filter(|id| now.contains(id)).collect()),
            (before, now) => before.or_else(|| now.clone()),
        };
        key.grants.financial &= new.grants.financial;
        key.grants.beta &= new.grants.beta;
        Some(key)
    }
}

#[derive(Default)]
pub struct Keys {
    by_hash: HashMap<KeyHash, Arc<ApiKey>>,
    by_id: HashMap<String, Arc<ApiKey>>,
    by_organisation: HashMap<String, Vec<Arc<ApiKey>>>,
}

impl Keys {
    pub fn new(keys: impl IntoIterator<Item = ApiKey>) -> Keys {
        let mut all = Keys::default();
        for key in keys.into_iter().map(Arc::new) {
            all.by_hash.insert(key.hash, key.clone());
            all.by_organisation.entry(key.organisation.clone()).or_default().push(key.clone());
            all.by_id.insert(key.id(), key);
        }
        all
    }

    /// Finds the key as a client sends it to POST /authenticates.
    pub fn presented(&self, key: &str) -> Option<&Arc<ApiKey>> {
        self.by_hash.get(&hash(key))
    }

    /// Returns all keys, in no particular order.
    pub fn all(&self) -> impl Iterator<Item = &Arc<ApiKey>> {
        self.by_id.values()
    }

    /// Finds the key that a token was issued for.
    pub fn by_id(&self, id: &str) -> Option<&Arc<ApiKey>> {
        self.by_id.get(id)
    }

    /// Returns the keys of an organisation that reach an institution.
    pub fn for_institution(
        &self,
        organisation: &str,
        institution: InstitutionId,
    ) -> impl Iterator<Item = &Arc<ApiKey>> {
        let all = self.by_organisation.get(organisation).into_iter().flatten();
        all.filter(move |key| key.institutions.contains(&institution))
    }
}

/// Shared handle to the current keys.
#[derive(Clone)]
pub struct KeyRing(Arc<ArcSwap<Keys>>);

impl From<Vec<ApiKey>> for KeyRing {
    fn from(keys: Vec<ApiKey>) -> KeyRing {
        KeyRing(Arc::new(ArcSwap::from_pointee(Keys::new(keys))))
    }
}

impl KeyRing {
    pub fn keys(&self) -> Arc<Keys> {
        self.0.load_full()
    }

    pub fn replace(&self, keys: Vec<ApiKey>) {
        self.0.store(Arc::new(Keys::new(keys)));
    }
}

pub fn hash(key: &str) -> KeyHash {
    Sha256::digest(key.as_bytes()).into()
}

/// Parses the hash of a key or a token in the key file.
pub fn parse_hash(text: &str) -> Result<KeyHash, String> {
    let mut hash = [0; 32];
    let read = hex::decode_to_slice(text, &mut hash);
    read.map(|()| hash)
        .map_err(|_| "must be the SHA-256 of a key: 64 hexadecimal digits (see `keys add`, `operators add`)".into())
}

pub fn hash_digits(hash: &KeyHash) -> String {
    hex::encode(hash)
}

/// Creates a key. Only its hash may be stored.
pub fn new_key() -> String {
    format!("psk_{}", hex::encode(random::<32>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(institutions: &[u32], locations: Option<&[u32]>, beta: bool) -> ApiKey {
        ApiKey {
            name: "app".to_owned(),
            hash: [1; 32],
            environment: Environment::Sandbox,
            institutions: institutions.iter().copied().map(InstitutionId).collect(),
            locations: locations.map(|ids| ids.iter().copied().map(LocationId).collect()),
            grants: Grants { financial: true, beta },
            organisation: "app".to_owned(),
            channel: None,
            role: None,
        }
    }

    #[test]
    fn a_changed_key_keeps_the_rights_of_both_versions() {
        for (before, now, both) in [
            (key(&[1], Some(&[1]), false), key(&[1, 2], Some(&[1, 3]), true), key(&[1], Some(&[1]), false)),
            (key(&[1, 2], None, true), key(&[1], Some(&[1]), false), key(&[1], Some(&[1]), false)),
            (key(&[1], Some(&[1, 2]), true), key(&[1], None, true), key(&[1], Some(&[1, 2]), true)),
            (key(&[1], None, true), key(&[1], None, true), key(&[1], None, true)),
        ] {
            assert_eq!(before.restricted_to(&now), Some(both));
        }
    }

    #[test]
    fn a_replaced_key_or_one_of_another_environment_keeps_no_rights() {
        let before = key(&[1], None, true);
        let moved = ApiKey { environment: Environment::Production, ..before.clone() };
        for now in [ApiKey { hash: [2; 32], ..before.clone() }, moved] {
            assert_eq!(before.restricted_to(&now), None);
        }
    }
}
