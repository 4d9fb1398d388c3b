//! How a database is reached.

use std::{fmt, path::PathBuf, time::Duration};

use tokio_postgres::config::{Config, Host, SslMode, TargetSessionAttrs};

use crate::error::StoreError;

#[derive(Clone)]
pub struct PostgresConfig {
    /// `postgresql://user:password@host:port/database`, or pairs such as `host=... dbname=...`. Of several hosts the one that takes
    /// writes is used.
    pub url: String,
    /// Connections for reads. Many reads share one.
    pub readers: usize,
    /// Batches that may wait before commits are refused as `Busy`.
    pub queue: usize,
    pub connect_timeout: Duration,
    /// Of a read, and of each step of a commit.
    pub statement_timeout: Duration,
    pub tls: Tls,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tls {
    /// For a database on this machine, or behind a network of its own.
    Off,
    /// The server's certificate must be of an authority in this file, without one of those this machine trusts, and name the host.
    Verify { ca: Option<PathBuf> },
}

impl PostgresConfig {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            readers: 4,
            queue: 16_384,
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(10),
            tls: Tls::Verify { ca: None },
        }
    }

    /// Whether the address can be read; the database is not asked.
    pub fn is_readable(&self) -> bool {
        self.parsed().is_ok()
    }

    /// For the client library.
    pub(super) fn parsed(&self) -> Result<Config, StoreError> {
        let mut config: Config = self.url.parse().map_err(|error| {
            // Never the address itself: a password may stand in it.
            let why =
                format!("its address cannot be read, expected postgresql://user:password@host/database ({error})");
            StoreError::Database { why }
        })?;
        let network = config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)));
        let encrypted = network && self.tls != Tls::Off;
        config
            .ssl_mode(if encrypted { SslMode::Require } else { SslMode::Disable })
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .application_name("practice-sync")
            .connect_timeout(self.connect_timeout)
            .keepalives_idle(Duration::from_secs(15))
            .tcp_user_timeout(self.statement_timeout * 2);
        Ok(config)
    }

    /// In messages: no user, no password.
    pub(super) fn place(&self) -> String {
        let Ok(config) = self.url.parse::<Config>() else { return "the database".into() };
        let hosts: Vec<String> = config
            .get_hosts()
            .iter()
            .map(|host| match host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(path) => path.display().to_string(),
            })
            .collect();
        format!("the database {} at {}", config.get_dbname().unwrap_or("of the user's name"), hosts.join(", "))
    }
}

impl fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresConfig({}, redacted)", self.place())
    }
}
