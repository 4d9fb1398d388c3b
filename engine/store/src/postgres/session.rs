//! A connection with its settings and prepared statements.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{task::AbortHandle, time::timeout};
use tokio_postgres::{Client, Config, error::SqlState};

use super::{config::PostgresConfig, database_error::text, statements::Statements, tls::Rustls};
use crate::StoreError;

/// Planner settings. A statement planned while the table was small must not scan the whole table later.
/// Databases that do not support these settings are used without them.
const PLANS: &str = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off";

/// Advisory locks of the store, held by the connection for commits and released when it ends. Every process
/// with an open store holds the lock shared; a key rotation holds it exclusively. The lock number identifies
/// this program and the table, because a database may contain several stores.
const LOCK_SHARED: &str =
    "SELECT pg_try_advisory_lock_shared(1886544227::bigint << 32 | to_regclass('practice_sync_values')::oid::bigint)";
const UNLOCK_SHARED: &str =
    "SELECT pg_advisory_unlock_shared(1886544227::bigint << 32 | to_regclass('practice_sync_values')::oid::bigint)";
const LOCK_EXCLUSIVE: &str =
    "SELECT pg_try_advisory_lock(1886544227::bigint << 32 | to_regclass('practice_sync_values')::oid::bigint)";

/// Keepalive settings. The server detects a vanished client within half a minute, idle or not, and releases
/// its locks. Databases that do not support these settings are used without them.
const KEEPALIVES: [&str; 2] = [
    "SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3",
    "SET tcp_user_timeout = 30000",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Reads,
    Commits,
}

#[derive(Clone)]
pub(super) struct Connector {
    config: Config,
    tls: Rustls,
    pub connect_timeout: Duration,
    pub statement_timeout: Duration,
    /// `true` if the store is locked exclusively. A new connection for commits must then take the exclusive lock
    /// again.
    pub alone: Arc<AtomicBool>,
}

impl Connector {
    pub(super) fn new(config: &PostgresConfig) -> Result<Self, StoreError> {
        Ok(Self {
            config: config.parsed()?,
            tls: Rustls::new(&config.tls)?,
            connect_timeout: config.connect_timeout,
            statement_timeout: config.statement_timeout,
            alone: Arc::default(),
        })
    }

    /// Connects without preparing statements, because the tables may not exist yet.
    pub(super) async fn bare(&self) -> Result<Bare, StoreError> {
        let connecting = self.config.connect(self.tls.clone());
        // A host that does not accept the connection must not use up the time of the next one.
        let hosts = self.config.get_hosts().len().max(self.config.get_hostaddrs().len());
        let connected = timeout(self.connect_timeout * hosts as u32, connecting).await;
        let connected = connected.map_err(|_| StoreError::Away { why: "the connection was not made in time".into() });
        let (client, connection) = connected??;
        let task = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = text(&error), "a connection to the database ended");
            }
        });
        Ok(Bare { client, task: task.abort_handle() })
    }

    pub(super) async fn session(&self, purpose: Purpose) -> Result<Arc<Session>, StoreError> {
        let bare = self.bare().await?;
        let ready = async {
            let client = &bare.client;
            client.batch_execute(&self.settings(purpose)).await?;
            // An unsupported setting must not prevent the connection.
            if let Err(error) = client.batch_execute(PLANS).await {
                tracing::debug!(error = text(&error), "the database does not support these planner settings");
            }
            let asked = client.query_one("SELECT current_setting('synchronous_commit', true)", &[]).await?;
            if asked.get::<_, Option<&str>>(0) == Some("off") {
                tracing::warn!("synchronous_commit is off in the database: it is switched on for these connections");
                client.batch_execute("SET synchronous_commit = on").await?;
            }
            let statements = Statements::prepare(client).await?;
            match purpose {
                Purpose::Reads => {}
                Purpose::Commits if self.alone.load(Ordering::SeqCst) => bare.lock_exclusive_again().await?,
                Purpose::Commits => bare.lock_shared().await?,
            }
            Ok::<_, StoreError>(statements)
        };
        let ready = timeout(self.connect_timeout, ready).await;
        let ready = ready.map_err(|_| StoreError::Away { why: "the connection was not made ready in time".into() })?;
        let statements = ready?;
        Ok(Arc::new(Session { bare, statements }))
    }

    /// Returns the session settings. The server must not cancel commits: a commit canceled while it waits for a
    /// standby counts as done, but is missing there. Instead, the client times out and reports an unknown
    /// outcome. The server ends abandoned transactions by itself.
    fn settings(&self, purpose: Purpose) -> String {
        let limit = self.statement_timeout.as_millis();
        let statement = if purpose == Purpose::Reads { limit } else { 0 };
        format!(
            "SET statement_timeout = {statement}; SET lock_timeout = {limit}; \
             SET idle_in_transaction_session_timeout = {limit}; SET default_transaction_isolation = 'read committed'"
        )
    }
}

/// A connection without prepared statements. Dropping it closes the connection.
pub(super) struct Bare {
    pub client: Client,
    task: AbortHandle,
}

impl Bare {
    /// Takes the shared lock, which keeps others from locking the store exclusively until the connection ends.
    pub(super) async fn lock_shared(&self) -> Result<(), StoreError> {
        let refused = "a command is sealing its values with another key: wait until that command has ended";
        self.hold(LOCK_SHARED, refused).await
    }

    /// Takes the exclusive lock again after a reconnect. A process that opened the store in the meantime does not
    /// know the newest key.
    async fn lock_exclusive_again(&self) -> Result<(), StoreError> {
        let refused = "the connection with the exclusive lock was lost, and another connection holds the lock now";
        self.hold(LOCK_EXCLUSIVE, refused).await
    }

    /// Takes a lock that is held until the connection ends.
    async fn hold(&self, lock: &str, refused: &str) -> Result<(), StoreError> {
        for settings in KEEPALIVES {
            // An unsupported setting must not prevent the connection.
            if let Err(error) = self.client.batch_execute(settings).await {
                tracing::debug!(error = text(&error), "the database does not support these keepalive settings");
            }
        }
        if self.lock(lock).await? { Ok(()) } else { Err(StoreError::Database { why: refused.into() }) }
    }

    /// Releases the shared lock, because another connection holds it from now on.
    pub(super) async fn unlock_shared(&self) -> Result<(), StoreError> {
        self.lock(UNLOCK_SHARED).await.map(drop)
    }

    /// Runs a lock statement. Databases without advisory locks are used without them.
    async fn lock(&self, how: &str) -> Result<bool, StoreError> {
        let unknown = [SqlState::UNDEFINED_FUNCTION, SqlState::FEATURE_NOT_SUPPORTED];
        match self.client.query_one(how, &[]).await {
            // The result is null if the table does not exist yet.
            Ok(row) => Ok(row.get::<_, Option<bool>>(0) != Some(false)),
            Err(error) if error.code().is_some_and(|code| unknown.contains(code)) => {
                tracing::debug!(error = text(&error), "the database has no advisory locks");
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(super) struct Session {
    bare: Bare,
    pub statements: Statements,
}

impl Session {
    pub(super) fn client(&self) -> &Client {
        &self.bare.client
    }

    /// Takes the exclusive lock. Returns whether no other process has the store open; none can open it until this
    /// connection ends.
    pub(super) async fn alone(&self) -> Result<bool, StoreError> {
        self.bare.lock(LOCK_EXCLUSIVE).await
    }

    pub(super) fn is_closed(&self) -> bool {
        self.bare.client.is_closed()
    }

    /// Closes the connection. Statements in progress fail.
    pub(super) fn close(&self) {
        self.bare.task.abort();
    }
}
