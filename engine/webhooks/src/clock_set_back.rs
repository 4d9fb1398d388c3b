//! The clock was set back, within this life or since the last one: what was to be tried again then is due as much earlier.

use std::collections::BTreeSet;

use location::time::{Millis, Timestamp};
use store::{Batch, CommitError, Direction, StoreError};
use tokio::task;

use super::{
    attempt::Sender,
    delivery::{Delivery, State},
    delivery_id::made_at,
    keys, limits,
    model::EndpointId,
};

/// Keys of the due index read at once.
const PAGE: usize = 500;

impl Sender {
    /// The endpoints with something due earlier. `by`: how much the clock was set back, as far as that is known; what was made or tried
    /// in a time to come tells it otherwise.
    pub async fn keep_pauses(&self, now: Timestamp, by: Millis) -> Result<BTreeSet<EndpointId>, StoreError> {
        let (mut moved, mut range) = (BTreeSet::new(), keys::all_due());
        loop {
            let page = self.store.scan_keys(range.clone(), Direction::Forward, PAGE)?;
            let Some(last) = page.last() else { return Ok(moved) };
            range = range.after(last);
            let known = self.registry.subscriptions();
            // Others see to theirs.
            let here = page.iter().filter_map(|key| keys::parse_due(key)).filter(|(of, ..)| known.is_here(*of));
            let late = here.filter(|(_, at, _)| *at > now);
            let mut changes = Vec::new();
            for (endpoint, at, id) in late {
                let stored = self.store.get(&keys::delivery(id))?;
                let Some(before) = stored.and_then(|bytes| Delivery::from_bytes(&bytes).ok()) else { continue };
                let ahead = before.attempted_at.unwrap_or(made_at(id)).since(now);
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

    /// Together; where one of them was sent meanwhile, each by itself.
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
