//! Merging of the ids under several index prefixes.

use std::collections::BinaryHeap;

use store::{Direction, Store, StoreError};

use super::page::Position;
use crate::index::{Cursor, View, entry};

/// An ascending or descending sequence of the ids under several prefixes, without duplicates.
pub(super) struct Merge {
    cursors: Vec<Cursor>,
    /// The next id of each cursor, as its `rank`, and the index of the cursor.
    heads: BinaryHeap<(u64, usize)>,
    direction: Direction,
    last: Option<u64>,
    begun: bool,
}

impl Merge {
    /// Creates a sequence of the ids after a position.
    pub(super) fn new(view: &View, prefixes: &[Vec<u8>], direction: Direction, from: Option<Position>) -> Merge {
        let cursor = |prefix: &Vec<u8>| {
            let (mut start, mut end) = (prefix.clone(), store::prefix_end(prefix));
            match (from, direction) {
                (Some(from), Direction::Forward) => match from.id.checked_add(1) {
                    Some(next) => start = entry::with_id(prefix, next),
                    None => start.clone_from(&end),
                },
                (Some(from), Direction::Backward) => end = entry::with_id(prefix, from.id),
                (None, _) => {}
            }
            view.cursor(start, end, direction)
        };
        let cursors = prefixes.iter().map(cursor).collect();
        Merge { cursors, heads: BinaryHeap::new(), direction, last: None, begun: false }
    }

    pub(super) fn next(&mut self, store: &dyn Store) -> Result<Option<u64>, StoreError> {
        if !self.begun {
            self.begun = true;
            for cursor in 0..self.cursors.len() {
                self.advance(store, cursor)?;
            }
        }
        while let Some((rank, cursor)) = self.heads.pop() {
            self.advance(store, cursor)?;
            let id = self.rank(rank);
            if self.last != Some(id) {
                self.last = Some(id);
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    fn advance(&mut self, store: &dyn Store, cursor: usize) -> Result<(), StoreError> {
        if let Some(entry) = self.cursors[cursor].next(store)? {
            let rank = self.rank(entry::id(&entry));
            self.heads.push((rank, cursor));
        }
        Ok(())
    }

    /// Maps ids so that the next one has the highest rank. The mapping is its own inverse.
    fn rank(&self, id: u64) -> u64 {
        match self.direction {
            Direction::Forward => !id,
            Direction::Backward => id,
        }
    }
}
