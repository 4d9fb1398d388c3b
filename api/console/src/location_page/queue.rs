//! The writes of a location: failed, pending and recently ended ones.

use endpoints::resources::practice::write_requests::{public_id, subject};
use engine::{
    EngineError,
    lists::Range,
    store::Direction,
    write_requests::{Status, WriteRequest},
};
use framework::access::resource_names::name;

use crate::prelude::*;

/// Maximum numbers of writes shown: the oldest pending ones, and the newest failed or ended ones.
const WAITING: usize = 100;
const ENDED: usize = 20;

pub(super) struct WriteQueue {
    pub waiting: Vec<Write>,
    /// The pending writes cannot be read, because the location cannot be loaded.
    pub is_unreadable: bool,
    /// Number of pending writes that are not shown.
    pub more: usize,
    /// Failed writes that wait for an operator, newest first.
    pub failed: Vec<Write>,
    /// Number of failed writes that are not shown.
    pub more_failed: usize,
    pub ended: Vec<Write>,
}

pub(crate) struct Write {
    pub id: String,
    pub what: String,
    /// `None` if the operator's role may not see the record.
    pub record: Option<u64>,
    pub badge: Badge,
    pub attempts: u32,
    pub reason: String,
    pub queued: RelativeTime,
    pub deadline: Option<RelativeTime>,
    pub finished: Option<RelativeTime>,
    pub can_retry: bool,
    pub can_drop: bool,
}

impl WriteQueue {
    pub(super) async fn read(
        visit: &ConsoleRequest,
        location: &LocationSetup,
        now: Timestamp,
    ) -> Result<WriteQueue, ConsoleError> {
        let engine = &visit.api.engine;
        let (waiting, is_unreadable) = match engine.unfinished_writes(location.id).await {
            Err(EngineError::Damaged | EngineError::OtherSource(_)) => (Vec::new(), true),
            waiting => (waiting?, false),
        };
        // Failed writes have a separate list, and may be the newest ones.
        let newest = Range { from: None, direction: Direction::Backward, limit: ENDED + WAITING };
        let ended = engine.ended_writes(location.id, newest)?;
        let failed = engine.failed_write_requests(location.id, WAITING)?;
        let row = |it: &WriteRequest| Write::from_request(it, visit, now);
        Ok(WriteQueue {
            more: waiting.len().saturating_sub(WAITING),
            waiting: waiting.iter().take(WAITING).map(row).collect(),
            is_unreadable,
            more_failed: (engine.failed_writes_at(location.id)? as usize).saturating_sub(failed.len()),
            failed: failed.iter().map(row).collect(),
            ended: ended.iter().filter(|it| !it.needs_operator()).take(ENDED).map(row).collect(),
        })
    }
}

impl Write {
    pub(crate) fn from_request(it: &WriteRequest, visit: &ConsoleRequest, now: Timestamp) -> Write {
        let (_, record, _) = subject(it.work);
        let when = |at| RelativeTime::new(at, now);
        let (operates, open) = (visit.may(Role::Operator), it.needs_operator());
        Write {
            id: public_id(it.location_id, it.id),
            what: describe_operation(it),
            record: visit.sees_patients().then_some(record),
            badge: badge(it),
            attempts: it.attempts,
            reason: it.reason.clone().unwrap_or_default(),
            queued: when(it.queued_at),
            deadline: it.deadline.map(when),
            finished: it.finished_at.map(when),
            can_retry: operates && open,
            can_drop: operates && (open || matches!(it.status, Status::Queued | Status::Parked)),
        }
    }
}

/// Formats the operation, such as `create appointments`.
fn describe_operation(it: &WriteRequest) -> String {
    let (resource, _, operation) = subject(it.work);
    format!("{operation} {}", name(resource).replace('_', " "))
}

fn badge(it: &WriteRequest) -> Badge {
    match it.status {
        _ if it.dropped => Badge::plain("dropped"),
        _ if it.retried_as.is_some() => Badge::plain("retried"),
        _ if it.withdrawn => Badge::plain("withdrawn"),
        Status::Queued => Badge::plain("queued"),
        Status::Sending => Badge::good("sending"),
        Status::Parked => Badge::warn("parked"),
        Status::Done => Badge::good("done"),
        Status::Failed => Badge::bad("failed"),
        Status::TimedOut => Badge::bad("timed out"),
    }
}
