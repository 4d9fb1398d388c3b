//! Cursors over several tables. If several tables contain an entry, the newest one determines whether it is
//! present.

use std::{cmp::Ordering, sync::Arc};

use store::{Direction, Store, StoreError};

use super::{block::Block, segment::EntryTable};
use crate::stream::Entry;

struct TablePosition {
    table: EntryTable,
    loaded: Option<(usize, Arc<Block>)>,
    /// Index in the loaded block; `None` at the end of the table.
    at: Option<usize>,
}

impl TablePosition {
    fn new(table: EntryTable) -> TablePosition {
        TablePosition { table, loaded: None, at: None }
    }

    fn load(&mut self, store: &dyn Store, number: usize) -> Result<&Block, StoreError> {
        if self.loaded.as_ref().is_none_or(|(loaded, _)| *loaded != number) {
            self.loaded = Some((number, self.table.block(store, number)?));
        }
        Ok(&self.loaded.as_ref().expect("it was loaded just now").1)
    }

    /// Moves to the first entry that is not before `entry`, or backward to the last one before it.
    fn seek(&mut self, store: &dyn Store, entry: &[u8], direction: Direction) -> Result<(), StoreError> {
        self.at = None;
        if self.table.blocks() == 0 {
            return Ok(());
        }
        let before = self.load(store, self.table.block_of(entry))?.before(entry);
        self.at = Some(before);
        match direction {
            Direction::Forward => self.settle(store),
            Direction::Backward => self.step_back(store),
        }
    }

    /// Moves from the end of a block to the beginning of the next.
    fn settle(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        if let (Some((number, block)), Some(at)) = (&self.loaded, self.at)
            && at >= block.len()
        {
            let next = number + 1;
            self.at = None;
            if next < self.table.blocks() && self.load(store, next)?.len() > 0 {
                self.at = Some(0);
            }
        }
        Ok(())
    }

    fn step(&mut self, store: &dyn Store, direction: Direction) -> Result<(), StoreError> {
        match direction {
            Direction::Forward => {
                self.at = self.at.map(|at| at + 1);
                self.settle(store)
            }
            Direction::Backward => self.step_back(store),
        }
    }

    fn step_back(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        let (Some((number, _)), Some(at)) = (&self.loaded, self.at) else { return Ok(()) };
        self.at = match (at.checked_sub(1), number.checked_sub(1)) {
            (Some(at), _) => Some(at),
            (None, Some(before)) => self.load(store, before)?.len().checked_sub(1),
            (None, None) => None,
        };
        Ok(())
    }

    /// Returns whether the table marks an entry as present or removed; `None` if it does not contain the entry.
    fn look_up(&mut self, store: &dyn Store, entry: &[u8]) -> Result<Option<bool>, StoreError> {
        if self.table.blocks() == 0 {
            return Ok(None);
        }
        let block = self.load(store, self.table.block_of(entry))?;
        Ok(block.get(block.before(entry)).filter(|(here, _)| *here == entry).map(|(_, present)| present))
    }

    fn here(&self) -> Option<(&[u8], bool)> {
        self.loaded.as_ref()?.1.get(self.at?)
    }
}

/// A cursor over the entries from `start` (inclusive) to `end` (exclusive).
pub(crate) struct Cursor {
    /// The positions in all tables, newest table first.
    positions: Vec<TablePosition>,
    start: Entry,
    end: Entry,
    direction: Direction,
    begun: bool,
}

impl Cursor {
    pub(super) fn new(
        tables: impl Iterator<Item = EntryTable>,
        start: Entry,
        end: Entry,
        direction: Direction,
    ) -> Cursor {
        Cursor { positions: tables.map(TablePosition::new).collect(), start, end, direction, begun: false }
    }

    /// Returns the next present entry.
    pub(crate) fn next(&mut self, store: &dyn Store) -> Result<Option<Entry>, StoreError> {
        while let Some((entry, present)) = self.next_or_gone(store)? {
            if present {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Returns the next entry, including markers of removed entries.
    pub(super) fn next_or_gone(&mut self, store: &dyn Store) -> Result<Option<(Entry, bool)>, StoreError> {
        if !self.begun {
            let from = if self.direction == Direction::Forward { &self.start } else { &self.end };
            let from = from.clone();
            self.seek(store, &from)?;
        }
        let nearest = if self.direction == Direction::Forward { Ordering::Less } else { Ordering::Greater };
        let mut next: Option<(&[u8], bool)> = None;
        for (entry, present) in self.positions.iter().filter_map(TablePosition::here) {
            if next.is_none_or(|(best, _)| entry.cmp(best) == nearest) {
                next = Some((entry, present));
            }
        }
        let within = next.filter(|(entry, _)| self.start.as_slice() <= *entry && *entry < self.end.as_slice());
        let Some((entry, present)) = within.map(|(entry, present)| (entry.to_vec(), present)) else { return Ok(None) };
        for position in &mut self.positions {
            if position.here().is_some_and(|(here, _)| here == entry) {
                position.step(store, self.direction)?;
            }
        }
        Ok(Some((entry, present)))
    }

    /// Continues at an entry, inclusive if forward, exclusive if backward.
    pub(crate) fn seek(&mut self, store: &dyn Store, from: &[u8]) -> Result<(), StoreError> {
        self.begun = true;
        self.positions.iter_mut().try_for_each(|position| position.seek(store, from, self.direction))
    }
}

/// Point lookups. Lookups of neighboring entries share a read.
pub(crate) struct PointLookup(Vec<TablePosition>);

impl PointLookup {
    pub(super) fn new(tables: impl Iterator<Item = EntryTable>) -> PointLookup {
        PointLookup(tables.map(TablePosition::new).collect())
    }

    pub(crate) fn has(&mut self, store: &dyn Store, entry: &[u8]) -> Result<bool, StoreError> {
        for position in &mut self.0 {
            if let Some(present) = position.look_up(store, entry)? {
                return Ok(present);
            }
        }
        Ok(false)
    }
}
