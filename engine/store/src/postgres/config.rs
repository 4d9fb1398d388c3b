//! Connection options of the database.

use std::{fmt, path::PathBuf, time::Duration};

use tokio_postgres::config::{Config, Host, SslMode, TargetSessionAttrs};

use crate::StoreError;

#[derive(Clone)]
pub struct PostgresConfig {
    /// A URL `postgresql://user:password@host:port/database`, or pairs such as `host=... dbname=...`. If it has
    /// several hosts, the one that accepts writes is used.
    pub url: String,
    /// Number of connections for reads; concurrent reads share them.
    pub readers: usize,
    /// Number of batches that may wait before commits are refused as `Busy`.
    pub queue: usize,
    /// Timeout of each host.
    pub connect_timeout: Duration,
    /// Timeout of a read, and of each step of a commit.
    pub statement_timeout: Duration,
    pub tls: Tls,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tls {
    /// For a database on this machine or in a private network.
    Off,
    /// The server's certificate must name the host and be issued by an authority in this file. Without a file,
    /// the authorities trusted by this machine apply.
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

    /// Returns whether the URL can be parsed. Does not connect.
    pub fn is_readable(&self) -> bool {
        self.url.parse::<Config>().is_ok()
    }

    /// Returns the configuration of the client library.
    pub(super) fn parsed(&self) -> Result<Config, StoreError> {
        let mut config: Config = self.url.parse().map_err(|error| {
            // The URL may contain a password, so the message omits it.
            let why =
                format!("its address cannot be read, expected postgresql://user:password@host/database ({error})");
            StoreError::Database { why }
        })?;
        let named = config.get_hosts().iter().filter(|host| matches!(host, Host::Tcp(_))).count();
        let numeric = config.get_hostaddrs().len();
        let encrypted = named + numeric > 0 && self.tls != Tls::Off;
        if encrypted && numeric > named {
            let why = "its address has `hostaddr` without `host`: add the name in the server's certificate as `host`";
            return Err(StoreError::Database { why: why.into() });
        }
        config
            .ssl_mode(if encrypted { SslMode::Require } else { SslMode::Disable })
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .application_name("practice-sync")
            // Half of the time of a host, so that the second address of a name is tried, too.
            .connect_timeout(self.connect_timeout / 2)
            .keepalives_idle(Duration::from_secs(15))
            .tcp_user_timeout(self.statement_timeout * 2);
        Ok(config)
    }

    /// Returns the database and hosts for messages, without user and password.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numeric_addresses_are_never_connected_without_tls() {
        let mode = |url: &str| PostgresConfig::new(url).parsed().map(|config| config.get_ssl_mode());
        for url in ["host=db.example user=a", "host=db.example hostaddr=192.0.2.1 user=a"] {
            assert_eq!(mode(url).unwrap(), SslMode::Require, "{url}");
        }
        assert_eq!(mode("host=/run/postgresql user=a").unwrap(), SslMode::Disable);
        for url in ["hostaddr=192.0.2.1 user=a", "host=/run/postgresql hostaddr=192.0.2.1 user=a"] {
            let refused = mode(url).unwrap_err().to_string();
            assert!(refused.contains("`hostaddr` without `host`"), "{url}: {refused}");
        }
    }
}
