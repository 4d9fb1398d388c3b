//! The parts of a data directory: the store, its key, and a note that a store was made. A missing or unmounted store is
//! not taken for a new one, and a missing key is not replaced.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use processor::{call_changes, id_pool};
use query::index;
use runtime::clock;
use store::{
    CommitError, Compacted, EmbeddedStore, EngineKind, Store, StoreConfig, StoreError, StoreKeys, backup,
    counters::Counter,
    files,
    salvage::{self, Report},
};
use webhooks::{follower, registry};

const KEY: &str = "store.key";
const STORE: &str = "store";
const NOTE: &str = "store.made";
/// File that exists while a copy is incomplete.
const COPYING: &str = "store.copying";
/// File that exists while the store is moved to another engine.
const MIGRATING: &str = "store.migrating";
/// Folder of the new store during such a move.
const NEXT: &str = "store.next";
const NOTE_SAYS: &str = "A store was made here, in the folder store/ or in a database. While this file is here, practice-sync does not start without it.";

#[derive(Debug, thiserror::Error)]
pub enum Incomplete {
    #[error(
        "the store {store} is gone (or its disk is not mounted), though {note} shows that one was created: restore it from a backup, or \
         start once with --accept-empty-store to begin anew without what it held"
    )]
    NoStore { store: PathBuf, note: PathBuf },
    #[error(
        "the key file {key} is missing, and without it the store {store} cannot be read: put it back from its backup"
    )]
    NoKey { key: PathBuf, store: PathBuf },
    #[error(
        "there is no store in the database, though {note} shows that one was created: restore the database from a backup, or start once with \
         --accept-empty-store to begin anew without what it held"
    )]
    NoDatabase { note: PathBuf },
    #[error(
        "the key file {key} is missing, and without it the store in the database cannot be read: put it back from its backup, or from the \
         data directory that the store was made in"
    )]
    NoDatabaseKey { key: PathBuf },
    #[error(
        "{store} holds a store on an embedded engine, and `store_engine` is \"postgres\": copy it with `practice-sync store copy --from DIR \
         --to-config FILE`, or name an empty `data_dir`"
    )]
    EmbeddedStore { store: PathBuf },
    #[error("{0} already exists: name a new directory")]
    Occupied(PathBuf),
    #[error(
        "the copy in {0} is not whole: run the same `practice-sync store copy` again, which finishes it. What `practice-sync restore` did not \
         finish has to be deleted and restored anew"
    )]
    HalfCopied(PathBuf),
    #[error(
        "the move of the store in {0} to another engine is not complete: run the same `practice-sync store migrate` again, which finishes \
         it. With `--to` and the engine of {0}/store it is cancelled"
    )]
    HalfMigrated(PathBuf),
    #[error("{0} is the store before an earlier move: delete it if it is no longer needed, or move it away")]
    OldStore(PathBuf),
    #[error(
        "{0} is a mount or a link and cannot be replaced: copy the data directory with `practice-sync store copy --from DIR --to NEWDIR \
         --engine ENGINE`"
    )]
    MountedStore(PathBuf),
    #[error(
        "the new store may need {needed} MiB next to the old one, and {dir} has {free} MiB of free disk space: free some, shrink a store \
         on sled with `practice-sync store compact`, or copy to another disk with `practice-sync store copy`"
    )]
    NoRoom { dir: PathBuf, needed: u64, free: u64 },
    #[error(
        "there is a store in the database already: name another database, or delete the tables practice_sync_* in it"
    )]
    OccupiedDatabase,
    #[error("there is no store in {0}")]
    NoStoreYet(PathBuf),
    #[error(
        "the copy in {dir} differs from what was copied ({is} values of {was}, or other ones), or what was copied was served meanwhile: \
         stop all that serves from it, delete that directory and copy again; should it happen twice, the disk or the memory of this machine \
         is faulty"
    )]
    CopyDiffers { dir: PathBuf, was: u64, is: u64 },
    #[error("{path}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Store(#[from] store::StoreError),
}

pub(crate) struct DataDir {
    dir: PathBuf,
    pub store: PathBuf,
    pub key: PathBuf,
    pub note: PathBuf,
    pub copying: PathBuf,
    pub migrating: PathBuf,
    pub next: PathBuf,
}

impl DataDir {
    pub(crate) fn new(dir: &Path) -> Self {
        let [store, key, note, copying, migrating, next] =
            [STORE, KEY, NOTE, COPYING, MIGRATING, NEXT].map(|name| dir.join(name));
        Self { dir: dir.to_path_buf(), store, key, note, copying, migrating, next }
    }

