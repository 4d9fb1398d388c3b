//! When each location wants to be woken, sorted by time: a start reads what is due, however many locations there are.

use super::{
    batch::Batch,
    contract::Store,
    error::StoreError,
    keys::{self, Space},
    range::{Direction, Key, KeyRange},
};

/// In the batch of the decision that moved the time. `old` is what the location set before, so that it has one wake time only.
pub fn set_wake(batch: &mut Batch, location: u32, old: Option<i64>, new: Option<i64>) {
    if old == new {
        return;
    }
    if let Some(old) = old {
        batch.delete(keys::wake(old, location));
    }
    if let Some(new) = new {
        batch.put(keys::wake(new, location), Vec::new());
    }
}

/// Locations to wake at `now` or earlier, the most overdue first.
pub fn due(store: &dyn Store, now: i64, limit: usize) -> Result<Vec<(i64, u32)>, StoreError> {
    store.scan_keys(keys::wakes_due(now), Direction::Forward, limit)?.iter().map(parse).collect()
}

/// Locations to wake later than `now`, and until when: a clock that was set back shows them late.
pub fn later(store: &dyn Store, now: i64, until: i64) -> Result<Vec<(i64, u32)>, StoreError> {
    let range = KeyRange::new(keys::wakes_due(now).end, keys::wakes_due(until).end);
    store.scan_keys(range, Direction::Forward, usize::MAX)?.iter().map(parse).collect()
}

/// When to look again.
pub fn next_due(store: &dyn Store) -> Result<Option<i64>, StoreError> {
    let first = store.scan_keys(Space::Wake.range(), Direction::Forward, 1)?;
    first.first().map(|key| parse(key).map(|(due, _)| due)).transpose()
}

fn parse(key: &Key) -> Result<(i64, u32), StoreError> {
    keys::parse_wake(key).ok_or_else(|| StoreError::damaged(key, "a key that is not a wake time"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{super::MemoryStore, *};

    fn set(store: &MemoryStore, location: u32, old: Option<i64>, new: Option<i64>) {
        let mut batch = Batch::new();
        set_wake(&mut batch, location, old, new);
        store.commit_now(batch).unwrap();
    }

    #[test]
    fn the_most_overdue_comes_first() {
        let store = MemoryStore::new();
        assert_eq!(next_due(&store).unwrap(), None);
        for (location, at) in [(1, 500), (2, -7), (3, 100), (4, 500), (5, i64::MAX)] {
            set(&store, location, None, Some(at));
        }
        assert_eq!(next_due(&store).unwrap(), Some(-7));
        assert_eq!(due(&store, 499, 10).unwrap(), [(-7, 2), (100, 3)]);
        assert_eq!(due(&store, 500, 10).unwrap(), [(-7, 2), (100, 3), (500, 1), (500, 4)]);
        assert_eq!(due(&store, 500, 1).unwrap(), [(-7, 2)]);
        assert_eq!(due(&store, i64::MAX, 10).unwrap().len(), 5);
        assert!(due(&store, -8, 10).unwrap().is_empty());
        assert_eq!(later(&store, 99, 499).unwrap(), [(100, 3)]);
        assert_eq!(later(&store, 100, 500).unwrap(), [(500, 1), (500, 4)]);
        assert_eq!(later(&store, 500, i64::MAX).unwrap(), [(i64::MAX, 5)]);
    }

    #[test]
    fn a_location_has_one_wake_time() {
        let store = MemoryStore::new();
        set(&store, 1, None, Some(10));
        set(&store, 1, Some(10), Some(10));
        set(&store, 1, Some(10), Some(20));
        assert_eq!(due(&store, 99, 10).unwrap(), [(20, 1)]);
        set(&store, 1, Some(20), None);
        assert_eq!(next_due(&store).unwrap(), None);
    }
}
