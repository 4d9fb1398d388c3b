//! The journal of a location: consecutive records, each the outcome of one decision, with occasional
//! snapshots of the state. The sequence number acts as the lock. If two processes host the same location, an
//! append of the slower one conflicts.

use std::fmt;

use super::{
    Batch, Direction, Key, KeyRange, Store, StoreError, Version, Versioned,
    keys::{self, Space},
};

pub const FIRST_SEQ: u64 = 1;

/// Records per read, which limits the memory of copies.
const PAGE: usize = 2_000;
/// Number of attempts to load. A load starts over if a snapshot or trimming interferes.
const RELOADS: usize = 5;

/// The data from which a location is rebuilt.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The state after this sequence number.
    pub snapshot: Option<(u64, Vec<u8>)>,
    /// The records after the snapshot, without a gap.
    pub tail: Vec<(u64, Vec<u8>)>,
    pub next_seq: u64,
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = self.snapshot.as_ref().map(|(seq, _)| seq);
        write!(f, "Loaded(snapshot {snapshot:?}, {} records, next {}, redacted)", self.tail.len(), self.next_seq)
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum JournalError {
    /// The location must not continue with this state, nor with an empty one. It becomes read-only and raises an
    /// alarm.
    #[error("the journal of location {location} is damaged: {damage}")]
    Damaged { location: u32, damage: Damage },
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("record {expected} is missing, the next one is {found}")]
    Gap { expected: u64, found: u64 },
    #[error("a record cannot be read: {0}")]
    Record(String),
    #[error("the snapshot cannot be read: {0}")]
    Snapshot(String),
}

/// Returns whether a conflict at this key means that another process has written the journal. The host of the
/// location must then reload it. After a conflict at any other key, the turn only has to be prepared again.
pub fn is_lock(key: &[u8]) -> bool {
    matches!(Space::from_key(key), Some(Space::Journal | Space::Snapshot))
}

/// Appends a record, with the precondition that `seq` is the next number.
///
/// A process that fell far behind does not find record `seq` in a trimmed journal either. The record before it must
/// therefore exist or be in the batch; trimming keeps the newest record. The first record requires that no snapshot
/// exists.
pub fn append(batch: &mut Batch, location: u32, seq: u64, record: Vec<u8>) {
    if seq <= FIRST_SEQ {
        batch.expect_absent(keys::snapshot(location));
    } else {
        let before = keys::journal(location, seq - 1);
        if !batch.writes_to(&before) {
            batch.expect_present(before);
        }
    }
    let key = keys::journal(location, seq);
    batch.expect_absent(key.clone()).put(key, record);
}

/// Writes the state after `seq`, which is a record of the journal or of this batch. For a process that fell
/// behind a trimmed journal, the batch conflicts instead of restoring an older snapshot.
pub fn write_snapshot(batch: &mut Batch, location: u32, seq: u64, state: &[u8]) {
    let record = keys::journal(location, seq);
    if !batch.writes_to(&record) {
        batch.expect_present(record);
    }
    batch.put(keys::snapshot(location), [&seq.to_be_bytes(), state].concat());
}

/// Deletes up to `limit` of the oldest records covered by the snapshot, up to the first that is not `old`.
/// Returns the number of deleted records; call again until it is 0. Reads the snapshot, which may be large,
/// only if there are records to delete.
pub fn trim(
    store: &dyn Store,
    batch: &mut Batch,
    location: u32,
    limit: usize,
    old: impl Fn(&[u8]) -> bool,
) -> Result<usize, JournalError> {
    let is_old = |key: &Key| Ok::<bool, StoreError>(store.get(key)?.is_some_and(|record| old(&record)));
    let own = KeyRange::new(keys::journal(location, 0), keys::journal(location, u64::MAX));
    // A single record is never deleted, because the next append requires its predecessor.
    let first = store.scan_keys(own, Direction::Forward, 2)?;
    let eldest = first.first().filter(|_| first.len() > 1);
    if !eldest.map(is_old).transpose()?.unwrap_or(false) {
        return Ok(0);
    }
    let Some(Snapshot { seq, version, .. }) = read_snapshot(store, location)? else { return Ok(0) };
    // The record of the snapshot itself is kept, too.
    let behind = KeyRange::new(keys::journal(location, 0), keys::journal(location, seq));
    let mut count = 0;
    for key in store.scan_keys(behind, Direction::Forward, limit)? {
        if !is_old(&key)? {
            break;
        }
        batch.delete(key);
        count += 1;
    }
    if count > 0 {
        batch.expect_unchanged(keys::snapshot(location), Some(version));
    }
    Ok(count)
}

