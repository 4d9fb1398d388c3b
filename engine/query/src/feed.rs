//! The feed of changes: every record that really changed, in commit order, kept for thirty days. A reader
//! sees the changes of its location, data source and institution as one feed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use location::{
    ids::LocationId,
    pull::Resource,
    time::{DAY, Millis, Timestamp},
};
use records::facts::{ChangedBy, VisitFact, VisitFacts};
use store::{
    Batch, Direction, Key, Store, StoreError,
    keys::{self, Space},
};

pub use crate::stream::ChangeKind;
use crate::{
    index,
    log::{self, LogPage},
    stream::{self, Change, Readers, Recorded, Stream, Value},
};

/// Retention of changes.
pub const KEPT: Millis = 30 * DAY;
/// Maximum number of changes read for one page, including those of other resources.
const READ_AT_MOST: usize = 20_000;

/// Returns the number up to which the changes of a location have been followed, or `u64::MAX` without followers.
pub type Followed = dyn Fn(LocationId) -> Result<u64, StoreError> + Send + Sync;

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

    /// Returns `true` for changes of records that the reader may see.
    fn may_read(self, change: &Change) -> bool {
        let Change::Record(Recorded { readers, .. }) = change else { return false };
        match *readers {
            Readers::Source(source) => self.source == Some(source),
            Readers::Location(location) => self.location == location,
            Readers::None => false,
        }
    }
}

