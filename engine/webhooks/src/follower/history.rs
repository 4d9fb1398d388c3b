//! The states of records as they were at a commit of the log. The state after a change is the state before the next
//! change of the same record. Only if there is none, it is the stored record.

use std::{cell::RefCell, collections::HashMap};

use location::pull::Resource;
use query::{log::LoggedCommit, stream::Change};
use records::document::DocumentKind;
use store::{Key, Store, StoreError, keys};

use crate::views::RelatedRecords;

/// The earlier states of records, by key: the number of a change, and the record before the change.
type EarlierStates<'c> = HashMap<Key, Vec<(u64, Option<&'c [u8]>)>>;

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
                earlier.entry(key).or_default().push((commit.last, states.before.as_deref()));
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
        !self.is_complete && self.before_next(key, number).is_none()
    }

    /// Returns the record before its next change, if there is one.
    fn before_next(&self, key: &Key, number: u64) -> Option<Option<&'c [u8]>> {
        let changes = self.earlier.get(key)?;
        changes.iter().find(|(change, _)| *change > number).map(|(_, before)| *before)
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
