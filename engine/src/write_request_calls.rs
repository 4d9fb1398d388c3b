//! Writes to the EHR as operators and clients see them.

use location::ids::{LocationId, WriteId};
use processor::{
    actor::Ask,
    commands::{DropWrite, RetryWrite},
    error::EngineError,
    write_requests::WriteRequest,
};
use query::lists::Range;

use crate::engine::Engine;

impl Engine {
    pub async fn write_request(&self, location: LocationId, id: u64) -> Result<Option<WriteRequest>, EngineError> {
        let waiting = self.unfinished_writes(location).await?.into_iter().find(|it| it.id == id);
        match waiting {
            Some(waiting) => Ok(Some(waiting)),
            None => Ok(self.document::<records::Write>(location.0, id)?.map(WriteRequest::ended)),
        }
    }

    /// An operator wants a write that failed tried again: the write it is tried as. What changed a record is not, it was put back.
    pub async fn retry_write(&self, location: LocationId, write: WriteId) -> Result<WriteId, EngineError> {
        self.send(location, RetryWrite(write)).await
    }

    /// An operator gives up a write that waits, with all that rests on it, or one that failed, so that nobody tries it again.
    pub async fn drop_write(&self, location: LocationId, write: WriteId) -> Result<(), EngineError> {
        self.send(location, DropWrite(write)).await
    }

    pub async fn unfinished_writes(&self, location: LocationId) -> Result<Vec<WriteRequest>, EngineError> {
        self.directory().ask(location, |reply| Ask::Writes { reply }).await
    }

    /// What is no more in the queue.
    pub fn ended_writes(&self, location: LocationId, range: Range) -> Result<Vec<WriteRequest>, EngineError> {
        let ended = self.by_id::<records::Write>(location.0, range)?;
        Ok(ended.into_iter().map(WriteRequest::ended).collect())
    }
}
