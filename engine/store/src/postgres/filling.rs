//! The state of a database that is being filled with the values of another store. It cannot be opened for use
//! before the copy is complete.

use super::{
    config::PostgresConfig,
    schema,
    session::{Bare, Connector},
};
use crate::{FIRST_RESERVED, StoreError, StoreKeys, envelope::Envelope, keys};

/// The key of the mark; its value identifies the copied store.
const MARK: &[u8] = &[FIRST_RESERVED + 2];

/// The state of a database before a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The database was empty, or contained an incomplete other copy, which was deleted.
    Started,
    /// The database contains an incomplete part of this copy.
    Resumed,
    /// The database contains other values. Nothing was changed.
    Occupied,
}

/// Marks the database as incomplete and creates its tables if necessary. `of` identifies the copied store and
/// its state.
pub async fn begin(config: &PostgresConfig, keys: &StoreKeys, of: &str) -> Result<Begun, StoreError> {
    schema::migrate(config, keys).await?;
    let bare = Connector::new(config)?.bare().await?;
    match mark(&bare, keys).await? {
        Some(found) if found == of => return Ok(Begun::Resumed),
        None if values(&bare).await? > 0 => return Ok(Begun::Occupied),
        _ => {}
    }
    let sealed = Envelope::new(keys).sealer()?.seal(MARK, of.as_bytes())?;
    bare.client.batch_execute("BEGIN").await?;
    bare.client.execute("DELETE FROM practice_sync_values WHERE key <> $1", &[&schema::SEAL_KEY]).await?;
    bare.client.execute("DELETE FROM practice_sync_homes", &[]).await?;
    let put = "INSERT INTO practice_sync_values (owner, key, value, version) VALUES (0, $1, $2, '')";
    bare.client.execute(put, &[&MARK, &sealed]).await?;
    bare.client.batch_execute("COMMIT").await?;
    Ok(Begun::Started)
}

/// Removes the mark after a complete copy, so that the store can be opened.
pub async fn end(config: &PostgresConfig) -> Result<(), StoreError> {
    let bare = Connector::new(config)?.bare().await?;
    bare.client.execute("DELETE FROM practice_sync_values WHERE owner = 0 AND key = $1", &[&MARK]).await?;
    Ok(())
}

/// Returns the number of values, without the initial number of the sequences.
pub async fn count(config: &PostgresConfig) -> Result<u64, StoreError> {
    let bare = Connector::new(config)?.bare().await?;
    values(&bare).await
}

async fn values(bare: &Bare) -> Result<u64, StoreError> {
    let (reserved, begin) = ([FIRST_RESERVED], keys::feed_end());
    let count = "SELECT count(*) FROM practice_sync_values WHERE key < $1 AND key <> $2";
    let row = bare.client.query_one(count, &[&reserved.as_slice(), &begin]).await?;
    Ok(row.get::<_, i64>(0).unsigned_abs())
}

/// Returns the identification of the copy in progress, or `None` if there is none.
pub(super) async fn mark(bare: &Bare, keys: &StoreKeys) -> Result<Option<String>, StoreError> {
    let read = "SELECT value FROM practice_sync_values WHERE owner = 0 AND key = $1";
    let found = bare.client.query_opt(read, &[&MARK]).await?;
    let opened = found.map(|row| Envelope::new(keys).open(MARK, row.get(0))).transpose()?;
    Ok(opened.map(|text| String::from_utf8_lossy(&text).into_owned()))
}
