//! Handling of a clock that was set back, in this process or since the last one: retries become due earlier by the same
//! amount.

use std::collections::BTreeSet;

use location::time::Millis;
use store::{Batch, CommitError, Direction, StoreError};
use tokio::task;

use super::{
    attempt::Sender,
    delivery::{Delivery, State},
    delivery_id::made_at,
    keys, limits,
    model::EndpointId,
};

/// Keys of the due index per read.
const PAGE: usize = 500;

impl Sender {
    /// Moves the retries back. Returns the endpoints with a delivery that is due earlier now. `by` is the known amount,
    /// or 0. Deliveries created or attempted in the future reveal a larger one.
    pub async fn move_retries_back(&self, by: Millis) -> Result<BTreeSet<EndpointId>, StoreError> {
        let (mut moved, mut range) = (BTreeSet::new(), keys::all_due());
        loop {
            let page = self.store.scan_keys(range.clone(), Direction::Forward, PAGE)?;
            let Some(last) = page.last() else { return Ok(moved) };
            range = range.after(last);
            let known = self.registry.subscriptions();
            // Other nodes move their own.
            let here = page.iter().filter_map(|key| keys::parse_due(key)).filter(|(of, ..)| known.is_here(*of));
            let now = (self.clock)();
            let late = here.filter(|(_, at, _)| *at > now);
            let mut changes = Vec::new();
            for (endpoint, at, id) in late {
                let stored = self.store.get(&keys::delivery(id))?;
                let Some(before) = stored.and_then(|bytes| Delivery::from_bytes(&bytes).ok()) else { continue };
                // Attempts continue meanwhile, so the clock is read after the delivery.
                let ahead = before.attempted_at.unwrap_or(made_at(id)).since((self.clock)());
                if ahead > 0 && before.state == (State::Pending { next_attempt_at: at }) {
                    let mut after = before.clone();
                    after.set_back(by.max(ahead));
                    changes.push((before, after));
                    moved.insert(endpoint);
                }
            }
            for some in changes.chunks(limits::SWEEP) {
                self.replace(some).await?;
            }
            task::yield_now().await;
        }
    }

    /// Replaces all in one commit, or each in a separate one if an attempt was recorded concurrently.
    async fn replace(&self, changes: &[(Delivery, Delivery)]) -> Result<(), StoreError> {
        let batch_of = |some: &[(Delivery, Delivery)]| {
            let mut batch = Batch::new();
            some.iter().for_each(|(before, after)| after.replace(before, &mut batch));
            batch
        };
        match self.store.commit(batch_of(changes)).await {
            Ok(()) => return Ok(()),
            Err(CommitError::Conflict { .. }) => {}
            Err(error) => return Err(not_stored(error)),
        }
        for change in changes.chunks(1) {
            match self.store.commit(batch_of(change)).await {
                Ok(()) | Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(not_stored(error)),
            }
        }
        Ok(())
    }
}

fn not_stored(error: CommitError) -> StoreError {
    match error {
        CommitError::Store(error) => error,
        other => StoreError::Refusing { why: other.to_string() },
    }
}
