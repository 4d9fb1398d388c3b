//! Streams of changes. Each owner of records has one: an institution, a data source or a location. Together they are
//! the log of changes: clients read it as the feed (`feed`), and the index (`index`) and webhooks follow it (`log`).
//! Each value has a header of its commit, and changes with consecutive numbers. A change of a record contains the
//! index entries to remove and to add, and its before image: the record before the change. Only webhooks read before
//! images, so a commit leaves them out if its institution has no subscriptions.

use location::{ids::InstitutionId, pull::Resource, resource::Operation, time::Timestamp};
use records::{
    document::{Document, DocumentKind},
    facts::VisitFacts,
    record::Scope,
    schema::rules,
    sync_state::SyncSummary,
};
use runtime::origin::DecisionId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use store::{Batch, Direction, Key, Store, StoreError, keys, prefix_end};

/// An index entry (`index::entry`).
pub type Entry = Vec<u8>;

/// Size of changes after which a new value begins. Values of this size fit into one record of sled. A page of new
/// records then takes about fifty values instead of five hundred.
const VALUE_BYTES: usize = 2_800;
/// The first byte of a value. Values of earlier versions begin with their time as a variable-length integer, in which
/// this byte alone would be one millisecond after 1970.
const VERSION: u8 = 2;
/// Weight of a change without index entries, see `Change::weight`.
const LEAST_WEIGHT: usize = 32;

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

    fn owner(self) -> u32 {
        match self {
            Stream::Source(id) | Stream::Location(id) | Stream::Institution(id) => id,
        }
    }

    /// Returns the key of a record whose changes are in the stream.
    pub fn record_key(self, resource: Resource, id: u64) -> Key {
        let rules = rules(resource);
        let scope = if rules.scope == Scope::Everywhere { 0 } else { self.owner() };
        keys::record(rules.tag, scope, id)
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

/// The commit of a value's changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitHeader {
    pub at: Timestamp,
    /// The institution of the location at that time: the location may move to another one. `None` without a turn.
    pub institution: Option<InstitutionId>,
    /// The turn of the location. `None` for changes of earlier versions and for a rebuild of the index, which no
    /// follower but the index reads.
    pub turn: Option<DecisionId>,
    /// The id of the request that caused the commit.
    pub origin: Option<String>,
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    Record(Recorded),
    Ended(EndedWrite),
    Status(StatusChange),
}

impl Change {
    /// Returns the approximate size of the index entries, which decides when the index merges a stream.
    pub(crate) fn weight(&self) -> usize {
        let Change::Record(Recorded { removed, added, .. }) = self else { return LEAST_WEIGHT };
        LEAST_WEIGHT + removed.iter().chain(added).map(Vec::len).sum::<usize>()
    }
}

/// A change of one record and its effect on the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    #[serde(with = "tag")]
    pub resource: Resource,
    pub id: u64,
    pub change: ChangeKind,
    pub readers: Readers,
    /// Index entries to remove and to add, both sorted.
    #[serde(with = "blocks")]
    pub removed: Vec<Entry>,
    #[serde(with = "blocks")]
    pub added: Vec<Entry>,
    /// `None` if the record itself is unchanged, or if its change is in another stream of the same commit.
    pub states: Option<RecordStates>,
}

impl Recorded {
    /// Returns `true` if the record existed before the change, and the commit left out its before image.
    pub fn lacks_image(&self) -> bool {
        self.change != ChangeKind::Created && self.states.as_ref().is_some_and(|states| states.before.is_none())
    }
}

/// The record before and after a change, for followers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordStates {
    /// The before image: the stored record before the change. `None` if it did not exist, or if the commit left it out
    /// (`Recorded::lacks_image`).
    pub before: Option<Vec<u8>>,
    /// The record is deleted after the change.
    pub deleted: bool,
    /// The record is in the EHR after the change. Known for payments and adjustments only, otherwise `true`.
    pub in_ehr: bool,
    /// The facts of a changed appointment. `None` if there are none, and in changes of earlier versions.
    pub facts: Option<VisitFacts>,
}

/// The last part of stored states. The numbers of the first two variants are those of a Boolean, so a change without
/// facts has the same bytes as in earlier versions.
#[derive(Serialize, Deserialize)]
enum StoredEnd<F> {
    NotInEhr,
    InEhr,
    InEhrWithFacts(F),
}

impl Serialize for RecordStates {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let end = match (&self.facts, self.in_ehr) {
            (Some(facts), _) => StoredEnd::InEhrWithFacts(facts),
            (None, true) => StoredEnd::InEhr,
            (None, false) => StoredEnd::NotInEhr,
        };
        (self.before.as_ref().map(Block), self.deleted, end).serialize(to)
    }
}

impl<'de> Deserialize<'de> for RecordStates {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<RecordStates, D::Error> {
        type Stored = (Option<Block<Vec<u8>>>, bool, StoredEnd<VisitFacts>);
        let (before, deleted, end) = Stored::deserialize(from)?;
        let (in_ehr, facts) = match end {
            StoredEnd::NotInEhr => (false, None),
            StoredEnd::InEhr => (true, None),
            StoredEnd::InEhrWithFacts(facts) => (true, Some(facts)),
        };
        Ok(RecordStates { before: before.map(|Block(bytes)| bytes), deleted, in_ehr, facts })
    }
}