/// A change of one record. The current state of the record is in its document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedEntry {
    pub at: Timestamp,
    pub resource: Resource,
    pub id: u64,
    pub change: ChangeKind,
    /// The facts of all changes of the record in the page, in commit order, each with the party that caused it.
    pub facts: Vec<(VisitFact, ChangedBy)>,
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
        let LogPage { entries: changes, complete_to, looked_at } =
            log::read(store, &reader.streams(), (next, end), |_, change| reader.may_read(change))?;
        read += looked_at;
        next = complete_to;
        let changes =
            changes.into_iter().filter_map(|(number, it)| Some((number, feed_entry(it.header.at, it.change)?)));
        for (number, entry) in changes.filter(|(_, entry)| wanted(resources, entry)) {
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

/// Returns the highest number of a change in the store, even if the record of the last number was lost.
pub fn highest(store: &dyn Store) -> Result<u64, StoreError> {
    let (mut highest, mut rest) = (store.feed_end(None)?, Space::Feed.range());
    let number = |found: &[Key]| found.first().and_then(|key| keys::parse_feed(key));
    while let Some((stream, _)) = number(&store.scan_keys(rest.clone(), Direction::Forward, 1)?) {
        let of_stream = keys::feed_after(stream, 0);
        let last = number(&store.scan_keys(of_stream.clone(), Direction::Backward, 1)?);
        highest = last.map_or(highest, |(_, last)| highest.max(last));
        rest.start = of_stream.end;
    }
    for (key, value) in store.scan(Space::FeedPruned.range(), Direction::Forward, usize::MAX)? {
        highest = highest.max(pruned_number(&key, value)?);
    }
    Ok(highest)
}

fn wanted(resources: &[Resource], entry: &FeedEntry) -> bool {
    resources.is_empty() || resources.contains(&entry.resource)
}

fn feed_entry(at: Timestamp, change: Change) -> Option<FeedEntry> {
    let Change::Record(Recorded { resource, id, change, states, .. }) = change else { return None };
    let facts = states.and_then(|states| states.facts);
    let facts = facts.map_or_else(Vec::new, |VisitFacts { by, facts }| facts.into_iter().map(|it| (it, by)).collect());
    Some(FeedEntry { at, resource, id, change, facts })
}

/// Keeps the last change of each record, with the facts of all. A record that was created and then updated counts as
/// created.
fn compacted(entries: Vec<FeedEntry>) -> Vec<FeedEntry> {
    let mut last: BTreeMap<(Resource, u64), (usize, FeedEntry)> = BTreeMap::new();
    for (index, mut entry) in entries.into_iter().enumerate() {
        let record = (entry.resource, entry.id);
        if let Some((_, mut before)) = last.remove(&record) {
            if (before.change, entry.change) == (ChangeKind::Created, ChangeKind::Updated) {
                entry.change = ChangeKind::Created;
            }
            before.facts.append(&mut entry.facts);
            entry.facts = before.facts;
        }
        last.insert(record, (index, entry));
    }
    let in_order: BTreeMap<usize, FeedEntry> = last.into_values().collect();
    in_order.into_values().collect()
}

fn pruned(store: &dyn Store, stream: Stream) -> Result<u64, StoreError> {
    let key = keys::feed_pruned(stream.number());
    store.get(&key)?.map_or(Ok(0), |value| pruned_number(&key, value))
}

fn pruned_number(key: &[u8], value: Vec<u8>) -> Result<u64, StoreError> {
    let bytes = value.try_into().map_err(|_| StoreError::damaged(key, "not a number"))?;
    Ok(u64::from_be_bytes(bytes))
}

/// Prunes changes of a stream that are older than the retention, merged into the index and followed, up to `limit`
/// values. Returns whether there may be more.
pub(crate) fn prune(
    store: &dyn Store,
    stream: Stream,
    now: Timestamp,
    followed: &Followed,
    limit: usize,
    batch: &mut Batch,
) -> Result<bool, StoreError> {
    let merged_to = index::merged_to(store, stream)?;
    let found = store.scan(keys::feed_after(stream.number(), 0), Direction::Forward, limit)?;
    let (mut last, mut pruned, mut followed_to) = (None, BTreeMap::new(), HashMap::new());
    for (key, value) in &found {
        let Some(Old { last: number, readers, location }) = old(key, value, now)? else { break };
        let mut done_to = merged_to;
        if let Some(location) = location {
            let known = followed_to.get(&location).copied();
            let known = known.map_or_else(|| followed(location), Ok)?;
            followed_to.insert(location, known);
            done_to = done_to.min(known);
        }
        if number > done_to {
            break;
        }
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

/// A value that is older than the retention.
struct Old {
    /// The number of its last change.
    last: u64,
    readers: BTreeSet<Readers>,
    /// The location of the commit, if followers read its changes.
    location: Option<LocationId>,
}

/// Returns a value that is older than the retention, or `None` if it is not. Changes of one commit have the same age.
fn old(key: &Key, value: &[u8], now: Timestamp) -> Result<Option<Old>, StoreError> {
    let Value { header, changes } = stream::parse(key, value)?;
    let Some((last, _)) = changes.last().filter(|_| is_old(header.at, now)) else { return Ok(None) };
    let readers = changes.iter().filter_map(|(_, change)| match change {
        Change::Record(recorded) => Some(recorded.readers),
        Change::Ended(_) | Change::Status(_) => None,
    });
    let location = header.turn.map(|(location, _)| location);
    Ok(Some(Old { last: *last, readers: readers.collect(), location }))
}

pub(crate) fn is_old(at: Timestamp, now: Timestamp) -> bool {
    at <= now.minus(KEPT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_each_record_once_with_the_facts_of_all_its_changes() {
        let entry = |id, change, facts: &[VisitFact]| FeedEntry {
            at: Timestamp(5),
            resource: Resource::Appointments,
            id,
            change,
            facts: facts.iter().map(|fact| (*fact, ChangedBy::Staff)).collect(),
        };
        let entries = vec![
            entry(1, ChangeKind::Created, &[]),
            entry(1, ChangeKind::Updated, &[VisitFact::Confirmed]),
            entry(2, ChangeKind::Updated, &[VisitFact::Missed]),
            entry(1, ChangeKind::Updated, &[]),
            entry(1, ChangeKind::Updated, &[VisitFact::Arrived, VisitFact::Completed]),
        ];
        let all = [VisitFact::Confirmed, VisitFact::Arrived, VisitFact::Completed];
        let expected = [entry(2, ChangeKind::Updated, &[VisitFact::Missed]), entry(1, ChangeKind::Created, &all)];
        assert_eq!(compacted(entries), expected);
    }
}
