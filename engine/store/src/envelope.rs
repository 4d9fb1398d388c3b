//! How a value lies on the disk: encrypted and authenticated together with its key, so that it can be neither read, altered nor moved,
//! and cut into pieces small enough that sled keeps them in its log (it spills larger ones to files that it never syncs).
//!
//! Head record: `[1][nonce 24][ciphertext][tag 16]`, or `[2][number of further pieces u32][first piece]` where the pieces in their order
//! are `[nonce][ciphertext][tag]`.

use std::{fs, io, path::Path};

use chacha20poly1305::{
    Key as CipherKey, KeyInit, Tag, XChaCha20Poly1305, XNonce,
    aead::{AeadInOut, inout::InOutBuf},
};
use sled::IVec;

use super::error::StoreError;
use crate::files;

const INLINE: u8 = 1;
const CUT: u8 = 2;
const NONCE: usize = 24;
const TAG: usize = 16;
const CUT_HEADER: usize = 5;
/// The most a record may weigh. A leaf page of sled holds up to 20 records and must stay below 128 KiB.
pub(super) const PIECE_BYTES: usize = 3_584;

/// The first byte of keys of further pieces, above all keys of the trait.
pub(super) const PIECE_SPACE: u8 = 0xFF;

pub(super) fn piece_key(key: &[u8], index: u32) -> super::range::Key {
    let mut piece = Vec::with_capacity(key.len() + 5);
    piece.push(PIECE_SPACE);
    piece.extend_from_slice(key);
    piece.extend_from_slice(&index.to_be_bytes());
    piece
}

/// How many further pieces belong to a head record.
pub(super) fn further_pieces(head: &[u8]) -> u32 {
    match head {
        [CUT, a, b, c, d, ..] => u32::from_be_bytes([*a, *b, *c, *d]),
        _ => 0,
    }
}

/// The nonce, which differs for any two values ever written: the sum over all heads shows whether one is missing, old or too many.
pub(super) fn fingerprint(head: &[u8]) -> u128 {
    let nonce = match head.first() {
        Some(&CUT) => head.get(CUT_HEADER..),
        _ => head.get(1..),
    };
    let Some((prefix, rest)) = nonce.and_then(|nonce| nonce.split_first_chunk::<16>()) else { return 0 };
    let index = rest.first_chunk::<8>().map_or(0, |index| u64::from_be_bytes(*index));
    u128::from_be_bytes(*prefix).wrapping_add(u128::from(index) << 64)
}

/// One value as it goes to the disk.
#[derive(Clone)]
pub(super) struct Sealed {
    pub head: IVec,
    pub pieces: Vec<IVec>,
}

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

    pub(crate) fn open(&self, key: &[u8], head: &[u8], pieces: &[IVec]) -> Result<Vec<u8>, StoreError> {
        let damaged = |what| StoreError::damaged(key, what);
        let first = match head.first() {
            Some(&INLINE) => &head[1..],
            Some(&CUT) => head.get(CUT_HEADER..).ok_or_else(|| damaged("a record is cut short"))?,
            _ => return Err(damaged("a record of an unknown format")),
        };
        let mut body = Vec::with_capacity(first.len() + pieces.iter().map(|piece| piece.len()).sum::<usize>());
        body.extend_from_slice(first);
        pieces.iter().for_each(|piece| body.extend_from_slice(piece));
        let (nonce, rest) = body.split_first_chunk_mut::<NONCE>().ok_or_else(|| damaged("a record is cut short"))?;
        let (text, tag) = rest.split_last_chunk_mut::<TAG>().ok_or_else(|| damaged("a record is cut short"))?;
        let length = text.len();
        self.cipher
            .decrypt_inout_detached(&XNonce::from(*nonce), key, InOutBuf::from(text), &Tag::from(*tag))
            .map_err(|_| damaged("a record does not match its checksum"))?;
        body.copy_within(NONCE..NONCE + length, 0);
        body.truncate(length);
        Ok(body)
    }
}

pub(super) struct Sealer<'a> {
    envelope: &'a Envelope,
    prefix: [u8; 16],
    index: u64,
}

