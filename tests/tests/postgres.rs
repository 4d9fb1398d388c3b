//! The product with its store in a database: recovery after database downtime, and migration of stores into and out
//! of it.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use engine::{CopyStep, Incomplete};
use postgres_server::{Cluster, Durability, Proxy, is_skipped};
use sandbox_ehr::Profile;
use serde_json::Value;
use setup::{
    EngineRules, Setup,
    database::{Database, DatabaseTls},
    secret::Secret,
};
use store::{
    Batch, Direction, EmbeddedStore, Store, StoreConfig, StoreKey, StoreKeys, keys,
    postgres::{
        PostgresConfig, PostgresStore, Tls,
        filling::{self, Begun},
    },
};
use testing::{PATIENCE, until};
use tests::harness::{
    ehr_server::EhrServer,
    fixtures,
    http_client::Caller,
    process::{self, HASTY, Installation, LOCATIONS, SUBDOMAIN, binary, booking, path},
};

fn ehr() -> EhrServer {
    let profile = Profile { booked_percent: 20, days_back: 0, days_ahead: 7, patients: 40, ..fixtures::profile(9) };
    EhrServer::start(profile).unwrap()
}

/// Books, with retries on 503.
async fn until_booked(caller: &mut Caller, location: u32, body: &Value) -> Value {
    until("the booking", async || match caller.post(&path("/intent/booking/book", location), body).await.unwrap() {
        (200, answer) => Ok(answer),
        (503, answer) => Err(answer),
        (status, answer) => panic!("{status} {answer}"),
    })
    .await
}

async fn get_booking_status(caller: &mut Caller, answer: &Value) -> (u16, Value) {
    let reference = answer["booking"]["booking_ref"].as_str().unwrap();
    caller.get(&format!("/intent/booking/status?subdomain={SUBDOMAIN}&booking_ref={reference}")).await.unwrap()
}

#[actix::test]
async fn database_downtime_returns_503_and_service_resumes() {
    if is_skipped() {
        return;
    }
    let (ehr, dir) = (ehr(), tempfile::tempdir().unwrap());
    let mut cluster = Cluster::temporary(Durability::Written).unwrap();
    let installation = Installation::new(binary(), dir.path(), &ehr.url(), "").unwrap();
    let installation = installation.on_database(&cluster.database().unwrap()).unwrap();
    let _process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    let location = LOCATIONS[0].0;
    let mut slots = process::offers(&mut caller, location, 10).await.unwrap();
    let mut next = |key: &str| booking(&slots.pop().unwrap(), key, 1, key);
    let first = until_booked(&mut caller, location, &next("first")).await;
    assert_eq!(get_booking_status(&mut caller, &first).await.0, 200);

    cluster.stop().unwrap();
    let second = next("second");
    let url = format!("http://{}", installation.address);
    // Another test in this process may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::new();
    for _ in 0..3 {
        let (status, answer) = caller.post(&path("/intent/booking/book", location), &second).await.unwrap();
        assert_eq!(status, 503, "{answer}");
    }
    assert_eq!(get_booking_status(&mut caller, &first).await.0, 503);
    let asked = client
        .get(format!("{url}{}", path("/patients", location)))
        .header("authorization", caller.authorization())
        .header("svc-api-version", "v3.0.0")
        .header("user-agent", "tests/1.0")
        .send()
        .await
        .unwrap();
    assert_eq!(asked.status(), 503);
    let later: u64 = asked.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=30).contains(&later), "{later}");
    let ready = client.get(format!("{url}/readyz")).send().await.unwrap();
    assert_eq!(ready.status(), 503);

    cluster.run().unwrap();
    let made = until_booked(&mut caller, location, &second).await;
    assert_eq!(get_booking_status(&mut caller, &made).await.0, 200);
    assert_eq!(get_booking_status(&mut caller, &first).await.0, 200);
    let again = until_booked(&mut caller, location, &second).await;
    assert_eq!(
        (&again["replay"], &again["booking"]["booking_ref"]),
        (&Value::Bool(true), &made["booking"]["booking_ref"])
    );
    until("readiness", async || client.get(format!("{url}/readyz")).send().await.unwrap().status() == 200).await;
    assert_eq!(installation.panics().unwrap(), [""; 0]);
}

