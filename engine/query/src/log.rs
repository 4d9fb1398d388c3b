//! The log of changes over several streams, in commit order. Followers read it by commits, the feed by entries.

use std::{collections::BTreeMap, sync::Arc};

use store::{Direction, Store, StoreError, keys};

use crate::stream::{self, Change, CommitHeader, Stream, Value};

/// Values of a stream per read.
const READ_AT_ONCE: usize = 100;
/// Entries of a page. It bounds the memory of a follower that is behind in many streams.
const PAGE_ENTRIES: usize = if cfg!(test) { 50 } else { 10_000 };
/// Size of a new record, which followers read from the store. An updated one is about as large as before.
const NEW_RECORD_BYTES: usize = 1_000;

pub(crate) struct LogEntry {
    pub stream: Stream,
    pub header: Arc<CommitHeader>,
    pub change: Change,
}

/// The next entries of several streams.
pub(crate) struct LogPage {
    pub entries: BTreeMap<u64, LogEntry>,
    /// The number up to which `entries` is complete.
    pub complete_to: u64,
    pub looked_at: usize,
}

/// Reads entries with numbers after `after`, up to `end`. Stops at the stream with the last missing number, so streams
/// with new entries should come first. The streams may contain entries that are numbered by other sequences, which
/// `keep` must reject.
pub(crate) fn read(
    store: &dyn Store,
    streams: &[Stream],
    (after, end): (u64, u64),
    keep: impl Fn(&CommitHeader, &Change) -> bool,
) -> Result<LogPage, StoreError> {
    let (mut entries, mut complete_to, mut looked_at): (BTreeMap<u64, LogEntry>, _, _) = (BTreeMap::new(), end, 0);
    for stream in streams.iter().copied() {
        if entries.len() as u64 == complete_to.saturating_sub(after) {
            // The entries of all numbers are found, so the other streams have none.
            break;
        }
        let mut range = keys::feed_after(stream.number(), after);
        range.end = range.end.min(keys::feed(stream.number(), end.saturating_add(1)));
        let found = store.scan(range, Direction::Forward, READ_AT_ONCE)?;
        if let Some((key, _)) = found.last().filter(|_| found.len() == READ_AT_ONCE) {
            let last = keys::parse_feed(key).map_or(after, |(_, number)| number);
            if last < complete_to {
                complete_to = last;
                entries.retain(|number, _| *number <= last);
            }
        }
        for (key, value) in &found {
            let Value { header, changes } = stream::parse(key, value)?;
            let header = Arc::new(header);
            looked_at += changes.len();
            // A value that ends after `after` may begin before it.
            let wanted = changes
                .into_iter()
                .filter(|(number, change)| after < *number && *number <= complete_to && keep(&header, change));
            entries
                .extend(wanted.map(|(number, change)| (number, LogEntry { stream, header: header.clone(), change })));
        }
        if entries.len() > PAGE_ENTRIES {
            complete_to = entries.keys().nth(PAGE_ENTRIES - 1).map_or(complete_to, |last| complete_to.min(*last));
            drop(entries.split_off(&complete_to.saturating_add(1)));
        }
    }
    Ok(LogPage { entries, complete_to, looked_at })
}

/// The changes of one commit, each with its stream.
pub struct LoggedCommit {
    pub header: Arc<CommitHeader>,
    /// The number of its last change.
    pub last: u64,
    pub changes: Vec<(Stream, Change)>,
}

/// Consecutive commits of the log.
pub struct LoggedCommits {
    pub commits: Vec<LoggedCommit>,
    /// The number up to which the commits are complete.
    pub read_to: u64,
}

/// Reads whole commits after a number, up to `end`: all of them, or as many as have `enough` bytes, but at least one.
pub fn commits(
    store: &dyn Store,
    streams: &[Stream],
    (after, end): (u64, u64),
    enough: usize,
    keep: impl Fn(&CommitHeader, &Change) -> bool,
) -> Result<LoggedCommits, StoreError> {
    let (mut commits, mut read_to, mut bytes): (Vec<LoggedCommit>, _, _) = (Vec::new(), after, 0);
    while read_to < end {
        let page = read(store, streams, (read_to, end), &keep)?;
        read_to = page.complete_to;
        for (number, LogEntry { stream, header, change }) in page.entries {
            bytes += size(&change);
            match commits.last_mut().filter(|commit| commit.header.turn == header.turn) {
                Some(commit) => {
                    commit.last = number;
                    commit.changes.push((stream, change));
                }
                None => commits.push(LoggedCommit { header, last: number, changes: vec![(stream, change)] }),
            }
        }
        if bytes >= enough && read_to < end && commits.len() > 1 {
            // The next page may begin with further changes of the last commit.
            commits.pop();
            read_to = commits.last().map_or(after, |commit| commit.last);
            break;
        }
    }
    Ok(LoggedCommits { commits, read_to })
}

/// Returns the approximate size of a change in memory, with a record that it creates.
fn size(change: &Change) -> usize {
    let states = match change {
        Change::Record(recorded) => recorded.states.as_ref(),
        Change::Ended(_) | Change::Status(_) => None,
    };
    change.weight() + states.map_or(0, |states| states.before.as_ref().map_or(NEW_RECORD_BYTES, Vec::len))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::{
        ids::{InstitutionId, LocationId},
        pull::Resource,
        time::Timestamp,
    };
    use store::{Batch, MemoryStore};

    use super::*;
    use crate::stream::{ChangeKind, Readers, RecordStates, Recorded, append};

    /// Commits `turns` turns, each of which creates a record in each stream.
    fn log_of(streams: &[Stream], turns: u64) -> MemoryStore {
        let store = MemoryStore::new();
        for turn in 1..=turns {
            let (institution, turn_of) = (Some(InstitutionId(1)), Some((LocationId(1), turn)));
            let header = CommitHeader { at: Timestamp(5), institution, turn: turn_of, origin: None };
            let mut batch = Batch::new();
            for stream in streams {
                let change = Change::Record(Recorded {
                    resource: Resource::Patients,
                    id: turn,
                    change: ChangeKind::Created,
                    readers: Readers::None,
                    removed: Vec::new(),
                    added: Vec::new(),
                    states: Some(RecordStates { before: None, deleted: false, in_ehr: true, facts: None }),
                });
                append(&mut batch, *stream, &header, &[change]);
            }
            store.commit_now(batch).unwrap();
        }
        store
    }

    #[test]
    fn pages_over_many_streams_are_bounded_and_complete() {
        let streams: Vec<Stream> = (1..=9).map(Stream::Location).collect();
        let store = log_of(&streams, 40);
        let page = read(&store, &streams, (0, 360), |_, _| true).unwrap();
        assert_eq!((page.entries.len(), page.complete_to), (PAGE_ENTRIES, PAGE_ENTRIES as u64));
        let all = commits(&store, &streams, (0, 360), usize::MAX, |_, _| true).unwrap();
        assert_eq!((all.commits.len(), all.read_to), (40, 360));
        assert!(all.commits.iter().all(|commit| commit.changes.len() == 9));
    }

    #[test]
    fn records_that_followers_read_count_for_the_size() {
        let streams = [Stream::Location(1)];
        let store = log_of(&streams, 300);
        let some = commits(&store, &streams, (0, 300), 20 * NEW_RECORD_BYTES, |_, _| true).unwrap();
        assert_eq!((some.commits.len(), some.read_to), (PAGE_ENTRIES - 1, PAGE_ENTRIES as u64 - 1));
    }
}
