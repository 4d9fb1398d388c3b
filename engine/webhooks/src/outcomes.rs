//! Group commit of attempt outcomes: all outcomes that arrive during a commit share the next one. A delivery costs one
//! value, its state, and the removal of its entry among the pending ones. The deliveries that ended share one value, by
//! which they are pruned. After a crash before the commit, the message is sent again under the same delivery id.

use std::sync::Arc;

use location::time::Timestamp;
use runtime::clock;
use store::{Batch, CommitError, Store};
use tokio::{
    sync::{mpsc, oneshot},
    time::sleep,
};
use uuid::Builder;

use super::{
    counts::CountChange,
    delivery::Delivery,
    keys::{self, Due},
    limits,
    registry::EndpointRegistry,
    schedule::AttemptOutcome,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetAsideReason {
    Missing,
    Damaged,
    NotReadable,
    NotDue,
}

/// The effect of an attempt on the store. Applies only if the delivery is still due as before.
pub(crate) struct DeliveryChange {
    due: Due,
    /// The delivery after the attempt. `None` if it is set aside: only removed from the pending ones, so that its entry
    /// does not block those after it.
    after: Option<Delivery>,
    /// The delivery is no longer pending.
    ended: bool,
    /// The time from which the delivery is kept as an ended one.
    finished: Option<Timestamp>,
}

impl DeliveryChange {
    /// Creates the change of a pending delivery to its state after the attempt.
    pub(crate) fn attempted(due: Due, after: Delivery) -> DeliveryChange {
        let finished = after.state.ended_at();
        DeliveryChange { due, after: Some(after), ended: finished.is_some(), finished }
    }

    /// An unreadable delivery counts as ended and is kept as long as other ended deliveries. A readable one is still
    /// indexed by its own state.
    pub(crate) fn set_aside(due: Due, why: SetAsideReason, at: Timestamp) -> DeliveryChange {
        let finished = (why != SetAsideReason::NotDue).then_some(at);
        DeliveryChange { due, after: None, ended: true, finished }
    }
}

fn put<'c>(changes: impl IntoIterator<Item = &'c DeliveryChange>, batch: &mut Batch, count: &mut CountChange) {
    let (mut finished, mut last) = (Vec::new(), Timestamp::MIN);
    for DeliveryChange { due, after, ended, finished: at } in changes {
        batch.expect_present(due.key()).delete(due.key());
        if let Some(after) = after {
            after.put(batch);
        }
        if *ended {
            count.add(due.endpoint, -1);
        }
        if let Some(at) = at {
            last = last.max(*at);
            finished.extend(keys::finished_entry(due.endpoint, due.delivery));
        }
    }
    if !finished.is_empty() {
        let unique = Builder::from_random_bytes(clock::random()).into_uuid();
        batch.put(keys::finished(last, unique), finished);
    }
    count.put(batch);
}

/// A handle to the task that records the outcomes of attempts.
#[derive(Clone)]
pub(crate) struct Outcomes {
    registry: Arc<EndpointRegistry>,
    waiting: mpsc::Sender<Waiting>,
}

struct Waiting {
    change: DeliveryChange,
    reply: oneshot::Sender<bool>,
}

impl Outcomes {
    /// Starts the recording task, which ends when the last clone of the handle is dropped.
    pub(crate) fn start(store: Arc<dyn Store>, registry: Arc<EndpointRegistry>) -> Outcomes {
        // Each attempt in flight sends one change at a time.
        let (waiting, arrived) = mpsc::channel(limits::CONCURRENCY);
        tokio::spawn(record_all(store, registry.clone(), arrived));
        Outcomes { registry, waiting }
    }

    /// Records a change in a group commit. Returns `false` if the delivery was changed concurrently.
    pub(crate) async fn record(&self, change: DeliveryChange) -> bool {
        let (reply, recorded) = oneshot::channel();
        let sent = self.waiting.send(Waiting { change, reply }).await;
        // The task and the attempts end together, with the threads.
        sent.is_ok() && recorded.await.unwrap_or(false)
    }

    /// Records a change in a separate commit, together with its effect on the endpoint's health.
    pub(crate) async fn record_with_health(
        &self,
        change: DeliveryChange,
        answer: AttemptOutcome,
        attempted: Timestamp,
    ) -> bool {
        let backlogs = &self.registry.subscriptions().backlogs;
        loop {
            let (mut batch, mut count) = (Batch::new(), backlogs.change());
            put([&change], &mut batch, &mut count);
            match self.registry.commit_attempt(change.due.endpoint, answer, attempted, batch).await {
                Ok(()) => {
                    backlogs.changed(&count);
                    return true;
                }
                Err(CommitError::Conflict { key }) if key == change.due.key() => return false,
                Err(error) => wait_for_store(&error).await,
            }
        }
    }
}

async fn record_all(store: Arc<dyn Store>, registry: Arc<EndpointRegistry>, mut arrived: mpsc::Receiver<Waiting>) {
    let mut group = Vec::new();
    while arrived.recv_many(&mut group, limits::OUTCOMES).await > 0 {
        record(&*store, &registry, std::mem::take(&mut group)).await;
    }
}

async fn record(store: &dyn Store, registry: &EndpointRegistry, mut group: Vec<Waiting>) {
    let backlogs = &registry.subscriptions().backlogs;
    while !group.is_empty() {
        let (mut batch, mut count) = (Batch::new(), backlogs.change());
        put(group.iter().map(|it| &it.change), &mut batch, &mut count);
        match store.commit(batch).await {
            Ok(()) => {
                backlogs.changed(&count);
                answer(std::mem::take(&mut group), true);
            }
            // The delivery of that key was changed concurrently; the other changes still apply.
            Err(CommitError::Conflict { key }) if group.iter().any(|it| it.change.due.key() == key) => {
                let (lost, rest) = group.into_iter().partition(|it| it.change.due.key() == key);
                answer(lost, false);
                group = rest;
            }
            Err(error) => wait_for_store(&error).await,
        }
    }
}

fn answer(group: Vec<Waiting>, recorded: bool) {
    for waiting in group {
        // The receiver is gone if the attempt was aborted.
        let _ = waiting.reply.send(recorded);
    }
}

/// Waits before the next commit. A delivered message must not be sent again because the disk is full.
async fn wait_for_store(error: &CommitError) {
    tracing::warn!(%error, "recording outcomes of webhook deliveries failed; retrying");
    sleep(limits::STORE_RETRY).await;
}
