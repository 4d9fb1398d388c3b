//! The `Store` implementation on PostgreSQL.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
    time::timeout,
};
use tokio_postgres::Row;

use super::{
    committer::Committer,
    config::PostgresConfig,
    filling,
    owners::{Owned, Owners},
    pool::Slot,
    reads::Readers,
    schema::{SEQUENCES, fits, sequence_key},
    session::{Bare, Connector, Purpose, Session},
    statements::Scan,
};
use crate::{
    Batch, CommitFuture, Direction, Health, Key, KeyId, KeyRange, MAX_BATCH_BYTES, Sealed, SealedValue, Store,
    StoreError, StoreKeys, Version, Versioned,
    batch::check_key,
    contract::feed_number,
    envelope::{Envelope, sealed_with},
    jobs::{CommitOutcome, CommitQueue, Job},
    key_owner, keys,
    rotation::{Resealed, commit_nothing, reseal_on},
};

/// Threads for the database connections. Values are sealed and opened on the threads of the callers.
const THREADS: usize = 2;

pub struct PostgresStore {
    envelope: Arc<Envelope>,
    owners: Arc<Owned>,
    readers: Readers,
    queue: Arc<CommitQueue>,
    commits: Arc<Slot>,
    last_commit: Arc<AtomicU64>,
    base: u64,
    committer: Option<JoinHandle<()>>,
    /// Dropped last.
    runtime: Option<Runtime>,
}

impl PostgresStore {
    /// Opens the store. The database must have the current schema (`migrate`). May be called from within a
    /// runtime.
    pub fn open(config: &PostgresConfig, keys: &StoreKeys, owners: Arc<dyn Owners>) -> Result<Self, StoreError> {
        Self::open_when(config, keys, owners, false)
    }

    /// Opens an incomplete store for the copy that fills it (`filling`).
    pub fn open_to_fill(
        config: &PostgresConfig,
        keys: &StoreKeys,
        owners: Arc<dyn Owners>,
    ) -> Result<Self, StoreError> {
        Self::open_when(config, keys, owners, true)
    }

