//! The database of a store that is not on a local disk.

use std::{path::PathBuf, time::Duration};

use location::time::{MINUTE, SECOND};

use crate::secret::Secret;

location::settings! {
    /// The connection to PostgreSQL. Unused by other stores.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Database("postgres") {
        /// May contain a password.
        url: Option<Secret> = None;
        readers: usize = 4, integer(1..=64) => restart, "Connections for reads; commits have one more.";
        connect_timeout: Duration = Duration::from_secs(5), std_duration(100..=MINUTE) =>
            restart, "How long connecting may take.";
        statement_timeout: Duration = Duration::from_secs(10), std_duration(SECOND..=5 * MINUTE) =>
            restart, "For a read, and for each step of a commit; then calls are answered with 503 and the connection \
                      is made again.";
        tls: DatabaseTls = DatabaseTls::Verify { ca: None };
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseTls {
    Off,
    /// Verified by the authority in this file, or by those trusted by this machine.
    Verify {
        ca: Option<PathBuf>,
    },
}
