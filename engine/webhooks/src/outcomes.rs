//! What attempts leave is made durable in groups: all outcomes that came while one commit was under way share the next. A crash before
//! that sends a message again, under the same delivery id.

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

/// What is wrong with a delivery that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetAsideReason {
    Missing,
    Damaged,
    NotReadable,
    NotDue,
}

/// What an attempt changes in the store, as long as the delivery is still due as it was.
pub(crate) struct Change {
    endpoint: EndpointId,
    /// Under which it was due.
    due: Key,
    /// No longer due.
    ended: bool,
    what: What,
}

enum What {
    Replaced(Box<(Delivery, Delivery)>),
    /// Taken out of the due index, so that it does not stand before the others for ever. What nobody can read has ended, and is kept as
    /// long as others that have; a record that can be read is found under what it says itself.
    SetAside {
        finished: Option<Key>,
    },
}

impl Change {
    /// `before` is pending.
    pub(crate) fn replaced(before: Delivery, after: Delivery) -> Change {
        let (endpoint, due, ended) = (before.endpoint_id, before.index_key(), !after.is_pending());
        Change { endpoint, due, ended, what: What::Replaced(Box::new((before, after))) }
    }

    pub(crate) fn set_aside(due: Due, why: SetAsideReason, at: Timestamp) -> Change {
        let finished = (why != SetAsideReason::NotDue).then(|| keys::finished(at, due.delivery));
        let key = keys::due(due.endpoint, due.at, due.delivery);
        Change { endpoint: due.endpoint, due: key, ended: true, what: What::SetAside { finished } }
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

/// Where attempts leave what became of them.
#[derive(Clone)]
pub(crate) struct Outcomes {
    registry: Arc<EndpointRegistry>,
    waiting: mpsc::Sender<Waiting>,
}

struct Waiting {
    change: Change,
    reply: oneshot::Sender<bool>,
}

impl Outcomes {
    /// Its task ends with the last clone.
    pub(crate) fn start(store: Arc<dyn Store>, registry: Arc<EndpointRegistry>) -> Outcomes {
        // Each attempt under way leaves one.
        let (waiting, arrived) = mpsc::channel(limits::CONCURRENCY);
        tokio::spawn(record_all(store, registry.clone(), arrived));
        Outcomes { registry, waiting }
    }

    /// Together with others. False: somebody else recorded the delivery.
    pub(crate) async fn record(&self, change: Change) -> bool {
        let (reply, recorded) = oneshot::channel();
        let sent = self.waiting.send(Waiting { change, reply }).await;
        // The task ends only when the threads do, and the attempts with them.
        sent.is_ok() && recorded.await.unwrap_or(false)
    }

    /// In a commit of its own with what it means for the endpoint's health.
    pub(crate) async fn record_with_health(
        &self,
        change: Change,
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
            // Whoever was faster recorded one of them; the others are as they were.
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
        // An attempt that was given up does not care.
        let _ = waiting.reply.send(recorded);
    }
}

/// A message that was delivered must not be sent again because the disk is full.
async fn wait_for_store(error: &CommitError) {
    tracing::warn!(%error, "outcomes of webhook deliveries wait for the store");
    sleep(limits::STORE_RETRY).await;
}
