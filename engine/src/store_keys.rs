//! The file of a store's keys, and the values that need them. These functions work on a store at rest; `rotation` works
//! on a served one.

use std::{
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use runtime::clock;
use setup::{Setup, StoreEngine};
use store::{
    EmbeddedStore, EngineKind, KeyId, Store, StoreError, StoreKeys, backup, postgres::PostgresStore, rotation,
};

use crate::{
    Incomplete,
    backups::{OWNER, files},
    copy_data::embedded,
    data_dir::DataDir,
    database,
};

#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("this store is in memory, and its values are not sealed")]
    NotSealed,
    #[error(
        "this server is one of several nodes, and all of them must have a key before one of them uses it: stop all nodes, run the same command \
         with `--config FILE` on one of them, copy its `store.key` to the others, and start them again"
    )]
    Nodes,
    #[error(
        "another process has this database open: stop the server, all nodes where there are several, and try again"
    )]
    Served,
    #[error("values are still being sealed with the newest key: wait until none is left, and try again")]
    InProgress,
    #[error("`store.key` has no key {0}")]
    NoSuchKey(KeyId),
    #[error("the key {0} seals new values: add another one first, with `practice-sync store rotate-key`")]
    Newest(KeyId),
    #[error("the key {id} is needed by {by}")]
    Needed { id: KeyId, by: String },
    #[error("{folder}: {source}")]
    Folder { folder: PathBuf, source: io::Error },
    #[error(transparent)]
    Incomplete(#[from] Incomplete),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Removes a key from the file that no value and no backup in the folder needs. `none_is_made` returns an error if a
/// backup in progress may need the key.
pub(crate) fn drop_unneeded(
    store: &dyn rotation::Sealed,
    file: &Path,
    backups: Option<&Path>,
    id: KeyId,
    none_is_made: impl Fn() -> Result<(), KeyError>,
    mut pause: impl FnMut(),
) -> Result<(), KeyError> {
    let keys = StoreKeys::load(file)?;
    if !keys.has(id) {
        return Err(KeyError::NoSuchKey(id));
    }
    if keys.newest() == id {
        return Err(KeyError::Newest(id));
    }
    none_is_made()?;
    store.reseal_own()?;
    let counts = rotation::count(store, || {
        pause();
        true
    })?
    .unwrap_or_default();
    if let Some(values) = counts.get(&id) {
        return Err(KeyError::Needed { id, by: format!("{values} values of the store") });
    }
    none_is_made()?;
    if let Some(folder) = backups {
        is_in_no_backup(folder, id)?;
    }
    let left = keys.without(id);
    left.save(file)?;
    store.use_keys(&left);
    tracing::info!(key = %id, "a key of the store was dropped; earlier backups require it");
    Ok(())
}

fn is_in_no_backup(folder: &Path, id: KeyId) -> Result<(), KeyError> {
    // An empty folder may be a disk that is not mounted.
    if !folder.join(OWNER).is_file() {
        let by = format!("backups, perhaps: {} has none of this server. Mount its disk, or make one", folder.display());
        return Err(KeyError::Needed { id, by });
    }
    let files = files(folder, clock::now());
    for file in files.map_err(|source| KeyError::Folder { folder: folder.to_path_buf(), source })? {
        let path = folder.join(&file.name);
        if backup::keys_of(&path)?.contains(&id) {
            let by =
                format!("the backup {}: delete it, or move it away together with a copy of store.key", path.display());
            return Err(KeyError::Needed { id, by });
        }
    }
    Ok(())
}

/// A store that is not served, and the file of its keys.
struct AtRest {
    store: Box<dyn Store>,
    file: PathBuf,
}

impl AtRest {
    fn open(setup: &Setup, data_dir: &Path) -> Result<AtRest, KeyError> {
        let (data, rules) = (DataDir::new(data_dir), &setup.engine);
        data.is_whole()?;
        let open = |engine| -> Result<Box<dyn Store>, KeyError> {
            let config = embedded(engine, &data.store, &StoreKeys::load(&data.key)?);
            Ok(Box::new(EmbeddedStore::open(config)?))
        };
        let store = match rules.store_engine {
            StoreEngine::Sled | StoreEngine::Fjall if !store::is_made(&data.store)? => {
                return Err(Incomplete::NoStoreYet(data.store.clone()).into());
            }
            StoreEngine::Sled => open(EngineKind::Sled)?,
            StoreEngine::Fjall => open(EngineKind::Fjall)?,
            StoreEngine::Postgres => {
                let (config, keys) = (database::config(&rules.database)?, data.database_key(true, false)?);
                let store = PostgresStore::open(&config, &keys, database::owners_of(setup))?;
                if !store.alone()? {
                    return Err(KeyError::Served);
                }
                // This check also works in databases without locks.
                if let Some(node) = &rules.node {
                    ensure_not_served(&store, node.period * 2)?;
                }
                Box::new(store)
            }
        };
        Ok(AtRest { store, file: data.key })
    }

    fn sealed(&self) -> Result<&dyn rotation::Sealed, KeyError> {
        self.store.sealed().ok_or(KeyError::NotSealed)
    }
}

/// Returns an error if a node renews its row.
fn ensure_not_served(store: &dyn Store, within: Duration) -> Result<(), KeyError> {
    let before = membership::read_snapshot(store)?;
    if before.rows.is_empty() {
        return Ok(());
    }
    thread::sleep(within);
    let lives = |row: &membership::Row| !before.rows.contains(row);
    if membership::read_snapshot(store)?.rows.iter().any(lives) { Err(KeyError::Served) } else { Ok(()) }
}

/// Adds a key to a store that is not served, and reseals all values with it, or completes an interrupted rotation.
/// Reports the number of values left.
pub fn rotate_key(setup: &Setup, data_dir: &Path, mut progress: impl FnMut(u64)) -> Result<KeyId, KeyError> {
    let at_rest = AtRest::open(setup, data_dir)?;
    let (sealed, mut keys) = (at_rest.sealed()?, StoreKeys::load(&at_rest.file)?);
    let counts = rotation::count(sealed, || true)?.unwrap_or_default();
    if counts.keys().all(|id| *id == keys.newest()) {
        keys = keys.and_a_new_one()?;
        keys.save(&at_rest.file)?;
        sealed.use_keys(&keys);
    }
    rotation::reseal(sealed, keys.newest(), |left| {
        left.into_iter().for_each(&mut progress);
        true
    })?;
    Ok(keys.newest())
}

/// Drops a key of a store that is not served.
pub fn drop_key(setup: &Setup, data_dir: &Path, id: KeyId) -> Result<(), KeyError> {
    let at_rest = AtRest::open(setup, data_dir)?;
    let folder = setup.engine.backup.as_ref().map(|rules| rules.folder.as_path());
    drop_unneeded(at_rest.sealed()?, &at_rest.file, folder, id, || Ok(()), || ())
}
