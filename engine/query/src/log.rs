//! The log of changes over several streams, in commit order. Followers read it by commits, the feed by entries.

use std::{collections::BTreeMap, sync::Arc};

use store::{Direction, Store, StoreError, keys};

use crate::stream::{self, Change, CommitHeader, Stream, Value};

/// Values of a stream per read.
const READ_AT_ONCE: usize = 100;

/// An entry of the log.
pub(crate) struct LogEntry {
    pub stream: Stream,
    pub header: Arc<CommitHeader>,
    pub change: Change,
}

/// The next entries of several streams.
pub(crate) struct LogPage {
    /// The entries by their numbers.
    pub entries: BTreeMap<u64, LogEntry>,
    /// The number up to which `entries` is complete.
    pub complete_to: u64,
    pub looked_at: usize,
}

/// Reads entries with numbers after `after`, up to `end`. The streams may contain entries that are numbered by other
/// sequences, which `keep` must reject.
pub(crate) fn read(
    store: &dyn Store,
    streams: &[Stream],
    (after, end): (u64, u64),
    keep: impl Fn(&CommitHeader, &Change) -> bool,
) -> Result<LogPage, StoreError> {
    let (mut entries, mut complete_to, mut looked_at) = (BTreeMap::new(), end, 0);
    for stream in streams.iter().copied() {
        if entries.len() as u64 == end.saturating_sub(after) {
            // The entries of all numbers are found, so the other streams have none.
            break;
        }
        let mut range = keys::feed_after(stream.number(), after);
        range.end = range.end.min(keys::feed(stream.number(), end.saturating_add(1)));
        let found = store.scan(range, Direction::Forward, READ_AT_ONCE)?;
        let full = found.len() == READ_AT_ONCE;
        for (key, value) in &found {
            let Value { header, changes } = stream::parse(key, value)?;
            let header = Arc::new(header);
            looked_at += changes.len();
            // A value that ends after `after` may begin before it.
            let wanted = changes.into_iter().filter(|(number, change)| after < *number && keep(&header, change));
            entries
                .extend(wanted.map(|(number, change)| (number, LogEntry { stream, header: header.clone(), change })));
        }
        if let Some((key, _)) = found.last().filter(|_| full) {
            let last = keys::parse_feed(key).map_or(after, |(_, number)| number);
            complete_to = complete_to.min(last);
        }
    }
    entries.retain(|number, _| *number <= complete_to);
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

/// Returns the approximate size of a change in memory.
fn size(change: &Change) -> usize {
    let states = match change {
        Change::Record(recorded) => recorded.states.as_ref(),
        Change::Ended(_) | Change::Status(_) => None,
    };
    change.weight() + states.and_then(|states| states.before.as_ref()).map_or(0, Vec::len)
}
