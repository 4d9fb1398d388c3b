//! Identifiers of sealing keys, contained in each sealed value.

use std::{fmt, str::FromStr};

use sha2::{Digest, Sha256};

/// Identifies a key without revealing it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId(pub(crate) u32);

impl KeyId {
    /// The id of the key that the store was created with.
    pub const FIRST: KeyId = KeyId(0);

    pub(crate) fn from_key(key: &[u8; 32]) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"practice-sync store key");
        hash.update(key);
        let digest: [u8; 32] = hash.finalize().into();
        Self(u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

impl FromStr for KeyId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let id = u32::from_str_radix(text, 16).ok().filter(|_| text.len() == 8);
        id.map(Self).ok_or("the id of a key has 8 hex digits")
    }
}