/// Writes read first, too. No thread that answers requests may block on the database.
#[actix::test]
async fn probes_are_answered_while_all_calls_wait_for_the_database() {
    if is_skipped() {
        return;
    }
    let (ehr, dir) = (ehr(), tempfile::tempdir().unwrap());
    let cluster = Cluster::temporary(Durability::Written).unwrap();
    let way = Proxy::to(cluster.port()).unwrap();
    let installation = Installation::new(binary(), dir.path(), &ehr.url(), "").unwrap();
    let installation = installation.on_database(&Cluster::url(way.port())).unwrap();
    let _process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    let location = LOCATIONS[0].0;
    let slot = process::offers(&mut caller, location, 1).await.unwrap().pop().unwrap();
    let made = until_booked(&mut caller, location, &booking(&slot, "probed", 1, "probed")).await;

    way.stall();
    let cancel = serde_json::json!({"booking_ref": made["booking"]["booking_ref"]});
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (cancel, mut caller) = (cancel.clone(), caller.another(installation.address).await.unwrap());
        waiting.spawn_local(async move { caller.post(&path("/intent/booking/cancel", location), &cancel).await });
    }
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::new();
    for _ in 0..20 {
        let probe = client.get(format!("http://{}/healthz", installation.address)).send();
        let answer = tokio::time::timeout(PATIENCE, probe).await;
        assert_eq!(answer.expect("the probe waits for the database").unwrap().status(), 200);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(waiting.try_join_next().is_none(), "the calls should wait meanwhile");
    way.clear_faults();
    while let Some(answer) = waiting.join_next().await {
        let (status, answer) = answer.unwrap().unwrap();
        assert!(matches!(status, 200 | 503), "{status} {answer}");
    }
}

fn command(arguments: &[&str]) -> (bool, String) {
    let ended = Command::new(binary()).args(arguments).output().unwrap();
    let output = [ended.stdout, ended.stderr].concat();
    (ended.status.success(), String::from_utf8_lossy(&output).into_owned())
}

fn succeeds(arguments: &[&str]) -> String {
    let (succeeded, output) = command(arguments);
    assert!(succeeded, "{arguments:?}: {output}");
    output
}

fn refused(arguments: &[&str], expected: &str) {
    let (succeeded, output) = command(arguments);
    assert!(!succeeded && output.contains(expected), "{arguments:?}: {output}");
}

/// Serves a practice on sled, then from a database, then on fjall, and checks that each booking is kept.
#[actix::test]
async fn a_store_moves_into_a_database_and_out_of_it() {
    if is_skipped() {
        return;
    }
    let (ehr, dir) = (ehr(), tempfile::tempdir().unwrap());
    let cluster = Cluster::temporary(Durability::Written).unwrap();
    let url = cluster.database().unwrap();
    let place = |name: &str| {
        let folder = dir.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        Installation::new(binary(), &folder, &ehr.url(), "").unwrap()
    };
    let text = |path: PathBuf| path.to_str().unwrap().to_owned();
    let data = |name: &str| text(dir.path().join(name).join("data"));
    let mut bookings = Vec::new();
    let location = LOCATIONS[0].0;

    let on_sled = place("sled");
    bookings.push(serve_and_book(&on_sled, location, &bookings).await);

    let on_database = place("database").on_database(&url).unwrap();
    let config = text(on_database.config().to_path_buf());
    refused(&["store", "check", "--config", &config], "store.key is missing");
    let into = ["store", "copy", "--from", &data("sled"), "--to-config", &config];
    let output = succeeds(&into);
    let digest = |output: &str| output.split("sha256 ").nth(1).unwrap()[..64].to_owned();
    refused(&into, "already exists");
    assert!(succeeds(&["store", "migrate", "--config", &config]).contains("version 5 already"));
    let checked = succeeds(&["store", "check", "--config", &config]);
    assert!(checked.contains("The store is sound") && checked.contains("fsync is off"), "{checked}");
    // A copy back has the same values.
    let copy = text(dir.path().join("copy"));
    let back = succeeds(&["store", "copy", "--from-config", &config, "--to", &copy, "--engine", "fjall"]);
    assert_eq!(digest(&back), digest(&output));
    bookings.push(serve_and_book(&on_database, location, &bookings).await);

    let on_fjall = place("fjall").on_engine(store::EngineKind::Fjall).unwrap();
    succeeds(&["store", "copy", "--from-config", &config, "--to", &data("fjall"), "--engine", "fjall"]);
    bookings.push(serve_and_book(&on_fjall, location, &bookings).await);
    assert_eq!(bookings.len(), 3);
}

