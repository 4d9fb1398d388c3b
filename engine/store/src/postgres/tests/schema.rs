//! Tests of the schema and the sealing key of a database.

use super::{
    super::{
        schema::STEPS,
        session::{Connector, Purpose},
    },
    *,
};

const VERSION: u32 = STEPS.len() as u32;

#[test]
fn a_database_without_a_store_is_refused_until_one_is_made() {
    if is_skipped() {
        return;
    }
    let config = own_tables(server().port());
    run(execute(&config, "DROP TABLE practice_sync_values, practice_sync_homes, practice_sync_schema"));
    assert!(!run(is_made(&config)).unwrap());
    let refused = PostgresStore::open(&config, &key(), Arc::new(Thirds)).err().unwrap().to_string();
    assert!(refused.contains("practice-sync store migrate"), "{refused}");
    // Migrates in several processes concurrently.
    let made: Vec<_> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..4).map(|_| scope.spawn(|| run(migrate(&config, &key())))).collect();
        asked.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert!(made.into_iter().all(|made| made.unwrap().1 == VERSION));
    assert!(run(is_made(&config)).unwrap());
    assert_eq!(run(migrate(&config, &key())).unwrap(), (VERSION, VERSION), "nothing left to do");
    open(&config);
}

#[test]
fn other_versions_are_refused_with_what_to_do() {
    if is_skipped() {
        return;
    }
    let config = own_tables(server().port());
    run(execute(&config, "UPDATE practice_sync_schema SET version = 7"));
    for refused in [
        PostgresStore::open(&config, &key(), Arc::new(Thirds)).err().unwrap(),
        run(migrate(&config, &key())).unwrap_err(),
        run(check(&config, &key())).unwrap_err(),
    ] {
        let refused = refused.to_string();
        assert!(refused.contains("version 7") && refused.contains("newer program"), "{refused}");
    }
}

#[test]
fn version_1_is_refused_until_it_is_migrated() {
    if is_skipped() {
        return;
    }
    let config = own_tables(server().port());
    run(execute(&config, "UPDATE practice_sync_schema SET version = 1"));
    let refused = PostgresStore::open(&config, &key(), Arc::new(Thirds)).err().unwrap().to_string();
    assert!(refused.contains("version 1") && refused.contains("practice-sync store migrate"), "{refused}");
    assert_eq!(run(migrate(&config, &key())).unwrap(), (1, VERSION));
    open(&config);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_key_is_refused_and_nothing_is_readable_without_it() {
    if is_skipped() {
        return;
    }
    let config = own_tables(server().port());
    let store = open(&config);
    store.commit(put(keys::snapshot(1), b"Jane Doe".to_vec())).await.unwrap();
    let other = StoreKey::new([1; 32]).into();
    for refused in [
        PostgresStore::open(&config, &other, Arc::new(Thirds)).err().unwrap(),
        check(&config, &other).await.unwrap_err(),
        migrate(&config, &other).await.unwrap_err(),
    ] {
        assert!(matches!(refused, StoreError::WrongKey { .. }), "{refused}");
        assert!(!refused.to_string().contains("postgresql://"));
    }
    let found = "SELECT count(*) FROM practice_sync_values WHERE position('Jane'::bytea IN value) > 0";
    let bare = Connector::new(&config).unwrap().bare().await.unwrap();
    assert_eq!(bare.client.query_one(found, &[]).await.unwrap().get::<_, i64>(0), 0);
}

/// Values altered or moved in the database are reported by reads and by `check`, and never returned.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_altered_or_moved_value_is_damaged() {
    if is_skipped() {
        return;
    }
    let config = own_tables(server().port());
    let store = open(&config);
    let mut batch = put(keys::snapshot(1), vec![1]);
    batch.put(keys::snapshot(2), vec![2]).append(3 << 32 | 1, vec![3]);
    store.commit(batch).await.unwrap();
    let checked = check(&config, &key()).await.unwrap();
    assert_eq!((checked.version, checked.values), (VERSION, 3));
    assert_eq!(checked.risks.len(), 1, "{:?}", checked.risks);
    assert!(checked.risks[0].starts_with("fsync is off"));
    let moved = "UPDATE practice_sync_values SET value = (SELECT value FROM practice_sync_values WHERE key = '\\x1100000002') \
                 WHERE key = '\\x1100000001'";
    execute(&config, moved).await;
    assert!(matches!(store.read(&keys::snapshot(1)), Err(StoreError::Damaged { .. })));
    assert!(matches!(store.scan(everything(), Direction::Forward, 9), Err(StoreError::Damaged { .. })));
    assert!(matches!(check(&config, &key()).await, Err(StoreError::Damaged { .. })));
    assert_eq!(store.get(&keys::snapshot(2)).unwrap(), Some(vec![2]));
}

#[test]
fn an_invalid_url_is_refused_without_revealing_its_password() {
    let secret = "postgresql://user:s3cret@db.example:5432/practice";
    let printed = format!("{:?}", config(secret));
    assert!(printed.contains("practice at db.example") && !printed.contains("s3cret"), "{printed}");
    let refused =
        PostgresStore::open(&config("postgresql://user:s3cret@db:port/x"), &key(), Arc::new(Thirds)).err().unwrap();
    assert!(matches!(refused, StoreError::Database { .. }) && !refused.to_string().contains("s3cret"), "{refused}");
    let ca = PostgresConfig { tls: Tls::Verify { ca: Some("/nowhere/ca.pem".into()) }, ..config(secret) };
    let refused = PostgresStore::open(&ca, &key(), Arc::new(Thirds)).err().unwrap().to_string();
    assert!(refused.contains("/nowhere/ca.pem"), "{refused}");
}

/// Commits are synchronous even if the database defaults to asynchronous ones.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_are_synchronous_even_if_the_database_defaults_to_async() {
    if is_skipped() {
        return;
    }
    let cluster = Cluster::temporary(Durability::Written).unwrap();
    let config = config(&cluster.database().unwrap());
    migrate(&config, &key()).await.unwrap();
    execute(&config, "ALTER SYSTEM SET synchronous_commit = off").await;
    execute(&config, "SELECT pg_reload_conf()").await;
    let connector = Connector::new(&config).unwrap();
    // The server applies the setting with a delay.
    let asked = "SELECT current_setting('synchronous_commit')";
    let until = Instant::now() + Duration::from_secs(30);
    while connector.bare().await.unwrap().client.query_one(asked, &[]).await.unwrap().get::<_, &str>(0) != "off" {
        assert!(Instant::now() < until);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for purpose in [Purpose::Reads, Purpose::Commits] {
        let session = connector.session(purpose).await.unwrap();
        assert_eq!(session.client().query_one(asked, &[]).await.unwrap().get::<_, &str>(0), "on");
    }
    let risks = check(&config, &key()).await.unwrap().risks;
    assert!(risks.iter().any(|risk| risk.starts_with("synchronous_commit is off")), "{risks:?}");
}

async fn execute(config: &PostgresConfig, text: &str) {
    let bare = Connector::new(config).unwrap().bare().await.unwrap();
    bare.client.batch_execute(text).await.unwrap();
}
