//! Work that is not about a single attempt: finding endpoints with waiting deliveries, correction of counts at a start,
//! and pruning of old deliveries.

use std::collections::{BTreeMap, BTreeSet};

use location::time::Timestamp;
use store::{Batch, CommitError, Direction, Key, KeyRange, StoreError};
use uuid::Uuid;

use super::{
    attempt::Sender,
    delivery::State,
    delivery_id::first_of,
    event::StoredEvent,
    keys::{self, Due},
    limits,
    model::EndpointId,
};

/// Endpoints with waiting deliveries, and the time at which the first is due.
pub(super) type Look = Result<BTreeMap<EndpointId, Timestamp>, CommitError>;

/// Returns the range of the keys of an endpoint.
type EndpointRange = fn(EndpointId) -> KeyRange;

impl Sender {
    /// Loads the changes of other nodes, and finds the endpoints with waiting deliveries.
    pub(super) async fn refresh(&self) -> Look {
        self.registry.refresh().await?;
        Ok(self.first_due()?)
    }

    /// Returns every endpoint with waiting deliveries, and the time at which the first is due.
    pub(super) fn first_due(&self) -> Result<BTreeMap<EndpointId, Timestamp>, StoreError> {
        let (mut first, now) = (BTreeMap::new(), (self.clock)());
        let queued = (keys::all_queued(), keys::queued_of as EndpointRange);
        for (mut range, of) in [queued, (keys::all_due(), keys::due_of as EndpointRange)] {
            while let Some(key) = self.store.scan_keys(range.clone(), Direction::Forward, 1)?.first() {
                let Some(due) = Due::parse(key) else {
                    tracing::error!("a key of the webhook due index cannot be read");
                    range = range.after(key);
                    continue;
                };
                let at = if due.is_queued { due.at.min(now) } else { due.at };
                first.entry(due.endpoint).and_modify(|first: &mut Timestamp| *first = at.min(*first)).or_insert(at);
                range.start = of(due.endpoint).end;
            }
        }
        Ok(first)
    }

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
        let groups = self.store.scan(keys::finished_before(before), Direction::Forward, limits::SWEEP)?;
        let (mut batch, mut ended, mut swept) = (Batch::new(), Vec::new(), 0);
        for (key, value) in &groups {
            if ended.len() >= limits::SWEEP {
                break;
            }
            ended.extend(keys::parse_finished(key, value));
            batch.expect_present(key.clone()).delete(key.clone());
            swept += 1;
        }
        if swept == 0 {
            return Ok(false);
        }
        let entries: Vec<Key> = ended.iter().map(|(endpoint, id)| keys::logged(*endpoint, *id)).collect();
        let mut gone: BTreeMap<Uuid, BTreeSet<Uuid>> = BTreeMap::new();
        for ((id, key), entry) in ended.iter().map(|(_, id)| *id).zip(&entries).zip(self.store.read_many(&entries)?) {
            let earlier = match &entry {
                Some(entry) if entry.value.is_empty() => self.store.read(&keys::earlier_delivery(id))?,
                _ => None,
            };
            let state = earlier.as_ref().or(entry.as_ref()).and_then(|found| State::from_stored(&found.value));
            // It was sent again, and is or will be in another group.
            if state.is_some_and(|state| state.ended_at().is_none_or(|at| at >= before)) {
                continue;
            }
            for (key, found) in [(key.clone(), entry), (keys::earlier_delivery(id), earlier)] {
                if let Some(found) = found {
                    batch.expect_unchanged(key.clone(), Some(found.version)).delete(key);
                }
            }
            gone.entry(first_of(id)).or_default().insert(id);
        }
        // An event gets no further deliveries, so it is pruned with its last one.
        for (first, gone) in gone {
            if !self.has_others(first, &gone)? {
                batch.delete(keys::event(first));
            }
        }
        match self.store.commit(batch).await {
            Ok(()) => Ok(swept < groups.len() || swept == limits::SWEEP),
            // One of the deliveries is being sent again.
            Err(CommitError::Conflict { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Returns `true` if the event has other deliveries than those that are gone.
    fn has_others(&self, first: Uuid, gone: &BTreeSet<Uuid>) -> Result<bool, StoreError> {
        let stored = self.store.get(&keys::event(first))?;
        let Some(event) = stored.and_then(|stored| StoredEvent::from_bytes(&stored)) else {
            let left = self.store.scan_keys(keys::earlier_deliveries(first), Direction::Forward, gone.len() + 1)?;
            return Ok(left.iter().filter_map(|key| keys::parse_earlier_delivery(key)).any(|id| !gone.contains(&id)));
        };
        // Deliveries end about in their order, so the last ones are the most likely to be left.
        for (endpoint, id) in event.deliveries(first).rev().filter(|(_, id)| !gone.contains(id)) {
            // In this order, because the first attempt moves a delivery from the queue to the log.
            for key in [keys::queued(endpoint, id), keys::logged(endpoint, id)] {
                if self.store.get(&key)?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
