//! The stored form of a value: encrypted and authenticated together with its key, so that it can be neither
//! read, altered nor moved: `[format][nonce 24][ciphertext][tag 16]`. An engine may split it into chunks.
//!
//! Format 3 is XAES-256-GCM (C2SP). Format 5 is the same cipher, of a compressed value (`compression`). All
//! values are sealed in one of the two. The ciphertext of format 5 is authenticated together with a byte that
//! begins no key, followed by the key, so an altered format is detected. Format 1 is XChaCha20-Poly1305, the
//! cipher of earlier versions, whose values stay readable. Even numbers are reserved for the chunks of sled.
//! Both ciphers use the key as it is. After a key rotation, no value of the new key has format 1.
//!
//! The size of a compressed value depends on repetitions in its content. It is visible only to readers of the
//! files, as sizes of values are in general.
//!
//! The nonce consists of 16 random bytes per batch, the id of the sealing key (4 bytes) and a counter (4
//! bytes). In earlier versions the counter had all 8 bytes, but never exceeded 4. Values of those versions
//! therefore contain the key id 0.
//!
//! # Bounds
//!
//! XAES derives a key from the first 12 bytes of the nonce, with two AES calls under the sealing key. The other
//! 12 bytes are the nonce of GCM under the derived key: 4 random bytes, the key id and the counter. For 2^44
//! batches under one sealing key (5,000 per second for 100 years), three events could reveal data. A resealed
//! value counts as a batch, because its first 16 bytes are its own.
//!
//! - Two batches draw the same 16 bytes: 2^44 batches make 2^87 pairs, each equal with probability 2^-128, in
//!   total 2^-41. Within a batch, the counter makes nonces unique.
//! - Derived keys differ from random ones: 2^45 AES calls, 2^89 pairs, 2^-39.
//! - GCM differs from a random stream: a batch has at most 64 MiB, with padding less than 2^23 blocks. These are
//!   2^45 pairs of blocks and 2^-83 per batch, in total 2^-39.
//!
//! The probability of any of them is below 2^-37. Two batches that share only the first 12 bytes, and therefore a
//! derived key, are harmless: their GCM nonces differ.

use std::{borrow::Cow, io, sync::Arc};

use chacha20poly1305::{
    Key as CipherKey, KeyInit, Tag, XChaCha20Poly1305, XNonce,
    aead::{self, AeadInOut, inout::InOutBuf},
};
use parking_lot::{RwLock, RwLockReadGuard};
use xaes_256_gcm::Xaes256Gcm;

use super::{KeyId, StoreError, StoreKeys, Version, compression, keys};

const XCHACHA: u8 = 1;
const XAES: u8 = 3;
/// XAES-256-GCM of a compressed value.
const COMPRESSED: u8 = 5;
/// The formats of sealed values.
pub(crate) const FORMATS: [u8; 3] = [XCHACHA, XAES, COMPRESSED];
/// The first byte of the associated data of compressed values, before the key. No key begins with it.
const COMPRESSED_DATA: u8 = 0xFE;
const NONCE: usize = 24;
const TAG: usize = 16;

pub(super) struct Envelope {
    ring: RwLock<Arc<Ring>>,
    /// Read-locked while values are sealed, until they are in the queue of the committer.
    sealing: RwLock<()>,
}

/// The ciphers of one key.
#[derive(Clone)]
struct Ciphers {
    xaes: Xaes256Gcm,
    xchacha: XChaCha20Poly1305,
}

impl Ciphers {
    fn new(key: [u8; 32]) -> Self {
        let key = CipherKey::from(key);
        Self { xaes: Xaes256Gcm::new(&key), xchacha: XChaCha20Poly1305::new(&key) }
    }

    fn open(
        &self,
        format: u8,
        nonce: [u8; NONCE],
        key: &[u8],
        text: &mut [u8],
        tag: [u8; TAG],
    ) -> Result<(), aead::Error> {
        let (nonce, tag, text) = (XNonce::from(nonce), Tag::from(tag), InOutBuf::from(text));
        match format {
            XCHACHA => self.xchacha.decrypt_inout_detached(&nonce, key, text, &tag),
            _ => self.xaes.decrypt_inout_detached(&nonce, &associated_data(format, key), text, &tag),
        }
    }
}

