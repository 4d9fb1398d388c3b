//! Bitmaps of the records that a whole pass over a resource has shown. They are kept in the store, so neither the state
//! nor the journal grows. Ids are allotted in blocks, so records read one after the other fill few bitmaps.

use std::collections::BTreeMap;

use location::Resource;
use records::document::DocumentKind;
use store::{Direction, Key, keys};

use crate::{Processor, Reject, UnitOfWork};

/// Ids per block. Its bitmap takes a kilobyte.
const BLOCK: u64 = 8_192;
const BITMAP: usize = BLOCK as usize / 8;
/// Blocks of earlier passes deleted with a page. A page adds fewer.
const FORGOTTEN_AT_ONCE: usize = 200;

pub(crate) struct ReadPass {
    location: u32,
    kind: u8,
    number: u64,
    /// Blocks read so far, and whether they changed.
    blocks: BTreeMap<u64, (Vec<u8>, bool)>,
}

impl ReadPass {
    /// Returns the running pass, or the pass that the page in flight begins.
    pub(crate) fn current(processor: &Processor, resource: Resource) -> ReadPass {
        let number = processor.machine.state.pulls.pass_number(resource);
        let (location, kind) = (processor.setup.id.0, DocumentKind::Of(resource).byte());
        ReadPass { location, kind, number, blocks: BTreeMap::new() }
    }

    fn key(&self, block: u64) -> Key {
        keys::pull_seen(self.location, self.kind, self.number, block)
    }

    fn block(&mut self, unit: &mut UnitOfWork<'_>, block: u64) -> Result<&mut (Vec<u8>, bool), Reject> {
        if !self.blocks.contains_key(&block) {
            let stored = unit.read_unshared(self.key(block))?;
            self.blocks.insert(block, (stored.map_or_else(|| vec![0; BITMAP], unpacked), false));
        }
        Ok(self.blocks.entry(block).or_default())
    }

    pub(crate) fn has_shown(&mut self, unit: &mut UnitOfWork<'_>, id: u64) -> Result<bool, Reject> {
        let (bits, _) = self.block(unit, id / BLOCK)?;
        let (byte, bit) = place(id);
        Ok(bits.get(byte).is_some_and(|bits| bits & bit != 0))
    }

    /// Marks a record as shown. Returns `true` if it was not shown before.
    pub(crate) fn shows(&mut self, unit: &mut UnitOfWork<'_>, id: u64) -> Result<bool, Reject> {
        let (bits, changed) = self.block(unit, id / BLOCK)?;
        let (byte, bit) = place(id);
        let new = bits.get_mut(byte).is_some_and(|bits| {
            let new = *bits & bit == 0;
            *bits |= bit;
            new
        });
        *changed |= new;
        Ok(new)
    }

    /// Writes changed blocks with the turn's commit, and deletes blocks of earlier passes.
    pub(crate) fn keep(self, unit: &mut UnitOfWork<'_>) -> Result<(), Reject> {
        for key in unit.store().scan_keys(
            keys::pull_seen_before(self.location, self.kind, self.number),
            Direction::Forward,
            FORGOTTEN_AT_ONCE,
        )? {
            unit.delete(key);
        }
        for (block, (bits, _)) in self.blocks.iter().filter(|(_, (_, changed))| *changed) {
            unit.put_raw(self.key(*block), packed(bits));
        }
        Ok(())
    }
}

fn place(id: u64) -> (usize, u8) {
    let within = id % BLOCK;
    (within as usize / 8, 1 << (within % 8))
}

/// Encodes a block as a list of ids, or as a bitmap if that is not longer.
fn packed(bits: &[u8]) -> Vec<u8> {
    let shown: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
    if 2 * shown as usize >= BITMAP {
        return bits.to_vec();
    }
    let set = |byte: usize| (0..8).filter(move |bit| bits[byte] & 1 << bit != 0).map(move |bit| byte * 8 + bit);
    (0..bits.len()).flat_map(set).flat_map(|within| (within as u16).to_be_bytes()).collect()
}

fn unpacked(stored: Vec<u8>) -> Vec<u8> {
    if stored.len() == BITMAP {
        return stored;
    }
    let mut bits = vec![0; BITMAP];
    for pair in stored.as_chunks::<2>().0 {
        let (byte, bit) = place(u16::from_be_bytes(*pair).into());
        bits[byte] |= bit;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_is_stored_as_id_list_or_bitmap() {
        for shown in [0, 1, 2, 511, 512, 513, 8_192_u64] {
            let mut bits = vec![0; BITMAP];
            for id in 0..shown {
                let (byte, bit) = place(3 * BLOCK + id * (BLOCK / shown.max(1)));
                bits[byte] |= bit;
            }
            let stored = packed(&bits);
            assert_eq!(stored.len(), BITMAP.min(2 * shown as usize), "{shown} ids");
            assert_eq!(unpacked(stored), bits, "{shown} ids");
        }
    }
}
