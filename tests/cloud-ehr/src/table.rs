//! Records of one kind with their revisions, which determine the changes since a mark.

use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub struct RevisedRow<T> {
    pub record: T,
    pub revision: u64,
}

#[derive(Clone, Debug)]
pub struct Table<T> {
    rows: BTreeMap<String, RevisedRow<T>>,
    removed: BTreeMap<String, u64>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { rows: BTreeMap::new(), removed: BTreeMap::new() }
    }
}

/// Changes after a revision, in order.
#[derive(Debug)]
pub struct TableChanges<'a, T> {
    pub rows: Vec<&'a RevisedRow<T>>,
    pub removed: Vec<&'a str>,
    pub revision: u64,
    pub more: bool,
}

impl<T> Table<T> {
    pub fn get(&self, id: &str) -> Option<&T> {
        self.rows.get(id).map(|row| &row.record)
    }

    pub fn row(&self, id: &str) -> Option<&RevisedRow<T>> {
        self.rows.get(id)
    }

    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.rows.values().map(|row| &row.record)
    }

    pub fn rows(&self) -> impl Iterator<Item = &RevisedRow<T>> {
        self.rows.values()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Stores a record. Each revision belongs to one record, so that a page of changes can end at any revision.
    pub fn put(&mut self, id: &str, record: T, revision: u64) {
        self.removed.remove(id);
        self.rows.insert(id.to_owned(), RevisedRow { record, revision });
    }

    pub fn remove(&mut self, id: &str, revision: u64) -> bool {
        let was = self.rows.remove(id).is_some();
        if was {
            self.removed.insert(id.to_owned(), revision);
        }
        was
    }

    /// Returns at most `limit` changes.
    pub fn since(&self, revision: u64, limit: usize) -> TableChanges<'_, T> {
        enum ChangedRow<'a, T> {
            Row(&'a RevisedRow<T>),
            Removed(&'a str),
        }
        let rows = self.rows.values().map(|row| (row.revision, ChangedRow::Row(row)));
        let removed = self.removed.iter().map(|(id, at)| (*at, ChangedRow::Removed(id)));
        let mut changed: Vec<_> = rows.chain(removed).filter(|(at, _)| *at > revision).collect();
        changed.sort_by_key(|(at, _)| *at);
        let more = changed.len() > limit;
        changed.truncate(limit);
        let mut all = TableChanges { rows: Vec::new(), removed: Vec::new(), revision, more };
        for (at, what) in changed {
            all.revision = at;
            match what {
                ChangedRow::Row(row) => all.rows.push(row),
                ChangedRow::Removed(id) => all.removed.push(id),
            }
        }
        all
    }
}
