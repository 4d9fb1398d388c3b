//! Copies a data directory, whose store may change to another engine or to a database. While the copy is incomplete, a
//! file in the new directory marks it, and it is not served. The old directory is only read.

use std::{fs, io, path::Path};

use setup::Setup;
use store::{
    EmbeddedStore, EngineKind, Store, StoreConfig, StoreKeys,
    copy::{self, Contents},
    files,
    postgres::{
        PostgresStore,
        filling::{self, Begun},
    },
};

use crate::{
    Incomplete,
    data_dir::{DataDir, copy_other_files, present, unreadable},
    database,
};

/// The progress of a copy: values done, of all values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyStep {
    /// The whole backup is read and verified before it is used.
    Reading {
        done: u64,
    },
    Copying {
        done: u64,
        all: u64,
    },
    /// Both stores are read and compared.
    Comparing {
        done: u64,
        all: u64,
    },
    /// The copy replaces the store, in two steps.
    Replacing {
        done: u64,
    },
}

/// Free disk space below which work on a store that is not served ends with an error instead of aborting the process.
const ROOM_LEFT: u64 = 64 << 20;

/// Copies `from` to `to`, or continues an interrupted copy. Neither may be served meanwhile.
pub async fn copy_data(
    from: &Path,
    to: &Path,
    engine: EngineKind,
    progress: impl FnMut(CopyStep),
) -> Result<Contents, Incomplete> {
    let (old, new) = (DataDir::new(from), DataDir::new(to));
    let (key, source) = embedded_source(&old)?;
    begin(from, &old, to, &new, &format!("{}, to {engine}", source.state))?;
    into_embedded(&source, embedded(engine, &new.store, &key), &new, to, progress).await
}

/// Copies into the database of a setup, whose data directory is `to`.
pub async fn copy_to_database(
    from: &Path,
    setup: &Setup,
    to: &Path,
    mut progress: impl FnMut(CopyStep),
) -> Result<Contents, Incomplete> {
    let (old, new) = (DataDir::new(from), DataDir::new(to));
    let (key, source) = embedded_source(&old)?;
    let (config, state) = (database::config(&setup.engine.database)?, format!("{}, to a database", source.state));
    let continues = begin(from, &old, to, &new, &state)?;
    let begun = filling::begin(&config, &key, &state).await?;
    let done = filling::count(&config).await?;
    // An earlier run may have ended between the end of the copy and that of the new directory.
    let is_complete = begun == Begun::Occupied && continues && done == source.values;
    if begun == Begun::Occupied && !is_complete {
        return Err(Incomplete::OccupiedDatabase);
    }
    let open = || PostgresStore::open_to_fill(&config, &key, database::owners_of(setup));
    if !is_complete {
        transfer(&source, &open()?, done, &mut progress).await?;
    }
    // Reopened, the store knows the number with which its feed continues.
    let copied = compare(&source, &open()?, to, &mut progress)?;
    filling::end(&config).await?;
    finish(&new, to)?;
    Ok(copied)
}

/// Copies from the database of a setup, whose data directory is `from`.
pub async fn copy_from_database(
    setup: &Setup,
    from: &Path,
    to: &Path,
    engine: EngineKind,
    progress: impl FnMut(CopyStep),
) -> Result<Contents, Incomplete> {
    let (old, new) = (DataDir::new(from), DataDir::new(to));
    let config = database::config(&setup.engine.database)?;
    let key = old.database_key(true, false)?;
    let store = PostgresStore::open(&config, &key, database::owners_of(setup))?;
    let (values, reached) = (filling::count(&config).await?, store.feed_end(None)?);
    let state = format!("of a database of {values} values, its feed at {reached}");
    let source = Source { store: Box::new(store), values, state };
    begin(from, &old, to, &new, &format!("{}, to {engine}", source.state))?;
    into_embedded(&source, embedded(engine, &new.store, &key), &new, to, progress).await
}

async fn into_embedded(
    source: &Source,
    target: StoreConfig,
    new: &DataDir,
    to: &Path,
    mut progress: impl FnMut(CopyStep),
) -> Result<Contents, Incomplete> {
    let copied = fill(source, &target, &mut progress).await?;
    finish(new, to)?;
    Ok(copied)
}

/// Fills a store, or continues to fill it. Then opens it again and compares it with the source.
pub(crate) async fn fill(
    source: &Source,
    target: &StoreConfig,
    progress: &mut impl FnMut(CopyStep),
) -> Result<Contents, Incomplete> {
    let store = EmbeddedStore::open(target.clone())?;
    let done = store.values()?;
    transfer(source, &store, done, progress).await?;
    drop(store);
    let filled = EmbeddedStore::open(target.clone())?;
    compare(source, &filled, &target.dir, progress)
}

/// The store to copy.
pub(crate) struct Source {
    store: Box<dyn Store>,
    values: u64,
    /// Identifies the contents. If the source was served in between, an incomplete copy is discarded.
    pub state: String,
}

