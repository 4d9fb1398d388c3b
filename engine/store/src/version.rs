//! Versions of values.

use super::KeyId;

/// Identifies one write of a value. Two writes never have the same version, even of the same key and content,
/// so preconditions compare versions instead of values. A version is meaningful only to its store, and
/// versions have no order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Version(pub(crate) u128);

impl Version {
    /// Returns the version of a sealed value, derived from its nonce. Nonces are never reused. The sum of all
    /// versions reveals missing, old and surplus values.
    pub(crate) fn from_sealed(sealed: &[u8]) -> Self {
        let nonce = sealed.get(1..).and_then(|nonce| nonce.split_first_chunk::<16>());
        // Opening the value reports this damage.
        let Some((prefix, rest)) = nonce else { return Self(0) };
        let index = rest.first_chunk::<8>().map_or(0, |index| u64::from_be_bytes(*index));
        Self(u128::from_be_bytes(*prefix).wrapping_add(u128::from(index) << 64))
    }

    /// Returns the nonce of this version under a key that has not sealed it before.
    pub(crate) fn nonce(self, id: KeyId) -> [u8; 24] {
        let index = u64::from(id.0) << 32;
        let mut nonce = [0; 24];
        nonce[..16].copy_from_slice(&self.0.wrapping_sub(u128::from(index) << 64).to_be_bytes());
        nonce[16..].copy_from_slice(&index.to_be_bytes());
        nonce
    }
}

impl std::fmt::Debug for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Version({:x})", self.0)
    }
}

/// A value that was read but not opened, with the version of its write. `Store::unseal` returns the content.
#[derive(Clone)]
pub struct SealedValue {
    pub version: Version,
    /// The value in the form of its store: sealed, or plain in memory.
    pub(crate) bytes: Vec<u8>,
}

impl SealedValue {
    pub(crate) fn new(sealed: Vec<u8>) -> Self {
        Self { version: Version::from_sealed(&sealed), bytes: sealed }
    }
}

/// A value with the version of its write.
#[derive(Clone, PartialEq, Eq)]
pub struct Versioned {
    pub value: Vec<u8>,
    pub version: Version,
}

/// Omits the value, which may be patient data.
impl std::fmt::Debug for Versioned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Versioned({:?}, {} bytes, redacted)", self.version, self.value.len())
    }
}
