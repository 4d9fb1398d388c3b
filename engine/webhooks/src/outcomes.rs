//! Group commit of attempt outcomes: all outcomes that arrive during a commit share the next one. After a crash before
//! the commit, the message is sent again under the same delivery id.

use std::sync::Arc;

use location::time::Timestamp;
use store::{Batch, CommitError, Key, Store};
use tokio::{
    sync::{mpsc, oneshot},
    time::sleep,
};

use super::{
    counts::CountChange,
    delivery::Delivery,
    keys::{self, Due},
    limits,
    model::EndpointId,
    registry::EndpointRegistry,
    schedule::AttemptOutcome,
};

/// The reason why a due delivery is set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetAsideReason {
    Missing,
    Damaged,
    NotReadable,
    NotDue,
}

/// The effect of an attempt on the store. Applies only if the delivery is still due as before.
pub(crate) struct DeliveryChange {
    endpoint: EndpointId,
    /// The key of the delivery in the due index.
    due: Key,
    /// The delivery is no longer due.
    ended: bool,
    what: What,
}

enum What {
    Replaced(Box<(Delivery, Delivery)>),
    /// Removed from the due index, so that the entry does not block the ones after it. An unreadable delivery counts as
    /// ended and is kept as long as other ended deliveries. A readable one is still indexed by its own state.
    SetAside {
        finished: Option<Key>,
    },
}

impl DeliveryChange {
    /// Creates the change from a pending delivery to its state after the attempt.
    pub(crate) fn replaced(before: Delivery, after: Delivery) -> DeliveryChange {
        let (endpoint, due, ended) = (before.endpoint_id, before.index_key(), !after.is_pending());
        DeliveryChange { endpoint, due, ended, what: What::Replaced(Box::new((before, after))) }
    }

    pub(crate) fn set_aside(due: Due, why: SetAsideReason, at: Timestamp) -> DeliveryChange {
        let finished = (why != SetAsideReason::NotDue).then(|| keys::finished(at, due.delivery));
        let key = keys::due(due.endpoint, due.at, due.delivery);
        DeliveryChange { endpoint: due.endpoint, due: key, ended: true, what: What::SetAside { finished } }
    }

    fn put(&self, batch: &mut Batch, count: &mut CountChange) {
        if self.ended {
            count.add(self.endpoint, -1);
        }
        match &self.what {
            What::Replaced(both) => both.1.replace(&both.0, batch),
            What::SetAside { finished } => {
                batch.expect_present(self.due.clone()).delete(self.due.clone());
                if let Some(finished) = finished {
                    batch.put(finished.clone(), keys::endpoint_bytes(self.endpoint));
                }
            }
        }
    }
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
            change.put(&mut batch, &mut count);
            count.put(&mut batch);
            match self.registry.commit_attempt(change.endpoint, answer, attempted, batch).await {
                Ok(()) => {
                    backlogs.changed(&count);
                    return true;
                }
                Err(CommitError::Conflict { key }) if key == change.due => return false,
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
        group.iter().for_each(|it| it.change.put(&mut batch, &mut count));
        count.put(&mut batch);
        match store.commit(batch).await {
            Ok(()) => {
                backlogs.changed(&count);
                answer(std::mem::take(&mut group), true);
            }
            // The delivery of that key was changed concurrently; the other changes still apply.
            Err(CommitError::Conflict { key }) if group.iter().any(|it| it.change.due == key) => {
                let (lost, rest) = group.into_iter().partition(|it| it.change.due == key);
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