    /// Returns the folder of a store of this engine after its move to another one.
    pub(crate) fn replaced(&self, engine: EngineKind) -> PathBuf {
        self.dir.join(format!("store.old-{engine}"))
    }

    /// Returns an error if the directory is an incomplete copy, or if its store is being moved to another engine.
    pub(crate) fn is_whole(&self) -> Result<(), Incomplete> {
        if present(&self.copying)? {
            return Err(Incomplete::HalfCopied(self.dir.clone()));
        }
        if present(&self.migrating)? { Err(Incomplete::HalfMigrated(self.dir.clone())) } else { Ok(()) }
    }

    /// Returns the keys of the store, created at the first start. Writes nothing if a part is missing.
    pub(crate) fn key(&self, accept_empty: bool) -> Result<StoreKeys, Incomplete> {
        self.is_whole()?;
        // Without its log there is no store, whatever else is in its folder.
        let folder = present(&self.store)?;
        if store::is_made(&self.store)? {
            return match present(&self.key)? {
                true => Ok(StoreKeys::load(&self.key)?),
                false => Err(Incomplete::NoKey { key: self.key.clone(), store: self.store.clone() }),
            };
        }
        if present(&self.note)? && !accept_empty {
            return Err(Incomplete::NoStore { store: self.store.clone(), note: self.note.clone() });
        }
        if present(&self.note)? {
            tracing::warn!(store = %self.store.display(), folder, "starting with an empty store, as requested");
        } else if let Some(earlier) = self.earlier_secret()? {
            tracing::warn!(
                store = %self.store.display(), earlier = %earlier.display(),
                "a new store is made although there is a secret of an earlier one: restore a backup if there was a store"
            );
        }
        Ok(StoreKeys::load_or_create(&self.key)?)
    }

    /// Returns a file of an earlier start that is never kept without its store.
    fn earlier_secret(&self) -> Result<Option<PathBuf>, Incomplete> {
        for path in [self.key.clone(), self.dir.join(TOKEN_SECRET)] {
            if present(&path)? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Returns the keys of a store in a database: created with the store, and shared by all processes that serve it.
    pub(crate) fn database_key(&self, made: bool, accept_empty: bool) -> Result<StoreKeys, Incomplete> {
        self.is_whole()?;
        if store::is_made(&self.store)? {
            return Err(Incomplete::EmbeddedStore { store: self.store.clone() });
        }
        if made {
            return match present(&self.key)? {
                true => Ok(StoreKeys::load(&self.key)?),
                false => Err(Incomplete::NoDatabaseKey { key: self.key.clone() }),
            };
        }
        if present(&self.note)? && !accept_empty {
            return Err(Incomplete::NoDatabase { note: self.note.clone() });
        }
        Ok(StoreKeys::load_or_create(&self.key)?)
    }

    pub(crate) fn make(&self) -> Result<(), Incomplete> {
        fs::create_dir_all(&self.dir).map_err(|source| unreadable(&self.dir, source))
    }

    /// Notes that the store was opened and must exist from now on.
    pub(crate) fn note(&self) -> Result<(), Incomplete> {
        files::write_new(&self.note, NOTE_SAYS).map_err(|source| unreadable(&self.note, source))?;
        Ok(())
    }
}

/// The secret of the HTTP edge, created at the first start.
const TOKEN_SECRET: &str = "token.secret";
/// The folder of the audit trail, unless another one is configured.
const AUDIT: &str = "audit";

/// Copies the files next to a store: keys, settings, and the audit trail. The file `but` is not copied.
pub(crate) fn copy_other_files(from: &Path, to: &Path, but: Option<&Path>) -> Result<(), Incomplete> {
    copy_files(from, to, but)?;
    let (trail, copy) = (from.join(AUDIT), to.join(AUDIT));
    if !trail.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&copy).map_err(|source| unreadable(&copy, source))?;
    copy_files(&trail, &copy, None)
}

fn copy_files(from: &Path, to: &Path, but: Option<&Path>) -> Result<(), Incomplete> {
    for entry in fs::read_dir(from).map_err(|source| unreadable(from, source))? {
        let path = entry.map_err(|source| unreadable(from, source))?.path();
        let Some(name) = path.file_name().filter(|_| path.is_file() && Some(path.as_path()) != but) else { continue };
        let target = to.join(name);
        if present(&target)? {
            // A read-only file of an interrupted copy cannot be overwritten.
            fs::remove_file(&target).map_err(|source| unreadable(&target, source))?;
        }
        let copied = fs::copy(&path, &target).and_then(|_| File::open(&target)?.sync_all());
        copied.map_err(|source| unreadable(&path, source))?;
    }
    files::sync_directory(to).map_err(|source| unreadable(to, source))
}

/// Copies the intact values of a store to a new data directory, together with its key and all other files. Rebuilds the
/// index from the records, continues the numbers of changes above all that are left, and lowers positions of the audit
/// trail to the records that are left. If values were lost, ids are skipped and pending writes are checked, as after a
/// restore. The old directory is unchanged.
pub async fn salvage_data(from: &Path, to: &Path) -> Result<Report, Incomplete> {
    let (old, new) = (DataDir::new(from), DataDir::new(to));
    if present(to)? {
        return Err(Incomplete::Occupied(to.to_path_buf()));
    }
    let keys = StoreKeys::load(&old.key)?;
    fs::create_dir_all(to).map_err(|source| unreadable(to, source))?;
    let salvaged = salvage_into(&old, &new, keys).await;
    if salvaged.is_err() {
        // The result is useless, and the next attempt needs the path.
        let _ = fs::remove_dir_all(to);
    }
    salvaged
}

async fn salvage_into(old: &DataDir, new: &DataDir, keys: StoreKeys) -> Result<Report, Incomplete> {
    // The copy is not part of an incomplete move to another engine.
    copy_other_files(&old.dir, &new.dir, Some(&old.migrating))?;
    let report = salvage::salvage(&old.store, &keys, &new.store, &new.dir.join("salvage")).await?;
    let open = || EmbeddedStore::open(StoreConfig::new(&new.store, keys.clone()));
    let salvaged = open()?;
    follower::repair_numbers(&salvaged, report.is_whole()).await.map_err(into_store_error)?;
    call_changes::repair_positions(&salvaged).await.map_err(into_store_error)?;
    if !report.is_whole() {
        // A lost or older counter would assign ids of existing records again.
        id_pool::repair_counters(&salvaged).await.map_err(into_store_error)?;
        backup::adjust_after_loss(&salvaged, &counters(&id_pool::counter_names())).await?;
    }
    drop(salvaged);
    // A lost block of the index would close the lists of its owner, and a lost change would hide a record.
    let store: Arc<dyn Store> = Arc::new(open()?);
    index::rebuild(&store, clock::now()).await.map_err(into_store_error)?;
    Ok(report)
}

/// Returns the counters of all ids. `names` are those of records (`id_pool::counter_names`).
pub(crate) fn counters(names: &[(String, u64)]) -> Vec<Counter<'_>> {
    let of_records = names.iter().map(|(name, last)| Counter::up_to(*last, name));
    of_records.chain(registry::COUNTERS).collect()
}

