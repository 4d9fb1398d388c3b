//! Shared connections, which are reconnected after a loss.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::session::{Connector, Purpose, Session};
use crate::StoreError;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Interval of connection checks.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The place of one connection in the pool.
pub(super) struct Slot {
    connector: Connector,
    purpose: Purpose,
    session: Mutex<Option<Arc<Session>>>,
    /// Held while connecting, so that other callers wait for the result.
    attempts: tokio::sync::Mutex<Attempts>,
    away: Mutex<Away>,
    /// Number of connections made by all slots of the store. An increase shows that the other slots can connect,
    /// too.
    made: Arc<AtomicU64>,
}

#[derive(Default)]
struct Attempts {
    pause: Duration,
    /// No attempt is made before this time, unless another slot has connected since.
    not_before: Option<Instant>,
    made: u64,
}

/// The reason why there is no connection.
#[derive(Default)]
struct Away {
    why: Option<String>,
    /// Connecting has failed. Callers then fail at once, and only `keep` retries. Otherwise, each caller
    /// would block its thread until the timeout of an unresponsive network.
    failed: bool,
}

impl Slot {
    pub(super) fn new(connector: Connector, purpose: Purpose, made: Arc<AtomicU64>) -> Self {
        let (session, away) = (Mutex::default(), Mutex::default());
        Self { connector, purpose, session, attempts: tokio::sync::Mutex::default(), away, made }
    }

    /// Returns the connection. A lost connection is reconnected once.
    pub(super) async fn session(&self) -> Result<Arc<Session>, StoreError> {
        if let Some(session) = self.living() {
            return Ok(session);
        }
        self.has_not_failed()?;
        let mut attempts = self.attempts.lock().await;
        if let Some(session) = self.living() {
            return Ok(session);
        }
        self.has_not_failed()?;
        self.connect(&mut attempts).await
    }

    /// Maintains the connection until the slot is dropped. An idle store thereby notices when the database is
    /// reachable again.
    pub(super) async fn keep(slot: Weak<Slot>) {
        while let Some(slot) = slot.upgrade() {
            let mut attempts = slot.attempts.lock().await;
            let waited = attempts.not_before.is_none_or(|until| until <= Instant::now());
            let due = waited || attempts.made != slot.made.load(Ordering::Relaxed);
            if due && slot.living().is_none() {
                // `connect` records the error.
                let _ = slot.connect(&mut attempts).await;
            }
            drop(attempts);
            drop(slot);
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    async fn connect(&self, attempts: &mut Attempts) -> Result<Arc<Session>, StoreError> {
        match self.connector.session(self.purpose).await {
            Ok(session) => {
                if std::mem::take(&mut *self.away.lock()).failed {
                    tracing::info!(purpose = ?self.purpose, "the database can be reached again");
                }
                self.made.fetch_add(1, Ordering::Relaxed);
                *attempts = Attempts::default();
                *self.session.lock() = Some(session.clone());
                Ok(session)
            }
            Err(error) => {
                attempts.pause = (attempts.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
                attempts.made = self.made.load(Ordering::Relaxed);
                attempts.not_before = Some(Instant::now() + attempts.pause);
                tracing::warn!(%error, pause = ?attempts.pause, purpose = ?self.purpose, "no connection to the database");
                let why = match &error {
                    StoreError::Away { why } | StoreError::Database { why } => why.clone(),
                    other => other.to_string(),
                };
                *self.away.lock() = Away { why: Some(why), failed: true };
                Err(error)
            }
        }
    }

    /// Requires that new connections hold the exclusive lock of the store.
    pub(super) fn stays_alone(&self) {
        self.connector.alone.store(true, Ordering::SeqCst);
    }

    fn has_not_failed(&self) -> Result<(), StoreError> {
        let away = self.away.lock();
        match (&away.why, away.failed) {
            (Some(why), true) => Err(StoreError::Away { why: why.clone() }),
            _ => Ok(()),
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.living().is_some()
    }

    fn living(&self) -> Option<Arc<Session>> {
        self.session.lock().as_ref().filter(|session| !session.is_closed()).cloned()
    }

    /// Drops a faulty connection. The next caller gets a new one.
    pub(super) fn give_up(&self, session: &Arc<Session>, why: &str) {
        session.close();
        let mut held = self.session.lock();
        if held.as_ref().is_some_and(|held| Arc::ptr_eq(held, session)) {
            *held = None;
            *self.away.lock() = Away { why: Some(why.to_owned()), failed: false };
        }
    }

    pub(super) fn close(&self, why: &str) {
        if let Some(session) = self.living() {
            self.give_up(&session, why);
        }
    }

    /// Returns the reason why there is no connection, or `None` if there is one.
    pub(super) fn away(&self) -> Option<String> {
        match self.living() {
            Some(_) => None,
            None => self.away.lock().why.clone().or_else(|| Some("the connection was lost".into())),
        }
    }

    pub(super) fn limit(&self) -> Duration {
        self.connector.statement_timeout
    }
}
