//! The feed of changes: each record that was really changed, in the order of commits, kept for thirty days. What a data source shares
//! is one stream, what belongs to a location another; a location's readers see both as one.

use std::collections::BTreeMap;

use location::{
    ids::LocationId,
    pull::Resource,
    time::{DAY, Millis, Timestamp},
};
use serde::{Deserialize, Serialize};

use crate::{
    engine::{Engine, EngineError},
    reads::failed,
    store::{Batch, Direction, Key, KeyRange, Store, StoreError, feed_end, keys, prefix_end},
};

/// Changes are pruned when they are older.
pub const KEPT: Millis = 30 * DAY;
/// Changes looked at for one page: those of other resources count too.
const READ_AT_MOST: usize = 20_000;
const READ_AT_ONCE: usize = 100;
/// Changes of one commit that are kept as one value: few enough that it stays in one piece on the disk. A page of a pull is some twelve
/// values then instead of five hundred.
const TOGETHER: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Records its locations share.
    Source(u32),
    /// Records of one location.
    Location(u32),
}

impl Stream {
    /// On disks: never changed.
    pub fn number(self) -> u64 {
        match self {
            Stream::Source(id) => 1 << 32 | u64::from(id),
            Stream::Location(id) => 2 << 32 | u64::from(id),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Created,
    Updated,
    /// It is gone in the EHR.
    Deleted,
}

/// A change of one record; what it is now its document says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedEntry {
    pub at: Timestamp,
    pub resource: Resource,
    pub id: u64,
    pub change: Change,
}

/// The changes of one commit in a stream, each with a number of its own.
pub(crate) fn append(batch: &mut Batch, stream: Stream, entries: &[FeedEntry]) {
    for together in entries.chunks(TOGETHER) {
        let value = serde_json::to_vec(together).expect("numbers and names can always be written as JSON");
        batch.append_many(stream.number(), together.len() as u64, value);
    }
}

/// The changes of one value; it is kept at the number of the last.
fn parse(key: &[u8], value: &[u8]) -> Result<Vec<(u64, FeedEntry)>, StoreError> {
    let (_, last) = keys::parse_feed(key).ok_or_else(|| StoreError::damaged(key, "a key that is no change"))?;
    let entries: Vec<FeedEntry> =
        serde_json::from_slice(value).map_err(|_| StoreError::damaged(key, "a change nobody can read"))?;
    let before = last.checked_sub(entries.len() as u64);
    let before = before.ok_or_else(|| StoreError::damaged(key, "more changes than numbers"))?;
    Ok((before + 1..).zip(entries).collect())
}

/// A page of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// In the order of commits, the last change of each record.
    pub entries: Vec<FeedEntry>,
    /// What the next page is asked for with.
    pub next: u64,
    /// There is more already.
    pub more: bool,
}

impl Engine {
    /// What changed at a location and in its data source after a position; without a position, the position of now. No resources
    /// means all of them.
    pub fn changes(
        &self,
        location: LocationId,
        since: Option<u64>,
        resources: &[Resource],
        limit: usize,
    ) -> Result<Changes, EngineError> {
        let setup = self.setup().locations.get(&location).ok_or(EngineError::UnknownLocation)?;
        let shared = setup.source.map(Stream::Source);
        let streams: Vec<Stream> = [Stream::Location(location.0)].into_iter().chain(shared).collect();
        let store = &*self.env().store;
        match since {
            None => Ok(Changes { entries: Vec::new(), next: feed_end(store).map_err(failed)?, more: false }),
            Some(since) => page(store, &streams, since, resources, limit).map_err(failed)?.ok_or(EngineError::Expired),
        }
    }
}

/// None when changes after `since` have been pruned.
pub fn page(
    store: &dyn Store,
    streams: &[Stream],
    since: u64,
    resources: &[Resource],
    limit: usize,
) -> Result<Option<Changes>, StoreError> {
    // What is visible up to here is complete: numbers rise in the order in which commits become visible.
    let end = feed_end(store)?;
    let (mut entries, mut next, mut read) = (Vec::new(), since, 0);
    while next < end && entries.len() < limit && read < READ_AT_MOST {
        let (found, complete_to) = merged(store, streams, next, end)?;
        read += found.len();
        next = complete_to;
        for (number, entry) in found.into_iter().filter(|(_, entry)| wanted(resources, entry)) {
            entries.push(entry);
            if entries.len() == limit {
                next = number;
                break;
            }
        }
    }
    for stream in streams {
        // Looked at last: whatever the reading above missed has been noted by then.
        if pruned(store, *stream)? > since {
            return Ok(None);
        }
    }
    Ok(Some(Changes { entries: compacted(entries), next: next.max(since), more: next < end }))
}