/// The end of a write to the EHR.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedWrite {
    #[serde(with = "tag")]
    pub resource: Resource,
    pub id: u64,
    pub operation: Operation,
    pub result: WriteResult,
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WriteResult {
    Complete,
    Failed,
    TimedOut,
}

/// A change of a location's read or write status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusChange {
    pub read_ok_before: bool,
    pub write_ok_before: bool,
    pub after: SyncSummary,
}

/// Resources as their numbers in keys.
mod tag {
    use location::pull::Resource;
    use records::schema::{RESOURCES, rules};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(resource: &Resource, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u8(rules(*resource).tag)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Resource, D::Error> {
        let tag = u8::deserialize(from)?;
        let found = RESOURCES.iter().copied().find(|resource| rules(*resource).tag == tag);
        found.ok_or_else(|| Error::custom("no resource has this number"))
    }
}

/// A byte string that is copied as a whole. Its format is that of `Vec<u8>`, whose bytes are encoded one by one.
struct Block<B>(B);

impl<B: AsRef<[u8]>> Serialize for Block<B> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(self.0.as_ref())
    }
}

impl<'de> Deserialize<'de> for Block<Vec<u8>> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(from).map(|bytes| Block(bytes.to_vec()))
    }
}

/// A list of byte strings.
mod blocks {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Block;