pub fn load(store: &dyn Store, location: u32) -> Result<Loaded, JournalError> {
    let mut snapshot = read_snapshot(store, location)?;
    for _ in 0..RELOADS {
        let after = snapshot.as_ref().map_or(FIRST_SEQ, |snapshot| snapshot.seq + 1);
        match read_tail(store, location, after) {
            Ok(tail) => {
                let next_seq = after + tail.len() as u64;
                let snapshot = snapshot.map(|snapshot| (snapshot.seq, snapshot.state));
                return Ok(Loaded { snapshot, tail, next_seq });
            }
            Err(error @ JournalError::Damaged { .. }) => {
                let newer = read_snapshot(store, location)?;
                if newer.as_ref().map(|it| it.version) == snapshot.as_ref().map(|it| it.version) {
                    return Err(error);
                }
                snapshot = newer;
            }
            Err(error) => return Err(error),
        }
    }
    Err(StoreError::Busy.into())
}

struct Snapshot {
    seq: u64,
    state: Vec<u8>,
    version: Version,
}

fn read_snapshot(store: &dyn Store, location: u32) -> Result<Option<Snapshot>, JournalError> {
    let damaged = |why: String| JournalError::Damaged { location, damage: Damage::Snapshot(why) };
    let found = match store.read(&keys::snapshot(location)) {
        Err(StoreError::Damaged { what, .. }) => return Err(damaged(what)),
        other => other?,
    };
    let Some(Versioned { mut value, version }) = found else { return Ok(None) };
    let seq =
        value.first_chunk().map(|seq| u64::from_be_bytes(*seq)).ok_or_else(|| damaged("it is cut short".into()))?;
    value.drain(..8);
    Ok(Some(Snapshot { seq, state: value, version }))
}

fn read_tail(store: &dyn Store, location: u32, first: u64) -> Result<Vec<(u64, Vec<u8>)>, JournalError> {
    let damaged = |damage| JournalError::Damaged { location, damage };
    let mut range =
        KeyRange::new(keys::journal(location, first), super::range::prefix_end(&keys::journal(location, u64::MAX)));
    let (mut tail, mut expected) = (Vec::new(), first);
    loop {
        let page = match store.scan(range.clone(), Direction::Forward, PAGE) {
            Err(StoreError::Damaged { what, .. }) => return Err(damaged(Damage::Record(what))),
            other => other?,
        };
        let full = page.len() == PAGE;
        for (key, record) in page {
            let seq = seq_of(&key, location)
                .ok_or_else(|| damaged(Damage::Record("its key is no sequence number".into())))?;
            if seq != expected {
                return Err(damaged(Damage::Gap { expected, found: seq }));
            }
            tail.push((seq, record));
            expected += 1;
        }
        if !full {
            return Ok(tail);
        }
        range.start = keys::journal(location, expected);
    }
}

