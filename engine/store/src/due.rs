//! The wake times of locations, sorted by time. Finding the due locations does not depend on the number of
//! locations.

use super::{
    Batch, Direction, Key, Store, StoreError,
    keys::{self, Space},
};

/// Number of keys per read.
const PAGE: usize = 1_000;

/// Moves the wake time of a location, in the batch of the decision that changed it. `old` is the location's
/// previous wake time, which is removed.
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

/// Returns up to `limit` locations due at `now` or earlier, the most overdue first, filtered by `wanted`.
/// Entries of unwanted locations stay in the index and do not count towards the limit.
pub fn due(
    store: &dyn Store,
    now: i64,
    limit: usize,
    wanted: impl Fn(u32) -> bool,
) -> Result<Vec<(i64, u32)>, StoreError> {
    let (mut range, mut found) = (keys::wakes_due(now), Vec::new());
    loop {
        let page = store.scan_keys(range.clone(), Direction::Forward, PAGE)?;
        for key in &page {
            let (at, location) = parse(key)?;
            if wanted(location) {
                found.push((at, location));
            }
            if found.len() == limit {
                return Ok(found);
            }
        }
        match page.last() {
            Some(last) if page.len() == PAGE => range = range.after(last),
            _ => return Ok(found),
        }
    }
}

/// Returns the earliest wake time.
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
        let due = |now, limit| due(&store, now, limit, |_| true).unwrap();
        assert_eq!(due(499, 10), [(-7, 2), (100, 3)]);
        assert_eq!(due(500, 10), [(-7, 2), (100, 3), (500, 1), (500, 4)]);
        assert_eq!(due(500, 1), [(-7, 2)]);
        assert_eq!(due(i64::MAX, 10).len(), 5);
        assert!(due(-8, 10).is_empty());
    }

    #[test]
    fn unwanted_locations_do_not_hide_wanted_ones() {
        let store = MemoryStore::new();
        let overdue = PAGE as u32 + 64;
        for location in 1..=overdue {
            set(&store, location, None, Some(i64::from(location)));
        }
        let wanted = |location| location > overdue - 3;
        let found = due(&store, i64::MAX, 2, wanted).unwrap();
        assert_eq!(found, [overdue - 2, overdue - 1].map(|location| (i64::from(location), location)));
        assert_eq!(due(&store, i64::MAX, 9, wanted).unwrap().len(), 3);
    }

    #[test]
    fn a_location_has_one_wake_time() {
        let store = MemoryStore::new();
        set(&store, 1, None, Some(10));
        set(&store, 1, Some(10), Some(10));
        set(&store, 1, Some(10), Some(20));
        assert_eq!(due(&store, 99, 10, |_| true).unwrap(), [(20, 1)]);
        set(&store, 1, Some(20), None);
        assert_eq!(next_due(&store).unwrap(), None);
    }
}