    fn open_when(
        config: &PostgresConfig,
        keys: &StoreKeys,
        owners: Arc<dyn Owners>,
        filling: bool,
    ) -> Result<Self, StoreError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("store-postgres")
            .enable_all()
            .build()
            .map_err(StoreError::io("starting the threads of the store"))?;
        let connector = Connector::new(config)?;
        let (sender, opened) = std::sync::mpsc::sync_channel(1);
        let (asking, settings, sealed) = (connector.clone(), config.clone(), keys.clone());
        runtime.spawn(async move {
            // The receiver waits for the result.
            let _ = sender.send(homes(&asking, &settings, &sealed, filling).await);
        });
        let opened = opened.recv().unwrap_or_else(|_| Err(StoreError::Away { why: "opening was broken off".into() }));
        let (rows, presence) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                runtime.shutdown_background();
                return Err(error);
            }
        };
        let store = Self::start(config, keys, &connector, Owned::new(owners, rows), runtime)?;
        // From here on, the connection for commits holds the shared lock.
        let limit = connector.connect_timeout;
        store.on_commits(move |_| async move {
            let unlocked = timeout(limit, presence.unlock_shared()).await;
            unlocked.unwrap_or_else(|_| Err(not_in_time()))
        })?;
        Ok(store)
    }

    fn start(
        config: &PostgresConfig,
        keys: &StoreKeys,
        connector: &Connector,
        owners: Owned,
        runtime: Runtime,
    ) -> Result<Self, StoreError> {
        let made = Arc::default();
        let slot = |purpose| Arc::new(Slot::new(connector.clone(), purpose, Arc::clone(&made)));
        let commits = slot(Purpose::Commits);
        let reads: Vec<Arc<Slot>> = (0..config.readers.max(1)).map(|_| slot(Purpose::Reads)).collect();
        for slot in reads.iter().chain([&commits]) {
            runtime.spawn(Slot::keep(Arc::downgrade(slot)));
        }
        let queue = Arc::new(CommitQueue::new(config.queue, MAX_BATCH_BYTES));
        let mut store = Self {
            envelope: Arc::new(Envelope::new(keys)),
            owners: Arc::new(owners),
            readers: Readers::new(reads, runtime.handle().clone()),
            queue,
            commits,
            last_commit: Arc::default(),
            base: 0,
            committer: None,
            runtime: Some(runtime),
        };
        store.base = store.get(&keys::feed_end())?.map_or(Ok(0), |value| feed_number(&value))?;
        let committer = Committer {
            queue: store.queue.clone(),
            slot: store.commits.clone(),
            owners: store.owners.clone(),
            envelope: store.envelope.clone(),
            base: store.base,
            runtime: store.readers.runtime.clone(),
            last_commit: store.last_commit.clone(),
        };
        store.committer = Some(committer.start()?);
        Ok(store)
    }

    fn opened(&self, key: &[u8], sealed: Vec<u8>) -> Result<Versioned, StoreError> {
        let version = Version::from_sealed(&sealed);
        Ok(Versioned { value: self.envelope.open(key, sealed)?, version })
    }

    fn rows(&self, range: KeyRange, direction: Direction, limit: usize, values: bool) -> Result<Vec<Row>, StoreError> {
        let Some(range) = range.clamped().filter(|_| limit > 0) else { return Ok(Vec::new()) };
        let owner = key_owner::owner_for_range(&range).map(|key_owner| self.owners.id_for(key_owner));
        self.readers.scan(Scan { values, one_owner: owner.is_some(), direction }, owner, range, limit)
    }

    fn submit(&self, batch: Batch) -> Result<Option<oneshot::Receiver<CommitOutcome>>, StoreError> {
        if batch.is_empty() {
            return Ok(None);
        }
        let (reply, outcome) = oneshot::channel();
        let _sealing = self.envelope.sealing();
        self.queue.push(Job::seal(&self.envelope, batch, reply)?)?;
        Ok(Some(outcome))
    }

    /// Locks the store exclusively. Returns whether no other process has it open; none can open it until this
    /// store is closed.
    pub fn alone(&self) -> Result<bool, StoreError> {
        let alone = self.on_commits(|session| async move { session.alone().await })?;
        if alone {
            self.commits.stays_alone();
        }
        Ok(alone)
    }

    /// Runs work on the connection for commits and blocks the caller, which may be on a thread of another
    /// runtime.
    fn on_commits<T: Send + 'static, F>(
        &self,
        work: impl FnOnce(Arc<Session>) -> F + Send + 'static,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let (slot, (answer, answered)) = (self.commits.clone(), std::sync::mpsc::sync_channel(1));
        self.readers.runtime.spawn(async move {
            let done = match slot.session().await {
                Ok(session) => work(session).await,
                Err(error) => Err(error),
            };
            let _ = answer.send(done);
        });
        answered.recv().unwrap_or_else(|_| Err(StoreError::Away { why: "the store is being closed".into() }))
    }

    fn sequence(&self, owner: i64) -> Result<Option<u64>, StoreError> {
        let key = sequence_key(owner);
        let sealed = self.readers.value(owner, &key)?;
        sealed.map(|sealed| feed_number(&self.envelope.open(&key, sealed)?)).transpose()
    }

    fn highest_sequence(&self) -> Result<u64, StoreError> {
        let range = KeyRange::prefix(SEQUENCES);
        let scan = Scan { values: true, one_owner: false, direction: Direction::Forward };
        let mut highest = self.base;
        for row in self.readers.scan(scan, None, range, usize::MAX)? {
            let key: Key = row.get(0);
            highest = highest.max(feed_number(&self.envelope.open(&key, row.get(1))?)?);
        }
        Ok(highest)
    }
}

/// Checks the database and returns the recorded owners. The returned connection holds the shared lock, which
/// prevents a key rotation.
async fn homes(
    connector: &Connector,
    config: &PostgresConfig,
    keys: &StoreKeys,
    filling: bool,
) -> Result<(Vec<(i64, i64)>, Bare), StoreError> {
    let bare = connector.bare().await?;
    let known = async {
        bare.lock_shared().await?;
        fits(&bare, config, keys).await?;
        if !filling && filling::mark(&bare, keys).await?.is_some() {
            let why = "a copy into it is not whole: run the same `practice-sync store copy` again, which finishes it";
            return Err(StoreError::Database { why: why.into() });
        }
        Ok(bare.client.query("SELECT home, owner FROM practice_sync_homes", &[]).await?)
    };
    // Uses the timeout of reads, because there may be many owners.
    let known = timeout(connector.statement_timeout, known).await;
    let rows = known.unwrap_or_else(|_| Err(not_in_time()))?;
    Ok((rows.iter().map(|row| (row.get(0), row.get(1))).collect(), bare))
}

fn not_in_time() -> StoreError {
    StoreError::Away { why: "the store was not opened in time".into() }
}

