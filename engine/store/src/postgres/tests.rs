//! Runs the conformance suite on PostgreSQL, and tests of database and network faults.

#![allow(clippy::unwrap_used)]

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use postgres_server::{Cluster, Commits, Durability, Proxy, is_skipped};

use super::{Owners, PostgresConfig, PostgresStore, Tls, check, is_made, migrate};
use crate::{
    Batch, CommitError, Direction, Key, KeyRange, Store, StoreError, StoreKey, StoreKeys,
    conformance::{Subject, conformance},
    journal,
    key_owner::KeyOwner,
    keys,
};

mod faults;
mod rivals;
mod rotation;
mod schema;
mod tls;

const READERS: usize = 2;

/// A shared server for all tests that do not stop it.
fn server() -> &'static Cluster {
    static SERVER: OnceLock<Cluster> = OnceLock::new();
    SERVER.get_or_init(|| Cluster::temporary(Durability::Written).unwrap())
}

/// Several owners: locations and data sources belong to institution 1, 2 or 3, everything else to 0. Records
/// belong to locations.
struct Thirds;

impl Owners for Thirds {
    fn records_owner(&self, _: u8, scope: u32) -> KeyOwner {
        KeyOwner::Location(scope)
    }

    fn owner(&self, key_owner: KeyOwner) -> u64 {
        match key_owner {
            KeyOwner::Location(id) | KeyOwner::Source(id) => u64::from(id % 3) + 1,
            KeyOwner::Institution(id) => id.into(),
            KeyOwner::Records { .. } | KeyOwner::Shared => 0,
        }
    }
}

/// Creates separate tables on a server.
fn own_tables(port: u16) -> PostgresConfig {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let schema = format!("test_{}", NEXT.fetch_add(1, Ordering::SeqCst));
    let config = config(&format!("{}?options=-csearch_path%3D{schema}", Cluster::url(port)));
    run(async {
        let connector = super::session::Connector::new(&config).unwrap();
        let bare = connector.bare().await.unwrap();
        bare.client.batch_execute(&format!("CREATE SCHEMA {schema}")).await.unwrap();
        migrate(&config, &key()).await.unwrap();
    });
    config
}

/// Returns the configuration of the same tables through another port.
fn through(config: &PostgresConfig, from: u16, to: u16) -> PostgresConfig {
    PostgresConfig { url: config.url.replace(&format!(":{from}/"), &format!(":{to}/")), ..config.clone() }
}

fn config(url: &str) -> PostgresConfig {
    PostgresConfig {
        tls: Tls::Off,
        readers: READERS,
        connect_timeout: Duration::from_secs(2),
        statement_timeout: Duration::from_secs(5),
        ..PostgresConfig::new(url)
    }
}

fn key() -> StoreKeys {
    StoreKey::new([42; 32]).into()
}

/// Blocks on a future, also from within a runtime.
fn run<T: Send>(work: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        scope.spawn(move || runtime.block_on(work)).join().unwrap()
    })
}

fn open(config: &PostgresConfig) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::open(config, &key(), Arc::new(Thirds)).unwrap())
}

fn put(key: Key, value: Vec<u8>) -> Batch {
    let mut batch = Batch::new();
    batch.put(key, value);
    batch
}

fn everything() -> KeyRange {
    KeyRange::prefix(&[])
}

struct OnPostgres {
    config: PostgresConfig,
    store: Arc<PostgresStore>,
}

impl Subject for OnPostgres {
    fn fresh() -> Self {
        let config = own_tables(server().port());
        Self { store: open(&config), config }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    fn reopen(self) -> Self {
        let Self { config, store } = self;
        drop(Arc::into_inner(store).expect("the store has no other user when it is reopened"));
        Self { store: open(&config), config }
    }

    fn is_skipped() -> bool {
        is_skipped()
    }
}

conformance!(on_postgres, OnPostgres);