impl Source {
    pub(crate) fn from_store(store: EmbeddedStore, engine: EngineKind) -> Result<Source, Incomplete> {
        let (values, state) = (store.values()?, format!("of {engine} at group {}", store.groups()));
        Ok(Source { store: Box::new(store), values, state })
    }
}

fn embedded_source(old: &DataDir) -> Result<(StoreKeys, Source), Incomplete> {
    old.is_whole()?;
    let Some(of) = store::engine_of(&old.store)? else {
        return Err(Incomplete::NoStoreYet(old.store.clone()));
    };
    let key = StoreKeys::load(&old.key)?;
    let store = EmbeddedStore::open(embedded(of, &old.store, &key))?;
    Ok((key, Source::from_store(store, of)?))
}

/// Returns the options for a store that is not served.
pub(crate) fn embedded(engine: EngineKind, dir: &Path, key: &StoreKeys) -> StoreConfig {
    StoreConfig { engine, floor_bytes: ROOM_LEFT, ..StoreConfig::new(dir, key.clone()) }
}

async fn transfer(
    source: &Source,
    target: &dyn Store,
    mut done: u64,
    progress: &mut impl FnMut(CopyStep),
) -> Result<(), Incomplete> {
    let all = source.values;
    progress(CopyStep::Copying { done, all });
    copy::copy(&*source.store, target, |values| {
        done += values;
        progress(CopyStep::Copying { done: done.min(all), all });
    })
    .await?;
    Ok(())
}

fn compare(
    source: &Source,
    target: &dyn Store,
    to: &Path,
    progress: &mut impl FnMut(CopyStep),
) -> Result<Contents, Incomplete> {
    let (mut done, all) = (0, source.values);
    let mut compared = |values| {
        done += values;
        progress(CopyStep::Comparing { done, all: 2 * all });
    };
    let (was, is) = (copy::contents(&*source.store, &mut compared)?, copy::contents(target, &mut compared)?);
    if was != is || was.values != all {
        return Err(Incomplete::CopyDiffers { dir: to.to_path_buf(), was: was.values, is: is.values });
    }
    Ok(is)
}

/// Ends the creation of a data directory, which is served from now on.
pub(crate) fn finish(new: &DataDir, to: &Path) -> Result<(), Incomplete> {
    new.note()?;
    fs::remove_file(&new.copying).map_err(|source| unreadable(&new.copying, source))?;
    files::sync_directory(to).map_err(|source| unreadable(to, source))
}

/// Prepares the new directory for a continued copy, or for a new one if the old directory has changed. Returns `true`
/// for a continued copy.
fn begin(from: &Path, old: &DataDir, to: &Path, new: &DataDir, state: &str) -> Result<bool, Incomplete> {
    let mut continues = false;
    if present(&new.copying)? {
        let begun = fs::read_to_string(&new.copying).map_err(|source| unreadable(&new.copying, source))?;
        continues = begun.trim_end() == state;
        if !continues && present(&new.store)? {
            fs::remove_dir_all(&new.store).map_err(|source| unreadable(&new.store, source))?;
        }
    } else if present(to)? && !is_empty(to).map_err(|source| unreadable(to, source))? {
        return Err(Incomplete::Occupied(to.to_path_buf()));
    }
    fs::create_dir_all(to).map_err(|source| unreadable(to, source))?;
    files::replace(&new.copying, state).map_err(|source| unreadable(&new.copying, source))?;
    // Also for a continued copy, which may have been interrupted among these files.
    copy_other_files(from, to, Some(&old.note))?;
    files::sync_directory(to).and_then(|()| files::sync_parent(to)).map_err(|source| unreadable(to, source))?;
    Ok(continues)
}

