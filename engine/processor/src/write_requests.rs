//! Writes to the EHR as operators and clients see them: queued ones and finished ones.

use location::{
    Timestamp, WriteId, WriteIntent,
    queue::{Write, WriteState},
};
use query::lists::Range;
use store::Direction;

use crate::Processor;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRequest {
    pub id: u64,
    pub location_id: u32,
    pub work: WriteIntent,
    pub status: Status,
    pub attempts: u32,
    /// The result of the last attempt, or the reason why the write ended. Never contains patient data.
    pub reason: Option<String>,
    pub queued_at: Timestamp,
    /// Time at which the write times out. `None` once it has ended.
    pub deadline: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// The write with which an operator retried this one.
    pub retried_as: Option<u64>,
    /// An operator dropped the write.
    pub dropped: bool,
    /// The write failed, and nothing is left to do.
    pub withdrawn: bool,
    /// The id of the request that caused the write, if known.
    pub origin: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Queued,
    Sending,
    /// Blocked: the gate is closed, the circuit breaker is open, the credentials were refused, or writing is paused.
    Parked,
    Done,
    Failed,
    TimedOut,
}

impl WriteRequest {
    fn waiting(processor: &Processor, id: WriteId, write: &Write) -> WriteRequest {
        let state = &processor.machine.state;
        let blocked = state.breaker.blocked.is_some() || state.is_writing_suspended();
        WriteRequest {
            id: id.0,
            location_id: processor.setup.id.0,
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
            withdrawn: false,
            origin: write.origin.clone(),
        }
    }

    /// Returns `true` if the write failed and waits for an operator to retry or drop it.
    pub fn needs_operator(&self) -> bool {
        let failed = matches!(self.status, Status::Failed | Status::TimedOut);
        failed && self.retried_as.is_none() && !self.dropped && !self.withdrawn
    }

    pub fn ended(record: records::FinishedWrite) -> WriteRequest {
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
            withdrawn: record.withdrawn,
            origin: record.origin,
        }
    }
}

/// Returns the unfinished writes of a location, in the order of their ids.
pub fn unfinished(processor: &Processor) -> Vec<WriteRequest> {
    processor.machine.state.queue.iter().map(|(id, write)| WriteRequest::waiting(processor, id, write)).collect()
}

/// Returns a range of the list of queued and finished writes, by id.
pub fn merged(waiting: Vec<WriteRequest>, ended: Vec<WriteRequest>, range: Range) -> Vec<WriteRequest> {
    let backwards = range.direction == Direction::Backward;
    let mut requests = waiting;
    requests.extend(ended);
    requests.retain(|it| range.from.is_none_or(|from| if backwards { it.id < from.id } else { it.id > from.id }));
    requests.sort_by_key(|it| it.id);
    // A write that ended between the two reads counts once, as finished.
    requests.dedup_by(|later, first| {
        later.id == first.id && first.finished_at.is_none() && {
            std::mem::swap(later, first);
            true
        }
    });
    if backwards {
        requests.reverse();
    }
    requests.truncate(range.limit);
    requests
}
