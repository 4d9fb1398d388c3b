//! How a value lies on the disk: encrypted and authenticated together with its key, so that it can be neither read, altered nor moved:
//! `[1][nonce 24][ciphertext][tag 16]`. An engine may cut it into pieces of its own.

use std::{fs, io, path::Path};

use chacha20poly1305::{
    Key as CipherKey, KeyInit, Tag, XChaCha20Poly1305, XNonce,
    aead::{AeadInOut, inout::InOutBuf},
};

use super::error::StoreError;
use crate::files;

const FORMAT: u8 = 1;
const NONCE: usize = 24;
const TAG: usize = 16;

pub(super) struct Envelope {
    cipher: XChaCha20Poly1305,
}

impl Envelope {
    pub(crate) fn new(key: &StoreKey) -> Self {
        Self { cipher: XChaCha20Poly1305::new(&CipherKey::from(key.0)) }
    }

    /// For the values of one batch: random numbers are drawn once, each value gets its own nonce from them.
    pub(crate) fn sealer(&self) -> Result<Sealer<'_>, StoreError> {
        let mut prefix = [0; 16];
        getrandom::fill(&mut prefix)
            .map_err(io::Error::other)
            .map_err(StoreError::io("the system's random numbers"))?;
        Ok(Sealer { envelope: self, prefix, index: 0 })
    }

    /// What was sealed comes back in the same memory.
    pub(crate) fn open(&self, key: &[u8], mut sealed: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        let damaged = |what| StoreError::damaged(key, what);
        let Some((&mut FORMAT, body)) = sealed.split_first_mut() else {
            return Err(damaged("a record of an unknown format"));
        };
        let (nonce, rest) = body.split_first_chunk_mut::<NONCE>().ok_or_else(|| damaged("a record is cut short"))?;
        let (text, tag) = rest.split_last_chunk_mut::<TAG>().ok_or_else(|| damaged("a record is cut short"))?;
        let length = text.len();
        self.cipher
            .decrypt_inout_detached(&XNonce::from(*nonce), key, InOutBuf::from(text), &Tag::from(*tag))
            .map_err(|_| damaged("a record does not match its checksum"))?;
        sealed.copy_within(1 + NONCE..1 + NONCE + length, 0);
        sealed.truncate(length);
        Ok(sealed)
    }
}

pub(super) struct Sealer<'a> {
    envelope: &'a Envelope,
    prefix: [u8; 16],
    index: u64,
}

impl Sealer<'_> {
    pub(crate) fn seal(&mut self, key: &[u8], value: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut nonce = [0; NONCE];
        nonce[..16].copy_from_slice(&self.prefix);
        nonce[16..].copy_from_slice(&self.index.to_be_bytes());
        self.index += 1;
        let mut sealed = Vec::with_capacity(1 + NONCE + value.len() + TAG);
        sealed.push(FORMAT);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(value);
        let tag = self
            .envelope
            .cipher
            .encrypt_inout_detached(&XNonce::from(nonce), key, InOutBuf::from(&mut sealed[1 + NONCE..]))
            .map_err(|_| StoreError::TooLarge {
                what: "bytes in a value",
                size: value.len(),
                limit: super::batch::MAX_VALUE_BYTES,
            })?;
        sealed.extend_from_slice(&tag);
        Ok(sealed)
    }
}

/// The key of all values of a store. Whoever loses it loses the store.
#[derive(Clone)]
pub struct StoreKey([u8; 32]);

impl StoreKey {
    pub fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// 64 hex digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut key = [0; 32];
        hex::decode_to_slice(text.trim(), &mut key).ok()?;
        Some(Self(key))
    }

    /// Reads the key file; where there is none, draws a key and writes it for the owner's eyes only. Of two processes that create it at
    /// the same time both get the same key.
    pub fn load_or_create(path: &Path) -> Result<Self, StoreError> {
        match path.try_exists() {
            Ok(false) => Self::create(path),
            _ => Self::load(path),
        }
    }

    /// Reads the key file.
    pub fn load(path: &Path) -> Result<Self, StoreError> {
        let text = fs::read_to_string(path).map_err(|error| key_file(path, error))?;
        warn_when_others_can_read(path);
        Self::from_hex(&text).ok_or_else(|| key_file(path, "it does not hold 64 hex digits"))
    }

    fn create(path: &Path) -> Result<Self, StoreError> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| key_file(path, error))?;
        match files::write_new(path, &hex::encode(key)).map_err(|error| key_file(path, error))? {
            true => Ok(Self(key)),
            false => Self::load(path),
        }
    }
}

impl std::fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoreKey(redacted)")
    }
}

fn key_file(path: &Path, why: impl ToString) -> StoreError {
    StoreError::KeyFile { path: path.display().to_string(), why: why.to_string() }
}

fn warn_when_others_can_read(path: &Path) {
    #[cfg(unix)]
    if let Ok(meta) = fs::metadata(path)
        && std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o077 != 0
    {
        tracing::warn!(path = %path.display(), "other users can read the key file of the store");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::version::Version;

    fn envelope() -> Envelope {
        Envelope::new(&StoreKey::new([7; 32]))
    }

    #[test]
    fn values_of_any_size_come_back() {
        let envelope = envelope();
        for size in [0, 1, 100, 4_096, 100_000] {
            let value: Vec<u8> = (0..size).map(|i| i as u8).collect();
            let sealed = envelope.sealer().unwrap().seal(b"key", &value).unwrap();
            assert_eq!(sealed.len(), 1 + NONCE + size + TAG);
            assert_eq!(envelope.open(b"key", sealed).unwrap(), value);
        }
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let envelope = envelope();
        let sealed = envelope.sealer().unwrap().seal(b"key", &[3; 20]).unwrap();
        for bit in 0..sealed.len() * 8 {
            let mut bent = sealed.clone();
            bent[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(envelope.open(b"key", bent), Err(StoreError::Damaged { .. })), "{bit}");
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
        assert!(Envelope::new(&StoreKey::new([8; 32])).open(b"key", sealed.clone()).is_err());
        assert!(!sealed.windows(4).any(|window| window == b"Jane"));
    }

    #[test]
    fn versions_never_repeat() {
        let envelope = envelope();
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..20 {
            let mut sealer = envelope.sealer().unwrap();
            for size in [10, 10, 5_000] {
                assert!(seen.insert(Version::of(&sealer.seal(b"key", &vec![0; size]).unwrap()).0));
            }
        }
    }

    #[test]
    fn the_key_file_is_made_once_and_for_the_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.key");
        let made = StoreKey::load_or_create(&path).unwrap();
        let read = StoreKey::load_or_create(&path).unwrap();
        assert_eq!(made.0, read.0);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions()) & 0o777, 0o600);
        fs::write(&path, "short").unwrap();
        assert!(StoreKey::load_or_create(&path).is_err_and(|error| error.to_string().contains("64 hex digits")));
        assert_eq!(format!("{made:?}"), "StoreKey(redacted)");
    }
}
