//! Group commit. One thread takes all queued batches, locks the rows named by their preconditions, checks the
//! preconditions, and writes the admitted batches in one transaction. The batches are completed after the
//! database has confirmed the commit.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use tokio::{runtime::Handle, time::timeout};
use tokio_postgres::{Error, Row, Statement, types::ToSql};

use super::{
    changes::{Locked, RowChanges, RowKey, admit_all, homes, to_lock},
    database_error::{self, DatabaseFailure, is_answer, text},
    owners::Owned,
    pool::Slot,
    schema::SEQUENCES,
    session::Session,
};
use crate::{
    CommitError, StoreError, Version,
    envelope::Envelope,
    jobs::{CommitOutcome, CommitQueue, Job, start_committer, waited},
};

/// Pauses between attempts of a group that conflicts with another process. After the statement timeout, the
/// group fails as `Busy`.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

pub(super) struct Committer {
    pub queue: Arc<CommitQueue>,
    pub slot: Arc<Slot>,
    pub owners: Arc<Owned>,
    pub envelope: Arc<Envelope>,
    /// The number from which new sequences start.
    pub base: u64,
    pub runtime: Handle,
    pub last_commit: Arc<AtomicU64>,
}

impl Committer {
    pub(super) fn start(self) -> Result<JoinHandle<()>, StoreError> {
        start_committer(self.queue.clone(), move |jobs| self.commit(jobs))
    }

    fn commit(&self, jobs: &[Job]) -> Vec<CommitOutcome> {
        // After a panic, callers must not wait forever, and the next group must not continue this transaction.
        let outcomes = catch_unwind(AssertUnwindSafe(|| self.runtime.block_on(self.outcomes(jobs))));
        let outcomes = outcomes.unwrap_or_else(|_| {
            self.slot.close("the committer panicked");
            vec![Err(StoreError::Unknown { why: "the committer panicked".into() }.into()); jobs.len()]
        });
        let took = u64::try_from(waited(jobs).as_nanos()).unwrap_or(u64::MAX);
        self.last_commit.store(took, Ordering::Relaxed);
        outcomes
    }