fn wanted(resources: &[Resource], entry: &FeedEntry) -> bool {
    resources.is_empty() || resources.contains(&entry.resource)
}

/// The next changes of all streams by their numbers, and up to which number they are all there is.
fn merged(
    store: &dyn Store,
    streams: &[Stream],
    after: u64,
    end: u64,
) -> Result<(Vec<(u64, FeedEntry)>, u64), StoreError> {
    let (mut all, mut complete_to) = (BTreeMap::new(), end);
    for stream in streams {
        let mut range = keys::feed_after(stream.number(), after);
        // A value that ends after `after` may begin before it.
        range.end = range.end.min(keys::feed(stream.number(), end.saturating_add(1)));
        let found = store.scan(range, Direction::Forward, READ_AT_ONCE)?;
        let full = found.len() == READ_AT_ONCE;
        for (key, value) in &found {
            all.extend(parse(key, value)?);
        }
        if let Some((key, _)) = found.last().filter(|_| full) {
            let last = keys::parse_feed(key).map_or(after, |(_, number)| number);
            complete_to = complete_to.min(last);
        }
    }
    all.retain(|number, _| after < *number && *number <= complete_to);
    Ok((all.into_iter().collect(), complete_to))
}

/// The last change of each record. One that was created and then changed is still news as a whole.
fn compacted(entries: Vec<FeedEntry>) -> Vec<FeedEntry> {
    let mut last: BTreeMap<(Resource, u64), (usize, FeedEntry)> = BTreeMap::new();
    for (index, mut entry) in entries.into_iter().enumerate() {
        let record = (entry.resource, entry.id);
        if let Some((_, before)) = last.get(&record)
            && (before.change, entry.change) == (Change::Created, Change::Updated)
        {
            entry.change = Change::Created;
        }
        last.insert(record, (index, entry));
    }
    let in_order: BTreeMap<usize, FeedEntry> = last.into_values().collect();
    in_order.into_values().collect()
}

fn pruned(store: &dyn Store, stream: Stream) -> Result<u64, StoreError> {
    let key = keys::feed_pruned(stream.number());
    let Some(value) = store.get(&key)? else { return Ok(0) };
    let bytes = value.try_into().map_err(|_| StoreError::damaged(&key, "not a number"))?;
    Ok(u64::from_be_bytes(bytes))
}

/// One step of pruning: the next stream after `stream` that has changes, and what is too old of it. Answers where to go on, none at
/// the end.
pub(crate) fn prune(
    store: &dyn Store,
    after: Option<u64>,
    now: Timestamp,
    limit: usize,
    batch: &mut Batch,
) -> Result<Option<Pruned>, StoreError> {
    let mut range = keys::Space::Feed.range();
    if let Some(after) = after {
        range.start = prefix_end(&keys::feed(after, 0)[..9]);
    }
    let first = store.scan_keys(range, Direction::Forward, 1)?;
    let Some((stream, _)) = first.first().and_then(|key| keys::parse_feed(key)) else { return Ok(None) };
    let range: KeyRange = keys::feed_after(stream, 0);
    // Mostly nothing is old, and the first change says so.
    let eldest = store.scan(range.clone(), Direction::Forward, 1)?;
    let eldest = eldest.first().map(|(key, value)| old(key, value, now)).transpose()?;
    if eldest.flatten().is_none() {
        return Ok(Some(Pruned { stream, whole: true }));
    }
    let found: Vec<(Key, Vec<u8>)> = store.scan(range, Direction::Forward, limit)?;
    let mut last = None;
    for (key, value) in &found {
        let Some(number) = old(key, value, now)? else { break };
        batch.delete(key.clone());
        last = Some((number, key));
    }
    if let Some((number, _)) = last {
        batch.put(keys::feed_pruned(stream), number.to_be_bytes().to_vec());
    }
    let whole = found.last().map(|(key, _)| key) != last.map(|(_, key)| key) || found.len() < limit;
    Ok(Some(Pruned { stream, whole }))
}

