//! Work that is not about a single attempt: finding endpoints with waiting deliveries, correction of counts at a start,
//! and pruning of old deliveries.

use std::{
    collections::{BTreeMap, BTreeSet},
    slice,
};

use location::time::Timestamp;
use store::{Batch, CommitError, Direction, Key, KeyRange, SealedValue, StoreError, Version, keys::Space};
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
pub(super) type RefreshResult = Result<BTreeMap<EndpointId, Timestamp>, CommitError>;

type EndpointRange = fn(EndpointId) -> KeyRange;

impl Sender {
    /// Loads the changes of other nodes, and finds the endpoints with waiting deliveries.
    pub(super) async fn refresh(&self) -> RefreshResult {
        self.registry.refresh().await?;
        Ok(self.first_due()?)
    }

    /// Returns every endpoint with waiting deliveries, and the time at which the first is due.
    pub(super) fn first_due(&self) -> Result<BTreeMap<EndpointId, Timestamp>, StoreError> {
        let (mut first, now) = (BTreeMap::new(), (self.clock)());
        let queued = (Space::DeliveryQueued, keys::queued_of as EndpointRange);
        for (space, of) in [queued, (Space::DeliveryDue, keys::due_of as EndpointRange)] {
            let mut range = space.range();
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
        for (((endpoint, id), key), entry) in ended.into_iter().zip(&entries).zip(self.store.get_sealed(&entries)?) {
            let (mut state, version) = self.opened(key, entry)?;
            let mut versions = vec![(key.clone(), version)];
            if state.as_ref().is_some_and(Vec::is_empty) {
                let key = keys::earlier_delivery(id);
                let (earlier, version) = self.opened(&key, self.sealed(&key)?)?;
                state = earlier;
                versions.push((key, version));
            }
            // A delivery that was sent again is or will be in another group.
            let is_kept = match state.and_then(|state| State::from_stored(&state)) {
                // Without an entry of the next attempt, it was set aside.
                Some(State::Pending { next_attempt_at }) => {
                    self.sealed(&keys::due(endpoint, next_attempt_at, id))?.is_some()
                }
                Some(state) => state.ended_at().is_some_and(|at| at >= before),
                None => false,
            };
            if is_kept {
                continue;
            }
            for (key, version) in versions.into_iter().filter(|(_, version)| version.is_some()) {
                batch.expect_unchanged(key.clone(), version).delete(key);
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

    /// Returns `true` if the event has stored deliveries other than `gone`.
    fn has_others(&self, first: Uuid, gone: &BTreeSet<Uuid>) -> Result<bool, StoreError> {
        let key = keys::event(first);
        let (stored, _) = self.opened(&key, self.sealed(&key)?)?;
        let Some(event) = stored.and_then(|stored| StoredEvent::from_bytes(&stored)) else {
            let left = self.store.scan_keys(keys::earlier_deliveries(first), Direction::Forward, gone.len() + 1)?;
            return Ok(left.iter().filter_map(|key| keys::parse_earlier_delivery(key)).any(|id| !gone.contains(&id)));
        };
        // Deliveries end approximately in their order, so the last ones are the most likely to be stored.
        let others: Vec<_> = event.deliveries(first).rev().filter(|(_, id)| !gone.contains(id)).collect();
        for some in others.chunks(limits::SWEEP) {
            // In this order, because the first attempt moves a delivery from the queue to the log.
            let keys_of =
                |(endpoint, id): &(EndpointId, Uuid)| [keys::queued(*endpoint, *id), keys::logged(*endpoint, *id)];
            let entries: Vec<Key> = some.iter().flat_map(keys_of).collect();
            if self.store.get_sealed(&entries)?.iter().any(Option::is_some) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the content and the version of a value to prune. Damaged content is reported, and is `None`, so that it
    /// does not keep other values from being pruned.
    fn opened(&self, key: &[u8], value: Option<SealedValue>) -> Result<(Option<Vec<u8>>, Option<Version>), StoreError> {
        let Some(value) = value else { return Ok((None, None)) };
        let version = Some(value.version);
        match self.store.unseal(key, value) {
            Ok(content) => Ok((Some(content), version)),
            Err(error @ StoreError::Damaged { .. }) => {
                tracing::error!(%error, "pruning a webhook delivery that cannot be read");
                Ok((None, version))
            }
            Err(error) => Err(error),
        }
    }

    fn sealed(&self, key: &Key) -> Result<Option<SealedValue>, StoreError> {
        Ok(self.store.get_sealed(slice::from_ref(key))?.pop().flatten())
    }
}