/// Serves, checks the earlier bookings, and makes another one.
async fn serve_and_book(installation: &Installation, location: u32, before: &[Value]) -> Value {
    let process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    for it in before {
        let (status, answer) = get_booking_status(&mut caller, it).await;
        assert_eq!((status, &answer["booking"]["appointment_id"]), (200, &it["booking"]["appointment_id"]), "{answer}");
    }
    let slot = process::offers(&mut caller, location, 1).await.unwrap().pop().unwrap();
    let key = format!("number {}", before.len());
    let made = until_booked(&mut caller, location, &booking(&slot, &key, before.len() as u64, &key)).await;
    process.stop().unwrap();
    made
}

/// Next to an embedded store, or without its own database, no new store is created by mistake.
#[actix::test]
async fn wrong_database_is_refused_with_a_remedy() {
    if is_skipped() {
        return;
    }
    let (ehr, dir) = (ehr(), tempfile::tempdir().unwrap());
    let cluster = Cluster::temporary(Durability::Written).unwrap();
    let installation = || Installation::new(binary(), dir.path(), &ehr.url(), "").unwrap();
    drop(installation().start().await.unwrap());
    let fails = async |url: &str, expected: &str| {
        let error = installation().on_database(url).unwrap().start().await.err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    };
    fails(&cluster.database().unwrap(), "--to-config FILE").await;
    std::fs::remove_dir_all(dir.path().join("data")).unwrap();
    let url = cluster.database().unwrap();
    installation().on_database(&url).unwrap().start().await.unwrap().stop().unwrap();
    fails(&cluster.database().unwrap(), "there is no store in the database").await;
    std::fs::write(dir.path().join("data/store.key"), "11".repeat(32)).unwrap();
    fails(&url, "sealed with another key").await;
}

/// Creates an embedded store with 2,500 values.
async fn embedded(dir: &Path) -> StoreKeys {
    std::fs::create_dir(dir).unwrap();
    let key = StoreKeys::load_or_create(&dir.join("store.key")).unwrap();
    let mut batch = Batch::new();
    for n in 0..2_500u64 {
        batch.put(keys::journal((n % 7) as u32, n), vec![n as u8; (n % 300) as usize]);
    }
    batch.append(3 << 32 | 1, vec![1]).append(2 << 32 | 5, vec![2]);
    write(dir, &key, batch).await;
    key
}

async fn write(dir: &Path, key: &StoreKeys, batch: Batch) {
    let config = StoreConfig { floor_bytes: 0, ..StoreConfig::new(dir.join("store"), key.clone()) };
    EmbeddedStore::open(config).unwrap().commit(batch).await.unwrap();
}

