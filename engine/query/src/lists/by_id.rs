//! Records in the order of their ids, read without the index.

use store::{Key, SealedValue, Store, StoreError, keys};

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
