//! The feed of changes: every record that really changed, in commit order, kept for thirty days. A reader
//! sees the changes of its location, data source and institution as one feed.

use std::collections::{BTreeMap, BTreeSet};

use location::{
    pull::Resource,
    time::{DAY, Millis, Timestamp},
};
use store::{Batch, Direction, Store, StoreError, keys};

pub use crate::stream::ChangeKind;
use crate::{
    index,
    stream::{self, Readers, Recorded, Stream},
};

/// Retention of changes.
pub const KEPT: Millis = 30 * DAY;
/// Maximum number of changes read for one page, including those of other resources.
const READ_AT_MOST: usize = 20_000;
const READ_AT_ONCE: usize = 100;

/// The location that reads the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    pub institution: u32,
    pub source: Option<u32>,
    pub location: u32,
}

impl Reader {
    fn streams(self) -> [Stream; 3] {
        // Records created without a data source are stored under data source 0.
        let source = Stream::Source(self.source.unwrap_or(0));
        [Stream::Location(self.location), source, Stream::Institution(self.institution)]
    }

    fn may_read(self, readers: Readers) -> bool {
        match readers {
            Readers::Source(source) => self.source == Some(source),
            Readers::Location(location) => self.location == location,
            Readers::None => false,
        }
    }
}

/// A change of one record. The current state of the record is in its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedEntry {
    pub at: Timestamp,
    pub resource: Resource,
    pub id: u64,
    pub change: ChangeKind,
}

/// A page of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// The last change of each record, in commit order.
    pub entries: Vec<FeedEntry>,
    /// The value of `since` for the next page.
    pub next: u64,
    /// `true` if there are more changes already.
    pub more: bool,
}

/// Returns the changes after `since`, or `None` if some of them have been pruned.
pub fn page(
    store: &dyn Store,
    reader: Reader,
    since: u64,
    resources: &[Resource],
    limit: usize,
) -> Result<Option<Changes>, StoreError> {
    // Everything visible up to this number is complete, because numbers increase in the order in which commits
    // become visible.
    let end = end(store, reader.institution)?;
    let (mut entries, mut next, mut read) = (Vec::new(), since, 0);
    while next < end && entries.len() < limit && read < READ_AT_MOST {
        let Merged { changes, complete_to, looked_at } = merged(store, reader, next, end)?;
        read += looked_at;
        next = complete_to;
        for (number, entry) in changes.into_iter().filter(|(_, entry)| wanted(resources, entry)) {
            entries.push(entry);
            if entries.len() == limit {
                next = number;
                break;
            }
        }
    }
    for stream in reader.streams() {
        // Read last, so that changes pruned during the reads above are noticed.
        if pruned(store, stream)? > since {
            return Ok(None);
        }
    }
    Ok(Some(Changes { entries: compacted(entries), next: next.max(since), more: next < end }))
}

/// Returns the last number given to a change that is visible to readers of an institution.
pub fn end(store: &dyn Store, institution: u32) -> Result<u64, StoreError> {
    store.feed_end(Some(Stream::Institution(institution).number()))
}

fn wanted(resources: &[Resource], entry: &FeedEntry) -> bool {
    resources.is_empty() || resources.contains(&entry.resource)
}

/// The next changes of all streams of a reader.
struct Merged {
    /// The changes visible to the reader, by number.
    changes: BTreeMap<u64, FeedEntry>,
    /// The number up to which `changes` is complete.
    complete_to: u64,
    looked_at: usize,
}

fn merged(store: &dyn Store, reader: Reader, after: u64, end: u64) -> Result<Merged, StoreError> {
    let (mut changes, mut complete_to, mut looked_at) = (BTreeMap::new(), end, 0);
    for stream in reader.streams() {
        let mut range = keys::feed_after(stream.number(), after);
        // A value that ends after `after` may begin before it.
        range.end = range.end.min(keys::feed(stream.number(), end.saturating_add(1)));
        let found = store.scan(range, Direction::Forward, READ_AT_ONCE)?;
        let full = found.len() == READ_AT_ONCE;
        for (key, value) in &found {
            for (number, change) in stream::parse(key, value)? {
                looked_at += 1;
                let Recorded { at, resource, id, change, readers, .. } = change;
                if reader.may_read(readers) {
                    changes.insert(number, FeedEntry { at, resource, id, change });
                }
            }
        }
        if let Some((key, _)) = found.last().filter(|_| full) {
            let last = keys::parse_feed(key).map_or(after, |(_, number)| number);
            complete_to = complete_to.min(last);
        }
    }
    changes.retain(|number, _| after < *number && *number <= complete_to);
    Ok(Merged { changes, complete_to, looked_at })
}

/// Keeps the last change of each record. A record that was created and then updated counts as created.
fn compacted(entries: Vec<FeedEntry>) -> Vec<FeedEntry> {
    let mut last: BTreeMap<(Resource, u64), (usize, FeedEntry)> = BTreeMap::new();
    for (index, mut entry) in entries.into_iter().enumerate() {
        let record = (entry.resource, entry.id);
        if let Some((_, before)) = last.get(&record)
            && (before.change, entry.change) == (ChangeKind::Created, ChangeKind::Updated)
        {
            entry.change = ChangeKind::Created;
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

/// Prunes changes of a stream that are older than the retention and merged into the index, up to `limit`
/// values. Returns whether there may be more.
pub(crate) fn prune(
    store: &dyn Store,
    stream: Stream,
    now: Timestamp,
    limit: usize,
    batch: &mut Batch,
) -> Result<bool, StoreError> {
    let merged_to = index::merged_to(store, stream)?;
    let found = store.scan(keys::feed_after(stream.number(), 0), Direction::Forward, limit)?;
    let (mut last, mut pruned) = (None, BTreeMap::new());
    for (key, value) in &found {
        let Some((number, readers)) = old(key, value, now)?.filter(|(number, _)| *number <= merged_to) else { break };
        batch.delete(key.clone());
        last = Some((number, key));
        pruned.extend(streams_to_notify(stream, &readers).map(|stream| (stream, number)));
    }
    for (stream, number) in pruned {
        batch.put(keys::feed_pruned(stream.number()), number.to_be_bytes().to_vec());
    }
    Ok(found.len() == limit && found.last().map(|(key, _)| key) == last.map(|(_, key)| key))
}

/// Returns the streams in which the pruning of this stream's changes is recorded. The stream without a data
/// source is shared by several institutions, whose numbers may come from different sequences. Its pruning is
/// therefore recorded in the stream of each affected location.
fn streams_to_notify(stream: Stream, readers: &BTreeSet<Readers>) -> impl Iterator<Item = Stream> {
    let locations = readers.iter().filter_map(|readers| match readers {
        Readers::Location(location) => Some(Stream::Location(*location)),
        Readers::Source(_) | Readers::None => None,
    });
    let several = stream == Stream::Source(0);
    locations.filter(move |_| several).chain((!several).then_some(stream))
}

/// Returns the last number and the readers of a value whose changes are older than the retention, or `None`
/// if they are not. Changes of one commit have the same age.
fn old(key: &store::Key, value: &[u8], now: Timestamp) -> Result<Option<(u64, BTreeSet<Readers>)>, StoreError> {
    let changes = stream::parse(key, value)?;
    let last = changes.last().filter(|(_, change)| is_old(change.at, now));
    Ok(last.map(|(number, _)| (*number, changes.iter().map(|(_, change)| change.readers).collect())))
}

pub(crate) fn is_old(at: Timestamp, now: Timestamp) -> bool {
    at <= now.minus(KEPT)
}