/// Returns the bytes that are authenticated with a value, in addition to its ciphertext.
fn associated_data(format: u8, key: &[u8]) -> Cow<'_, [u8]> {
    match format {
        COMPRESSED => Cow::Owned([&[COMPRESSED_DATA][..], key].concat()),
        _ => Cow::Borrowed(key),
    }
}

struct Ring {
    ciphers: Vec<(KeyId, Ciphers)>,
    newest: (KeyId, Ciphers),
}

impl Ring {
    fn from_keys(keys: &StoreKeys) -> Arc<Self> {
        let ciphers: Vec<_> = keys.all().map(|(id, key)| (*id, Ciphers::new(key.0))).collect();
        let newest = ciphers.last().cloned().expect("there is one key at least");
        Arc::new(Self { ciphers, newest })
    }

    fn ciphers(&self, id: KeyId) -> Option<&Ciphers> {
        self.ciphers.iter().find(|(known, _)| *known == id).map(|(_, ciphers)| ciphers)
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

    pub(crate) fn open(&self, key: &[u8], sealed: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        match self.decrypt(key, sealed)? {
            (COMPRESSED, text) => compression::decompress(&text)
                .ok_or_else(|| StoreError::damaged(key, "a compressed record cannot be decompressed")),
            (_, value) => Ok(value),
        }
    }

    /// Decrypts a value in place. Returns its format and the decrypted text, which may be compressed.
    fn decrypt(&self, key: &[u8], mut sealed: Vec<u8>) -> Result<(u8, Vec<u8>), StoreError> {
        let damaged = |what| StoreError::damaged(key, what);
        let id = sealed_with(&sealed);
        let known = sealed.split_first_mut().filter(|(format, _)| FORMATS.contains(format));
        let Some((&mut format, body)) = known else { return Err(damaged("a record of an unknown format")) };
        let (nonce, rest) = body.split_first_chunk_mut::<NONCE>().ok_or_else(|| damaged("a record is cut short"))?;
        let (text, tag) = rest.split_last_chunk_mut::<TAG>().ok_or_else(|| damaged("a record is cut short"))?;
        let length = text.len();
        let ring = self.ring();
        let ciphers = ring.ciphers(id).ok_or_else(|| StoreError::NoKey { space: keys::space_name(key), id })?;
        ciphers.open(format, *nonce, key, text, *tag).map_err(|_| damaged("a record does not match its checksum"))?;
        sealed.copy_within(1 + NONCE..1 + NONCE + length, 0);
        sealed.truncate(length);
        Ok((format, sealed))
    }

    /// Seals a value with the newest key, or returns `None` if it already is, in whatever format. The version stays
    /// the same, and with it the preconditions of readers and the sum of the watermark. The nonce stays unique,
    /// because a version never has two contents. Values are therefore neither compressed nor decompressed:
    /// compression may have another result in another version.
    pub(crate) fn reseal(&self, key: &[u8], sealed: Vec<u8>) -> Result<Option<Vec<u8>>, StoreError> {
        let ring = self.ring();
        let (id, ciphers) = &ring.newest;
        if sealed_with(&sealed) == *id {
            return Ok(None);
        }
        let version = Version::from_sealed(&sealed);
        let (format, text) = self.decrypt(key, sealed)?;
        let format = if format == COMPRESSED { COMPRESSED } else { XAES };
        seal(&ciphers.xaes, format, version.nonce(*id), key, &text).map(Some)
    }

    /// Returns the ids of all keys, for an error message.
    pub(crate) fn held(&self) -> String {
        self.ring().ciphers.iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>().join(", ")
    }
}

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
        let (id, ciphers) = &self.ring.newest;
        let mut nonce = [0; NONCE];
        nonce[..16].copy_from_slice(&self.prefix);
        nonce[16..20].copy_from_slice(&id.0.to_be_bytes());
        nonce[20..].copy_from_slice(&self.index.to_be_bytes());
        self.index = self.index.checked_add(1).ok_or_else(|| too_large(value))?;
        match compression::compress(value) {
            Some(compressed) => seal(&ciphers.xaes, COMPRESSED, nonce, key, &compressed),
            None => seal(&ciphers.xaes, XAES, nonce, key, value),
        }
    }
}

