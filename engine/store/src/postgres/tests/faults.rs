//! Tests of network failures and server restarts.

use tokio::net::{TcpListener, TcpSocket};

use super::*;

/// A store that reaches its database through a proxy, and one that reaches it directly.
struct ProxiedStore {
    proxy: Proxy,
    store: Arc<PostgresStore>,
    direct: Arc<PostgresStore>,
}

fn world() -> ProxiedStore {
    let config = own_tables(server().port());
    let proxy = Proxy::to(server().port()).unwrap();
    let behind = through(&config, server().port(), proxy.port());
    // Short timeouts, so that tests of an unresponsive network finish quickly.
    let behind =
        PostgresConfig { connect_timeout: Duration::from_secs(1), statement_timeout: Duration::from_secs(1), ..behind };
    ProxiedStore { store: open(&behind), direct: open(&config), proxy }
}

/// Retries until the store works again, like a caller after a temporary error.
async fn until_it_works(store: &Arc<PostgresStore>, key: Key) {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let committed = store.commit(put(key.clone(), vec![7])).await;
        match committed.and_then(|()| Ok(store.get(&key)?)) {
            Ok(found) => return assert_eq!(found, Some(vec![7])),
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn is_away<T: std::fmt::Debug>(outcome: Result<T, StoreError>) -> bool {
    matches!(outcome, Err(StoreError::Away { .. }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreachable_database_is_reported_and_reconnected() {
    if is_skipped() {
        return;
    }
    let ProxiedStore { proxy, store, direct } = world();
    store.commit(put(keys::snapshot(1), vec![1])).await.unwrap();
    assert!(store.health().accepts_writes());
    proxy.cut();
    let refused = store.commit(put(keys::snapshot(1), vec![2])).await;
    assert!(matches!(&refused, Err(CommitError::Store(StoreError::Away { .. }))), "{refused:?}");
    assert!(is_away(store.read(&keys::snapshot(1))));
    assert!(is_away(store.scan(everything(), Direction::Forward, 9)));
    assert!(is_away(store.read_many(&[keys::snapshot(1)])));
    assert!(!store.health().accepts_writes() && store.health().refusing.is_some());
    assert_eq!(direct.get(&keys::snapshot(1)).unwrap(), Some(vec![1]), "nothing was written");
    proxy.clear_faults();
    // The store reconnects by itself, without any caller.
    let until = Instant::now() + Duration::from_secs(30);
    while !store.health().accepts_writes() {
        assert!(Instant::now() < until, "{:?}", store.health());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    store.commit(put(keys::snapshot(1), vec![3])).await.unwrap();
    assert_eq!(store.get(&keys::snapshot(1)).unwrap(), Some(vec![3]));
}

/// A connection that broke while it was idle causes no error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_is_replaced_for_a_read() {
    if is_skipped() {
        return;
    }
    for _ in 0..5 {
        let ProxiedStore { proxy, store, .. } = world();
        store.commit(put(keys::snapshot(1), vec![1])).await.unwrap();
        // Uses each of its connections once.
        for _ in 0..READERS {
            assert_eq!(store.get(&keys::snapshot(1)).unwrap(), Some(vec![1]));
        }
        proxy.cut_once();
        assert_eq!(store.get(&keys::snapshot(1)).unwrap(), Some(vec![1]));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_is_lost_is_unknown() {
    if is_skipped() {
        return;
    }
    let ProxiedStore { proxy, store, direct } = world();
    until_it_works(&store, keys::snapshot(9)).await;
    for (n, how) in [(1, Commits::LoseAnswer), (2, Commits::LoseRequest), (3, Commits::LoseAnswer)] {
        proxy.break_next_commit(how);
        let mut batch = put(keys::snapshot(n), vec![n as u8]);
        batch.expect_absent(keys::snapshot(n)).append(3 << 32 | 1, vec![n as u8]);
        let outcome = store.commit(batch).await;
        assert!(matches!(&outcome, Err(CommitError::Store(StoreError::Unknown { .. }))), "{how:?} {outcome:?}");
        // The next commit waits for the server to finish the previous one.
        let mut next = put(keys::snapshot(n + 10), vec![]);
        next.append(3 << 32 | 1, vec![]);
        while store.commit(next.clone()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let written = (how == Commits::LoseAnswer).then(|| vec![n as u8]);
        assert_eq!(direct.get(&keys::snapshot(n)).unwrap(), written, "{how:?}");
    }
    let numbers = direct.scan_keys(keys::feed_after(3 << 32 | 1, 0), Direction::Forward, 99).unwrap();
    let numbers: Vec<u64> = numbers.iter().map(|key| keys::parse_feed(key).unwrap().1).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
}

/// Neither an unresponsive network nor a half-closed connection blocks callers beyond the timeouts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unresponsive_network_times_out() {
    if is_skipped() {
        return;
    }
    let ProxiedStore { proxy, store, direct } = world();
    until_it_works(&store, keys::snapshot(9)).await;
    proxy.stall();
    let read = {
        let store = store.clone();
        tokio::task::spawn_blocking(move || store.read(&keys::snapshot(9)))
    };
    let failed = store.commit(put(keys::snapshot(1), vec![1])).await;
    assert!(matches!(&failed, Err(CommitError::Store(StoreError::Away { .. }))), "nothing was sent: {failed:?}");
    assert!(is_away(read.await.unwrap()));
    assert!(!store.health().accepts_writes());
    // Once connecting has failed, callers fail at once and do not connect themselves.
    for _ in 0..READERS {
        let store = store.clone();
        tokio::task::spawn_blocking(move || assert!(is_away(store.read(&keys::snapshot(9))))).await.unwrap();
    }
    let before = proxy.connections();
    for _ in 0..1_000 {
        assert!(is_away(store.read(&keys::snapshot(9))));
    }
    assert!(proxy.connections() - before < 100, "{before} and then {}", proxy.connections());
    proxy.clear_faults();
    until_it_works(&store, keys::snapshot(2)).await;
    proxy.half_close();
    until_it_works(&store, keys::snapshot(3)).await;
    proxy.delay(Duration::from_millis(30));
    until_it_works(&store, keys::snapshot(4)).await;
    assert_eq!(direct.get(&keys::snapshot(1)).unwrap(), None);
    assert_eq!(direct.get(&keys::snapshot(4)).unwrap(), Some(vec![7]));
}

/// The server ends the transaction of a paused process, so other processes do not wait forever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_locked_by_a_silent_process_are_released() {
    if is_skipped() {
        return;
    }
    let ProxiedStore { proxy, store, direct } = world();
    store.commit(put(keys::snapshot(1), vec![1])).await.unwrap();
    let seen = store.read(&keys::snapshot(1)).unwrap().unwrap().version;
    // The delay is long enough to take the lock without receiving the response.
    proxy.delay(Duration::from_millis(300));
    let mut batch = put(keys::snapshot(1), vec![2]);
    batch.expect_unchanged(keys::snapshot(1), Some(seen));
    let silent = store.commit(batch);
    tokio::time::sleep(Duration::from_millis(450)).await;
    proxy.stall();
    let mut batch = put(keys::snapshot(1), vec![3]);
    batch.expect_unchanged(keys::snapshot(1), Some(seen));
    direct.commit(batch).await.unwrap();
    let outcome = silent.await;
    assert!(outcome.is_err(), "{outcome:?}");
    proxy.clear_faults();
    assert_eq!(direct.get(&keys::snapshot(1)).unwrap(), Some(vec![3]));
    until_it_works(&store, keys::snapshot(2)).await;
}

/// Kills the server repeatedly during commits. Acknowledged commits exist, failed ones do not, and those of
/// unknown outcome may exist; journals have no gap.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_when_the_server_is_restarted() {
    if is_skipped() {
        return;
    }
    let mut cluster = Cluster::temporary(Durability::Synced).unwrap();
    let config = own_tables(cluster.port());
    let store = open(&config);
    let stop = Arc::new(AtomicU64::new(0));
    let writers: Vec<_> = (0..4)
        .map(|location| {
            let (store, stop) = (store.clone(), stop.clone());
            tokio::spawn(async move { write_until(&store, &stop, location).await })
        })
        .collect();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(400)).await;
        cluster.stop().unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        cluster.run().unwrap();
    }
    until_it_works(&store, keys::snapshot(99)).await;
    stop.store(1, Ordering::SeqCst);
    let (mut acknowledged, mut failures) = (0, 0);
    for (location, writer) in writers.into_iter().enumerate() {
        let (written, failed) = writer.await.unwrap();
        let loaded = journal::load(&*store, location as u32).unwrap();
        let there: Vec<u64> =
            loaded.tail.iter().map(|(_, value)| u64::from_be_bytes(value.as_slice().try_into().unwrap())).collect();
        assert!(written.iter().all(|attempt| there.contains(attempt)), "location {location}");
        assert!(there.is_sorted(), "in the order of the calls, none of them twice");
        acknowledged += written.len();
        failures += failed;
    }
    assert!(acknowledged > 0 && failures > 0, "{acknowledged} acknowledged, {failures} failed");
}

/// Writes numbered attempts. Returns the acknowledged ones and the number of failures.
async fn write_until(store: &Arc<PostgresStore>, stop: &AtomicU64, location: u32) -> (Vec<u64>, u64) {
    let (mut acknowledged, mut failed, mut attempt, mut seq) = (Vec::new(), 0, 0u64, 1);
    while stop.load(Ordering::SeqCst) == 0 {
        attempt += 1;
        let mut batch = Batch::new();
        journal::append(&mut batch, location, seq, attempt.to_be_bytes().to_vec());
        batch.append(2 << 32 | u64::from(location), vec![]);
        match store.commit(batch).await {
            Ok(()) => {
                acknowledged.push(attempt);
                seq += 1;
            }
            Err(_) => {
                failed += 1;
                tokio::time::sleep(Duration::from_millis(10)).await;
                // Reloads the journal, like a location.
                if let Ok(loaded) = journal::load(&**store, location) {
                    seq = loaded.next_seq;
                }
            }
        }
    }
    (acknowledged, failed)
}

/// A machine without power does not respond at all, unlike a stopped server.
#[tokio::test]
async fn a_host_that_does_not_respond_leaves_time_for_the_next_one() {
    let silent = TcpSocket::new_v4().unwrap();
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let silent = silent.listen(1).unwrap();
    let address = silent.local_addr().unwrap();
    // The kernel does not respond while the queue of new connections is full.
    let attempt = || std::net::TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok();
    let waiting: Vec<_> = std::iter::from_fn(attempt).take(64).collect();
    let next = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = next.local_addr().unwrap().port();
    let url = format!("postgresql://user@127.0.0.1:{},127.0.0.1:{port}/postgres", address.port());
    let connector = super::super::session::Connector::new(&config(&url)).unwrap();
    tokio::select! {
        connected = connector.bare() => panic!("no connection to the second host: {:?}", connected.err()),
        accepted = next.accept() => drop(accepted.unwrap()),
    }
    drop(waiting);
}
