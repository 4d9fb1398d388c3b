//! What records are found by besides their ids: terms, the words of names, and their places in orders that change. The unit of work
//! writes it in the batch of the record itself, `lists` reads it.

pub mod places;
pub mod terms;
pub mod words;

use location::time::Timestamp;
use places::Place;
use records::{
    document::Document,
    index::{OrderBy, Term},
};
use store::{Key, Store, StoreError, keys, secrets::Secrets};
pub use terms::Writes;
use terms::key;

/// All that one state of a record is found by.
pub struct Facets {
    scope: u32,
    kind: u8,
    id: u64,
    terms: Vec<Term>,
    places: Vec<Place>,
    listed_by_id: bool,
    pub deleted: bool,
}

impl Facets {
    pub fn of<T: Document>(record: &T) -> Facets {
        let (scope, kind, id) = (record.owner(), T::KIND.byte(), record.id());
        let mut terms = record.terms();
        terms.sort_unstable();
        terms.dedup();
        let places = record.places();
        let places = places.into_iter().map(|(order, at)| Place { scope, kind, order, at: at.0, id }).collect();
        Facets { scope, kind, id, terms, places, listed_by_id: T::LISTED_BY_ID, deleted: record.deleted() }
    }

    /// Institution, data source or location whose lists show it.
    pub fn owner(&self) -> u32 {
        self.scope
    }

    fn has(&self, scope: u32, term: &Term) -> bool {
        self.scope == scope && self.terms.binary_search(term).is_ok()
    }

    pub(crate) fn place(&self, order: OrderBy) -> Option<Place> {
        self.places.iter().find(|place| place.order == order).copied()
    }

    fn changed_key(&self) -> Option<Key> {
        let place = self.place(OrderBy::Updated).filter(|_| self.listed_by_id)?;
        Some(keys::changed(place.scope, place.kind, place.id, place.at))
    }
}

/// The difference between what a record was found by and what it is to be found by.
pub fn write(
    store: &dyn Store,
    secrets: &Secrets,
    now: Timestamp,
    before: Option<&Facets>,
    after: &Facets,
    writes: &mut Writes,
) -> Result<(), StoreError> {
    let Facets { scope, kind, id, .. } = *after;
    for old in before.into_iter().flat_map(|before| before.terms.iter().map(move |term| (before.scope, term))) {
        if !after.has(old.0, old.1) {
            writes.insert(key(old.1, secrets, old.0, kind, id), None);
        }
    }
    for term in after.terms.iter().filter(|term| !before.is_some_and(|before| before.has(scope, term))) {
        writes.insert(key(term, secrets, scope, kind, id), Some(Vec::new()));
        if let Some(word) = term.word() {
            words::learn(store, secrets, (scope, kind), word, writes)?;
        }
    }
    for order in OrderBy::ALL {
        let (old, new) = (before.map(|before| before.place(order)), after.place(order));
        places::write(store, now, old, new, writes)?;
    }
    let (old, new) = (before.and_then(Facets::changed_key), after.changed_key());
    if old != new {
        writes.extend(old.map(|key| (key, None)));
        writes.extend(new.map(|key| (key, Some(Vec::new()))));
    }
    Ok(())
}
