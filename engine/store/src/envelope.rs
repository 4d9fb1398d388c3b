//! The stored form of a value: encrypted and authenticated together with its key, so that it can be neither
//! read, altered nor moved: `[1][nonce 24][ciphertext][tag 16]`. An engine may split it into chunks.
//!
//! The nonce consists of 16 random bytes per batch, the id of the sealing key (4 bytes) and a counter (4
//! bytes). In earlier versions the counter had all 8 bytes, but never exceeded 4. Values of those versions
//! therefore contain the key id 0.

use std::{io, sync::Arc};

use chacha20poly1305::{
    Key as CipherKey, KeyInit, Tag, XChaCha20Poly1305, XNonce,
    aead::{AeadInOut, inout::InOutBuf},
};
use parking_lot::{RwLock, RwLockReadGuard};

use super::{error::StoreError, key_id::KeyId, keys, store_keys::StoreKeys, version::Version};

const FORMAT: u8 = 1;
const NONCE: usize = 24;
const TAG: usize = 16;

pub(super) struct Envelope {
    ring: RwLock<Arc<Ring>>,
    /// Read-locked while values are sealed, until they are in the queue of the committer.
    sealing: RwLock<()>,
}

struct Ring {
    ciphers: Vec<(KeyId, XChaCha20Poly1305)>,
    newest: (KeyId, XChaCha20Poly1305),
}

impl Ring {
    fn from_keys(keys: &StoreKeys) -> Arc<Self> {
        let cipher = |key: [u8; 32]| XChaCha20Poly1305::new(&CipherKey::from(key));
        let ciphers: Vec<_> = keys.all().map(|(id, key)| (*id, cipher(key.0))).collect();
        let newest = ciphers.last().cloned().expect("there is one key at least");
        Arc::new(Self { ciphers, newest })
    }

    fn cipher(&self, id: KeyId) -> Option<&XChaCha20Poly1305> {
        self.ciphers.iter().find(|(known, _)| *known == id).map(|(_, cipher)| cipher)
    }
}

impl Envelope {
    pub(crate) fn new(keys: &StoreKeys) -> Self {
        Self { ring: RwLock::new(Ring::from_keys(keys)), sealing: RwLock::new(()) }
    }

    fn ring(&self) -> Arc<Ring> {
        self.ring.read().clone()
    }