/// The number of a change that is to go. Changes of one commit are of one age.
fn old(key: &[u8], value: &[u8], now: Timestamp) -> Result<Option<u64>, StoreError> {
    let last = parse(key, value)?.pop().filter(|(_, entry)| entry.at <= now.minus(KEPT));
    Ok(last.map(|(number, _)| number))
}

/// Which stream a step of pruning was about, and whether it is done with it.
pub(crate) struct Pruned {
    pub stream: u64,
    pub whole: bool,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use location::time::{HOUR, MINUTE};

    use super::*;
    use crate::{
        actor::{
            docs::{Docs, Home},
            pool::Pool,
        },
        records::{AppointmentType, Operatory},
        secrets::Secrets,
        store::MemoryStore,
        upkeep,
    };

    type Told = (Vec<(Resource, u64, Change)>, u64, bool);

    const SHARED: Stream = Stream::Source(1);
    const OWN: Stream = Stream::Location(9);

    struct World {
        store: Arc<MemoryStore>,
        now: i64,
    }

    impl World {
        fn new() -> World {
            World { store: Arc::new(MemoryStore::new()), now: 100 * DAY }
        }

        fn turn(&self, location: u32, work: impl FnOnce(&mut Docs<'_>)) {
            let (pool, secrets) = (Pool::default(), Secrets::from_seed([1; 32]));
            let home = Home { source: Some(1), location, now: Timestamp(self.now) };
            let mut docs = Docs::new(&*self.store, &pool, &secrets, home);
            work(&mut docs);
            let mut batch = Batch::new();
            docs.into_batch(&mut batch).unwrap();
            self.store.commit_now(batch).unwrap();
        }

        fn page(&self, since: u64, resources: &[Resource], limit: usize) -> Option<Told> {
            let changes = page(&*self.store, &[OWN, SHARED], since, resources, limit).unwrap()?;
            let told = changes.entries.iter().map(|entry| (entry.resource, entry.id, entry.change)).collect();
            Some((told, changes.next, changes.more))
        }

        fn upkeep(&self) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime
                .block_on(upkeep::all(
                    &(self.store.clone() as Arc<dyn Store>),
                    Timestamp(self.now),
                    std::time::Duration::ZERO,
                ))
                .unwrap();
        }
    }

    fn kind(id: u32) -> AppointmentType {
        AppointmentType {
            source_id: None,
            location_id: None,
            descriptor_ids: Vec::new(),
            id,
            institution_id: 3,
            foreign_id: None,
            name: "check-up".into(),
            minutes: 30,
            bookable_online: true,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
            deleted_at: None,
        }
    }

    fn operatory(id: u64, location_id: u32) -> Operatory {
        Operatory {
            id,
            location_id,
            foreign_id: None,
            name: "1".into(),
            display_name: None,
            active: true,
            bookable_online: true,
            appointment_type_ids: Vec::new(),
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
            last_sync_time: None,
            deleted_at: None,
        }
    }

    const TYPE: Resource = Resource::AppointmentTypes;
    const ROOM: Resource = Resource::Operatories;

    #[test]
    fn each_record_that_changed_is_told_once_per_commit_in_the_order_of_commits() {
        let world = World::new();
        world.turn(9, |docs| {
            docs.put(&kind(1)).unwrap();
            docs.change::<AppointmentType>(3, 1, |it| it.minutes = 40).unwrap();
        });
        world.turn(9, |docs| docs.put(&operatory(5, 9)).unwrap());
        // Another location of the data source, with a room of its own.
        world.turn(8, |docs| {
            docs.change::<AppointmentType>(3, 1, |it| it.minutes = 50).unwrap();
            docs.put(&operatory(6, 8)).unwrap();
        });
        // Nothing new: written as it was, or changed and changed back.
        world.turn(9, |docs| docs.put(&operatory(5, 9)).unwrap());
        world.turn(9, |docs| {
            docs.change::<AppointmentType>(3, 1, |it| it.minutes = 60).unwrap();
            docs.change::<AppointmentType>(3, 1, |it| it.minutes = 50).unwrap();
        });
        let delete = |it: &mut Operatory| it.deleted_at = Some(Timestamp(1));
        world.turn(9, |docs| drop(docs.change(9, 5, delete).unwrap()));
        world.turn(9, |docs| drop(docs.change(9, 5, |it: &mut Operatory| it.active = false).unwrap()));

        use Change::{Created, Deleted, Updated};
        let (told, end, more) = world.page(0, &[], 100).unwrap();
        assert_eq!(told, [(TYPE, 1, Created), (ROOM, 5, Updated)], "the last change of each");
        assert_eq!((end, more), (6, false));
        let mut one_by_one = Vec::new();
        let mut since = 0;
        while let Some((told, next, true)) | Some((told, next, false)) = world.page(since, &[], 1)
            && !told.is_empty()
        {
            assert!(next > since);
            one_by_one.extend(told);
            since = next;
        }
        let expected =
            [(TYPE, 1, Created), (ROOM, 5, Created), (TYPE, 1, Updated), (ROOM, 5, Deleted), (ROOM, 5, Updated)];
        assert_eq!(one_by_one, expected);
        assert_eq!(world.page(0, &[TYPE], 100).unwrap(), (vec![(TYPE, 1, Created)], 6, false));
        assert_eq!(world.page(1, &[TYPE], 100).unwrap(), (vec![(TYPE, 1, Updated)], 6, false));
        assert_eq!(world.page(6, &[], 100).unwrap(), (vec![], 6, false));
    }