fn is_empty(dir: &Path) -> io::Result<bool> {
    Ok(fs::read_dir(dir)?.next().is_none())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::{os::unix::fs::PermissionsExt, path::PathBuf};

    use store::{Batch, Direction, KeyRange, Store, StoreError, keys};

    use super::*;

    struct World {
        _dir: tempfile::TempDir,
        from: PathBuf,
        to: PathBuf,
    }

    /// Creates a data directory with 2,500 values, and the path of the copy.
    async fn world(engine: EngineKind) -> World {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir(&from).unwrap();
        let data = DataDir::new(&from);
        let key = data.key(false).unwrap();
        fs::write(from.join("token.secret"), "secret").unwrap();
        let store = open(&data, engine, key);
        let mut batch = Batch::new();
        for n in 0..2_500u64 {
            batch.put(keys::record(1, 1, n), vec![n as u8; if n.is_multiple_of(500) { 9_000 } else { 50 }]);
        }
        store.commit(batch).await.unwrap();
        data.note().unwrap();
        World { _dir: dir, from, to }
    }

    fn open(data: &DataDir, engine: EngineKind, key: StoreKeys) -> EmbeddedStore {
        EmbeddedStore::open(StoreConfig { engine, floor_bytes: 0, ..StoreConfig::new(&data.store, key) }).unwrap()
    }

    fn values(dir: &Path, engine: EngineKind) -> Vec<(Vec<u8>, Vec<u8>)> {
        let data = DataDir::new(dir);
        let store = open(&data, engine, data.key(false).unwrap());
        store.scan(KeyRange::prefix(&[]), Direction::Forward, usize::MAX).unwrap()
    }

    #[tokio::test]
    async fn store_is_copied_to_another_engine_and_back() {
        let World { _dir, from, to } = world(EngineKind::Sled).await;
        let mut steps = Vec::new();
        let copied = copy_data(&from, &to, EngineKind::Fjall, |step| steps.push(step)).await.unwrap();
        assert_eq!(copied.values, 2_500);
        assert_eq!(steps.first(), Some(&CopyStep::Copying { done: 0, all: 2_500 }));
        assert_eq!(steps.last(), Some(&CopyStep::Comparing { done: 5_000, all: 5_000 }));
        assert_eq!(values(&to, EngineKind::Fjall), values(&from, EngineKind::Sled));
        assert_eq!(fs::read_to_string(to.join("token.secret")).unwrap(), "secret");
        assert!(DataDir::new(&to).note.exists());
        let back = to.with_file_name("back");
        copy_data(&to, &back, EngineKind::Sled, |_| {}).await.unwrap();
        assert_eq!(values(&back, EngineKind::Sled), values(&from, EngineKind::Sled));
        assert!(matches!(copy_data(&from, &to, EngineKind::Fjall, |_| {}).await, Err(Incomplete::Occupied(_))));
    }

    #[tokio::test]
    async fn incomplete_copy_is_not_served_and_can_be_continued() {
        let World { _dir, from, to } = world(EngineKind::Sled).await;
        // Interrupted when the first values are reported.
        let broken_off = {
            let (from, to) = (from.clone(), to.clone());
            let halt = |step| assert!(!matches!(step, CopyStep::Copying { done: 1.., .. }), "power cut");
            tokio::spawn(async move { copy_data(&from, &to, EngineKind::Fjall, halt).await.is_ok() })
        };
        assert!(broken_off.await.unwrap_err().is_panic());
        let refused = DataDir::new(&to).key(false).unwrap_err().to_string();
        assert!(refused.contains("store copy") && refused.contains("not whole"), "{refused}");
        assert!(copy_data(&to, &to.with_file_name("third"), EngineKind::Sled, |_| {}).await.is_err());
        let mut steps = Vec::new();
        copy_data(&from, &to, EngineKind::Fjall, |step| steps.push(step)).await.unwrap();
        assert_eq!(steps[0], CopyStep::Copying { done: 1_000, all: 2_500 }, "not from the beginning");
        assert_eq!(values(&to, EngineKind::Fjall), values(&from, EngineKind::Sled));
    }

    #[tokio::test]
    async fn copy_interrupted_among_the_other_files_is_continued_with_them() {
        let World { _dir, from, to } = world(EngineKind::Sled).await;
        let (old, new) = (DataDir::new(&from), DataDir::new(&to));
        let (_, source) = embedded_source(&old).unwrap();
        fs::create_dir(&to).unwrap();
        files::replace(&new.copying, &format!("{}, to fjall", source.state)).unwrap();
        drop(source);
        fs::write(to.join("token.secret"), "sec").unwrap();
        fs::set_permissions(to.join("token.secret"), fs::Permissions::from_mode(0o400)).unwrap();
        copy_data(&from, &to, EngineKind::Fjall, |_| {}).await.unwrap();
        assert_eq!(fs::read_to_string(to.join("token.secret")).unwrap(), "secret");
        assert_eq!(values(&to, EngineKind::Fjall), values(&from, EngineKind::Sled));
    }

    #[tokio::test]
    async fn store_served_in_between_is_copied_from_the_beginning() {
        let World { _dir, from, to } = world(EngineKind::Fjall).await;
        let halted = {
            let (from, to) = (from.clone(), to.clone());
            let halt = |step| assert!(!matches!(step, CopyStep::Copying { done: 1.., .. }), "power cut");
            tokio::spawn(async move { copy_data(&from, &to, EngineKind::Sled, halt).await.is_ok() })
        };
        assert!(halted.await.is_err());
        let data = DataDir::new(&from);
        let store = open(&data, EngineKind::Fjall, data.key(false).unwrap());
        let mut batch = Batch::new();
        batch.put(keys::record(1, 1, 0), b"changed".to_vec());
        store.commit(batch).await.unwrap();
        let served = copy_data(&from, &to, EngineKind::Sled, |_| {}).await.unwrap_err();
        assert!(matches!(served, Incomplete::Store(StoreError::Locked { .. })), "{served}");
        drop(store);
        let mut steps = Vec::new();
        copy_data(&from, &to, EngineKind::Sled, |step| steps.push(step)).await.unwrap();
        assert_eq!(steps[0], CopyStep::Copying { done: 0, all: 2_500 });
        assert_eq!(values(&to, EngineKind::Sled), values(&from, EngineKind::Fjall));
    }
}