impl Sealer<'_> {
    pub(crate) fn seal(&mut self, key: &[u8], value: &[u8]) -> Result<Sealed, StoreError> {
        let mut nonce = [0; NONCE];
        nonce[..16].copy_from_slice(&self.prefix);
        nonce[16..].copy_from_slice(&self.index.to_be_bytes());
        self.index += 1;
        let mut sealed = Vec::with_capacity(1 + NONCE + value.len() + TAG);
        sealed.push(INLINE);
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
        Ok(cut(&sealed))
    }
}

fn cut(sealed: &[u8]) -> Sealed {
    if sealed.len() <= PIECE_BYTES {
        return Sealed { head: IVec::from(sealed), pieces: Vec::new() };
    }
    let (first, rest) = sealed[1..].split_at(PIECE_BYTES - CUT_HEADER);
    let pieces: Vec<IVec> = rest.chunks(PIECE_BYTES).map(IVec::from).collect();
    let count = u32::try_from(pieces.len()).expect("a value of at most 32 MiB has fewer pieces than u32 holds");
    Sealed { head: IVec::from([&[CUT], &count.to_be_bytes()[..], first].concat()), pieces }
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

    fn envelope() -> Envelope {
        Envelope::new(&StoreKey::new([7; 32]))
    }

    #[test]
    fn values_of_any_size_come_back() {
        let envelope = envelope();
        let edge = PIECE_BYTES - 1 - NONCE - TAG;
        for size in [0, 1, 100, edge - 1, edge, edge + 1, 2 * PIECE_BYTES, 100_000] {
            let value: Vec<u8> = (0..size).map(|i| i as u8).collect();
            let sealed = envelope.sealer().unwrap().seal(b"key", &value).unwrap();
            assert_eq!(sealed.pieces.is_empty(), size <= edge, "{size}");
            assert_eq!(further_pieces(&sealed.head) as usize, sealed.pieces.len());
            assert!(sealed.head.len() <= PIECE_BYTES && sealed.pieces.iter().all(|piece| piece.len() <= PIECE_BYTES));
            assert_eq!(envelope.open(b"key", &sealed.head, &sealed.pieces).unwrap(), value);
        }
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let envelope = envelope();
        for size in [20, 4_000] {
            let sealed = envelope.sealer().unwrap().seal(b"key", &vec![3; size]).unwrap();
            for at in 0..sealed.head.len() {
                let mut head = sealed.head.to_vec();
                head[at] ^= 1 << (at % 8);
                // The count of pieces is what the reader fetches by; the pieces fetched then are others.
                let count = further_pieces(&head) as usize;
                let pieces = sealed.pieces.get(..count.min(sealed.pieces.len())).unwrap();
                if size == 4_000 && (1..CUT_HEADER).contains(&at) && count > pieces.len() {
                    continue;
                }
                assert!(matches!(envelope.open(b"key", &head, pieces), Err(StoreError::Damaged { .. })), "{size} {at}");
            }
        }
        assert!(envelope.open(b"key", &[], &[]).is_err());
        assert!(envelope.open(b"key", &[INLINE], &[]).is_err());
        assert!(envelope.open(b"key", &[CUT, 0, 0], &[]).is_err());
    }

    #[test]
    fn a_value_cannot_be_moved_or_read_with_another_key() {
        let envelope = envelope();
        let sealed = envelope.sealer().unwrap().seal(b"key", b"Jane").unwrap();
        assert!(envelope.open(b"kez", &sealed.head, &[]).is_err());
        assert!(Envelope::new(&StoreKey::new([8; 32])).open(b"key", &sealed.head, &[]).is_err());
        assert!(!sealed.head.windows(4).any(|window| window == b"Jane"));
    }

    #[test]
    fn nonces_and_fingerprints_never_repeat() {
        let envelope = envelope();
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..20 {
            let mut sealer = envelope.sealer().unwrap();
            for size in [10, 10, 5_000] {
                assert!(seen.insert(fingerprint(&sealer.seal(b"key", &vec![0; size]).unwrap().head)));
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