fn seal(cipher: &Xaes256Gcm, format: u8, nonce: [u8; NONCE], key: &[u8], text: &[u8]) -> Result<Vec<u8>, StoreError> {
    let mut sealed = Vec::with_capacity(1 + NONCE + text.len() + TAG);
    sealed.push(format);
    sealed.extend_from_slice(&nonce);
    sealed.extend_from_slice(text);
    let data = associated_data(format, key);
    let tag = cipher
        .encrypt_inout_detached(&XNonce::from(nonce), &data, InOutBuf::from(&mut sealed[1 + NONCE..]))
        .map_err(|_| too_large(text))?;
    sealed.extend_from_slice(&tag);
    Ok(sealed)
}

fn too_large(value: &[u8]) -> StoreError {
    StoreError::TooLarge { what: "bytes in a value", size: value.len(), limit: super::batch::MAX_VALUE_BYTES }
}

/// Seals a value like a version that knew only format 1.
#[cfg(test)]
pub(crate) fn seal_in_format_1(sealing_key: [u8; 32], nonce: [u8; NONCE], key: &[u8], value: &[u8]) -> Vec<u8> {
    let cipher = XChaCha20Poly1305::new(&CipherKey::from(sealing_key));
    let mut text = value.to_vec();
    let tag = cipher.encrypt_inout_detached(&XNonce::from(nonce), key, InOutBuf::from(text.as_mut_slice()));
    [&[XCHACHA][..], &nonce[..], &text, &tag.expect("a value in a test is short")].concat()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::StoreKey;

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
        assert!(envelope.open(b"key", vec![XAES]).is_err());
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
        let mut nonce = [9; NONCE];
        nonce[16..].copy_from_slice(&99_999u64.to_be_bytes());
        let old = seal_in_format_1([7; 32], nonce, b"key", b"Jane");
        assert_eq!(sealed_with(&old), KeyId::FIRST);
        let envelope = Envelope::new(&keys().and_a_new_one().unwrap());
        assert_eq!(envelope.open(b"key", old).unwrap(), b"Jane");
    }

    /// Test vector of the specification, <https://github.com/C2SP/C2SP/blob/main/XAES-256-GCM.md>.
    #[test]
    fn new_values_are_sealed_with_xaes_256_gcm() {
        let ciphers = Ciphers::new([3; 32]);
        let (nonce, key, value) = (*b"ABCDEFGHIJKLMNOPQRSTUVWX", b"c2sp.org/XAES-256-GCM", b"XAES-256-GCM");
        let sealed = seal(&ciphers.xaes, XAES, nonce, key, value).unwrap();
        let expected = "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d";
        assert_eq!((sealed[0], &sealed[1..25], hex::encode(&sealed[25..]).as_str()), (3, &nonce[..], expected));
        let mut text = sealed[25..37].to_vec();
        ciphers.open(XAES, nonce, key, &mut text, sealed[37..].try_into().unwrap()).unwrap();
        assert_eq!(text, value);
        assert_eq!(envelope().sealer().unwrap().seal(b"key", b"Jane").unwrap()[0], 3);
    }

    #[test]
    fn values_of_format_1_stay_readable_and_are_verified() {
        let envelope = envelope();
        for size in [0, 1, 100, 100_000] {
            let value = vec![5; size];
            let mut nonce = [9; NONCE];
            nonce[16..20].fill(0);
            let old = seal_in_format_1([7; 32], nonce, b"key", &value);
            assert_eq!(envelope.open(b"key", old.clone()).unwrap(), value);
            assert!(matches!(envelope.open(b"kez", old.clone()), Err(StoreError::Damaged { .. })));
            let mut other = old;
            other[0] = XAES;
            assert!(matches!(envelope.open(b"key", other), Err(StoreError::Damaged { .. })));
        }
    }

    const DOCUMENT: &[u8] = br#"{"location":101,"expires":1795342300000,"note":"a a a a a a a a a a a a a a a a"}"#;

    #[test]
    fn documents_are_compressed_and_verified() {
        let envelope = envelope();
        let sealed = envelope.sealer().unwrap().seal(b"key", DOCUMENT).unwrap();
        assert_eq!(sealed[0], COMPRESSED);
        assert!(sealed.len() < 1 + NONCE + DOCUMENT.len() * 2 / 3 + TAG, "{}", sealed.len());
        assert_eq!(envelope.open(b"key", sealed.clone()).unwrap(), DOCUMENT);
        assert!(envelope.open(b"kez", sealed.clone()).is_err());
        for bit in 0..sealed.len() * 8 {
            let mut bent = sealed.clone();
            bent[bit / 8] ^= 1 << (bit % 8);
            let seen = envelope.open(b"key", bent);
            assert!(matches!(seen, Err(StoreError::Damaged { .. } | StoreError::NoKey { .. })), "{bit}");
        }
        for format in [XCHACHA, XAES] {
            let mut other = sealed.clone();
            other[0] = format;
            assert!(matches!(envelope.open(b"key", other), Err(StoreError::Damaged { .. })), "{format}");
        }
    }

    #[test]
    fn documents_of_format_3_stay_readable_and_cannot_become_compressed() {
        let envelope = envelope();
        let ring = envelope.ring();
        let cipher = &ring.newest.1.xaes;
        let mut sealed = seal(cipher, XAES, [0; NONCE], b"key", DOCUMENT).unwrap();
        assert_eq!(envelope.open(b"key", sealed.clone()).unwrap(), DOCUMENT);
        sealed[0] = COMPRESSED;
        assert!(matches!(envelope.open(b"key", sealed), Err(StoreError::Damaged { .. })));
    }

    /// The seal of the record is intact.
    #[test]
    fn a_corrupted_compressed_text_is_an_error() {
        let envelope = envelope();
        let ring = envelope.ring();
        let cipher = &ring.newest.1.xaes;
        let compressed = compression::compress(DOCUMENT).unwrap();
        for text in [&compressed[..compressed.len() - 1], &[0xFF; 40], &[]] {
            let sealed = seal(cipher, COMPRESSED, [0; NONCE], b"key", text).unwrap();
            let opened = envelope.open(b"key", sealed);
            assert!(opened.is_err_and(|error| error.to_string().contains("cannot be decompressed")));
        }
    }

    #[test]
    fn resealing_keeps_the_compressed_text() {
        let envelope = envelope();
        let old = envelope.sealer().unwrap().seal(b"key", DOCUMENT).unwrap();
        let (_, text) = envelope.decrypt(b"key", old.clone()).unwrap();
        let both = keys().and_a_new_one().unwrap();
        envelope.use_keys(&both);
        let new = envelope.reseal(b"key", old.clone()).unwrap().unwrap();
        assert_eq!((new[0], sealed_with(&new), new.len()), (COMPRESSED, both.newest(), old.len()));
        assert!(Version::from_sealed(&new) == Version::from_sealed(&old));
        assert_eq!(envelope.decrypt(b"key", new.clone()).unwrap(), (COMPRESSED, text));
        assert_eq!(envelope.open(b"key", new).unwrap(), DOCUMENT);
    }

    /// An upgrade does not force a rotation; a rotation replaces the format.
    #[test]
    fn resealing_changes_the_format_only_with_the_key() {
        let envelope = envelope();
        let mut nonce = [9; NONCE];
        nonce[16..20].fill(0);
        let old = seal_in_format_1([7; 32], nonce, b"key", b"Jane");
        assert_eq!(envelope.reseal(b"key", old.clone()).unwrap(), None);
        let both = keys().and_a_new_one().unwrap();
        envelope.use_keys(&both);
        let new = envelope.reseal(b"key", old.clone()).unwrap().unwrap();
        assert_eq!((new[0], sealed_with(&new), new.len()), (XAES, both.newest(), old.len()));
        assert_eq!(Version::from_sealed(&new), Version::from_sealed(&old));
        assert_eq!(envelope.open(b"key", new).unwrap(), b"Jane");
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
