//! Sorted entries packed into blocks with prefix compression.
//!
//! ```text
//! shared prefix length u8 │ length of the rest, highest bit: present (1) or removed (0) │ rest
//! ```

use super::entry::MOST_BYTES;
use crate::stream::Entry;

/// Maximum size of a packed block, which then fits into one record of sled, including key and seal.
const BYTES: usize = 3_400;
const PRESENT: u8 = 0x80;

/// Unpacked entries with random access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    bytes: Vec<u8>,
    /// The end of each entry, and whether it is present.
    ends: Vec<(u32, bool)>,
}

impl Block {
    pub(crate) fn from_entries<'a>(entries: impl IntoIterator<Item = (&'a [u8], bool)>) -> Block {
        let mut block = Block::default();
        entries.into_iter().for_each(|(entry, present)| block.push(entry, present));
        block
    }

    /// Appends the entries of a packed block, which must follow all current entries.
    pub(crate) fn unpack(&mut self, mut packed: &[u8]) -> Option<()> {
        let mut last: Entry = Vec::with_capacity(MOST_BYTES);
        while let [shared, length, rest @ ..] = packed {
            let (own, after) = rest.split_at_checked(usize::from(length & !PRESENT))?;
            last.truncate(last.get(..usize::from(*shared))?.len());
            last.extend_from_slice(own);
            self.push(&last, length & PRESENT != 0);
            packed = after;
        }
        packed.is_empty().then_some(())
    }

    fn push(&mut self, entry: &[u8], present: bool) {
        self.bytes.extend_from_slice(entry);
        let end =
            u32::try_from(self.bytes.len()).expect("a block in memory is bounded by what its stream has not merged");
        self.ends.push((end, present));
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn get(&self, index: usize) -> Option<(&[u8], bool)> {
        let (end, present) = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before].0);
        Some((&self.bytes[start as usize..end as usize], present))
    }

    /// Returns the number of entries before this one.
    pub(crate) fn before(&self, entry: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).is_some_and(|(at, _)| at < entry) { low = middle + 1 } else { high = middle }
        }
        low
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], bool)> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

/// A packed block under construction.
#[derive(Default)]
pub(crate) struct Packer {
    packed: Vec<u8>,
    last: Entry,
}

impl Packer {
    pub(crate) fn push(&mut self, entry: &[u8], present: bool) {
        let shared = self.last.iter().zip(entry).take_while(|(one, other)| one == other).count();
        let flag = if present { PRESENT } else { 0 };
        let length = u8::try_from(entry.len() - shared).expect("an entry is shorter than MOST_BYTES");
        self.packed.push(u8::try_from(shared).expect("an entry is shorter than MOST_BYTES"));
        self.packed.push(length | flag);
        self.packed.extend_from_slice(&entry[shared..]);
        self.last.clear();
        self.last.extend_from_slice(entry);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.packed.len() + 2 + MOST_BYTES > BYTES
    }

    /// Returns the block and starts an empty one.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.last.clear();
        std::mem::take(&mut self.packed)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packed_entries_round_trip(entries: BTreeMap<Vec<u8>, bool>, other: Vec<u8>) {
            let entries: BTreeMap<Vec<u8>, bool> =
                entries.into_iter().map(|(mut entry, it)| { entry.truncate(MOST_BYTES); (entry, it) }).collect();
            let (mut packer, mut block) = (Packer::default(), Block::default());
            for (entry, present) in &entries {
                packer.push(entry, *present);
                if packer.is_full() || entry.len() % 7 == 0 {
                    block.unpack(&packer.take()).unwrap();
                }
            }
            block.unpack(&packer.take()).unwrap();
            let whole: Vec<_> = entries.iter().map(|(entry, present)| (entry.as_slice(), *present)).collect();
            prop_assert_eq!(block.iter().collect::<Vec<_>>(), whole);
            prop_assert_eq!(&block, &Block::from_entries(block.iter()));
            prop_assert_eq!(block.before(&other), entries.keys().filter(|entry| **entry < other).count());
        }

        #[test]
        fn unpacking_arbitrary_bytes_does_not_panic(packed: Vec<u8>) {
            let _ = Block::default().unpack(&packed);
        }
    }

    #[test]
    fn a_full_block_stays_under_its_bound() {
        let mut packer = Packer::default();
        while !packer.is_full() {
            let entry: Vec<u8> = std::iter::repeat_n(packer.packed.len() as u8, MOST_BYTES).collect();
            packer.push(&entry, true);
        }
        assert!(packer.take().len() <= BYTES);
    }
}
