//! The database of a store that is not on this machine's disk.

use std::{path::PathBuf, time::Duration};

use crate::secret::Secret;

/// Heeded where the store is on PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// A password may stand in it.
    pub url: Option<Secret>,
    /// Connections for reads; commits have one of their own.
    pub readers: usize,
    pub connect_timeout: Duration,
    /// Of a read, and of each step of a commit.
    pub statement_timeout: Duration,
    pub tls: DatabaseTls,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseTls {
    Off,
    /// By an authority in this file, without one by those this machine trusts.
    Verify {
        ca: Option<PathBuf>,
    },
}

impl Default for Database {
    fn default() -> Self {
        Database {
            url: None,
            readers: 4,
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(10),
            tls: DatabaseTls::Verify { ca: None },
        }
    }
}
