//! Records read without the index, in the order of their ids or by known ids, and decoded.

use records::document::Document;
use store::{Direction, Key, KeyRange, SealedValue, Store, StoreError, keys, prefix_end};

use super::page::{Position, Range};

/// Returns up to `range.limit` records of a kind and scope from a position on. A scan finds each record with its value,
/// which costs less than a lookup per record.
pub(super) fn read_by_id<R>(
    store: &dyn Store,
    (kind, scope): (u8, u32),
    range: Range,
    take: impl Fn(Key, SealedValue) -> Result<Option<R>, StoreError>,
) -> Result<Vec<(Position, R)>, StoreError> {
    let mut rest = keys::records(kind, scope);
    if let Some(from) = range.from {
        rest = rest.continued(range.direction, &keys::record(kind, scope, from.id));
    }
    let mut rows = Vec::new();
    while rows.len() < range.limit {
        let found = store.scan_sealed(rest.clone(), range.direction, range.limit - rows.len())?;
        let Some((last, _)) = found.last() else { break };
        rest = rest.continued(range.direction, last);
        for (key, value) in found {
            let Some((.., id)) = keys::parse_record(&key) else { continue };
            rows.extend(take(key, value)?.map(|row| (Position::id(id), row)));
        }
    }
    Ok(rows)
}

/// Returns the records with these ids, in their order. One scan reads ids that are close together, unless they are few
/// or the scan would read twice as many records.
pub(super) fn find_by_id(
    store: &dyn Store,
    (kind, scope): (u8, u32),
    ids: &[u64],
) -> Result<Vec<Option<(Key, SealedValue)>>, StoreError> {
    let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else { return Ok(Vec::new()) };
    let key = |id: &u64| keys::record(kind, scope, *id);
    if (last - first).saturating_add(8) >= 2 * ids.len() as u64 {
        let keys: Vec<Key> = ids.iter().map(key).collect();
        let found = store.get_sealed(&keys)?;
        return Ok(keys.into_iter().zip(found).map(|(key, value)| Some((key, value?))).collect());
    }
    let index = |id: u64| (id - first) as usize;
    let mut found: Vec<Option<(Key, SealedValue)>> = vec![None; index(*last) + 1];
    let range = KeyRange::new(key(first), prefix_end(&key(last)));
    for (key, value) in store.scan_sealed(range, Direction::Forward, found.len())? {
        if let Some((.., id)) = keys::parse_record(&key) {
            found[index(id)] = Some((key, value));
        }
    }
    Ok(ids.iter().map(|id| found[index(*id)].take()).collect())
}

/// Decodes a stored record.
pub(super) fn parsed<D: Document>(key: &[u8], value: &[u8]) -> Result<D, StoreError> {
    serde_json::from_slice(value).map_err(|_| StoreError::damaged(key, "a record that cannot be read"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use store::{Batch, MemoryStore};

    use super::*;

    const KIND: u8 = 3;

    #[test]
    fn records_are_read_in_both_directions_with_one_scan() {
        let store = MemoryStore::new();
        let mut batch = Batch::new();
        for (scope, id) in [(6, 9), (7, 1), (7, 2), (7, 5), (7, 8), (8, 1)] {
            batch.put(keys::record(KIND, scope, id), vec![id as u8]);
        }
        store.commit_now(batch).unwrap();
        let read = |from: Option<u64>, direction, limit| {
            let (range, before) = (Range { from: from.map(Position::id), direction, limit }, store.reads());
            let rows =
                read_by_id(&store, (KIND, 7), range, |key, value| Ok(Some(store.unseal(&key, value)?[0]))).unwrap();
            assert!(rows.iter().all(|(position, row)| *position == Position::id((*row).into())));
            (rows.into_iter().map(|(_, row)| row).collect::<Vec<_>>(), store.reads() - before)
        };
        use store::Direction::{Backward, Forward};
        assert_eq!(read(None, Forward, 3), (vec![1, 2, 5], 1));
        assert_eq!(read(Some(2), Forward, 2), (vec![5, 8], 1));
        assert_eq!(read(Some(3), Backward, 2), (vec![2, 1], 1));
        assert_eq!(read(None, Backward, 4), (vec![8, 5, 2, 1], 1));
        assert_eq!(read(Some(8), Forward, 2), (vec![], 1));
        assert_eq!(read(Some(u64::MAX), Forward, 2), (vec![], 1));
    }

    #[test]
    fn ids_close_together_are_found_with_one_scan() {
        let store = MemoryStore::new();
        let mut batch = Batch::new();
        let stored: Vec<u64> = (1..=40).filter(|id| *id != 15).chain([90, u64::MAX]).collect();
        for (scope, id) in stored.iter().map(|id| (7, *id)).chain([(8, 21)]) {
            batch.put(keys::record(KIND, scope, id), vec![id as u8]);
        }
        store.commit_now(batch).unwrap();
        let find = |ids: &[u64]| {
            let before = store.reads();
            let found = find_by_id(&store, (KIND, 7), ids).unwrap();
            assert_eq!(found.len(), ids.len());
            for (id, found) in ids.iter().zip(found) {
                let value = found.map(|(key, value)| {
                    assert_eq!(key, keys::record(KIND, 7, *id));
                    store.unseal(&key, value).unwrap()
                });
                assert_eq!(value, stored.contains(id).then(|| vec![*id as u8]), "{id}");
            }
            store.reads() - before
        };
        assert_eq!(find(&(1..=20).rev().collect::<Vec<_>>()), 1);
        assert_eq!(find(&(35..=54).collect::<Vec<_>>()), 1);
        assert_eq!(find(&(u64::MAX - 19..=u64::MAX).collect::<Vec<_>>()), 1);
        assert_eq!(find(&(1..=40).step_by(3).collect::<Vec<_>>()), 14);
        assert_eq!(find(&[3, 1, 2]), 3);
        assert_eq!(find(&[0, 90, u64::MAX]), 3);
        assert_eq!(find(&[]), 0);
    }

    #[test]
    fn rows_of_other_owners_are_replaced_by_later_ones() {
        let store = MemoryStore::new();
        let mut batch = Batch::new();
        for id in 1..=9 {
            batch.put(keys::record(KIND, 7, id), vec![id as u8]);
        }
        store.commit_now(batch).unwrap();
        let odd = |key: Key, value| store.unseal(&key, value).map(|value| (value[0] % 2 == 1).then_some(value[0]));
        let rows = read_by_id(&store, (KIND, 7), Range::first(4), odd).unwrap();
        assert_eq!(rows.into_iter().map(|(_, row)| row).collect::<Vec<_>>(), [1, 3, 5, 7]);
    }
}