impl Store for PostgresStore {
    fn is_remote(&self) -> bool {
        true
    }

    fn read(&self, key: &[u8]) -> Result<Option<Versioned>, StoreError> {
        check_key(key)?;
        let sealed = self.readers.value(self.owners.id_for_key(key), key)?;
        sealed.map(|sealed| self.opened(key, sealed)).transpose()
    }

    fn read_many(&self, keys: &[Key]) -> Result<Vec<Option<Versioned>>, StoreError> {
        let found = keys.iter().zip(self.get_sealed(keys)?);
        found.map(|(key, value)| value.map(|value| self.opened(key, value.bytes)).transpose()).collect()
    }

    fn get_sealed(&self, keys: &[Key]) -> Result<Vec<Option<SealedValue>>, StoreError> {
        keys.iter().try_for_each(|key| check_key(key))?;
        let places = keys.iter().map(|key| (self.owners.id_for_key(key), key.clone())).collect();
        let found: HashMap<Key, Vec<u8>> = self.readers.values(places)?.into_iter().collect();
        Ok(keys.iter().map(|key| found.get(key).cloned().map(SealedValue::new)).collect())
    }

    fn unseal(&self, key: &[u8], value: SealedValue) -> Result<Vec<u8>, StoreError> {
        self.envelope.open(key, value.bytes)
    }

    fn scan_sealed(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(Key, SealedValue)>, StoreError> {
        let rows = self.rows(range, direction, limit, true)?;
        Ok(rows.iter().map(|row| (row.get(0), SealedValue::new(row.get(1)))).collect())
    }

    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError> {
        Ok(self.rows(range, direction, limit, false)?.iter().map(|row| row.get(0)).collect())
    }

    fn commit(&self, batch: Batch) -> CommitFuture {
        let submitted = self.submit(batch);
        Box::pin(async move {
            let Some(outcome) = submitted? else { return Ok(()) };
            outcome.await.unwrap_or_else(|_| Err(StoreError::Unknown { why: "the committer ended".into() }.into()))
        })
    }

    fn feed_end(&self, stream: Option<u64>) -> Result<u64, StoreError> {
        match stream {
            Some(stream) => {
                Ok(self.sequence(self.owners.id_for(key_owner::owner_for_stream(stream)))?.unwrap_or(self.base))
            }
            None => self.highest_sequence(),
        }
    }

    fn sealed(&self) -> Option<&dyn Sealed> {
        Some(self)
    }

    fn health(&self) -> Health {
        Health {
            free: Some(u64::MAX),
            floor: 0,
            refusing: self.commits.away().or_else(|| self.readers.away()),
            damage: None,
            waiting: self.queue.len(),
            last_commit: Duration::from_nanos(self.last_commit.load(Ordering::Relaxed)),
        }
    }
}

impl Sealed for PostgresStore {
    fn use_keys(&self, keys: &StoreKeys) {
        self.envelope.use_keys(keys);
    }

    fn seals(&self, range: KeyRange, limit: usize) -> Result<Vec<(Key, KeyId)>, StoreError> {
        let Some(range) = range.clamped() else { return Ok(Vec::new()) };
        let found = self.readers.beginnings(range, limit)?;
        Ok(found.into_iter().map(|(key, beginning)| (key, sealed_with(&beginning))).collect())
    }

    fn own_seals(&self) -> Result<Vec<KeyId>, StoreError> {
        Ok(self.readers.internal_rows()?.iter().map(|row| sealed_with(row.get(2))).collect())
    }

    fn reseal(&self, keys: &[Key]) -> Result<Resealed, StoreError> {
        let places = keys.iter().map(|key| (self.owners.id_for_key(key), key.clone())).collect();
        reseal_on(&self.envelope, &self.queue, self.readers.values(places)?.into_iter().map(Ok))
    }

    fn reseal_own(&self) -> Result<(), StoreError> {
        commit_nothing(&self.queue)?;
        for row in self.readers.internal_rows()? {
            let (owner, key, sealed): (i64, Key, Vec<u8>) = (row.get(0), row.get(1), row.get(2));
            if let Some(new) = self.envelope.reseal(&key, sealed.clone())? {
                self.readers.replace(owner, key, sealed, new)?;
            }
        }
        Ok(())
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(committer) = self.committer.take()
            && committer.join().is_err()
        {
            tracing::error!("the committer panicked");
        }
        if let Some(runtime) = self.runtime.take() {
            // Does not block, because the store may be dropped within another runtime.
            runtime.shutdown_background();
        }
    }
}