    #[test]
    fn long_streams_are_merged_without_gaps() {
        let world = World::new();
        for n in 0..1_300u32 {
            world.turn(9, |docs| match n % 13 {
                0 => docs.put(&kind(n)).unwrap(),
                _ => docs.put(&operatory(n.into(), 9)).unwrap(),
            });
        }
        for limit in [7, 499, 500, 501, 5_000] {
            let (mut ids, mut since) = (Vec::new(), 0);
            loop {
                let (told, next, more) = world.page(since, &[], limit).unwrap();
                ids.extend(told.into_iter().map(|(_, id, _)| id));
                since = next;
                if !more {
                    break;
                }
            }
            assert_eq!(ids, (0..1_300).collect::<Vec<_>>(), "by {limit}");
        }
    }

    /// A page of a pull: many changes in one commit, read from any number among them.
    #[test]
    fn changes_kept_together_have_numbers_of_their_own() {
        let world = World::new();
        for turn in 0..3u32 {
            world.turn(9, |docs| {
                for n in 0..70 {
                    docs.put(&kind(turn * 70 + n)).unwrap();
                    docs.put(&operatory((turn * 70 + n).into(), 9)).unwrap();
                }
            });
        }
        let values = world.store.scan_keys(keys::Space::Feed.range(), Direction::Forward, 999).unwrap();
        assert_eq!(values.len(), 3 * 2 * 70usize.div_ceil(TOGETHER));
        let (all, end, more) = world.page(0, &[], 999).unwrap();
        assert_eq!((all.len(), end, more), (420, 420, false));
        for limit in [1, 3, TOGETHER, 100] {
            for start in [0, 1, 31, 32, 33, 139, 140, 419] {
                let (mut told, mut since) = (Vec::new(), start);
                while since < end {
                    let (page, next, _) = world.page(since, &[], limit).unwrap();
                    assert!(page.len() <= limit && next > since);
                    told.extend(page);
                    since = next;
                }
                assert_eq!(told, all[start as usize..], "by {limit} from {start}");
            }
        }
        assert_eq!(world.page(0, &[ROOM], 999).unwrap().0.len(), 210);
    }

    #[test]
    fn what_is_older_than_thirty_days_is_pruned_and_cursors_from_then_expire() {
        let mut world = World::new();
        for id in 0..700 {
            world.turn(9, |docs| docs.put(&operatory(id, 9)).unwrap());
        }
        world.turn(8, |docs| docs.put(&operatory(900, 8)).unwrap());
        world.now += KEPT - HOUR;
        world.turn(9, |docs| docs.put(&kind(1)).unwrap());
        world.upkeep();
        assert_eq!(world.page(0, &[], 5_000).unwrap().0.len(), 701);
        world.now += HOUR + MINUTE;
        world.upkeep();
        assert_eq!(world.page(0, &[], 10), None);
        assert_eq!(world.page(699, &[], 10), None);
        assert_eq!(world.page(700, &[], 10).unwrap(), (vec![(TYPE, 1, Change::Created)], 702, false));
        let left = world.store.scan_keys(keys::Space::Feed.range(), Direction::Forward, 99).unwrap();
        assert_eq!(left.len(), 1);
    }
}
