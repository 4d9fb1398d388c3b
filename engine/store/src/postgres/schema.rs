//! The schema of the database and its migrations. Each migration runs once, in one process at a time.

use std::fmt;

use tokio_postgres::{Client, Error};

use super::{
    config::PostgresConfig,
    session::{Bare, Connector},
};
use crate::{
    FIRST_RESERVED, Key, StoreError, StoreKeys,
    envelope::{Envelope, sealed_with},
};

/// Migrations; migration n creates version n. Released migrations are never changed. Later versions have the tables of
/// version 1. Version 2 adds values of envelope format 3. Version 3 adds facts of visits in the log of changes.
/// Version 4 has one value for all webhook deliveries of an event. Version 5 adds compressed values. Earlier programs
/// cannot read these values.
pub(super) const STEPS: &[&str] = &[
    "\
    CREATE TABLE practice_sync_values (
        owner bigint NOT NULL,
        key bytea NOT NULL,
        value bytea NOT NULL,
        version bytea NOT NULL,
        PRIMARY KEY (owner, key)
    );
    CREATE INDEX practice_sync_values_by_key ON practice_sync_values (key);
    CREATE TABLE practice_sync_homes (home bigint PRIMARY KEY, owner bigint NOT NULL);",
    "SELECT 1;",
    "SELECT 1;",
    "SELECT 1;",
    "SELECT 1;",
];

/// The single row is also the lock of migrations, because not every database has advisory locks.
const MARK: &str = "\
    CREATE TABLE IF NOT EXISTS practice_sync_schema (one integer PRIMARY KEY CHECK (one = 1), version integer NOT NULL);
    INSERT INTO practice_sync_schema (one, version) VALUES (1, 0) ON CONFLICT (one) DO NOTHING;";

/// Number of attempts while another process creates the same table.
const TRIES: usize = 5;

/// The key of a known value without an owner. Opening it verifies the sealing key.
pub(super) const SEAL_KEY: &[u8] = &[FIRST_RESERVED];
const SEAL: &[u8] = b"practice-sync store";

/// Returns the key of an owner's sequence, which stores the last number given.
pub(super) fn sequence_key(owner: i64) -> Key {
    [SEQUENCES, &owner.to_be_bytes()].concat()
}

/// The common prefix of the keys of all sequences.
pub(super) const SEQUENCES: &[u8] = &[FIRST_RESERVED + 1];

/// The result of a check of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    pub version: u32,
    pub values: u64,
    /// Settings with which the database may lose acknowledged commits.
    pub risks: Vec<String>,
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "schema version {}, {} values, all sealed with this key", self.version, self.values)
    }
}

/// Returns whether the database contains a store.
pub async fn is_made(config: &PostgresConfig) -> Result<bool, StoreError> {
    let bare = Connector::new(config)?.bare().await?;
    Ok(version(&bare.client).await?.is_some_and(|version| version > 0))
}

/// Migrates the database to the version of this program. Returns the versions before and after.
pub async fn migrate(config: &PostgresConfig, keys: &StoreKeys) -> Result<(u32, u32), StoreError> {
    let bare = Connector::new(config)?.bare().await?;
    let found = version(&bare.client).await?.unwrap_or(0);
    known(found)?;
    let mut marked = bare.client.batch_execute(MARK).await;
    for _ in 1..TRIES {
        // If two processes create a table concurrently, the slower one gets one of several errors.
        if marked.as_ref().err().is_none_or(|error| error.code().is_none()) {
            break;
        }
        marked = bare.client.batch_execute(MARK).await;
    }
    marked?;
    steps(&bare.client).await?;
    seal(&bare, config, keys).await?;
    Ok((found, STEPS.len() as u32))
}

async fn steps(client: &Client) -> Result<(), Error> {
    client.batch_execute("BEGIN").await?;
    let row = client.query_one("SELECT version FROM practice_sync_schema WHERE one = 1 FOR UPDATE", &[]).await?;
    let version = usize::try_from(row.get::<_, i32>(0)).unwrap_or(0);
    for (step, text) in STEPS.iter().enumerate().skip(version) {
        tracing::info!(version = step + 1, "migrating the database to the next version of the store's schema");
        client.batch_execute(text).await?;
        let update = format!("UPDATE practice_sync_schema SET version = {} WHERE one = 1", step + 1);
        client.batch_execute(&update).await?;
    }
    client.batch_execute("COMMIT").await
}

