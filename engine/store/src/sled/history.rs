//! Values replaced by commit groups, kept for readers that began earlier, because sled shows only the current
//! state.
//!
//! States form a linked list, each pointing to the state after the next group. A reader holds its initial
//! state and follows the list to find values replaced since. States that no reader holds are dropped
//! automatically. The committer therefore never waits for a scan, nor a reader for a sync.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use parking_lot::Mutex;
use sled::IVec;

use crate::Key;

/// Records before a group, including those it replaces; `None` for absent keys.
pub(super) type Replaced = BTreeMap<Key, Option<IVec>>;

#[derive(Default)]
pub(super) struct HistoryState {
    /// The records replaced by the group that led to this state.
    replaced: Replaced,
    /// Total size of the records replaced since the start, up to this state.
    bytes: u64,
    next: OnceLock<Arc<HistoryState>>,
}

#[derive(Default)]
pub(super) struct History {
    /// The last durable state.
    shown: Mutex<Arc<HistoryState>>,
}

impl History {
    pub(super) fn current(&self) -> Arc<HistoryState> {
        self.shown.lock().clone()
    }

    /// Begins a group. Must be called before its first record is overwritten, so that every reader of a new
    /// record finds the old one here.
    pub(super) fn begin(&self, replaced: Replaced) -> Arc<HistoryState> {
        let record = |(key, record): (&Key, &Option<IVec>)| key.len() + record.as_ref().map_or(0, |it| it.len());
        let (shown, its) = (self.current(), replaced.iter().map(record).sum::<usize>() as u64);
        let next = Arc::new(HistoryState { replaced, bytes: shown.bytes + its, next: OnceLock::new() });
        let unused = shown.next.set(next.clone());
        assert!(unused.is_ok(), "after a group that failed nothing is written any more");
        next
    }

    /// Makes the state of a durable group visible to new readers.
    pub(super) fn show(&self, next: Arc<HistoryState>) {
        let earlier = std::mem::replace(&mut *self.shown.lock(), next);
        drop(earlier);
    }
}

impl HistoryState {
    /// Returns the size of the replaced records that a reader of an earlier state keeps in memory.
    pub(super) fn kept_since(&self, earlier: &HistoryState) -> u64 {
        self.bytes.saturating_sub(earlier.bytes)
    }

    /// Returns the record of this state, if it was replaced since. Must be called after reading from sled, which
    /// may show a newer record.
    pub(super) fn replaced(&self, key: &[u8]) -> Option<Option<IVec>> {
        self.later().find_map(|later| later.replaced.get(key)).cloned()
    }

    /// Returns all replaced records in a range.
    pub(super) fn replaced_within(&self, start: &[u8], end: &[u8]) -> Replaced {
        let mut found = Replaced::new();
        for later in self.later() {
            for (key, record) in
                later.replaced.range::<[u8], _>((std::ops::Bound::Included(start), std::ops::Bound::Excluded(end)))
            {
                // The earliest group that replaced a key has its record of this state.
                found.entry(key.clone()).or_insert_with(|| record.clone());
            }
        }
        found
    }

    fn later(&self) -> impl Iterator<Item = &HistoryState> {
        std::iter::successors(self.next.get(), |state| state.next.get()).map(|state| &**state)
    }
}

/// Drops the list iteratively, because a slow reader may release a list that is longer than the stack is
/// deep.
impl Drop for HistoryState {
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut state) = next.and_then(Arc::into_inner) {
            next = state.next.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Option<IVec> {
        Some(IVec::from(text))
    }

    fn group(history: &History, replaced: &[(&str, Option<&str>)]) {
        let replaced = replaced.iter().map(|(key, old)| (key.as_bytes().to_vec(), old.map(IVec::from))).collect();
        let next = history.begin(replaced);
        history.show(next);
    }

    #[test]
    fn a_held_state_is_unaffected_by_later_groups() {
        let history = History::default();
        let first = history.current();
        assert_eq!(first.replaced(b"a"), None);
        group(&history, &[("a", None)]);
        let second = history.current();
        group(&history, &[("a", Some("1")), ("b", Some("x"))]);
        group(&history, &[("a", Some("2"))]);
        assert_eq!(first.replaced(b"a"), Some(None));
        assert_eq!(second.replaced(b"a"), Some(record("1")));
        assert_eq!(first.replaced(b"b"), Some(record("x")));
        assert_eq!(history.current().replaced(b"a"), None);
        let within = second.replaced_within(b"a", b"b");
        assert_eq!(within.into_iter().collect::<Vec<_>>(), [(b"a".to_vec(), record("1"))]);
        assert_eq!((history.current().kept_since(&first), history.current().kept_since(&second)), (1 + 4 + 2, 4 + 2));
    }

    #[test]
    fn an_unfinished_group_is_invisible() {
        let history = History::default();
        let next = history.begin([(b"a".to_vec(), record("old"))].into());
        assert_eq!(history.current().replaced(b"a"), Some(record("old")));
        history.show(next);
        assert_eq!(history.current().replaced(b"a"), None);
    }

    #[test]
    fn a_long_chain_is_dropped_without_recursion() {
        let history = History::default();
        let (first, second) = (history.current(), Arc::downgrade(&history.begin(Replaced::new())));
        history.show(second.upgrade().expect("the first state refers to it"));
        for _ in 0..200_000 {
            group(&history, &[]);
        }
        assert!(second.upgrade().is_some());
        drop(first);
        assert!(second.upgrade().is_none(), "no reader needs it any more");
    }
}