#[actix::test]
async fn interrupted_copy_into_a_database_is_not_served_and_can_be_resumed() {
    if is_skipped() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    let cluster = Cluster::temporary(Durability::Written).unwrap();
    let url = cluster.database().unwrap();
    let key = embedded(&from).await;
    let database = Database { url: Some(Secret::new(&url)), tls: DatabaseTls::Off, ..Database::default() };
    let engine_rules = EngineRules { database, ..EngineRules::default() };
    let setup = Setup { engine: engine_rules, ..Setup::default() };
    let open = || {
        let config = PostgresConfig { tls: Tls::Off, ..PostgresConfig::new(&url) };
        PostgresStore::open(&config, &key, engine::owners_of(&setup))
    };
    let broken_off = async || {
        let (from, to, setup) = (from.clone(), to.clone(), setup.clone());
        let halt = |step| assert!(!matches!(step, CopyStep::Copying { done: 1.., .. }), "power cut");
        let copying = async move { engine::copy_to_database(&from, &setup, &to, halt).await.is_ok() };
        assert!(actix::spawn(copying).await.unwrap_err().is_panic());
        let refused = open().err().unwrap().to_string();
        assert!(refused.contains("not whole") && refused.contains("store copy"), "{refused}");
    };
    let copied = async || {
        let mut steps = Vec::new();
        let copied = engine::copy_to_database(&from, &setup, &to, |step| steps.push(step)).await.unwrap();
        (copied.values, steps[0])
    };
    broken_off().await;
    let mark = std::fs::read(to.join("store.copying")).unwrap();
    assert_eq!(copied().await, (2_502, CopyStep::Copying { done: 1_000, all: 2_502 }), "not from the beginning");
    // The database was complete when the run ended, and the directory was not.
    std::fs::write(to.join("store.copying"), mark).unwrap();
    let (values, first) = copied().await;
    assert!(values == 2_502 && matches!(first, CopyStep::Comparing { .. }), "{first:?}");
    assert!(!to.join("store.copying").exists());
    let store = open().unwrap();
    assert_eq!(store.scan_keys(keys::Space::Journal.range(), Direction::Forward, 9_999).unwrap().len(), 2_500);
    // Sequences continue from those of the embedded store, also for owners without a sequence there.
    let mut batch = Batch::new();
    batch.append(3 << 32 | 1, vec![3]).append(3 << 32 | 9, vec![4]);
    store.commit(batch).await.unwrap();
    assert_eq!(store.feed_end(Some(3 << 32 | 9)).unwrap(), 4);
    drop(store);

    // Data of others remains.
    std::fs::remove_dir_all(&to).unwrap();
    let occupied = engine::copy_to_database(&from, &setup, &to, |_| {}).await.unwrap_err();
    assert!(matches!(occupied, Incomplete::OccupiedDatabase), "{occupied}");
    assert_eq!(open().unwrap().feed_end(None).unwrap(), 4);
}

/// If a store was served while its copy was incomplete, the copy starts from the beginning.
#[actix::test]
async fn partial_copy_of_another_source_is_removed() {
    if is_skipped() {
        return;
    }
    let cluster = Cluster::temporary(Durability::Written).unwrap();
    let config = PostgresConfig { tls: Tls::Off, ..PostgresConfig::new(cluster.database().unwrap()) };
    let key = StoreKey::new([5; 32]).into();
    let owners = || engine::owners_of(&Setup::default());
    assert_eq!(filling::begin(&config, &key, "first").await.unwrap(), Begun::Started);
    let store = PostgresStore::open_to_fill(&config, &key, owners()).unwrap();
    let mut batch = Batch::new();
    batch.put(keys::snapshot(1), vec![1]);
    store.commit(batch).await.unwrap();
    drop(store);
    assert_eq!(filling::begin(&config, &key, "first").await.unwrap(), Begun::Resumed);
    assert_eq!(filling::count(&config).await.unwrap(), 1);
    assert_eq!(filling::begin(&config, &key, "second").await.unwrap(), Begun::Started);
    assert_eq!(filling::count(&config).await.unwrap(), 0);
    filling::end(&config).await.unwrap();
    PostgresStore::open(&config, &key, owners()).unwrap();
}

