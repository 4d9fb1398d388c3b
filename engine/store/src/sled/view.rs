//! A read view of one state of sled's records, while the committer continues.

use std::{collections::BTreeMap, sync::Arc};

use sled::IVec;

use super::{
    chunks::{CHUNK_BYTES, chunk_key, further_chunks, join, sealed_with, version},
    faults::sled_error,
    history::{History, HistoryState},
};
use crate::{
    Direction, Key, KeyRange, StoreError,
    engine::{Medium, Outline, Reads},
    guard::guarded,
};

/// Number of records read from sled before replaced records are looked up.
const AT_ONCE: usize = 512;

pub(super) struct Log {
    pub db: sled::Db,
    pub history: History,
}

impl Medium for Log {
    fn view(&self) -> Box<dyn Reads + '_> {
        Box::new(self.state())
    }
}

impl Log {
    pub(super) fn state(&self) -> SledView<'_> {
        SledView { log: self, state: self.history.current() }
    }

    /// Returns the current record, including writes of the group in progress.
    pub(super) fn record(&self, key: &[u8]) -> Result<Option<IVec>, StoreError> {
        guarded(|| self.db.get(key)).map_err(|error| sled_error(key, error))
    }
}

pub(super) struct SledView<'a> {
    log: &'a Log,
    state: Arc<HistoryState>,
}

impl SledView<'_> {
    fn record(&self, key: &[u8]) -> Result<Option<IVec>, StoreError> {
        let now = self.log.record(key);
        // The order is essential: a group registers its replaced records before sled shows its writes.
        match self.state.replaced(key) {
            Some(before) => Ok(before),
            None => now,
        }
    }

    pub(super) fn whole(&self, key: &[u8], head: &IVec) -> Result<Vec<u8>, StoreError> {
        let mut chunks = Vec::new();
        for index in 0..further_chunks(head) {
            let chunk = self.record(&chunk_key(key, index))?;
            chunks.push(chunk.ok_or_else(|| StoreError::damaged(key, "a chunk of a record is missing"))?);
        }
        Ok(join(head, &chunks))
    }

    pub(super) fn walk<T>(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: usize,
        take: impl Fn(Key, IVec) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let Some(KeyRange { mut start, mut end }) = range.clamped() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        while found.len() < limit && start < end {
            let wanted = (limit - found.len()).min(AT_ONCE);
            let mut records = self.stretch(&start, &end, direction, wanted)?;
            // The part of the range covered by the records.
            let (from, to) = match (records.last(), direction) {
                (Some((last, _)), Direction::Forward) if records.len() == wanted => {
                    (start.clone(), [last.as_slice(), &[0]].concat())
                }
                (Some((last, _)), Direction::Backward) if records.len() == wanted => (last.clone(), end.clone()),
                _ => (start.clone(), end.clone()),
            };
            let replaced = self.state.replaced_within(&from, &to);
            if !replaced.is_empty() {
                let mut all: BTreeMap<Key, IVec> = records.into_iter().collect();
                for (key, before) in replaced {
                    match before {
                        Some(before) => all.insert(key, before),
                        None => all.remove(&key),
                    };
                }
                records = match direction {
                    Direction::Forward => all.into_iter().collect(),
                    Direction::Backward => all.into_iter().rev().collect(),
                };
            }
            for (key, head) in records.into_iter().take(limit - found.len()) {
                found.push(take(key, head)?);
            }
            match direction {
                Direction::Forward => start = to,
                Direction::Backward => end = from,
            }
        }
        Ok(found)
    }

    /// Returns records as sled currently shows them, in order.
    fn stretch(
        &self,
        start: &[u8],
        end: &[u8],
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(Key, IVec)>, StoreError> {
        let mut records = self.log.db.range(start..end);
        let mut found = Vec::new();
        while found.len() < limit {
            let next = guarded(|| match direction {
                Direction::Forward => records.next().transpose(),
                Direction::Backward => records.next_back().transpose(),
            });
            match next.map_err(|error| sled_error(start, error))? {
                Some((key, head)) => found.push((key.to_vec(), head)),
                None => break,
            }
        }
        Ok(found)
    }
}

impl Reads for SledView<'_> {
    fn sealed(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.record(key)?.map(|head| self.whole(key, &head)).transpose()
    }

    fn scan(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        self.walk(range, direction, limit, |key, head| {
            let sealed = self.whole(&key, &head)?;
            Ok((key, sealed))
        })
    }

    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError> {
        self.walk(range, direction, limit, |key, _| Ok(key))
    }

    fn kept_bytes(&self) -> u64 {
        self.log.history.current().kept_since(&self.state)
    }

    fn outlines(&self, range: KeyRange, limit: usize) -> Result<Vec<Outline>, StoreError> {
        self.walk(range, Direction::Forward, limit, |key, head| {
            let bytes = (key.len() + head.len()) as u64 + u64::from(further_chunks(&head)) * CHUNK_BYTES as u64;
            Ok(Outline { version: version(&head), sealed_with: sealed_with(&head), key, bytes })
        })
    }
}
