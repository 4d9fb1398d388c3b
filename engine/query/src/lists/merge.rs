//! Several runs of the index read as one.

use std::collections::{BinaryHeap, VecDeque};

use store::{Direction, KeyRange, Store, StoreError, keys};

use super::query::{Position, beyond};

/// Ids read at first where there is only one key of the index.
const ONE_RUN: usize = 32;
/// Entries of an order, or ids of a key, read at a time.
pub(super) const READ_AT_ONCE: usize = 256;

/// Ids under several keys of the index as one rising or falling sequence, each once.
pub(super) struct Merge {
    runs: Vec<Run>,
    /// The next id of each run, as `rank`, and which run.
    heads: BinaryHeap<(u64, usize)>,
    direction: Direction,
    last: Option<u64>,
    begun: bool,
}

struct Run {
    rest: KeyRange,
    ahead: VecDeque<u64>,
    /// Keys to read the next time: most runs give one or two ids to a page, few give all of it.
    chunk: usize,
}

impl Merge {
    pub(super) fn new(runs: Vec<KeyRange>, direction: Direction, from: Option<Position>) -> Merge {
        let rest = |range: KeyRange| match from {
            Some(from) => {
                let key = [range.start.as_slice(), &from.id.to_be_bytes()].concat();
                beyond(range, &key, direction)
            }
            None => range,
        };
        let chunk = if runs.len() == 1 { ONE_RUN } else { 1 };
        let runs = runs.into_iter().map(|range| Run { rest: rest(range), ahead: VecDeque::new(), chunk }).collect();
        Merge { runs, heads: BinaryHeap::new(), direction, last: None, begun: false }
    }

    pub(super) fn next(&mut self, store: &dyn Store) -> Result<Option<u64>, StoreError> {
        if !self.begun {
            self.begun = true;
            for run in 0..self.runs.len() {
                self.advance(store, run)?;
            }
        }
        while let Some((rank, run)) = self.heads.pop() {
            self.advance(store, run)?;
            let id = self.rank(rank);
            if self.last != Some(id) {
                self.last = Some(id);
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    fn advance(&mut self, store: &dyn Store, index: usize) -> Result<(), StoreError> {
        let run = &mut self.runs[index];
        if run.ahead.is_empty() {
            let found = store.scan_keys(run.rest.clone(), self.direction, run.chunk)?;
            if let Some(last) = found.last() {
                let rest = std::mem::replace(&mut run.rest, KeyRange::new(Vec::new(), Vec::new()));
                run.rest = beyond(rest, last, self.direction);
            }
            run.ahead.extend(found.iter().filter_map(|key| keys::parse_indexed(key)));
            run.chunk = (run.chunk * 2).min(READ_AT_ONCE);
        }
        if let Some(id) = run.ahead.pop_front() {
            let rank = self.rank(id);
            self.heads.push((rank, index));
        }
        Ok(())
    }

    /// What comes first has the highest rank. Its own inverse.
    fn rank(&self, id: u64) -> u64 {
        match self.direction {
            Direction::Forward => !id,
            Direction::Backward => id,
        }
    }
}
