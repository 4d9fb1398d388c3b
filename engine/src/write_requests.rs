//! Writes to the EHR as operators and clients see them: what waits in a location's queue, and what became of the rest.

use location::{
    decision::Reply,
    event::Work,
    ids::{LocationId, WriteId},
    queue::{Write, WriteState},
    time::Timestamp,
};

use crate::{
    actor::{Ask, request::Request, turn::Shell},
    engine::{Engine, EngineError, Refused, Stretch, unexpected},
    records,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRequest {
    pub id: u64,
    pub location_id: u32,
    pub work: Work,
    pub status: Status,
    pub attempts: u32,
    /// What the last attempt said, or why it ended without being written. Never patient data.
    pub reason: Option<String>,
    pub queued_at: Timestamp,
    /// It gives up then; none once it has ended.
    pub deadline: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// The write an operator had it tried again as.
    pub retried_as: Option<u64>,
    /// An operator gave it up.
    pub dropped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Queued,
    Sending,
    /// The EHR's gate is closed, its breaker open, or its credentials were refused.
    Parked,
    Done,
    Failed,
    TimedOut,
}

impl WriteRequest {
    fn waiting(shell: &Shell, id: WriteId, write: &Write) -> WriteRequest {
        let blocked = shell.machine.state.path.blocked.is_some() || shell.machine.state.shut().is_some();
        WriteRequest {
            id: id.0,
            location_id: shell.setup.id.0,
            work: write.work,
            status: match write.state {
                WriteState::Calling { .. } => Status::Sending,
                WriteState::Waiting { .. } if blocked => Status::Parked,
                WriteState::Waiting { .. } => Status::Queued,
            },
            attempts: write.attempts,
            reason: write.reason.clone(),
            queued_at: write.queued_at,
            deadline: Some(write.deadline),
            finished_at: None,
            retried_as: None,
            dropped: false,
        }
    }

    fn ended(record: records::Write) -> WriteRequest {
        WriteRequest {
            id: record.id,
            location_id: record.location_id,
            work: record.work,
            status: match (record.done, record.timed_out) {
                (true, _) => Status::Done,
                (false, true) => Status::TimedOut,
                (false, false) => Status::Failed,
            },
            attempts: record.attempts,
            reason: record.reason,
            queued_at: record.queued_at,
            deadline: None,
            finished_at: Some(record.finished_at),
            retried_as: record.retried_as,
            dropped: record.dropped,
        }
    }
}

/// All unfinished writes of a location, in the order of their ids.
pub fn unfinished(shell: &Shell) -> Vec<WriteRequest> {
    shell.machine.state.queue.iter().map(|(id, write)| WriteRequest::waiting(shell, id, write)).collect()
}

/// The waiting writes and the ended ones as one list, by id: the part of it that was asked for.
pub fn merged(waiting: Vec<WriteRequest>, ended: Vec<WriteRequest>, part: Stretch) -> Vec<WriteRequest> {
    let mut requests = waiting;
    requests.extend(ended);
    requests.retain(|it| part.after.is_none_or(|after| it.id > after) && part.before.is_none_or(|end| it.id < end));
    requests.sort_by_key(|it| it.id);
    // One that ended between the two looks counts once, as ended.
    requests.dedup_by(|later, first| {
        later.id == first.id && first.finished_at.is_none() && {
            std::mem::swap(later, first);
            true
        }
    });
    let surplus = requests.len().saturating_sub(part.limit);
    match part.before {
        Some(_) => drop(requests.drain(..surplus)),
        None => requests.truncate(part.limit),
    }
    requests
}

impl Engine {
    pub async fn write_requests(&self, location: LocationId, part: Stretch) -> Result<Vec<WriteRequest>, EngineError> {
        let waiting = self.unfinished_writes(location).await?;
        Ok(merged(waiting, self.ended_writes(location, part)?, part))
    }

    pub async fn write_request(&self, location: LocationId, id: u64) -> Result<Option<WriteRequest>, EngineError> {
        let waiting = self.unfinished_writes(location).await?.into_iter().find(|it| it.id == id);
        match waiting {
            Some(waiting) => Ok(Some(waiting)),
            None => Ok(self.document::<records::Write>(location.0, id)?.map(WriteRequest::ended)),
        }
    }

    /// An operator wants a write that failed tried again: the write it is tried as. What changed a record is not, it was put back.
    pub async fn retry_write(&self, location: LocationId, write: WriteId) -> Result<WriteId, Refused> {
        match self.directory().request(location, || Request::RetryWrite(write)).await?.reply {
            Reply::Retried { write } => Ok(write),
            other => Err(unexpected(other)),
        }
    }

    /// An operator gives up a write that waits, with all that rests on it, or one that failed, so that nobody tries it again.
    pub async fn drop_write(&self, location: LocationId, write: WriteId) -> Result<(), Refused> {
        match self.directory().request(location, || Request::DropWrite(write)).await?.reply {
            Reply::Done => Ok(()),
            other => Err(unexpected(other)),
        }
    }

    pub async fn unfinished_writes(&self, location: LocationId) -> Result<Vec<WriteRequest>, EngineError> {
        self.directory().ask(location, |reply| Ask::Writes { reply }).await
    }

    /// What is no more in the queue.
    pub fn ended_writes(&self, location: LocationId, part: Stretch) -> Result<Vec<WriteRequest>, EngineError> {
        let ended = self.list::<records::Write>(location.0, part)?;
        Ok(ended.into_iter().map(WriteRequest::ended).collect())
    }
}