    /// Returns a guard to hold from the sealing of a batch until it is in the queue.
    pub(crate) fn sealing(&self) -> RwLockReadGuard<'_, ()> {
        self.sealing.read()
    }

    /// Seals with the newest of these keys from now on. Returns after all values sealed with an earlier key are
    /// in the queue.
    pub(crate) fn use_keys(&self, keys: &StoreKeys) {
        let _exclusive = self.sealing.write();
        *self.ring.write() = Ring::from_keys(keys);
    }

    /// Returns a sealer for one batch. It draws random bytes once and derives a unique nonce for each value.
    pub(crate) fn sealer(&self) -> Result<Sealer, StoreError> {
        let mut prefix = [0; 16];
        getrandom::fill(&mut prefix)
            .map_err(io::Error::other)
            .map_err(StoreError::io("the system's random numbers"))?;
        Ok(Sealer { ring: self.ring(), prefix, index: 0 })
    }

    /// Decrypts a value in place.
    pub(crate) fn open(&self, key: &[u8], mut sealed: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        let damaged = |what| StoreError::damaged(key, what);
        let id = sealed_with(&sealed);
        let Some((&mut FORMAT, body)) = sealed.split_first_mut() else {
            return Err(damaged("a record of an unknown format"));
        };
        let (nonce, rest) = body.split_first_chunk_mut::<NONCE>().ok_or_else(|| damaged("a record is cut short"))?;
        let (text, tag) = rest.split_last_chunk_mut::<TAG>().ok_or_else(|| damaged("a record is cut short"))?;
        let length = text.len();
        let ring = self.ring();
        let cipher = ring.cipher(id).ok_or_else(|| StoreError::NoKey { space: keys::space_name(key), id })?;
        cipher
            .decrypt_inout_detached(&XNonce::from(*nonce), key, InOutBuf::from(text), &Tag::from(*tag))
            .map_err(|_| damaged("a record does not match its checksum"))?;
        sealed.copy_within(1 + NONCE..1 + NONCE + length, 0);
        sealed.truncate(length);
        Ok(sealed)
    }

    /// Seals a value with the newest key, or returns `None` if it already is. The version stays the same, and
    /// with it the preconditions of readers and the sum of the watermark. The nonce stays unique, because a
    /// version never has two contents.
    pub(crate) fn reseal(&self, key: &[u8], sealed: Vec<u8>) -> Result<Option<Vec<u8>>, StoreError> {
        let ring = self.ring();
        let (id, cipher) = &ring.newest;
        if sealed_with(&sealed) == *id {
            return Ok(None);
        }
        let version = Version::from_sealed(&sealed);
        let value = self.open(key, sealed)?;
        seal(cipher, version.nonce(*id), key, &value).map(Some)
    }

    /// Returns the ids of all keys, for an error message.
    pub(crate) fn held(&self) -> String {
        self.ring().ciphers.iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the id of the key that sealed a value.
pub(super) fn sealed_with(sealed: &[u8]) -> KeyId {
    let id = sealed.get(17..21).and_then(|id| id.try_into().ok());
    KeyId(id.map_or(0, u32::from_be_bytes))
}

/// Seals the values of one batch with the key that was the newest when the sealer was created.
pub(super) struct Sealer {
    ring: Arc<Ring>,
    prefix: [u8; 16],
    /// A commit group has fewer values than this counter can represent.
    index: u32,
}

impl Sealer {
    pub(crate) fn seal(&mut self, key: &[u8], value: &[u8]) -> Result<Vec<u8>, StoreError> {
        let (id, cipher) = &self.ring.newest;
        let mut nonce = [0; NONCE];
        nonce[..16].copy_from_slice(&self.prefix);
        nonce[16..20].copy_from_slice(&id.0.to_be_bytes());
        nonce[20..].copy_from_slice(&self.index.to_be_bytes());
        self.index = self.index.checked_add(1).ok_or_else(|| too_large(value))?;
        seal(cipher, nonce, key, value)
    }
}

fn seal(cipher: &XChaCha20Poly1305, nonce: [u8; NONCE], key: &[u8], value: &[u8]) -> Result<Vec<u8>, StoreError> {
    let mut sealed = Vec::with_capacity(1 + NONCE + value.len() + TAG);
    sealed.push(FORMAT);
    sealed.extend_from_slice(&nonce);
    sealed.extend_from_slice(value);
    let tag = cipher
        .encrypt_inout_detached(&XNonce::from(nonce), key, InOutBuf::from(&mut sealed[1 + NONCE..]))
        .map_err(|_| too_large(value))?;
    sealed.extend_from_slice(&tag);
    Ok(sealed)
}

fn too_large(value: &[u8]) -> StoreError {
    StoreError::TooLarge { what: "bytes in a value", size: value.len(), limit: super::batch::MAX_VALUE_BYTES }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::store_keys::StoreKey;

    fn keys() -> StoreKeys {
        StoreKey::new([7; 32]).into()
    }

    fn envelope() -> Envelope {
        Envelope::new(&keys())
    }

    #[test]
    fn values_of_any_size_round_trip() {
        let envelope = envelope();
        for size in [0, 1, 100, 4_096, 100_000] {
            let value: Vec<u8> = (0..size).map(|i| i as u8).collect();
            let sealed = envelope.sealer().unwrap().seal(b"key", &value).unwrap();
            assert_eq!(sealed.len(), 1 + NONCE + size + TAG);
            assert_eq!(envelope.open(b"key", sealed).unwrap(), value);
        }
    }

    #[test]
    fn every_flipped_bit_is_detected() {
        let envelope = envelope();
        let sealed = envelope.sealer().unwrap().seal(b"key", &[3; 20]).unwrap();
        for bit in 0..sealed.len() * 8 {
            let mut bent = sealed.clone();
            bent[bit / 8] ^= 1 << (bit % 8);
            // Four bytes of a value are the id of its key.
            let seen = envelope.open(b"key", bent);
            assert!(matches!(seen, Err(StoreError::Damaged { .. } | StoreError::NoKey { .. })), "{bit}");
        }
        assert!(envelope.open(b"key", vec![]).is_err());
        assert!(envelope.open(b"key", vec![FORMAT]).is_err());
        assert!(envelope.open(b"key", sealed[..40].to_vec()).is_err());
    }

    #[test]
    fn a_value_cannot_be_moved_or_read_with_another_key() {
        let envelope = envelope();
        let sealed = envelope.sealer().unwrap().seal(b"key", b"Jane").unwrap();
        assert!(envelope.open(b"kez", sealed.clone()).is_err());
        assert!(Envelope::new(&StoreKey::new([8; 32]).into()).open(b"key", sealed.clone()).is_err());
        assert!(!sealed.windows(4).any(|window| window == b"Jane"));
    }

    #[test]
    fn versions_never_repeat() {
        let envelope = envelope();
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..20 {
            let mut sealer = envelope.sealer().unwrap();
            for size in [10, 10, 5_000] {
                assert!(seen.insert(Version::from_sealed(&sealer.seal(b"key", &vec![0; size]).unwrap()).0));
            }
        }
    }

    /// The first value has the nonce format of versions with a single key: 16 random bytes and a counter of 8.
    #[test]
    fn values_of_versions_without_key_ids_open_with_the_first_key() {
        let cipher = XChaCha20Poly1305::new(&CipherKey::from([7; 32]));
        let mut nonce = [9; NONCE];
        nonce[16..].copy_from_slice(&99_999u64.to_be_bytes());
        let old = super::seal(&cipher, nonce, b"key", b"Jane").unwrap();
        assert_eq!(sealed_with(&old), KeyId::FIRST);
        let envelope = Envelope::new(&keys().and_a_new_one().unwrap());
        assert_eq!(envelope.open(b"key", old).unwrap(), b"Jane");
    }

    /// The id of the key takes no additional byte.
    #[test]
    fn resealing_with_the_newest_key_keeps_the_version() {
        let (first, both) = (keys(), keys().and_a_new_one().unwrap());
        let envelope = Envelope::new(&first);
        let mut sealer = envelope.sealer().unwrap();
        let old: Vec<Vec<u8>> = (0..3).map(|_| sealer.seal(b"key", b"Jane").unwrap()).collect();
        envelope.use_keys(&both);
        let new = envelope.sealer().unwrap().seal(b"key", b"Jane").unwrap();
        assert_eq!((sealed_with(&old[2]), sealed_with(&new), new.len()), (KeyId::FIRST, both.newest(), old[2].len()));
        assert_eq!(envelope.reseal(b"key", new.clone()).unwrap(), None);
        for old in &old {
            let again = envelope.reseal(b"key", old.clone()).unwrap().unwrap();
            assert_eq!((sealed_with(&again), again.len()), (both.newest(), old.len()));
            assert!(Version::from_sealed(&again) == Version::from_sealed(old));
            assert_eq!(envelope.open(b"key", again).unwrap(), b"Jane");
        }
        envelope.use_keys(&both.without(KeyId::FIRST));
        assert_eq!(envelope.open(b"key", new).unwrap(), b"Jane");
        let refused = envelope.open(b"key", old[0].clone()).unwrap_err().to_string();
        assert!(refused.contains("00000000") && refused.contains("store.key"), "{refused}");
        assert!(envelope.reseal(b"key", old[0].clone()).is_err());
    }
}
