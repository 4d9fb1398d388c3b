//! Searches for locations that a start must load although they are not in the due index. The search runs in steps, so
//! that a start is as fast with 100,000 locations as with one.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use location::{LocationId, Millis, Timestamp};
use setup::Setup;
use store::{Direction, KeyRange, Store, StoreError, keys};

/// Locations checked per step.
const LOOKED_AT: usize = 1_000;

/// A walk over the configured locations.
pub(crate) struct Resume {
    /// The first location not checked yet. `None` when all were checked.
    next: Option<LocationId>,
    /// Amount by which the clock was set back. Locations that wake within that time may be late.
    set_back: Millis,
}

impl Resume {
    pub(crate) fn after_start() -> Resume {
        Resume { next: Some(LocationId(0)), set_back: 0 }
    }

    /// Restarts the walk.
    pub(crate) fn again(&mut self) {
        self.next = Some(LocationId(0));
    }

    /// Restarts the walk, because the clock was set back while the process runs.
    pub(crate) fn after_set_back(&mut self, by: Millis) {
        self.again();
        self.set_back = self.set_back.saturating_add(by);
    }

    pub(crate) fn is_done(&self) -> bool {
        self.next.is_none()
    }

    /// Runs one step. Returns at most `limit` locations to load.
    pub(crate) fn step(
        &mut self,
        store: &dyn Store,
        setup: &Setup,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<LocationId>, StoreError> {
        let Some(first) = self.next else { return Ok(Vec::new()) };
        let ids: Vec<LocationId> = setup.locations.range(first..).take(LOOKED_AT).map(|(id, _)| *id).collect();
        let Some(last) = ids.last().copied() else {
            *self = Resume { next: None, set_back: 0 };
            return Ok(Vec::new());
        };
        let active = active(store, first, last)?;
        let wake_times = wake_times(store, first, last)?;
        let mut found = Vec::new();
        for id in ids {
            if found.len() == limit {
                self.next = Some(id);
                return Ok(found);
            }
            let place = &setup.locations[&id];
            let wanted = match wake_times.get(&id) {
                // The location was in memory when the process ended.
                _ if active.contains(&id) => true,
                // A location with an EHR sleeps no longer than until its next read cycle. A later wake time was set by
                // a clock that was ahead.
                Some(wake) => {
                    let overslept = place.source.is_some() && wake.since(now) > place.settings.pull.longest_pause();
                    overslept || (*wake > now && wake.since(now) <= self.set_back)
                }
                // Locations with an EHR that were never started.
                None => place.source.is_some(),
            };
            if wanted {
                found.push(id);
            }
        }
        let after = setup.locations.range((Bound::Excluded(last), Bound::Unbounded)).next();
        self.next = after.map(|(id, _)| *id);
        if self.next.is_none() {
            self.set_back = 0;
        }
        Ok(found)
    }
}

fn active(store: &dyn Store, first: LocationId, last: LocationId) -> Result<BTreeSet<LocationId>, StoreError> {
    let range = KeyRange::new(keys::active(first.0), keys::active(last.0.saturating_add(1)));
    let found = store.scan_keys(range, Direction::Forward, usize::MAX)?;
    Ok(found.iter().filter_map(|key| keys::parse_active(key)).map(LocationId).collect())
}

/// Returns the wake times of sleeping locations.
fn wake_times(
    store: &dyn Store,
    first: LocationId,
    last: LocationId,
) -> Result<BTreeMap<LocationId, Timestamp>, StoreError> {
    let range = KeyRange::new(keys::asleep(first.0), keys::asleep(last.0.saturating_add(1)));
    let mut until = BTreeMap::new();
    for (key, value) in store.scan(range, Direction::Forward, usize::MAX)? {
        let bytes = value.try_into().map_err(|_| StoreError::damaged(&key, "not a time"))?;
        if let Some(id) = keys::parse_asleep(&key) {
            until.insert(LocationId(id), Timestamp(i64::from_be_bytes(bytes)));
        }
    }
    Ok(until)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::{HOUR, MINUTE};
    use store::{Batch, MemoryStore};

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    fn setup(locations: u32) -> Setup {
        let locations = (1..=locations).map(|id| testing::location(LocationId(id), 1, 1));
        testing::setup([testing::institution(1)], locations, [testing::source(1, 1)])
    }

    /// Runs all steps of a walk.
    fn walk(resume: &mut Resume, store: &MemoryStore, setup: &Setup, limit: usize) -> Vec<Vec<LocationId>> {
        let mut steps = Vec::new();
        while !resume.is_done() {
            steps.push(resume.step(store, setup, NOW, limit).unwrap());
        }
        steps
    }

    fn put_wake_time(store: &MemoryStore, location: u32, wake: Timestamp) {
        let mut batch = Batch::new();
        batch.put(keys::asleep(location), wake.0.to_be_bytes().to_vec());
        store.commit_now(batch).unwrap();
    }

    #[test]
    fn active_and_never_started_locations_are_found_in_small_steps() {
        let (store, mut setup) = (MemoryStore::new(), setup(2_500));
        // Without an EHR, nothing is due by itself.
        let mut place = testing::location(LocationId(1), 1, 1);
        place.source = None;
        setup.locations.insert(LocationId(1), place.into());
        for id in 101..=2_500 {
            match id % 100 {
                0 => store.commit_now(std::mem::take(Batch::new().put(keys::active(id), Vec::new()))).unwrap(),
                _ => put_wake_time(&store, id, NOW.plus(MINUTE)),
            }
        }
        let steps = walk(&mut Resume::after_start(), &store, &setup, 64);
        assert!(steps.iter().all(|step| step.len() <= 64));
        let found: Vec<u32> = steps.concat().iter().map(|id| id.0).collect();
        let wanted: Vec<u32> = (2..=100).chain((200..=2_500).step_by(100)).collect();
        assert_eq!(found, wanted);
        assert!(steps.len() <= 2_500 / LOOKED_AT + wanted.len() / 64 + 2, "{} steps", steps.len());
    }

    #[test]
    fn location_asleep_too_long_is_found() {
        let (store, setup) = (MemoryStore::new(), setup(2));
        let longest = setup.locations[&LocationId(1)].settings.pull.longest_pause();
        put_wake_time(&store, 1, NOW.plus(longest + 1));
        put_wake_time(&store, 2, NOW.plus(longest));
        assert_eq!(walk(&mut Resume::after_start(), &store, &setup, 64).concat(), [LocationId(1)]);
    }

    #[test]
    fn location_asleep_too_long_after_a_clock_set_back_is_found() {
        let (store, setup) = (MemoryStore::new(), setup(3));
        for (location, wake) in [(1, 8 * MINUTE), (2, MINUTE), (3, 0)] {
            put_wake_time(&store, location, NOW.plus(wake));
        }
        let mut resume = Resume::after_start();
        assert_eq!(walk(&mut resume, &store, &setup, 64).concat(), []);
        resume.after_set_back(MINUTE);
        assert_eq!(walk(&mut resume, &store, &setup, 64).concat(), [LocationId(2)], "one is due already");
        resume.after_set_back(HOUR);
        assert_eq!(walk(&mut resume, &store, &setup, 64).concat(), [LocationId(1), LocationId(2)]);
        assert_eq!(walk(&mut resume, &store, &setup, 64).concat(), []);
    }
}