fn into_store_error(error: CommitError) -> StoreError {
    match error {
        CommitError::Store(error) => error,
        other => StoreError::Unknown { why: other.to_string() },
    }
}

/// Rewrites the files of the store with live data only. The store must not be served meanwhile.
pub fn compact_data(dir: &Path, progress: impl FnMut(u64, u64)) -> Result<Compacted, Incomplete> {
    let data = DataDir::new(dir);
    data.is_whole()?;
    let keys = StoreKeys::load(&data.key)?;
    Ok(store::compact(&StoreConfig::new(&data.store, keys), progress)?)
}

pub(crate) fn present(path: &Path) -> Result<bool, Incomplete> {
    path.try_exists().map_err(|source| unreadable(path, source))
}

pub(crate) fn unreadable(path: &Path, source: io::Error) -> Incomplete {
    Incomplete::Unreadable { path: path.to_path_buf(), source }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn with_store() -> (tempfile::TempDir, DataDir) {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::new(dir.path());
        data.key(false).unwrap();
        fs::create_dir(&data.store).unwrap();
        fs::write(data.store.join("db"), "log").unwrap();
        data.note().unwrap();
        data.note().unwrap();
        data.key(false).unwrap();
        (dir, data)
    }

    #[test]
    fn secret_of_an_earlier_start_is_found_without_a_store() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::new(dir.path());
        assert_eq!(data.earlier_secret().unwrap(), None);
        let token = dir.path().join(TOKEN_SECRET);
        fs::write(&token, "secret").unwrap();
        assert_eq!(data.earlier_secret().unwrap(), Some(token));
        data.key(false).unwrap();
        assert_eq!(data.earlier_secret().unwrap(), Some(data.key));
    }

    #[test]
    fn missing_store_is_not_taken_for_a_new_one() {
        let (_dir, data) = with_store();
        let key = fs::read(&data.key).unwrap();
        fs::remove_dir_all(&data.store).unwrap();
        let refused = data.key(false).unwrap_err().to_string();
        assert!(refused.contains("is gone") && refused.contains("--accept-empty-store"), "{refused}");
        // The mount point exists, but nothing is mounted.
        fs::create_dir(&data.store).unwrap();
        assert!(matches!(data.key(false), Err(Incomplete::NoStore { .. })));
        fs::write(data.store.join("conf"), "left over").unwrap();
        assert!(matches!(data.key(false), Err(Incomplete::NoStore { .. })));
        assert_eq!(fs::read(&data.key).unwrap(), key, "nothing was written");
        data.key(true).unwrap();
    }

    #[test]
    fn missing_key_is_reported_and_not_replaced() {
        let (_dir, data) = with_store();
        fs::remove_file(&data.key).unwrap();
        for accept_empty in [false, true] {
            let refused = data.key(accept_empty).unwrap_err().to_string();
            assert!(refused.contains("store.key is missing") && refused.contains("backup"), "{refused}");
            assert!(!data.key.exists());
        }
    }

    #[tokio::test]
    async fn salvaged_store_without_a_counter_assigns_no_id_again() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir(&from).unwrap();
        let data = DataDir::new(&from);
        let keys = data.key(false).unwrap();
        let open = |data: &DataDir| {
            let config = StoreConfig { floor_bytes: 0, ..StoreConfig::new(&data.store, keys.clone()) };
            EmbeddedStore::open(config).unwrap()
        };
        let store = open(&data);
        let mut batch = store::Batch::new();
        batch.put(store::keys::snapshot(5), vec![1]);
        store.commit(batch).await.unwrap();
        // The file lacks the new key, so the counter cannot be opened.
        store.sealed().unwrap().use_keys(&keys.and_a_new_one().unwrap());
        let mut batch = store::Batch::new();
        batch.put(store::keys::counter("patient"), 5_u64.to_be_bytes().to_vec());
        store.commit(batch).await.unwrap();
        drop(store);
        assert!(!salvage_data(&from, &to).await.unwrap().is_whole());
        let salvaged = open(&DataDir::new(&to));
        let last = salvaged.get(&store::keys::counter("patient")).unwrap().unwrap();
        assert!(u64::from_be_bytes(last.try_into().unwrap()) >= 10_000_000);
        let location = salvaged.get(&store::keys::restored(5)).unwrap();
        assert!(location.is_some(), "pending writes are looked up before they are sent");
    }

    #[tokio::test]
    async fn store_is_compacted_with_its_key() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::new(dir.path());
        assert!(compact_data(dir.path(), |_, _| {}).is_err(), "there is no store");
        let config = StoreConfig { floor_bytes: 0, ..StoreConfig::new(&data.store, data.key(false).unwrap()) };
        let store = EmbeddedStore::open(config.clone()).unwrap();
        let mut batch = store::Batch::new();
        batch.put(vec![1], vec![7]);
        store.commit(batch).await.unwrap();
        drop(store);
        let mut progress = Vec::new();
        assert_eq!(compact_data(dir.path(), |values, of| progress.push((values, of))).unwrap().values, 1);
        assert_eq!(progress, [(1, 1)]);
        assert_eq!(EmbeddedStore::open(config).unwrap().get(&[1]).unwrap(), Some(vec![7]));
        fs::write(&data.copying, "half a copy").unwrap();
        assert!(matches!(compact_data(dir.path(), |_, _| {}), Err(Incomplete::HalfCopied(_))));
    }

    #[test]
    fn missing_database_and_existing_embedded_store_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::new(dir.path());
        let missing = data.database_key(true, false).unwrap_err().to_string();
        assert!(missing.contains("store.key is missing") && missing.contains("made in"), "{missing}");
        data.database_key(false, false).unwrap();
        data.note().unwrap();
        data.database_key(true, false).unwrap();
        let gone = data.database_key(false, false).unwrap_err().to_string();
        assert!(gone.contains("no store in the database") && gone.contains("--accept-empty-store"), "{gone}");
        data.database_key(false, true).unwrap();
        let (_dir, embedded) = with_store();
        for made in [false, true] {
            let refused = embedded.database_key(made, true).unwrap_err().to_string();
            assert!(refused.contains("store copy") && refused.contains("--to-config"), "{refused}");
        }
    }

    #[test]
    fn directories_without_a_note_are_used() {
        let (_dir, data) = with_store();
        fs::remove_file(&data.note).unwrap();
        data.key(false).unwrap();
    }
}
