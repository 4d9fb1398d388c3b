//! Notifications to the dispatcher that endpoints move between nodes.

use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::limits;

/// A handle that notifies a dispatcher of endpoints that move between nodes.
#[derive(Clone)]
pub struct Moves(pub(crate) mpsc::UnboundedSender<Move>);

pub(crate) enum Move {
    Gone(oneshot::Sender<()>),
    Came,
}

impl Moves {
    /// Waits until no message to an endpoint of another node is in flight. Slow attempts are aborted, because every
    /// move of endpoints waits for this call.
    pub async fn release_moved(&self) {
        let (ended, end) = oneshot::channel();
        // A stopped dispatcher has no messages in flight.
        if self.0.send(Move::Gone(ended)).is_ok() && timeout(limits::RELEASE_TIMEOUT, end).await.is_err() {
            tracing::warn!("webhook deliveries to endpoints that move did not end in time");
        }
    }

    /// Notifies the dispatcher that endpoints were assigned to this node.
    pub fn notify_assigned(&self) {
        drop(self.0.send(Move::Came));
    }
}
