//! Which writing of a value one is.

use super::key_id::KeyId;

/// Differs for any two values a store was ever given, those of one key and content included: a precondition names it instead of the value.
/// It means something to the store it came from only, and says nothing of what is older or newer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Version(pub(crate) u128);

impl Version {
    /// The nonce of a sealed value: never drawn twice, and the sum over all values shows whether one is missing, old or too many.
    pub(crate) fn of(sealed: &[u8]) -> Self {
        let nonce = sealed.get(1..).and_then(|nonce| nonce.split_first_chunk::<16>());
        // Damage that opening the value reports.
        let Some((prefix, rest)) = nonce else { return Self(0) };
        let index = rest.first_chunk::<8>().map_or(0, |index| u64::from_be_bytes(*index));
        Self(u128::from_be_bytes(*prefix).wrapping_add(u128::from(index) << 64))
    }

    /// The nonce of this version under a key that it was not sealed with before.
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

/// A value as a read found it.
#[derive(Clone, PartialEq, Eq)]
pub struct Versioned {
    pub value: Vec<u8>,
    pub version: Version,
}

/// Values may be patient data.
impl std::fmt::Debug for Versioned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Versioned({:?}, {} bytes, redacted)", self.version, self.value.len())
    }
}