/// Checks the schema version and the sealing key of the database.
pub(super) async fn fits(bare: &Bare, config: &PostgresConfig, keys: &StoreKeys) -> Result<(), StoreError> {
    let found = version(&bare.client).await?.unwrap_or(0);
    known(found)?;
    if (found as usize) < STEPS.len() {
        let why = match found {
            0 => format!("there is no store in {}: make one with `practice-sync store migrate`", config.place()),
            _ => format!(
                "its schema has version {found}, this program needs {}: run `practice-sync store migrate`",
                STEPS.len()
            ),
        };
        return Err(StoreError::Database { why });
    }
    seal(bare, config, keys).await
}

/// Refuses a database of a newer version.
fn known(found: u32) -> Result<(), StoreError> {
    if found as usize <= STEPS.len() {
        return Ok(());
    }
    let why = format!("its schema has version {found}, this program knows {}: start a newer program", STEPS.len());
    Err(StoreError::Database { why })
}

async fn version(client: &Client) -> Result<Option<u32>, StoreError> {
    let table = client.query_one("SELECT to_regclass('practice_sync_schema') IS NOT NULL", &[]).await?;
    if !table.get::<_, bool>(0) {
        return Ok(None);
    }
    let row = client.query_opt("SELECT version FROM practice_sync_schema WHERE one = 1", &[]).await?;
    Ok(row.map(|row| row.get::<_, i32>(0).unsigned_abs()))
}

/// Verifies the sealing key. The first process writes the known value; later ones must be able to open it.
async fn seal(bare: &Bare, config: &PostgresConfig, keys: &StoreKeys) -> Result<(), StoreError> {
    let envelope = Envelope::new(keys);
    let sealed = envelope.sealer()?.seal(SEAL_KEY, SEAL)?;
    let put = "INSERT INTO practice_sync_values (owner, key, value, version) VALUES (0, $1, $2, '') \
               ON CONFLICT (owner, key) DO NOTHING";
    bare.client.execute(put, &[&SEAL_KEY, &sealed]).await?;
    let read = "SELECT value FROM practice_sync_values WHERE owner = 0 AND key = $1";
    let found: Vec<u8> = bare.client.query_one(read, &[&SEAL_KEY]).await?.get(0);
    let id = sealed_with(&found);
    match envelope.open(SEAL_KEY, found) {
        Ok(opened) if opened == SEAL => Ok(()),
        _ => Err(StoreError::WrongKey { dir: config.place(), id, held: envelope.held() }),
    }
}

/// Checks the schema, the settings and every value.
pub async fn check(config: &PostgresConfig, keys: &StoreKeys) -> Result<Checked, StoreError> {
    let bare = Connector::new(config)?.bare().await?;
    fits(&bare, config, keys).await?;
    let envelope = Envelope::new(keys);
    let (mut values, mut after) = (0, (i64::MIN, Key::new()));
    loop {
        let page = "SELECT owner, key, value FROM practice_sync_values WHERE (owner, key) > ($1, $2) \
                    ORDER BY owner, key LIMIT 1000";
        let rows = bare.client.query(page, &[&after.0, &after.1]).await?;
        let Some(last) = rows.last() else { break };
        after = (last.get(0), last.get(1));
        for row in &rows {
            let key: Vec<u8> = row.get(1);
            envelope.open(&key, row.get(2))?;
            values += u64::from(key.first().is_some_and(|first| *first < FIRST_RESERVED));
        }
    }
    Ok(Checked { version: STEPS.len() as u32, values, risks: risks(&bare.client).await })
}

/// Returns the risky settings. Settings unknown to the database are ignored.
async fn risks(client: &Client) -> Vec<String> {
    let mut risks = Vec::new();
    for (setting, what) in [
        ("fsync", "the server may lose or damage everything when its machine loses power"),
        ("full_page_writes", "the server may be damaged when its machine loses power"),
        (
            "synchronous_commit",
            "commits of other programs may be lost; the store switches it on for its own connections",
        ),
    ] {
        let asked = client.query_one(&format!("SELECT current_setting('{setting}', true)"), &[]).await;
        if asked.is_ok_and(|row| row.get::<_, Option<&str>>(0) == Some("off")) {
            risks.push(format!("{setting} is off: {what}"));
        }
    }
    risks
}
