//! Tests of key rotation of a database in use.

use super::*;
use crate::{KeyId, Sealed, rotation};

fn counted(store: &PostgresStore) -> std::collections::BTreeMap<KeyId, u64> {
    rotation::count(store, || true).unwrap().unwrap()
}

#[test]
fn all_rows_are_resealed_during_writes() {
    if is_skipped() {
        return;
    }
    let config = own_tables(server().port());
    let (store, both) = (open(&config), key().and_a_new_one().unwrap());
    let mut batch = Batch::new();
    for n in 0..350u32 {
        batch.put(keys::snapshot(n), vec![n as u8; 60]);
    }
    // The internal rows are the sequences of three owners and the known value of the sealing key.
    run(store.commit(batch.append(1 << 32 | 1, vec![9]).clone())).unwrap();
    let before = store.read(&keys::snapshot(7)).unwrap();
    assert_eq!(counted(&store), [(KeyId::FIRST, 355)].into());
    store.use_keys(&both);
    let mut changed = 0_u64;
    let whole = rotation::reseal(&*store, both.newest(), |_| {
        changed += 1;
        run(store.commit(put(keys::snapshot(8), changed.to_be_bytes().to_vec()))).unwrap();
        true
    });
    assert!(whole.unwrap() && changed > 4);
    assert_eq!(counted(&store), [(both.newest(), 355)].into());
    assert!(store.read(&keys::snapshot(7)).unwrap() == before, "its version too");
    drop(store);
    let newest = both.without(KeyId::FIRST);
    let store = PostgresStore::open(&config, &newest, Arc::new(Thirds)).unwrap();
    assert_eq!(store.get(&keys::snapshot(8)).unwrap(), Some(changed.to_be_bytes().to_vec()));
    assert_eq!(store.feed_end(Some(1 << 32 | 1)).unwrap(), 1);
    assert_eq!(run(check(&config, &newest)).unwrap().values, 351);
    let refused = PostgresStore::open(&config, &key(), Arc::new(Thirds)).err().unwrap().to_string();
    assert!(refused.contains(&format!("another key {}", both.newest())), "{refused}");
}

/// A value that cannot be opened does not prevent the resealing of other values.
#[test]
fn a_damaged_value_is_reported_and_the_rest_is_resealed() {
    if is_skipped() {
        return;
    }
    let config = own_tables(server().port());
    let (store, both) = (open(&config), key().and_a_new_one().unwrap());
    let mut batch = Batch::new();
    for n in 0..20 {
        batch.put(keys::snapshot(n), vec![1]);
    }
    run(store.commit(batch)).unwrap();
    run(async {
        let bare = super::super::session::Connector::new(&config).unwrap().bare().await.unwrap();
        let flip =
            "UPDATE practice_sync_values SET value = set_byte(value, 40, get_byte(value, 40) # 1) WHERE key = $1";
        assert_eq!(bare.client.execute(flip, &[&keys::snapshot(3)]).await.unwrap(), 1);
    });
    store.use_keys(&both);
    let error = rotation::reseal(&*store, both.newest(), |_| true).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(counted(&store), [(KeyId::FIRST, 1), (both.newest(), 20)].into());
}

/// Key rotation requires exclusive access: it is refused while another process has the store open, and
/// prevents others from opening it.
#[test]
fn a_key_rotation_requires_exclusive_access() {
    if is_skipped() {
        return;
    }
    let config = own_tables(server().port());
    let (own, other) = (open(&config), open(&config));
    // Another store in the same database.
    let elsewhere = open(&own_tables(server().port()));
    assert!(!own.alone().unwrap());
    drop(other);
    let gone = Instant::now() + Duration::from_secs(10);
    while !own.alone().unwrap() {
        assert!(Instant::now() < gone, "the lock of a process that has ended is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
    // A connection that replaces a lost one takes the exclusive lock again.
    run(async {
        let held = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted \
                    AND objid = to_regclass('practice_sync_values')::oid";
        let bare = super::super::session::Connector::new(&config).unwrap().bare().await.unwrap();
        let first: i32 = bare.client.query_one(held, &[]).await.unwrap().get(0);
        bare.client.query_one("SELECT pg_terminate_backend($1)", &[&first]).await.unwrap();
        while bare.client.query_opt(held, &[]).await.unwrap().is_none_or(|row| row.get::<_, i32>(0) == first) {
            assert!(Instant::now() < gone, "the lock was not taken again");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let refused = PostgresStore::open(&config, &key(), Arc::new(Thirds)).err().unwrap().to_string();
    assert!(refused.contains("sealing its values with another key"), "{refused}");
    while let Err(error) = run(own.commit(put(keys::snapshot(2), vec![2]))) {
        assert!(Instant::now() < gone, "{error}");
        std::thread::sleep(Duration::from_millis(20));
    }
    run(own.commit(put(keys::snapshot(1), vec![1]))).unwrap();
    drop(own);
    while let Err(refused) = PostgresStore::open(&config, &key(), Arc::new(Thirds)) {
        assert!(Instant::now() < gone, "{refused}");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(elsewhere);
}
