//! The states of records as they were at a commit of the log. The state after a change is the state before the next
//! change of the same record. Only if there is none, it is the stored record.

use std::{cell::RefCell, collections::HashMap};

use location::pull::Resource;
use query::{log::LoggedCommit, stream::Change};
use records::document::DocumentKind;
use store::{Key, Store, StoreError, keys};

use crate::views::RelatedRecords;

/// The earlier states of records, by key, in the order of the changes.
type EarlierStates<'c> = HashMap<Key, Vec<EarlierState<'c>>>;

struct EarlierState<'c> {
    number: u64,
    before: Option<&'c [u8]>,
    /// The log lacks the record before the change. A subscription starts after such changes, except if an actor ended
    /// before its commit.
    is_unknown: bool,
}

pub(super) struct History<'c> {
    store: &'c dyn Store,
    earlier: EarlierStates<'c>,
    /// Stored records, each read once.
    stored: RefCell<HashMap<Key, Option<Vec<u8>>>>,
    /// The history contains all changes up to the time at which the records were read.
    is_complete: bool,
}

impl<'c> History<'c> {
    /// Creates the history of consecutive commits. `stored` are records that were read before the last commits were.
    pub(super) fn new(
        store: &'c dyn Store,
        commits: impl IntoIterator<Item = &'c LoggedCommit>,
        stored: HashMap<Key, Option<Vec<u8>>>,
        is_complete: bool,
    ) -> History<'c> {
        let mut earlier = EarlierStates::new();
        for commit in commits {
            for (stream, change) in &commit.changes {
                let Change::Record(change) = change else { continue };
                let Some(states) = &change.states else { continue };
                let key = stream.record_key(change.resource, change.id);
                let (before, is_unknown) = (states.before.as_deref(), change.lacks_image());
                earlier.entry(key).or_default().push(EarlierState { number: commit.last, before, is_unknown });
            }
        }
        History { store, earlier, stored: RefCell::new(stored), is_complete }
    }

    /// Returns a record after the commit whose last change has the given number.
    pub(super) fn at(&self, key: &Key, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(before) = self.before_next(key, number) {
            return Ok(before.map(<[u8]>::to_vec));
        }
        if let Some(stored) = self.stored.borrow().get(key) {
            return Ok(stored.clone());
        }
        let stored = self.store.get(key)?;
        self.stored.borrow_mut().insert(key.clone(), stored.clone());
        Ok(stored)
    }

    /// Returns `true` if `at` may return a state after a later change.
    pub(super) fn may_be_newer(&self, key: &Key, number: u64) -> bool {
        self.after(key, number).next().map_or(!self.is_complete, |next| next.is_unknown)
    }

    /// Returns the record before its next change, if there is one. Skips changes whose before image the log lacks.
    fn before_next(&self, key: &Key, number: u64) -> Option<Option<&'c [u8]>> {
        self.after(key, number).find(|next| !next.is_unknown).map(|next| next.before)
    }

    fn after(&self, key: &Key, number: u64) -> impl Iterator<Item = &EarlierState<'c>> {
        self.earlier.get(key).into_iter().flatten().filter(move |change| change.number > number)
    }
}

/// The records after one commit.
pub(super) struct AtCommit<'h, 'c> {
    pub history: &'h History<'c>,
    /// The number of the last change of the commit.
    pub number: u64,
}

impl RelatedRecords for AtCommit<'_, '_> {
    fn stored(&self, resource: Resource, scope: u32, id: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.history.at(&keys::record(DocumentKind::Of(resource).byte(), scope, id), self.number)
    }
}
