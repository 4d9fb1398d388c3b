//! Writes to the EHR as operators and clients see them.

use std::collections::BTreeMap;

use location::{LocationId, WriteId};
use processor::{
    EngineError, LocationMessage,
    note_keys::{failed_writes_everywhere, failed_writes_of},
    write_history::{self, WriteHistory},
    write_requests::WriteRequest,
};
use query::lists::Range;
use store::{Direction, keys};

use crate::Engine;

/// Marks of failed writes read per scan.
const PAGE: usize = 10_000;

impl Engine {
    pub async fn write_request(&self, location: LocationId, id: u64) -> Result<Option<WriteRequest>, EngineError> {
        let waiting = self.unfinished_writes(location).await?.into_iter().find(|it| it.id == id);
        match waiting {
            Some(waiting) => Ok(Some(waiting)),
            None => Ok(self.document::<records::FinishedWrite>(location.0, id)?.map(WriteRequest::ended)),
        }
    }

    pub async fn unfinished_writes(&self, location: LocationId) -> Result<Vec<WriteRequest>, EngineError> {
        self.directory.query(location, |reply| LocationMessage::Writes { reply }).await
    }

    /// Returns writes that are no longer in the queue.
    pub fn ended_writes(&self, location: LocationId, range: Range) -> Result<Vec<WriteRequest>, EngineError> {
        let ended = self.by_id::<records::FinishedWrite>(location.0, range)?;
        Ok(ended.into_iter().map(WriteRequest::ended).collect())
    }

    /// Returns the number of failed writes that wait for an operator to retry or drop them, by location. Locations
    /// without any are missing.
    pub fn failed_writes(&self) -> Result<BTreeMap<LocationId, u64>, EngineError> {
        let (mut counts, mut range) = (BTreeMap::new(), failed_writes_everywhere());
        loop {
            let page = self.deps.store.scan_keys(range.clone(), Direction::Forward, PAGE)?;
            for (_, location, _) in page.iter().filter_map(|key| keys::parse_record(key)) {
                *counts.entry(LocationId(location)).or_default() += 1;
            }
            match page.last().filter(|_| page.len() == PAGE) {
                Some(last) => range = range.after(last),
                None => return Ok(counts),
            }
        }
    }

    /// Returns the number of a location's failed writes that wait for an operator.
    pub fn failed_writes_at(&self, location: LocationId) -> Result<u64, EngineError> {
        let marks = self.deps.store.scan_keys(failed_writes_of(location.0), Direction::Forward, usize::MAX)?;
        Ok(marks.len() as u64)
    }

    /// Returns up to `limit` failed writes of a location that wait for an operator, newest first.
    pub fn failed_write_requests(&self, location: LocationId, limit: usize) -> Result<Vec<WriteRequest>, EngineError> {
        let marks = self.deps.store.scan_keys(failed_writes_of(location.0), Direction::Backward, limit)?;
        let mut failed = Vec::new();
        for (_, location, id) in marks.iter().filter_map(|key| keys::parse_record(key)) {
            failed.extend(self.document::<records::FinishedWrite>(location, id)?.map(WriteRequest::ended));
        }
        Ok(failed)
    }

    /// Returns the times at which a write was queued, called and answered.
    pub fn write_history(&self, location: LocationId, write: &WriteRequest) -> Result<WriteHistory, EngineError> {
        // A retry or a drop follows the end of the write.
        let settled = write.dropped || write.retried_as.is_some();
        let time = (write.queued_at, write.finished_at.filter(|_| !settled));
        Ok(write_history::read(&*self.deps.store, location, WriteId(write.id), time)?)
    }
}