/// A server without the new key could not read values that the command seals.
#[actix::test]
async fn key_rotation_by_command_requires_a_stopped_server() {
    if is_skipped() {
        return;
    }
    let (ehr, dir) = (ehr(), tempfile::tempdir().unwrap());
    let cluster = Cluster::temporary(Durability::Written).unwrap();
    // The first process stops during a read. The second one repeats the read after the first one's deadline.
    let installation = Installation::new(binary(), dir.path(), &ehr.url(), HASTY).unwrap();
    let installation = installation.on_database(&cluster.database().unwrap()).unwrap();
    let config = installation.config().to_str().unwrap().to_owned();
    let rotate = ["store", "rotate-key", "--config", &config];
    let key_file = dir.path().join("data").join("store.key");
    let process = installation.start().await.unwrap();
    let before = std::fs::read(&key_file).unwrap();
    refused(&rotate, "another process has this database open");
    assert_eq!(std::fs::read(&key_file).unwrap(), before);
    process.stop().unwrap();
    succeeds(&rotate);
    assert_ne!(std::fs::read(&key_file).unwrap(), before);
    let process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    process.stop().unwrap();
}

/// A location and a data source added at runtime are stored like those of a start: streams that readers merge share a
/// sequence.
#[actix::test]
async fn location_and_data_source_are_added_at_runtime() {
    if is_skipped() {
        return;
    }
    let (first, second, dir) = (ehr(), ehr(), tempfile::tempdir().unwrap());
    let cluster = Cluster::temporary(Durability::Written).unwrap();
    let url = cluster.database().unwrap();
    let installation = Installation::new(binary(), dir.path(), &first.url(), "").unwrap();
    let installation = installation.on_database(&url).unwrap();
    let process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    let location = 201;
    assert_eq!(caller.get(&path("/patients", location)).await.unwrap().0, 404);

    let config = std::fs::read_to_string(installation.config()).unwrap();
    let more = format!(
        "[[institutions.sources]]\nid = 12\nname = \"Second EHR\"\nadapter = \"sandbox\"\nbase_url = \"{}\"\n\
         [[institutions.locations]]\nid = {location}\nname = \"Hill Road\"\nzone = \"America/New_York\"\nsource = 12\n\
         foreign_id = \"main-street\"\n",
        second.url()
    );
    std::fs::write(installation.config(), config + &more).unwrap();
    let mut operator = installation.operator().await.unwrap();
    let (status, answer) = operator.post("/configuration/reload", &serde_json::json!({})).await.unwrap();
    assert_eq!((status, &answer["data"]["applied"]), (200, &Value::Bool(true)), "{answer}");
    process::first_sync(&mut caller).await.unwrap();
    let slot = process::offers(&mut caller, location, 1).await.unwrap().pop().unwrap();
    let made = until_booked(&mut caller, location, &booking(&slot, "hill", 1, "hill")).await;
    process.stop().unwrap();

    // This opener knows no locations, so its result is based on the database alone.
    let keys = StoreKeys::load(&dir.path().join("data").join("store.key")).unwrap();
    let database = PostgresConfig { tls: Tls::Off, ..PostgresConfig::new(&url) };
    let store = PostgresStore::open(&database, &keys, engine::owners_of(&Setup::default())).unwrap();
    let end = |stream: u64| store.feed_end(Some(stream)).unwrap();
    let (of_source, of_location, of_institution) = (1 << 32 | 12, 2 << 32 | u64::from(location), 3 << 32 | 1);
    assert_eq!((end(of_source), end(of_location)), (end(of_institution), end(of_institution)));
    assert_ne!(end(of_institution), end(2 << 32 | 999), "values without an owner are numbered separately");
    drop(store);

    let process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    assert_eq!(get_booking_status(&mut caller, &made).await.0, 200);
    process.stop().unwrap();
}
