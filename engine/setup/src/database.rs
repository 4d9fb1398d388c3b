//! The database of a store that is not on a local disk.

use std::{path::PathBuf, time::Duration};

use crate::secret::Secret;

/// The connection to PostgreSQL. Unused by other stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// May contain a password.
    pub url: Option<Secret>,
    /// Connections for reads. Commits have a separate one.
    pub readers: usize,
    pub connect_timeout: Duration,
    /// Timeout of a read, and of each step of a commit.
    pub statement_timeout: Duration,
    pub tls: DatabaseTls,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseTls {
    Off,
    /// Verified by the authority in this file, or by those trusted by this machine.
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
