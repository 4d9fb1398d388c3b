//! Splitting of sealed values into chunks. sled moves larger records out of its log, to files that it never
//! syncs.
//!
//! The head record is the value itself, or `[format + 1][number of further chunks u32][first chunk]`. The chunks
//! joined in order are the value without its first byte, which is its format (`envelope`). Formats are odd
//! numbers, so the first byte of a head record is unambiguous.

use sled::IVec;

use crate::{Key, KeyId, Version, envelope};

const CUT_HEADER: usize = 5;
/// Maximum size of a record. A leaf page of sled holds up to 20 records and must stay below 128 KiB.
pub(crate) const CHUNK_BYTES: usize = 3_584;

/// The first byte of the keys of further chunks, above all keys of the store interface.
const CHUNK_SPACE: u8 = 0xFF;

pub(super) fn chunk_key(key: &[u8], index: u32) -> Key {
    let mut chunk = Vec::with_capacity(key.len() + 5);
    chunk.push(CHUNK_SPACE);
    chunk.extend_from_slice(key);
    chunk.extend_from_slice(&index.to_be_bytes());
    chunk
}

/// Returns the number of further chunks of a head record.
pub(super) fn further_chunks(head: &[u8]) -> u32 {
    match head {
        [_, a, b, c, d, ..] if cut_format(head).is_some() => u32::from_be_bytes([*a, *b, *c, *d]),
        _ => 0,
    }
}

/// Returns the format of a value in chunks, or `None` if the head record is the whole value.
fn cut_format(head: &[u8]) -> Option<u8> {
    head.first().map(|first| first.wrapping_sub(1)).filter(|format| envelope::FORMATS.contains(format))
}

/// Returns the version of the value of a head record.
pub(super) fn version(head: &[u8]) -> Version {
    Version::from_sealed(beginning(head))
}

pub(super) fn sealed_with(head: &[u8]) -> KeyId {
    envelope::sealed_with(beginning(head))
}

/// Returns the beginning of the sealed value; its first byte may differ.
fn beginning(head: &[u8]) -> &[u8] {
    match cut_format(head) {
        Some(_) => head.get(CUT_HEADER - 1..).unwrap_or_default(),
        None => head,
    }
}

pub(super) fn cut(sealed: &[u8]) -> (IVec, Vec<IVec>) {
    if sealed.len() <= CHUNK_BYTES {
        return (IVec::from(sealed), Vec::new());
    }
    let (first, rest) = sealed[1..].split_at(CHUNK_BYTES - CUT_HEADER);
    let chunks: Vec<IVec> = rest.chunks(CHUNK_BYTES).map(IVec::from).collect();
    let count = u32::try_from(chunks.len()).expect("a value of at most 32 MiB has fewer chunks than u32 holds");
    (IVec::from([&[sealed[0] + 1], &count.to_be_bytes()[..], first].concat()), chunks)
}

pub(super) fn join(head: &[u8], chunks: &[IVec]) -> Vec<u8> {
    let (mut sealed, first) = match cut_format(head) {
        Some(format) => (vec![format], head.get(CUT_HEADER..).unwrap_or_default()),
        None => (Vec::new(), head),
    };
    sealed.reserve(first.len() + chunks.iter().map(|chunk| chunk.len()).sum::<usize>());
    sealed.extend_from_slice(first);
    chunks.iter().for_each(|chunk| sealed.extend_from_slice(chunk));
    sealed
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{StoreError, StoreKey, envelope::Envelope};

    #[test]
    fn values_of_any_size_round_trip() {
        let envelope = Envelope::new(&StoreKey::new([7; 32]).into());
        let edge = CHUNK_BYTES - 41;
        for size in [0, 1, 100, edge - 1, edge, edge + 1, 2 * CHUNK_BYTES, 100_000] {
            let value: Vec<u8> = (0..size).map(|i| i as u8).collect();
            let sealed = envelope.sealer().unwrap().seal(b"key", &value).unwrap();
            let (head, chunks) = cut(&sealed);
            assert_eq!(chunks.is_empty(), size <= edge, "{size}");
            assert_eq!(further_chunks(&head) as usize, chunks.len());
            assert_eq!(version(&head), Version::from_sealed(&sealed));
            assert_eq!(sealed_with(&head), envelope::sealed_with(&sealed));
            assert!(head.len() <= CHUNK_BYTES && chunks.iter().all(|chunk| chunk.len() <= CHUNK_BYTES));
            assert_eq!(envelope.open(b"key", join(&head, &chunks)).unwrap(), value);
        }
    }

    #[test]
    fn values_of_format_1_keep_their_head_records() {
        let envelope = Envelope::new(&StoreKey::new([7; 32]).into());
        for (size, first) in [(100, 1), (CHUNK_BYTES - 41, 1), (CHUNK_BYTES - 40, 2), (20_000, 2)] {
            let (nonce, value) = ([0; 24], vec![5; size]);
            let sealed = envelope::seal_in_format_1([7; 32], nonce, b"key", &value);
            let (head, chunks) = cut(&sealed);
            assert_eq!((head[0], chunks.is_empty()), (first, first == 1), "{size}");
            assert_eq!(version(&head), Version::from_sealed(&sealed));
            assert_eq!(envelope.open(b"key", join(&head, &chunks)).unwrap(), value);
        }
    }

    #[test]
    fn every_flipped_bit_of_a_head_is_detected() {
        let envelope = Envelope::new(&StoreKey::new([7; 32]).into());
        for size in [20, 4_000] {
            let (whole, chunks) = cut(&envelope.sealer().unwrap().seal(b"key", &vec![3; size]).unwrap());
            for at in 0..whole.len() {
                let mut head = whole.to_vec();
                head[at] ^= 1 << (at % 8);
                // A damaged chunk count makes the reader fetch another number of chunks.
                let count = further_chunks(&head) as usize;
                let fetched = chunks.get(..count.min(chunks.len())).unwrap();
                if size == 4_000 && (1..CUT_HEADER).contains(&at) && count > fetched.len() {
                    continue;
                }
                let opened = envelope.open(b"key", join(&head, fetched));
                assert!(matches!(opened, Err(StoreError::Damaged { .. } | StoreError::NoKey { .. })), "{size} {at}");
            }
        }
        assert!(envelope.open(b"key", join(&[4, 0, 0], &[])).is_err());
    }
}