fn seq_of(key: &Key, location: u32) -> Option<u64> {
    keys::parse_journal(key).filter(|(owner, _)| *owner == location).map(|(_, seq)| seq)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{
        super::{CommitError, MemoryStore},
        *,
    };

    fn grow(store: &MemoryStore, location: u32, seqs: std::ops::RangeInclusive<u64>) {
        for seq in seqs {
            let mut batch = Batch::new();
            append(&mut batch, location, seq, seq.to_string().into_bytes());
            store.commit_now(batch).unwrap();
        }
    }

    fn snap(store: &MemoryStore, location: u32, seq: u64) -> Result<(), CommitError> {
        let mut batch = Batch::new();
        write_snapshot(&mut batch, location, seq, b"state");
        store.commit_now(batch)
    }

    fn cut(store: &MemoryStore, location: u32, last: u64) -> usize {
        let old = |record: &[u8]| std::str::from_utf8(record).unwrap().parse::<u64>().unwrap() <= last;
        let mut batch = Batch::new();
        let count = trim(store, &mut batch, location, 1_000, old).unwrap();
        store.commit_now(batch).unwrap();
        count
    }

    fn append_now(store: &MemoryStore, location: u32, seq: u64) -> Result<(), CommitError> {
        let mut batch = Batch::new();
        append(&mut batch, location, seq, vec![]);
        store.commit_now(batch)
    }

    #[test]
    fn an_unknown_location_is_empty() {
        let loaded = load(&MemoryStore::new(), 1).unwrap();
        assert_eq!(loaded, Loaded { snapshot: None, tail: vec![], next_seq: FIRST_SEQ });
    }

    #[test]
    fn a_load_returns_the_snapshot_and_later_records() {
        let store = MemoryStore::new();
        grow(&store, 1, 1..=5_000);
        grow(&store, 2, 1..=3);
        grow(&store, u32::MAX, 1..=2);
        assert_eq!(load(&store, 1).unwrap().tail.len(), 5_000);
        snap(&store, 1, 4_990).unwrap();
        let loaded = load(&store, 1).unwrap();
        assert_eq!(loaded.snapshot, Some((4_990, b"state".to_vec())));
        assert_eq!(loaded.tail.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), (4_991..=5_000).collect::<Vec<_>>());
        assert_eq!(loaded.tail[0].1, b"4991");
        assert_eq!(loaded.next_seq, 5_001);
        assert_eq!(load(&store, u32::MAX).unwrap().next_seq, 3);
    }

    #[test]
    fn a_snapshot_may_share_the_batch_of_its_record() {
        let store = MemoryStore::new();
        let mut batch = Batch::new();
        append(&mut batch, 1, 1, b"one".to_vec());
        write_snapshot(&mut batch, 1, 1, b"state");
        store.commit_now(batch).unwrap();
        let loaded = load(&store, 1).unwrap();
        assert_eq!((loaded.next_seq, loaded.tail.len()), (2, 0));
        assert!(
            matches!(snap(&store, 1, 2), Err(CommitError::Conflict { .. })),
            "no state after a record that is not there"
        );
    }

    #[test]
    fn only_the_next_record_can_be_appended() {
        let store = MemoryStore::new();
        grow(&store, 1, 1..=3);
        for seq in [1, 3, 5, 99] {
            assert!(matches!(append_now(&store, 1, seq), Err(CommitError::Conflict { .. })), "{seq}");
        }
        append_now(&store, 1, 4).unwrap();
    }

    #[test]
    fn the_keys_of_a_failed_append_are_the_lock_and_no_others() {
        let store = MemoryStore::new();
        grow(&store, 1, 1..=3);
        snap(&store, 1, 2).unwrap();
        // The first record, an existing record, and one too far ahead.
        for seq in [1, 3, 9] {
            let Err(CommitError::Conflict { key }) = append_now(&store, 1, seq) else { panic!("{seq}") };
            assert!(is_lock(&key), "{seq}");
        }
        for key in [keys::record(1, 1, 1), keys::link(1, 1, b"EHR-7"), keys::wake(1, 1), keys::active(1), vec![]] {
            assert!(!is_lock(&key));
        }
    }

    #[test]
    fn a_process_behind_a_trimmed_journal_conflicts() {
        let store = MemoryStore::new();
        grow(&store, 1, 1..=100);
        snap(&store, 1, 90).unwrap();
        assert_eq!(cut(&store, 1, 79), 79);
        assert_eq!(cut(&store, 1, 100), 10, "the snapshot's own record and what follows it stay");
        assert_eq!(cut(&store, 1, 100), 0);
        for seq in 1..=90 {
            assert!(matches!(append_now(&store, 1, seq), Err(CommitError::Conflict { .. })), "{seq}");
        }
        for seq in 1..90 {
            assert!(matches!(snap(&store, 1, seq), Err(CommitError::Conflict { .. })), "{seq}");
        }
        let loaded = load(&store, 1).unwrap();
        assert_eq!((loaded.tail.len(), loaded.next_seq), (10, 101));
        snap(&store, 1, 100).unwrap();
        cut(&store, 1, 100);
        assert_eq!(load(&store, 1).unwrap().next_seq, 101);
        append_now(&store, 1, 101).unwrap();
    }

    #[test]
    fn a_gap_or_a_lost_start_is_damage() {
        let store = MemoryStore::new();
        grow(&store, 1, 1..=10);
        let mut batch = Batch::new();
        batch.delete(keys::journal(1, 7));
        store.commit_now(batch).unwrap();
        let damage = |location| match load(&store, location) {
            Err(JournalError::Damaged { damage, .. }) => damage,
            other => panic!("{other:?}"),
        };
        assert_eq!(damage(1), Damage::Gap { expected: 7, found: 8 });
        snap(&store, 1, 8).unwrap();
        assert_eq!(load(&store, 1).unwrap().tail.len(), 2);
        let mut batch = Batch::new();
        batch.delete(keys::snapshot(1)).put(keys::snapshot(2), vec![1, 2]);
        batch.delete(keys::journal(1, 1));
        store.commit_now(batch).unwrap();
        assert_eq!(damage(1), Damage::Gap { expected: 1, found: 2 });
        assert!(matches!(damage(2), Damage::Snapshot(_)));
    }

    #[test]
    fn a_loaded_journal_prints_redacted() {
        let store = MemoryStore::new();
        grow(&store, 1, 1..=2);
        assert_eq!(format!("{:?}", load(&store, 1).unwrap()), "Loaded(snapshot None, 2 records, next 3, redacted)");
    }
}
