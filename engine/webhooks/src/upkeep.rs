//! Correction of counts at a start, and pruning of old deliveries.

use std::collections::{BTreeMap, BTreeSet};

use location::time::Timestamp;
use store::{Batch, CommitError, Direction};
use uuid::Uuid;

use super::{attempt::Sender, delivery_id::first_of, keys, limits, model::EndpointId};

impl Sender {
    /// Removes counts of endpoints without waiting deliveries. A damaged store may have lost the counts or the
    /// deliveries.
    pub(super) async fn forget_counts(&self, wrong: BTreeMap<EndpointId, i64>) -> Result<(), CommitError> {
        if wrong.is_empty() {
            return Ok(());
        }
        tracing::warn!(endpoints = wrong.len(), "removed counts of webhook deliveries that do not exist");
        let backlogs = &self.registry.subscriptions().backlogs;
        let (mut batch, mut count) = (Batch::new(), backlogs.change());
        wrong.into_iter().for_each(|(endpoint, waiting)| count.add(endpoint, -waiting));
        count.put(&mut batch);
        self.store.commit(batch).await?;
        backlogs.changed(&count);
        Ok(())
    }

    /// Prunes deliveries that ended before the given time. Returns `true` if there are more.
    pub(super) async fn prune(&self, before: Timestamp) -> Result<bool, CommitError> {
        let old = self.store.scan(keys::finished_before(before), Direction::Forward, limits::SWEEP)?;
        if old.is_empty() {
            return Ok(false);
        }
        let mut batch = Batch::new();
        let mut gone: BTreeMap<Uuid, BTreeSet<Uuid>> = BTreeMap::new();
        for (key, endpoint) in &old {
            if let Some((_, delivery)) = keys::parse_finished(key) {
                gone.entry(first_of(delivery)).or_default().insert(delivery);
                batch.delete(keys::delivery(delivery));
                let logged = keys::parse_endpoint(endpoint).map(|endpoint| keys::logged(endpoint, delivery));
                if let Some(logged) = logged {
                    batch.delete(logged);
                }
            }
            batch.expect_present(key.clone()).delete(key.clone());
        }
        // An event gets no further deliveries: its data is pruned with the last one.
        for (first, gone) in gone {
            let beside = self.store.scan_keys(keys::deliveries_beside(first), Direction::Forward, gone.len() + 1)?;
            if beside.iter().filter_map(|key| keys::parse_delivery(key)).all(|id| gone.contains(&id)) {
                batch.delete(keys::data(first));
            }
        }
        match self.store.commit(batch).await {
            Ok(()) => Ok(old.len() == limits::SWEEP),
            // One of the deliveries is being sent again.
            Err(CommitError::Conflict { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }
}
