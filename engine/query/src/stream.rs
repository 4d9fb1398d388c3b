//! Streams of changes. Each owner of records has one: an institution, a data source or a location. A stream
//! is both the feed read by clients (`feed`) and the journal of the index (`index`). Each change contains the
//! index entries to remove and to add.

use location::{pull::Resource, time::Timestamp};
use records::{
    document::{Document, DocumentKind},
    record::Scope,
    schema::{RESOURCES, rules},
};
use serde::{Deserialize, Serialize};
use store::{Batch, Direction, Key, Store, StoreError, keys, prefix_end};

/// An index entry (`index::entry`).
pub type Entry = Vec<u8>;

/// Size of changes after which a new value begins. Values of this size fit into one record of sled. A page of
/// a pull then takes about fifty values instead of five hundred.
const VALUE_BYTES: usize = 2_800;

/// The owner of the changed records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    Source(u32),
    Location(u32),
    Institution(u32),
}

impl Stream {
    /// Returns the stream of an owner's documents, or `None` for documents that are in no list.
    pub fn for_documents<T: Document>(owner: u32) -> Option<Stream> {
        let DocumentKind::Of(resource) = T::KIND else { return None };
        Some(match rules(resource).scope {
            Scope::Institution => Stream::Institution(owner),
            Scope::Source => Stream::Source(owner),
            Scope::Location | Scope::Everywhere => Stream::Location(owner),
        })
    }

    /// Returns the number of the stream, which is stored on disks and must not change.
    pub fn number(self) -> u64 {
        match self {
            Stream::Source(id) => 1 << 32 | u64::from(id),
            Stream::Location(id) => 2 << 32 | u64::from(id),
            Stream::Institution(id) => 3 << 32 | u64::from(id),
        }
    }

    pub(crate) fn from_number(number: u64) -> Option<Stream> {
        let id = u32::try_from(number & u64::from(u32::MAX)).ok()?;
        match number >> 32 {
            1 => Some(Stream::Source(id)),
            2 => Some(Stream::Location(id)),
            3 => Some(Stream::Institution(id)),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeKind {
    Created,
    Updated,
    /// The record no longer exists in the EHR.
    Deleted,
}

/// The readers of a change in the feed. Records of an institution may be visible to one of its data sources
/// only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Readers {
    /// All locations of a data source.
    Source(u32),
    Location(u32),
    /// No reader, because the change only repeats index entries.
    None,
}

/// A change of one record and its effect on the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub at: Timestamp,
    pub resource: Resource,
    pub id: u64,
    pub change: ChangeKind,
    pub readers: Readers,
    /// Index entries to remove and to add, both sorted.
    pub removed: Vec<Entry>,
    pub added: Vec<Entry>,
}

/// The stored format. Resources have the same numbers as in keys.
#[derive(Serialize, Deserialize)]
struct Stored {
    at: i64,
    tag: u8,
    id: u64,
    change: ChangeKind,
    readers: Readers,
    removed: Vec<Entry>,
    added: Vec<Entry>,
}

impl Recorded {
    fn to_bytes(&self) -> Vec<u8> {
        let stored = Stored {
            at: self.at.0,
            tag: rules(self.resource).tag,
            id: self.id,
            change: self.change,
            readers: self.readers,
            removed: self.removed.clone(),
            added: self.added.clone(),
        };
        postcard::to_allocvec(&stored).expect("numbers and bytes can always be written")
    }

    fn take(bytes: &[u8]) -> Option<(Recorded, &[u8])> {
        let (stored, rest): (Stored, _) = postcard::take_from_bytes(bytes).ok()?;
        let Stored { at, tag, id, change, readers, removed, added } = stored;
        let resource = RESOURCES.iter().copied().find(|resource| rules(*resource).tag == tag)?;
        Some((Recorded { at: Timestamp(at), resource, id, change, readers, removed, added }, rest))
    }
}

/// Appends the changes of one commit to a stream, each with its own number. Returns their size.
pub fn append(batch: &mut Batch, stream: Stream, changes: &[Recorded]) -> usize {
    let (mut value, mut numbers, mut bytes) = (Vec::new(), 0, 0);
    for (index, change) in changes.iter().enumerate() {
        value.extend(change.to_bytes());
        numbers += 1;
        if value.len() >= VALUE_BYTES || index + 1 == changes.len() {
            bytes += value.len();
            batch.append_many(stream.number(), std::mem::take(&mut numbers), std::mem::take(&mut value));
        }
    }
    bytes
}

/// Returns the changes of one value with their numbers. The key contains the number of the last one.
pub(crate) fn parse(key: &Key, value: &[u8]) -> Result<Vec<(u64, Recorded)>, StoreError> {
    let damaged = |what| StoreError::damaged(key, what);
    let (_, last) = keys::parse_feed(key).ok_or_else(|| damaged("a key that is no change"))?;
    let (mut changes, mut rest) = (Vec::new(), value);
    while !rest.is_empty() {
        let (change, after) = Recorded::take(rest).ok_or_else(|| damaged("a change that cannot be read"))?;
        changes.push(change);
        rest = after;
    }
    let before = last.checked_sub(changes.len() as u64).ok_or_else(|| damaged("more changes than numbers"))?;
    Ok((before + 1..).zip(changes).collect())
}

/// Returns the number of the next stream after `after` that has changes, and the time of its oldest change.
pub(crate) fn next(store: &dyn Store, after: Option<u64>) -> Result<Option<(u64, Timestamp)>, StoreError> {
    let mut range = keys::Space::Feed.range();
    if let Some(after) = after {
        range.start = prefix_end(&keys::feed(after, 0)[..9]);
    }
    let first = store.scan(range, Direction::Forward, 1)?;
    let Some((key, value)) = first.first() else { return Ok(None) };
    let (stream, _) = keys::parse_feed(key).ok_or_else(|| StoreError::damaged(key, "a key that is no change"))?;
    let eldest = parse(key, value)?.first().map_or(Timestamp::MAX, |(_, change)| change.at);
    Ok(Some((stream, eldest)))
}
