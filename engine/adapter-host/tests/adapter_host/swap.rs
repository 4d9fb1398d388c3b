//! Tests of adapter versions: swapped under running connections, and loaded concurrently.

use std::{fs, sync::Arc, time::Duration};

use adapter_host::{Adapter, AdapterRegistry, LoadState};
use adapter_kit::{Manifest, pack};
use records::ehr::{Ehr, Fault};
use testing::until;

use crate::support::{DEADLINE, Does, TestEhr, adapter, booking, connection, host, hostile};

/// Returns the hostile guest with another version and another limit in its manifest.
async fn next_version() -> Arc<Adapter> {
    let text = "id = \"hostile\"\nname = \"Next\"\nversion = \"2.0.0\"\ncontract = 1\npaths = [\"/\"]\nrequests_per_minute = 60\n";
    let packed = pack(&fs::read(hostile()).unwrap(), &Manifest::parse(text).unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("next.wasm");
    fs::write(&file, packed).unwrap();
    host().load(&file).await.unwrap()
}

#[tokio::test]
async fn a_swap_reaches_new_calls_and_spares_those_in_flight() {
    let registry = AdapterRegistry::new();
    let (old, next) = (adapter().await, next_version().await);
    assert!(registry.swap("ehr", old.clone()).is_none());
    let good = registry.connect("ehr", connection(&[], &TestEhr::ok())).unwrap().unwrap();
    let ehr = TestEhr::new(Does::Hangs);
    let slow = registry.connect("ehr", connection(&[("behaviour", "hang")], &ehr)).unwrap().unwrap();
    assert_eq!(good.describe(DEADLINE).await.unwrap().requests_per_minute, Some(120));

    let in_flight = tokio::spawn(async move { slow.describe(Duration::from_millis(800)).await });
    until("the call is in flight", async || !ehr.seen.lock().is_empty()).await;
    let held = Arc::strong_count(&old);
    let before = registry.swap("ehr", next).unwrap();
    assert!(Arc::ptr_eq(&before, &old));
    assert_eq!(registry.get("ehr").unwrap().manifest().version, "2.0.0");
    assert_eq!(
        good.describe(DEADLINE).await.unwrap().requests_per_minute,
        Some(60),
        "the same connection, the new version"
    );
    assert!(!in_flight.is_finished());
    assert!(Arc::strong_count(&old) >= held, "the call in flight still holds the old version");
    assert!(in_flight.await.unwrap().unwrap_err().to_string().contains("within 800 ms"));
}

#[tokio::test]
async fn versions_run_concurrently() {
    let registry = AdapterRegistry::new();
    registry.swap("ehr", adapter().await);
    registry.swap("ehr-next", next_version().await);
    assert_eq!(registry.names(), ["ehr", "ehr-next"]);
    let pinned = adapter().await.connect(connection(&[], &TestEhr::ok())).unwrap();
    for (name, expected) in [("ehr", 120), ("ehr-next", 60)] {
        let ehr = registry.connect(name, connection(&[], &TestEhr::ok())).unwrap().unwrap();
        assert_eq!(ehr.describe(DEADLINE).await.unwrap().requests_per_minute, Some(expected));
    }
    registry.swap("ehr", next_version().await);
    assert_eq!(
        pinned.describe(DEADLINE).await.unwrap().requests_per_minute,
        Some(120),
        "a pinned version is not swapped"
    );
    assert!(registry.connect("other", connection(&[], &TestEhr::ok())).is_none());
    let mut bad = connection(&[], &TestEhr::ok());
    bad.base_url = "not an address".into();
    assert!(registry.connect("ehr", bad).unwrap().is_err());
}

#[tokio::test]
async fn a_version_is_rolled_out_to_a_location_and_back_and_spares_calls_in_flight() {
    let registry = AdapterRegistry::new();
    registry.swap("ehr", adapter().await);
    let at = |location: &str, settings: &[(&str, &str)], ehr: &Arc<TestEhr>| {
        let mut connection = connection(settings, ehr);
        connection.location = location.to_owned();
        connection.limits.wait = Duration::from_millis(50);
        registry.connect("ehr", connection).unwrap().unwrap()
    };
    let (one, other) = (at("1", &[], &TestEhr::ok()), at("2", &[], &TestEhr::ok()));
    let asks = async |ehr: &Arc<dyn Ehr>| ehr.describe(DEADLINE).await.unwrap().requests_per_minute;
    let hangs = TestEhr::new(Does::Hangs);
    let slow = at("1", &[("behaviour", "hang")], &hangs);
    let in_flight = tokio::spawn(async move { slow.describe(Duration::from_millis(800)).await });
    until("the call is in flight", async || !hangs.seen.lock().is_empty()).await;

    // Chosen before it is loaded: calls wait, and no other version is run instead.
    let next = next_version().await;
    registry.choose("ehr", "1", Some(next.sha256()));
    assert!(matches!(one.describe(DEADLINE).await, Err(Fault::NotBegun(_))));
    assert_eq!(asks(&other).await, Some(120));
    registry.set_version_state("ehr", next.sha256(), LoadState::Ready(next.clone()));
    assert_eq!((asks(&one).await, asks(&other).await), (Some(60), Some(120)));
    assert!(in_flight.await.unwrap().unwrap_err().to_string().contains("within 800 ms"), "it ended on its version");
    registry.set_version_state("ehr", next.sha256(), LoadState::Refused("broken".into()));
    assert!(matches!(one.describe(DEADLINE).await, Err(Fault::NotReady(_))));
    assert_eq!(asks(&other).await, Some(120));
    registry.choose("ehr", "1", None);
    assert_eq!(asks(&one).await, Some(120));
}

/// A bad file closes only the locations that need it.
#[tokio::test]
async fn a_file_that_cannot_be_loaded_is_refused_by_name_and_the_others_serve() {
    let dir = tempfile::tempdir().unwrap();
    let bad = dir.path().join("bad.wasm");
    fs::write(&bad, "hello").unwrap();
    let registry = AdapterRegistry::new();
    let files = [("bad", bad), ("gone", dir.path().join("gone.wasm")), ("good", hostile().to_path_buf())];
    let loading = host().load_all(files.map(|(name, file)| (name.to_owned(), file)).into(), &registry);
    assert!(matches!(registry.load_state("good"), Some(LoadState::Preparing | LoadState::Ready(_))));
    let wait = Duration::from_secs(20);
    let connect = |name| {
        let mut connection = connection(&[], &TestEhr::ok());
        connection.limits.wait = wait;
        registry.connect(name, connection).unwrap().unwrap()
    };
    let (good, bad) = (connect("good"), connect("bad"));
    good.describe(DEADLINE).await.unwrap();
    match bad.push("k".into(), booking(), DEADLINE).await {
        Err(Fault::NotReady(reason)) => assert!(reason.contains("cannot be used: not a component"), "{reason}"),
        other => panic!("{other:?}"),
    }
    loading.await.unwrap();
    assert!(matches!(registry.load_state("gone"), Some(LoadState::Refused(reason)) if reason.contains("No such file")));
    // Fixed at run time.
    registry.swap("bad", adapter().await);
    bad.describe(DEADLINE).await.unwrap();
}

#[tokio::test]
async fn calls_wait_for_an_adapter_that_is_being_prepared() {
    let registry = AdapterRegistry::new();
    registry.announce("ehr");
    let connect = |wait| {
        let mut connection = connection(&[], &TestEhr::ok());
        connection.limits.wait = Duration::from_millis(wait);
        registry.connect("ehr", connection).unwrap().unwrap()
    };
    match connect(50).push("k".into(), booking(), DEADLINE).await {
        Err(Fault::NotBegun(reason)) => assert_eq!(reason, "the adapter is being prepared"),
        other => panic!("{other:?}"),
    }
    let patient = connect(20_000);
    let waiting = tokio::spawn(async move { patient.describe(Duration::from_secs(5)).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    registry.swap("ehr", adapter().await);
    waiting.await.unwrap().unwrap();
}
