//! Connections that are shared, and made again when they are lost.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::session::{Connector, Purpose, Session};
use crate::error::StoreError;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Between two looks whether a connection is there.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The place of one connection.
pub(super) struct Slot {
    connector: Connector,
    purpose: Purpose,
    session: Mutex<Option<Arc<Session>>>,
    /// Held by whoever connects; the others wait for the outcome.
    attempts: tokio::sync::Mutex<Attempts>,
    away: Mutex<Away>,
    /// Connections that any slot of the store has made: one that is made says that the others can be made too.
    made: Arc<AtomicU64>,
}

#[derive(Default)]
struct Attempts {
    pause: Duration,
    /// Until then it is not tried again, unless somebody else has succeeded since.
    not_before: Option<Instant>,
    made: u64,
}

/// Why there is no connection.
#[derive(Default)]
struct Away {
    why: Option<String>,
    /// Connecting has failed: callers are told so at once, and `keep` alone tries again. Otherwise each of them would wait for a
    /// network that says nothing, on threads that others need.
    failed: bool,
}

impl Slot {
    pub(super) fn new(connector: Connector, purpose: Purpose, made: Arc<AtomicU64>) -> Self {
        let (session, away) = (Mutex::default(), Mutex::default());
        Self { connector, purpose, session, attempts: tokio::sync::Mutex::default(), away, made }
    }

    /// The connection. One that was lost is made again, once.
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

    /// Sees to it that there is a connection, for as long as somebody uses the slot: a store nobody asks for anything knows when the
    /// database is back.
    pub(super) async fn keep(slot: Weak<Slot>) {
        while let Some(slot) = slot.upgrade() {
            let mut attempts = slot.attempts.lock().await;
            let waited = attempts.not_before.is_none_or(|until| until <= Instant::now());
            let due = waited || attempts.made != slot.made.load(Ordering::Relaxed);
            if due && slot.living().is_none() {
                // Why it fails is noted where it is tried.
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
                if std::mem::take(&mut *lock(&self.away)).failed {
                    tracing::info!(purpose = ?self.purpose, "the database can be reached again");
                }
                self.made.fetch_add(1, Ordering::Relaxed);
                *attempts = Attempts::default();
                *lock(&self.session) = Some(session.clone());
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
                *lock(&self.away) = Away { why: Some(why), failed: true };
                Err(error)
            }
        }
    }

    /// From now on a connection that is made again has the store alone, or is none.
    pub(super) fn stays_alone(&self) {
        self.connector.alone.store(true, Ordering::SeqCst);
    }

    fn has_not_failed(&self) -> Result<(), StoreError> {
        let away = lock(&self.away);
        match (&away.why, away.failed) {
            (Some(why), true) => Err(StoreError::Away { why: why.clone() }),
            _ => Ok(()),
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.living().is_some()
    }

    fn living(&self) -> Option<Arc<Session>> {
        lock(&self.session).as_ref().filter(|session| !session.is_closed()).cloned()
    }

    /// Something is wrong with this connection: the next caller gets another one.
    pub(super) fn give_up(&self, session: &Arc<Session>, why: &str) {
        session.close();
        let mut held = lock(&self.session);
        if held.as_ref().is_some_and(|held| Arc::ptr_eq(held, session)) {
            *held = None;
            *lock(&self.away) = Away { why: Some(why.to_owned()), failed: false };
        }
    }

    pub(super) fn close(&self, why: &str) {
        if let Some(session) = self.living() {
            self.give_up(&session, why);
        }
    }

    /// Why there is no connection, while there is none.
    pub(super) fn away(&self) -> Option<String> {
        match self.living() {
            Some(_) => None,
            None => lock(&self.away).why.clone().or_else(|| Some("the connection was lost".into())),
        }
    }

    pub(super) fn limit(&self) -> Duration {
        self.connector.statement_timeout
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
