//! The database of a store that is not on a local disk.

use std::{path::PathBuf, time::Duration};

use location::{
    keys::KeyReader,
    time::{MINUTE, SECOND},
};

use crate::secret::Secret;

location::settings! {
    /// The connection to PostgreSQL. Unused by other stores.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Database, Database::check {
        /// May contain a password.
        url: Option<Secret> = None, parsed(Secret::parse).credential().optional() =>
            restart, "The URL of the database. Its user must own the tables. If it names several hosts, the one that \
                      accepts writes is used.";
        readers: usize = 4, integer(1..=64) => restart, "Connections for reads; commits have one more.";
        connect_timeout: Duration = Duration::from_secs(5), std_duration(100..=MINUTE) =>
            restart, "How long connecting to a host may take.";
        statement_timeout: Duration = Duration::from_secs(10), std_duration(SECOND..=5 * MINUTE) =>
            restart, "How long a read, or a step of a commit, may take. After that, calls are answered with 503 and \
                      the connection is reopened.";
        ca_file: Option<PathBuf> = None, path().optional() =>
            restart, "A file with the authorities to trust, PEM; by default those of this machine.";
        tls: DatabaseTls = DatabaseTls::Verify, word(&[("verify", DatabaseTls::Verify), ("off", DatabaseTls::Off)]) =>
            restart, "`verify`: TLS over a network, with a certificate that names the host.";
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseTls {
    Off,
    Verify,
}

impl Database {
    fn check(&mut self, keys: &impl KeyReader) {
        if self.tls == DatabaseTls::Off && self.ca_file.is_some() {
            keys.problem(&[], &["ca_file"], "`ca_file` has no effect with tls = \"off\": remove one of them");
        }
    }
}
