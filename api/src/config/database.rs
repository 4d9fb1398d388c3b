//! The table `[postgres]`: the database of the store.

use engine::{
    setup::{
        EngineRules, StoreEngine,
        database::{Database, DatabaseTls},
        secret::Secret,
    },
    store::postgres::PostgresConfig,
};

use location::time::{MINUTE, SECOND};

use super::reader::{Located, Section};

pub(super) fn read(root: &Section<'_, '_>) -> Database {
    let mut database = Database::default();
    let s =
        root.about("The database of the store, with `store_engine = \"postgres\"`.").at_start().settings("postgres");
    database.url = s
        .about(
            "The address of the database. Its user must own the tables. Of several hosts the one that takes \
             writes is used.",
        )
        .credential("url", address)
        .map(|url| url.value);
    s.about("Connections for reads; commits have one more.").knob("readers", 1..=64, &mut database.readers);
    s.about("How long connecting may take.").std_duration(
        "connect_timeout",
        100..=MINUTE,
        &mut database.connect_timeout,
    );
    s.about(
        "For a read, and for each step of a commit; then calls are answered with 503 and the connection \
         is made again.",
    )
    .std_duration("statement_timeout", SECOND..=5 * MINUTE, &mut database.statement_timeout);
    let ca = s.about("A file with the authorities to trust, PEM; by default those of this machine.").text("ca_file");
    let mut verify = true;
    s.about("`verify`: TLS over a network, with a certificate that names the host.").choice(
        "tls",
        &[("verify", true), ("off", false)],
        &mut verify,
    );
    database.tls = match (verify, ca) {
        (true, ca) => DatabaseTls::Verify { ca: ca.map(|file| s.base().join(file.value)) },
        (false, None) => DatabaseTls::Off,
        (false, Some(file)) => {
            s.problems.add(file.at, "`ca_file` has no effect with tls = \"off\": remove one of them");
            DatabaseTls::Off
        }
    };
    database
}

/// Requires a database address if the store is in a database.
pub(super) fn check(engine: Option<&Located<StoreEngine>>, rules: &EngineRules, s: &Section<'_, '_>) {
    if let Some(engine) = engine.filter(|engine| engine.value == StoreEngine::Postgres)
        && rules.database.url.is_none()
    {
        s.problems
            .add(engine.at, "store_engine = \"postgres\" needs the address of the database: set `url` in [postgres]");
    }
}

fn address(url: String) -> Result<Secret, String> {
    match PostgresConfig::new(url.as_str()).is_readable() {
        true => Ok(Secret::new(url)),
        false => Err("must be an address such as postgresql://user:password@host:5432/database".into()),
    }
}