    pub(super) fn serialize<S: Serializer>(blocks: &[Vec<u8>], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(blocks.iter().map(Block))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Vec<u8>>, D::Error> {
        Ok(Vec::<Block<Vec<u8>>>::deserialize(from)?.into_iter().map(|Block(bytes)| bytes).collect())
    }
}

/// A change in the format of earlier versions.
#[derive(Serialize, Deserialize)]
struct OldChange {
    at: Timestamp,
    #[serde(with = "tag")]
    resource: Resource,
    id: u64,
    change: ChangeKind,
    readers: Readers,
    removed: Vec<Entry>,
    added: Vec<Entry>,
}

impl From<OldChange> for Change {
    fn from(old: OldChange) -> Change {
        let OldChange { resource, id, change, readers, removed, added, .. } = old;
        Change::Record(Recorded { resource, id, change, readers, removed, added, states: None })
    }
}

/// Appends the changes of one commit to a stream, each with its own number. Returns their weight.
pub fn append(batch: &mut Batch, stream: Stream, header: &CommitHeader, changes: &[Change]) -> usize {
    let header = appended(vec![VERSION], header);
    let (mut value, mut numbers) = (header.clone(), 0);
    for (index, change) in changes.iter().enumerate() {
        value = appended(value, change);
        numbers += 1;
        let is_last = index + 1 == changes.len();
        if value.len() >= VALUE_BYTES || is_last {
            let next = if is_last { Vec::new() } else { header.clone() };
            batch.append_many(stream.number(), std::mem::take(&mut numbers), std::mem::replace(&mut value, next));
        }
    }
    changes.iter().map(Change::weight).sum()
}

/// Appends the encoded form of a part to a value.
fn appended(value: Vec<u8>, part: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(part, value).expect("plain data can always be written")
}

pub(crate) struct Value {
    pub header: CommitHeader,
    pub changes: Vec<(u64, Change)>,
}

/// Decodes a value. The key contains the number of the last change.
pub(crate) fn parse(key: &Key, value: &[u8]) -> Result<Value, StoreError> {
    let no_change = || StoreError::damaged(key, "a key that is no change");
    let (stream, last) = keys::parse_feed(key).ok_or_else(no_change)?;
    let damaged = |what| StoreError::damaged(key, format!("change {last} of stream {stream}: {what}"));
    let (header, changes) = decoded(value).ok_or_else(|| damaged("it cannot be decoded"))?;
    let before = last.checked_sub(changes.len() as u64).ok_or_else(|| damaged("it has more changes than numbers"))?;
    Ok(Value { header, changes: (before + 1..).zip(changes).collect() })
}

fn decoded(value: &[u8]) -> Option<(CommitHeader, Vec<Change>)> {
    let mut changes = Vec::new();
    let Some((&VERSION, rest)) = value.split_first() else {
        let (mut at, mut rest) = (Timestamp::MAX, value);
        while !rest.is_empty() {
            let (old, after): (OldChange, _) = postcard::take_from_bytes(rest).ok()?;
            (at, rest) = (at.min(old.at), after);
            changes.push(old.into());
        }
        return Some((CommitHeader { at, institution: None, turn: None, origin: None }, changes));
    };
    let (header, mut rest) = postcard::take_from_bytes(rest).ok()?;
    while !rest.is_empty() {
        let (change, after) = postcard::take_from_bytes(rest).ok()?;
        rest = after;
        changes.push(change);
    }
    Some((header, changes))
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
    Ok(Some((stream, parse(key, value)?.header.at)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::ids::LocationId;
    use records::facts::{ChangedBy, VisitFact};

    use super::*;

    fn encoded(part: &impl Serialize) -> Vec<u8> {
        appended(Vec::new(), part)
    }

    fn recorded(id: u64, states: Option<RecordStates>) -> Recorded {
        Recorded {
            resource: Resource::Patients,
            id,
            change: ChangeKind::Updated,
            readers: Readers::Source(4),
            removed: vec![vec![1, 2]],
            added: Vec::new(),
            states,
        }
    }

    #[test]
    fn values_of_earlier_versions_are_readable() {
        // From 2020 on; the first byte of a time is never the version.
        for at in (0..1_000).map(|n| Timestamp(1_577_836_800_000 + n * 7_777_777_777)) {
            let old = |id| OldChange {
                at,
                resource: Resource::Patients,
                id,
                change: ChangeKind::Updated,
                readers: Readers::Source(4),
                removed: vec![vec![1, 2]],
                added: Vec::new(),
            };
            let value = [encoded(&old(7)), encoded(&old(8))].concat();
            assert_ne!(value[0], VERSION);
            let Value { header, changes } = parse(&keys::feed(1, 12), &value).unwrap();
            assert_eq!(header, CommitHeader { at, institution: None, turn: None, origin: None });
            assert_eq!(changes, [(11, Change::Record(recorded(7, None))), (12, Change::Record(recorded(8, None)))]);
        }
        // Bytes that the version before this format wrote.
        let stored = [0x80, 0xa4, 0xe3, 0xd8, 0xbf, 0x68, rules(Resource::Patients).tag, 7, 1, 0, 4, 1, 2, 1, 2, 0];
        let Value { header, changes } = parse(&keys::feed(1, 12), &stored).unwrap();
        assert_eq!(changes, [(12, Change::Record(recorded(7, None)))]);
        assert_eq!(header.at, Timestamp(1_795_255_200_000));
    }

    #[test]
    fn states_without_facts_have_the_format_of_earlier_versions() {
        #[derive(Serialize)]
        struct Earlier {
            before: Option<Vec<u8>>,
            deleted: bool,
            in_ehr: bool,
        }
        for (before, deleted, in_ehr) in
            [(None, false, true), (Some(vec![7, 8]), true, false), (Some(vec![]), true, true)]
        {
            let states = RecordStates { before: before.clone(), deleted, in_ehr, facts: None };
            let stored = encoded(&Earlier { before, deleted, in_ehr });
            assert_eq!(encoded(&states), stored);
            assert_eq!(postcard::from_bytes::<RecordStates>(&stored), Ok(states));
        }
    }

    #[test]
    fn facts_are_stored_with_their_change() {
        let (from, to) = (Timestamp(1_795_255_200_000), Timestamp(1_795_258_800_000));
        let facts = vec![VisitFact::Rescheduled { from, to }, VisitFact::Confirmed];
        let facts = Some(VisitFacts { by: ChangedBy::Patient, facts });
        let states = RecordStates { before: Some(vec![1]), deleted: false, in_ehr: true, facts };
        assert_eq!(postcard::from_bytes::<RecordStates>(&encoded(&states)), Ok(states));
        let facts = Some(VisitFacts { by: ChangedBy::Staff, facts: vec![VisitFact::Cancelled] });
        let states = RecordStates { before: None, deleted: false, in_ehr: true, facts };
        let bytes = [0_u8, 0, 2, 3, 1, 0];
        assert_eq!(encoded(&states), bytes, "the stored numbers must not change");
    }

    #[test]
    fn blocks_have_the_format_of_sequences() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(encoded(&Block(&bytes)), encoded(&bytes));
        let read: Block<Vec<u8>> = postcard::from_bytes(&encoded(&bytes)).unwrap();
        assert_eq!(read.0, bytes);
    }

    #[test]
    fn long_commits_are_split_into_values_with_the_same_header() {
        let turn = Some((LocationId(3), 9));
        let institution = Some(InstitutionId(7));
        let header = CommitHeader { at: Timestamp(5), institution, turn, origin: Some("request-1".into()) };
        let states = |n| Some(RecordStates { before: Some(vec![n; 1_000]), deleted: false, in_ehr: true, facts: None });
        let changes: Vec<Change> = (0..10).map(|n| Change::Record(recorded(n.into(), states(n)))).collect();
        let mut batch = Batch::new();
        let weight = append(&mut batch, Stream::Source(4), &header, &changes);
        assert_eq!(weight, 10 * (LEAST_WEIGHT + 2), "the records before the changes do not count");
        let (mut number, mut found) = (0, Vec::new());
        for value in batch.appends() {
            assert!(value.value.len() < VALUE_BYTES + 1_100);
            number += value.numbers;
            let Value { header: read, changes } = parse(&keys::feed(value.stream, number), &value.value).unwrap();
            assert_eq!(read, header);
            found.extend(changes);
        }
        assert_eq!(batch.appends().len(), 4);
        assert_eq!(found, (1..).zip(changes).collect::<Vec<_>>());
        assert!(parse(&keys::feed(1, 1), &[VERSION, 1]).is_err());
    }
}
