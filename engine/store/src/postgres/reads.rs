//! Reads on the connections of the pool. A lost connection is replaced and the read repeated, because reads
//! are idempotent.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use tokio::{runtime::Handle, time::timeout};
use tokio_postgres::{Error, Row, Statement};

use super::{
    database_error::{is_answer, text},
    pool::Slot,
    session::Session,
    statements::Scan,
};
use crate::{FIRST_RESERVED, Key, KeyRange, StoreError};

/// Rarely used statements, which are not prepared.
const BEGINNINGS: &str = "SELECT key, substring(value from 1 for 21) FROM practice_sync_values \
     WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3";
const OWN: &str = "SELECT owner, key, value FROM practice_sync_values WHERE key >= $1";
const REPLACE: &str = "UPDATE practice_sync_values SET value = $4 WHERE owner = $1 AND key = $2 AND value = $3";

/// Additional time beyond the server's own timeout.
const GRACE: Duration = Duration::from_secs(1);

pub(super) struct Readers {
    slots: Vec<Arc<Slot>>,
    next: AtomicUsize,
    pub(super) runtime: Handle,
}

impl Readers {
    pub(super) fn new(slots: Vec<Arc<Slot>>, runtime: Handle) -> Self {
        Self { slots, next: AtomicUsize::new(0), runtime }
    }

    pub(super) fn value(&self, owner: i64, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let key = key.to_vec();
        let rows = self.rows(move |session| {
            let key = key.clone();
            async move { query(&session, &session.statements.read, Parameters::Value(owner, key)).await }
        })?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    pub(super) fn values(&self, places: Vec<(i64, Key)>) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        let (owners, keys): (Vec<i64>, Vec<Key>) = places.into_iter().unzip();
        let rows = self.rows(move |session| {
            let parameters = Parameters::Values(owners.clone(), keys.clone());
            async move { query(&session, &session.statements.read_many, parameters).await }
        })?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Returns rows with the key, and with the value if the scan includes values.
    pub(super) fn scan(
        &self,
        scan: Scan,
        owner: Option<i64>,
        range: KeyRange,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.rows(move |session| {
            let parameters = Parameters::Range(range.clone(), limit, owner);
            async move { query(&session, session.statements.scan(scan), parameters).await }
        })
    }

    /// Returns the keys of a range, each with the beginning of its value, which contains the id of the sealing
    /// key.
    pub(super) fn beginnings(&self, range: KeyRange, limit: usize) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.rows(move |session| {
            let range = range.clone();
            async move { session.client().query(BEGINNINGS, &[&range.start, &range.end, &limit]).await }
        })?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    pub(super) fn internal_rows(&self) -> Result<Vec<Row>, StoreError> {
        self.rows(|session| async move { session.client().query(OWN, &[&[FIRST_RESERVED].as_slice()]).await })
    }

    /// Replaces a value by another form if it is unchanged. Idempotent.
    pub(super) fn replace(&self, owner: i64, key: Key, old: Vec<u8>, new: Vec<u8>) -> Result<(), StoreError> {
        self.rows(move |session| {
            let (key, old, new) = (key.clone(), old.clone(), new.clone());
            async move { session.client().query(REPLACE, &[&owner, &key, &old, &new]).await }
        })
        .map(drop)
    }

    /// Selects a slot in round-robin order, preferring connected slots.
    fn slot(&self) -> &Arc<Slot> {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let mut in_turn = (0..self.slots.len()).map(|n| &self.slots[(first.wrapping_add(n)) % self.slots.len()]);
        in_turn.clone().find(|slot| slot.is_connected()).or_else(|| in_turn.next()).expect("there is one at least")
    }

    /// Returns the reason why reads fail, or `None` if a slot is connected.
    pub(super) fn away(&self) -> Option<String> {
        self.slots.iter().map(|slot| slot.away()).reduce(|one, other| one.and(other)).flatten()
    }

    /// Runs the read and blocks the caller, which may be on a thread of another runtime.
    fn rows<F>(&self, work: impl Fn(Arc<Session>) -> F + Send + 'static) -> Result<Vec<Row>, StoreError>
    where
        F: Future<Output = Result<Vec<Row>, Error>> + Send + 'static,
    {
        let slot = self.slot().clone();
        let (answer, answered) = mpsc::sync_channel(1);
        self.runtime.spawn(async move {
            // The receiver may have been dropped.
            let _ = answer.send(on(&slot, work).await);
        });
        answered.recv().unwrap_or_else(|_| Err(StoreError::Away { why: "the store is being closed".into() }))
    }
}

async fn on<F>(slot: &Slot, work: impl Fn(Arc<Session>) -> F) -> Result<Vec<Row>, StoreError>
where
    F: Future<Output = Result<Vec<Row>, Error>>,
{
    let mut again = true;
    loop {
        let session = slot.session().await?;
        match timeout(slot.limit() + GRACE, work(session.clone())).await {
            Ok(Ok(rows)) => return Ok(rows),
            Ok(Err(error)) if is_answer(&error) && !session.is_closed() => return Err(error.into()),
            Ok(Err(error)) => {
                slot.give_up(&session, &text(&error));
                if !std::mem::take(&mut again) {
                    return Err(error.into());
                }
            }
            Err(_) => {
                let why = "it did not answer in time";
                slot.give_up(&session, why);
                return Err(StoreError::Away { why: why.into() });
            }
        }
    }
}

enum Parameters {
    Value(i64, Key),
    Values(Vec<i64>, Vec<Key>),
    Range(KeyRange, i64, Option<i64>),
}

async fn query(session: &Session, statement: &Statement, parameters: Parameters) -> Result<Vec<Row>, Error> {
    let client = session.client();
    match &parameters {
        Parameters::Value(owner, key) => client.query(statement, &[owner, key]).await,
        Parameters::Values(owners, keys) => client.query(statement, &[owners, keys]).await,
        Parameters::Range(range, limit, None) => client.query(statement, &[&range.start, &range.end, limit]).await,
        Parameters::Range(range, limit, Some(owner)) => {
            client.query(statement, &[&range.start, &range.end, limit, owner]).await
        }
    }
}
