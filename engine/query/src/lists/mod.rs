//! Pages of lists, at a cost that follows the page and not the list: records next to a position, in the order of their ids or of a field
//! that may change, found through the most selective of what is asked for.

mod merge;
mod source;
mod walk;

use records::document::Document;
use source::List;
use store::{StoreError, keys};
use walk::parsed;

pub use self::walk::{COMMITS_WITHIN, Lists, Narrow, Order, Part, Position, Stretch, Walk};

impl Lists<'_> {
    pub fn walk<D: Document>(&self, walk: &Walk, part: Part) -> Result<Vec<(Position, D)>, StoreError> {
        self.rows::<D, _>(walk, part, |key, value| {
            let record: D = parsed(key, &value)?;
            Ok((record.owner() == walk.owner).then_some(record))
        })
    }

    pub fn walk_raw<D: Document>(&self, walk: &Walk, part: Part) -> Result<Vec<(Position, Vec<u8>)>, StoreError> {
        self.rows::<D, _>(walk, part, |key, value| {
            let apart = D::scope_of(walk.owner) == walk.owner;
            let ours = apart || parsed::<D>(key, &value)?.owner() == walk.owner;
            Ok(ours.then_some(value))
        })
    }

    fn rows<D: Document, R>(
        &self,
        walk: &Walk,
        part: Part,
        take: impl Fn(&[u8], Vec<u8>) -> Result<Option<R>, StoreError>,
    ) -> Result<Vec<(Position, R)>, StoreError> {
        let (kind, scope) = (D::KIND.byte(), D::scope_of(walk.owner));
        let list = List { lists: *self, kind, scope, listed_by_id: D::LISTED_BY_ID, walk, direction: part.direction };
        let mut source = match walk.order {
            Order::Id => list.by_id()?,
            Order::By(order) => list.by_time::<D>(order)?,
        };
        let (mut rows, mut from) = (Vec::new(), part.from);
        while rows.len() < part.limit {
            let positions = list.next(&mut source, from, part.limit - rows.len())?;
            let Some(last) = positions.last() else { break };
            from = Some(*last);
            for position in positions {
                let key = keys::record(kind, scope, position.id);
                let Some(value) = self.store.get(&key)? else { continue };
                rows.extend(take(&key, value)?.map(|row| (position, row)));
            }
        }
        Ok(rows)
    }
}