    async fn outcomes(&self, jobs: &[Job]) -> Vec<CommitOutcome> {
        let (mut pause, began) = (FIRST_PAUSE, Instant::now());
        while began.elapsed() < self.slot.limit() {
            match self.attempt(jobs).await {
                Ok(outcomes) => return outcomes,
                Err(DatabaseFailure::Retry(why)) => tracing::debug!(why, "a group of commits met another process"),
                Err(DatabaseFailure::Failed(error)) => {
                    tracing::warn!(%error, batches = jobs.len(), "a group of commits failed");
                    return vec![Err(CommitError::Store(error)); jobs.len()];
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        vec![Err(StoreError::Busy.into()); jobs.len()]
    }

    async fn attempt(&self, jobs: &[Job]) -> Result<Vec<CommitOutcome>, DatabaseFailure> {
        let session = self.slot.session().await.map_err(DatabaseFailure::Failed)?;
        let unsettled = self.owners.unsettled(homes(jobs));
        if !unsettled.is_empty() {
            self.step(&session, self.owners.settle(&session, unsettled)).await?;
        }
        let places = to_lock(jobs, &self.owners);
        let found = self.step(&session, lock(&session, &places)).await;
        let locked = match found {
            Ok(rows) => self.locked(rows),
            Err(trouble) => {
                self.roll_back(&session).await;
                return Err(trouble);
            }
        };
        let judged = locked.and_then(|locked| admit_all(jobs, &locked, &self.owners, &self.envelope, self.base));
        match judged {
            Ok((outcomes, changes)) if changes.is_empty() => {
                self.roll_back(&session).await;
                Ok(outcomes)
            }
            Ok((outcomes, changes)) => self.write(&session, &changes).await.map(|()| outcomes),
            Err(error) => {
                self.roll_back(&session).await;
                Err(DatabaseFailure::Failed(error))
            }
        }
    }

    /// Runs a step before the commit. Nothing is written if it fails.
    async fn step<T>(
        &self,
        session: &Arc<Session>,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, DatabaseFailure> {
        match timeout(self.slot.limit() * 2, work).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                if !is_answer(&error) {
                    self.slot.give_up(session, &text(&error));
                }
                Err(database_error::classify(&error))
            }
            Err(_) => {
                let why = "it did not answer in time";
                self.slot.give_up(session, why);
                Err(DatabaseFailure::away(why))
            }
        }
    }

    fn locked(&self, rows: Vec<Row>) -> Result<Locked, StoreError> {
        let mut locked = Locked::default();
        for row in rows {
            locked.add(row.get(0), row.get(1), row.get(2), row.get(3), &self.envelope)?;
        }
        Ok(locked)
    }

    /// Sends the statements and the commit in one pipeline. A statement refused by the server aborts the
    /// transaction, including the commit. A missing response leaves the outcome unknown.
    async fn write(&self, session: &Arc<Session>, changes: &RowChanges) -> Result<(), DatabaseFailure> {
        let (client, statements) = (session.client(), &session.statements);
        let (insert, put, delete) =
            (RowColumns::new(&changes.insert), RowColumns::new(&changes.put), Places::new(&changes.delete));
        let written = async {
            tokio::join!(
                biased;
                insert.run(session, &statements.insert),
                put.run(session, &statements.put),
                delete.run(session, &statements.delete),
                client.batch_execute("COMMIT"),
            )
        };
        let unknown = |why: String| {
            self.slot.give_up(session, &why);
            DatabaseFailure::Failed(StoreError::Unknown { why })
        };
        let Ok((inserted, put, deleted, committed)) = timeout(self.slot.limit() * 2, written).await else {
            return Err(unknown("the database did not answer in time".into()));
        };
        let statements = [inserted, put, deleted];
        if let Some(refused) = statements.iter().filter_map(|it| it.as_ref().err()).find(|error| is_answer(error)) {
            if committed.is_err() {
                self.slot.give_up(session, &text(refused));
            }
            return Err(database_error::classify(refused));
        }
        if let Some(lost) = statements.iter().find_map(|it| it.as_ref().err()) {
            return Err(unknown(text(lost)));
        }
        match committed {
            Ok(()) => Ok(()),
            // Refused because of a conflict, so nothing is written. A server may report any other error after the
            // commit.
            Err(error) if matches!(database_error::classify(&error), DatabaseFailure::Retry(_)) => {
                self.roll_back(session).await;
                Err(database_error::classify(&error))
            }
            Err(error) => Err(unknown(text(&error))),
        }
    }

    /// Rolls back. A connection on which this fails is dropped, which ends its transaction.
    async fn roll_back(&self, session: &Arc<Session>) {
        if session.is_closed() {
            return;
        }
        match timeout(self.slot.limit(), session.client().batch_execute("ROLLBACK")).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.slot.give_up(session, &text(&error)),
            Err(_) => self.slot.give_up(session, "it did not answer in time"),
        }
    }
}

/// Begins the transaction and locks the rows, in one pipeline.
async fn lock(session: &Session, places: &BTreeSet<RowKey>) -> Result<Vec<Row>, Error> {
    let (client, wanted) = (session.client(), Places::new(places));
    let parameters: [&(dyn ToSql + Sync); 3] = [&wanted.owners, &wanted.keys, &SEQUENCES];
    let (begun, rows) = tokio::join!(
        biased;
        client.batch_execute("BEGIN"),
        client.query(&session.statements.lock, &parameters),
    );
    begun?;
    rows
}

/// Primary keys of rows, as columns.
struct Places<'a> {
    owners: Vec<i64>,
    keys: Vec<&'a [u8]>,
}

impl<'a> Places<'a> {
    fn new(places: impl IntoIterator<Item = &'a RowKey>) -> Self {
        let (owners, keys) = places.into_iter().map(|(owner, key)| (*owner, key.as_slice())).unzip();
        Self { owners, keys }
    }

    async fn run(&self, session: &Session, statement: &Statement) -> Result<(), Error> {
        if self.keys.is_empty() {
            return Ok(());
        }
        session.client().execute(statement, &[&self.owners, &self.keys]).await.map(drop)
    }
}

struct RowColumns<'a> {
    places: Places<'a>,
    values: Vec<&'a [u8]>,
    versions: Vec<Vec<u8>>,
}

impl<'a> RowColumns<'a> {
    fn new(rows: &'a BTreeMap<RowKey, Vec<u8>>) -> Self {
        let values: Vec<&[u8]> = rows.values().map(Vec::as_slice).collect();
        let versions = values.iter().map(|sealed| Version::from_sealed(sealed).0.to_be_bytes().to_vec()).collect();
        Self { places: Places::new(rows.keys()), values, versions }
    }

    async fn run(&self, session: &Session, statement: &Statement) -> Result<(), Error> {
        if self.values.is_empty() {
            return Ok(());
        }
        let parameters: [&(dyn ToSql + Sync); 4] =
            [&self.places.owners, &self.places.keys, &self.values, &self.versions];
        session.client().execute(statement, &parameters).await.map(drop)
    }
}
