//! Orders by a field that may change, in which a walk neither skips nor repeats a record although it moves meanwhile: a place that was left
//! stays for a while with the time it was left at, and the place that follows it says when it was entered. A walk that began at T
//! shows the places of T, and whatever is newer than T at its first place.

use location::time::{DAY, Millis, Timestamp};
use records::index::OrderBy;
use store::{Batch, Direction, Key, Store, StoreError, keys};

use super::terms::Writes;

/// A place that was left is kept so long: no walk may be older.
pub const KEPT: Millis = DAY;

/// Moves of one record that are followed back.
const MOVES_AT_MOST: usize = 100_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub scope: u32,
    pub kind: u8,
    pub order: OrderBy,
    pub at: i64,
    pub id: u64,
}

impl Place {
    pub(crate) fn key(self) -> Key {
        keys::place(self.scope, self.kind, self.order as u8, self.at, self.id)
    }
}

/// The times a record stood at a place, in their order: more than one if it came back. On the disk nothing at all stands for the most
/// frequent case, a record that never moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stays(Vec<Stay>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stay {
    /// `START` for a record's first place.
    entered: i64,
    /// `OPEN` while it stands there.
    left: i64,
    /// Where it stood before, `START` for nowhere.
    from: i64,
}

const START: i64 = i64::MIN;
const OPEN: i64 = i64::MAX;
const FIRST: Stay = Stay { entered: START, left: OPEN, from: START };
const STAY_BYTES: usize = 24;

impl Stay {
    fn seen_at(self, time: Timestamp) -> bool {
        self.entered <= time.0 && (self.left > time.0 || self.left == OPEN)
    }

    fn to_bytes(self) -> Vec<u8> {
        [self.entered, self.left, self.from].map(i64::to_be_bytes).concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Stay> {
        let (entered, bytes) = bytes.split_first_chunk()?;
        let (left, bytes) = bytes.split_first_chunk()?;
        let [entered, left, from] = [entered, left, bytes.first_chunk()?].map(|part| i64::from_be_bytes(*part));
        Some(Stay { entered, left, from })
    }
}

impl Stays {
    pub(crate) fn parse(key: &[u8], value: &[u8]) -> Result<Stays, StoreError> {
        if value.is_empty() {
            return Ok(Stays(vec![FIRST]));
        }
        let stays = value.chunks(STAY_BYTES).map(Stay::from_bytes).collect::<Option<_>>();
        stays.map(Stays).ok_or_else(|| StoreError::damaged(key, "the stays at a place cannot be read"))
    }

    fn read(store: &dyn Store, key: &[u8]) -> Result<Stays, StoreError> {
        store.get(key)?.map_or(Ok(Stays(Vec::new())), |value| Stays::parse(key, &value))
    }

    /// What the store is to hold; none when nothing is left to be kept.
    pub(crate) fn to_value(&self) -> Option<Vec<u8>> {
        match self.0.as_slice() {
            [] => None,
            [FIRST] => Some(Vec::new()),
            stays => Some(stays.iter().flat_map(|stay| stay.to_bytes()).collect()),
        }
    }

    pub(crate) fn seen_at(&self, time: Timestamp) -> bool {
        self.0.iter().any(|stay| stay.seen_at(time))
    }

    /// Forgets the stays that ended at `time` or earlier.
    pub(crate) fn forget(&mut self, time: Timestamp) {
        self.0.retain(|stay| stay.left > time.0);
    }

    fn write(&self, key: Key, writes: &mut Writes) {
        writes.insert(key, self.to_value());
    }
}

/// Moves a record from one place of an order to another. `old` is none for a new record, and holds none for one that had no place. A
/// record that comes from another list is new in this one; should it come back within a day, a walk that began before may repeat it.
pub(super) fn write(
    store: &dyn Store,
    now: Timestamp,
    old: Option<Option<Place>>,
    new: Option<Place>,
    writes: &mut Writes,
) -> Result<(), StoreError> {
    let Some(old) = old else {
        if let Some(new) = new {
            Stays(vec![FIRST]).write(new.key(), writes);
        }
        return Ok(());
    };
    if old == new {
        return Ok(());
    }
    let (mut moment, mut from) = (now.0, START);
    if let Some(place) = old {
        let (key, mut stays) = (place.key(), Stays::read(store, &place.key())?);
        stays.forget(now.minus(KEPT));
        if let Some(open) = stays.0.pop_if(|stay| stay.left == OPEN) {
            // Clocks of machines are set back now and then; the order of stays must not be.
            moment = moment.max(open.entered);
            from = if open.entered == moment { open.from } else { place.at };
            if open.entered < moment {
                stays.0.push(Stay { left: moment, ..open });
                writes.insert(keys::place_left(moment, &key), Some(Vec::new()));
            }
        }
        stays.write(key, writes);
    }
    if let Some(place) = new {
        let (key, mut stays) = (place.key(), Stays::read(store, &place.key())?);
        stays.forget(now.minus(KEPT));
        let stayed = old.is_some_and(|old| old.scope == place.scope);
        stays.0.push(if stayed { Stay { entered: moment, left: OPEN, from } } else { FIRST });
        stays.write(key, writes);
    }
    Ok(())
}

/// Where a record stood at a time, found by going back from its place of today.
pub(crate) fn at_time(store: &dyn Store, today: Place, time: Timestamp) -> Result<Option<Place>, StoreError> {
    let mut place = today;
    for _ in 0..MOVES_AT_MOST {
        let stays = Stays::read(store, &place.key())?;
        if stays.seen_at(time) {
            return Ok(Some(place));
        }
        match stays.0.iter().find(|stay| stay.entered > time.0) {
            Some(stay) if stay.from != START => place.at = stay.from,
            _ => return Ok(None),
        }
    }
    Err(StoreError::damaged(&today.key(), "a record moved more often than anything can"))
}

/// Forgets up to `limit` places that were left too long ago; answers how many.
pub(crate) fn forget(store: &dyn Store, now: Timestamp, limit: usize, batch: &mut Batch) -> Result<usize, StoreError> {
    let until = now.minus(KEPT);
    let left = store.scan_keys(keys::places_left(until.0), Direction::Forward, limit)?;
    for key in &left {
        batch.delete(key.clone());
        let Some((_, place)) = keys::parse_place_left(key) else { continue };
        let Some(found) = store.read(place)? else { continue };
        let mut stays = Stays::parse(place, &found.value)?;
        stays.forget(until);
        batch.expect_unchanged(place.to_vec(), Some(found.version));
        match stays.to_value() {
            Some(value) => batch.put(place.to_vec(), value),
            None => batch.delete(place.to_vec()),
        };
    }
    Ok(left.len())
}
