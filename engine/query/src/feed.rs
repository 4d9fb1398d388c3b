//! The feed of changes: each record that was really changed, in the order of commits, kept for thirty days. What a data source shares
//! is one stream, what belongs to a location another; a location's readers see both as one.

use std::collections::BTreeMap;

use location::{
    pull::Resource,
    time::{DAY, Millis, Timestamp},
};
use serde::{Deserialize, Serialize};
use store::{Batch, Direction, Key, KeyRange, Store, StoreError, feed_end, keys, prefix_end};

/// Changes are pruned when they are older.
pub const KEPT: Millis = 30 * DAY;
/// Changes looked at for one page: those of other resources count too.
const READ_AT_MOST: usize = 20_000;
const READ_AT_ONCE: usize = 100;
/// Changes of one commit that are kept as one value: few enough that it stays in one piece on the disk. A page of a pull is some twelve
/// values then instead of five hundred.
pub const TOGETHER: usize = 32;

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
pub fn append(batch: &mut Batch, stream: Stream, entries: &[FeedEntry]) {
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
