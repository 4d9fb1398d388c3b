//! Rebuild of the index from the records, for a store that has lost values: records hidden by a missing
//! entry, block or change are found again. The store must have no other writer.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use location::{pull::Resource, time::Timestamp};
use records::{
    record::{Body, Record},
    schema::{EhrRecord, RESOURCES, Visitor, on, rules},
};
use store::{
    Batch, CommitError, Direction, KeyRange, Store,
    keys::{self, Space},
};

use super::{
    IndexEntries,
    merge::{delete_all, merge},
    segment::Manifest,
};
use crate::{
    reading::reading,
    stream::{self, Change, ChangeKind, CommitHeader, Readers, Recorded, Stream, append},
};

/// Records per commit.
const RECORDS_AT_ONCE: usize = 200;

/// Rebuilds the index and returns the number of indexed records.
pub async fn rebuild(store: &Arc<dyn Store>, now: Timestamp) -> Result<u64, CommitError> {
    for space in [Space::IndexManifest, Space::IndexBlock] {
        delete_all(store, space.range(), Batch::new, Duration::ZERO).await?;
    }
    let mut begun = BTreeSet::new();
    let mut after = None;
    while let Some((stream, _)) = reading(store, move |store| stream::next(store, after)).await? {
        after = Some(stream);
        let mut batch = Batch::new();
        if let Some(stream) = Stream::from_number(stream) {
            begin(store, &mut batch, &mut begun, stream).await?;
        }
        store.commit(batch).await?;
    }
    let (mut records, header) = (0, CommitHeader { at: now, institution: None, turn: None, origin: None });
    for resource in RESOURCES {
        let mut range = all_of(*resource);
        loop {
            let at = range.clone();
            let page = reading(store, move |store| store.scan(at, Direction::Forward, RECORDS_AT_ONCE)).await?;
            let Some((last, _)) = page.last() else { break };
            range = range.after(last);
            let (mut batch, mut changes) = (Batch::new(), BTreeMap::<Stream, Vec<Change>>::new());
            for (key, value) in &page {
                // A damaged record is skipped here and reported when it is read.
                let Some(indexed) = on(*resource, Read(value)) else { continue };
                let (Some((.., id)), Some(stream)) = (keys::parse_record(key), indexed.stream) else { continue };
                let (removed, added) = indexed.since(None);
                let (change, readers) = (ChangeKind::Updated, Readers::None);
                let recorded = Recorded { resource: *resource, id, change, readers, removed, added, states: None };
                changes.entry(stream).or_default().push(Change::Record(recorded));
                records += 1;
            }
            for (stream, changes) in changes {
                begin(store, &mut batch, &mut begun, stream).await?;
                append(&mut batch, stream, &header, &changes);
            }
            store.commit(batch).await?;
        }
    }
    let index = Arc::default();
    for stream in begun {
        merge(&index, store, stream, 1, Duration::ZERO).await?;
    }
    Ok(records)
}

/// Starts the index of a stream at its current end, because the records contain all earlier changes.
async fn begin(
    store: &Arc<dyn Store>,
    batch: &mut Batch,
    begun: &mut BTreeSet<Stream>,
    stream: Stream,
) -> Result<(), CommitError> {
    if begun.insert(stream) {
        let merged_to = reading(store, move |store| store.feed_end(Some(stream.number()))).await?;
        let manifest = Manifest { merged_to, ..Manifest::default() };
        batch.put(keys::index_manifest(stream.number()), manifest.to_bytes());
    }
    Ok(())
}

fn all_of(resource: Resource) -> KeyRange {
    let tag = rules(resource).tag;
    KeyRange::new(keys::record(tag, 0, 0), keys::records(tag, u32::MAX).end)
}

/// The bytes of a record.
struct Read<'a>(&'a [u8]);

impl Visitor for Read<'_> {
    type Output = Option<IndexEntries>;

    fn visit<T: Body<Ehr: Into<EhrRecord>>>(self) -> Option<IndexEntries> {
        let record: Record<T> = serde_json::from_slice(self.0).ok()?;
        Some(IndexEntries::from_record(&record))
    }
}
