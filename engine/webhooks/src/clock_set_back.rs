//! Handling of a clock that was set back, in this process or since the last one: retries become due earlier by the same
//! amount.

use std::collections::BTreeSet;

use location::time::Millis;
use store::{Batch, CommitError, Direction, StoreError, keys::Space};
use tokio::task;

use super::{
    attempt::Sender,
    delivery::{Delivery, State},
    delivery_id::creation_time,
    keys::Due,
    limits,
    model::EndpointId,
};

/// Keys of the due index per read.
const PAGE: usize = 500;

impl Sender {
    /// Moves the retries back; first attempts are due at any time. Returns the endpoints with a delivery that is due
    /// earlier now. `by` is the known amount, or 0. Deliveries created or attempted in the future reveal a larger one.
    pub async fn move_retries_back(&self, by: Millis) -> Result<BTreeSet<EndpointId>, StoreError> {
        let (mut moved, mut range) = (BTreeSet::new(), Space::DeliveryDue.range());
        loop {
            let page = self.store.scan_keys(range.clone(), Direction::Forward, PAGE)?;
            let Some(last) = page.last() else { return Ok(moved) };
            range = range.after(last);
            let known = self.registry.subscriptions();
            // Other nodes move their own.
            let here = page.iter().filter_map(|key| Due::parse(key)).filter(|due| known.is_here(due.endpoint));
            let now = (self.clock)();
            let late = here.filter(|due| due.at > now);
            let mut changes = Vec::new();
            for due in late {
                let before = match Delivery::read(&*self.store, due.endpoint, due.delivery) {
                    Ok(Some(before)) => before,
                    // An attempt sets the entry aside.
                    Ok(None) | Err(StoreError::Damaged { .. }) => continue,
                    Err(error) => return Err(error),
                };
                // Attempts continue meanwhile, so the clock is read after the delivery.
                let ahead = before.attempted_at.unwrap_or(creation_time(due.delivery)).since((self.clock)());
                if ahead > 0 && before.state == (State::Pending { next_attempt_at: due.at }) {
                    let mut after = before.clone();
                    after.set_back(by.max(ahead));
                    changes.push((before, after));
                    moved.insert(due.endpoint);
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
