//! What the dispatcher is told of endpoints that move between nodes.

use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::limits;

/// Tells a dispatcher that endpoints move between nodes.
#[derive(Clone)]
pub struct Moves(mpsc::UnboundedSender<Move>);

pub(crate) enum Move {
    Gone(oneshot::Sender<()>),
    Came,
}

impl Moves {
    pub(crate) fn new(told: mpsc::UnboundedSender<Move>) -> Moves {
        Moves(told)
    }

    /// Waits until no message is under way to an endpoint that is not here any more. What takes long is cut off: all that moves waits for
    /// this, and a receiver may be slow.
    pub async fn let_go(&self) {
        let (ended, end) = oneshot::channel();
        // A dispatcher that has stopped sends nothing.
        if self.0.send(Move::Gone(ended)).is_ok() && timeout(limits::LET_GO_TIMEOUT, end).await.is_err() {
            tracing::warn!("webhook deliveries to endpoints that move did not end in time");
        }
    }

    /// Endpoints have come here.
    pub fn came(&self) {
        drop(self.0.send(Move::Came));
    }
}
