//! Moves the store of a data directory to another embedded engine. The new store is filled in a separate folder and
//! compared with the old one, which is only read. Two renames then replace the old store, which is kept. Until both are
//! durable, a marker exists: the directory is not served, and another run continues.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use store::{DirectoryLock, EmbeddedStore, EngineKind, StoreKeys, copy::Contents, files, free_bytes};

use crate::{
    CopyStep, Incomplete,
    copy_data::{Source, embedded, fill},
    data_dir::{DataDir, present, unreadable},
};

/// Disk space that a new store needs in addition to its values: fjall's journal, and the floor of commits.
const OVERHEAD: u64 = 256 << 20;
/// Size of small values on sled per byte on fjall, as measured with bookings.
const SLED_PER_FJALL: u64 = 4;

/// The result of a move.
#[derive(Debug)]
pub enum Migrated {
    Moved {
        /// The contents of both stores. `None` if an earlier run compared them.
        copied: Option<Contents>,
        /// The folder of the old store.
        old: PathBuf,
    },
    /// The store is of this engine. An incomplete move to another one was cancelled.
    Unchanged,
}

/// Moves the store in `dir` to another engine, or continues an interrupted move. Returns an error if the store is open
/// in another process.
pub async fn migrate_store(
    dir: &Path,
    to: EngineKind,
    mut progress: impl FnMut(CopyStep),
) -> Result<Migrated, Incomplete> {
    let data = DataDir::new(dir);
    if present(&data.copying)? {
        return Err(Incomplete::HalfCopied(dir.to_path_buf()));
    }
    let begun = Marker::read(&data.migrating)?;
    if let Some(begun) = begun.as_ref().filter(|begun| begun.replacing) {
        let old = data.replaced(begun.from);
        // The lock moved with the old store.
        let _lock = DirectoryLock::claim(if present(&old)? { &old } else { &data.store })?;
        replace(&data, &old, &mut progress)?;
        if begun.to == to {
            return Ok(Migrated::Moved { copied: None, old });
        }
    }
    let Some(from) = store::engine_of(&data.store)? else {
        return Err(Incomplete::NoStoreYet(data.store));
    };
    if from == to {
        let _lock = DirectoryLock::claim(&data.store)?;
        discard(&data.next)?;
        end(&data)?;
        return Ok(Migrated::Unchanged);
    }
    let old = data.replaced(from);
    if present(&old)? {
        return Err(Incomplete::OldStore(old));
    }
    is_movable(dir, &data.store)?;
    let keys = StoreKeys::load(&data.key)?;
    let store = EmbeddedStore::open(embedded(from, &data.store, &keys))?;
    // Held until the store is replaced, so that no process can serve the old one in between.
    let _lock = store.directory_lock();
    let source = Source::from_store(store, from)?;
    let marker = Marker { replacing: false, from, to, state: source.state.clone() };
    let continues = begun.as_ref() == Some(&marker);
    if !continues {
        discard(&data.next)?;
    }
    has_room(dir, &data, (from, to))?;
    if !continues {
        marker.write(&data.migrating)?;
    }
    let copied = fill(&source, &embedded(to, &data.next, &keys), &mut progress).await?;
    drop(source);
    Marker { replacing: true, ..marker }.write(&data.migrating)?;
    progress(CopyStep::Replacing { done: 0 });
    replace(&data, &old, &mut progress)?;
    Ok(Migrated::Moved { copied: Some(copied), old })
}

/// The content of the marker: the phase of a move, its engines, and the state of the copied store.
#[derive(PartialEq, Eq)]
struct Marker {
    /// `true` if the copy is complete, and replaces the store.
    replacing: bool,
    from: EngineKind,
    to: EngineKind,
    state: String,
}

impl Marker {
    fn read(path: &Path) -> Result<Option<Marker>, Incomplete> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(path, error)),
        };
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, "is not the marker of a move");
        Marker::parse(&text).map(Some).ok_or_else(|| unreadable(path, invalid()))
    }

    fn parse(text: &str) -> Option<Marker> {
        let (head, state) = text.trim_end().split_once('\n')?;
        let mut words = head.split(' ');
        let replacing = match words.next()? {
            "copying" => false,
            "replacing" => true,
            _ => return None,
        };
        let (from, to) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Marker { replacing, from, to, state: state.to_owned() })
    }

    fn write(&self, path: &Path) -> Result<(), Incomplete> {
        let Marker { replacing, from, to, state } = self;
        let phase = if *replacing { "replacing" } else { "copying" };
        files::replace(path, &format!("{phase} {from} {to}\n{state}")).map_err(|source| unreadable(path, source))
    }
}

/// Replaces the store with its complete copy, and ends the move. Each step is durable, and is skipped if an earlier run
/// has done it.
fn replace(data: &DataDir, old: &Path, progress: &mut impl FnMut(CopyStep)) -> Result<(), Incomplete> {
    if present(&data.next)? {
        if present(&data.store)? {
            rename(&data.store, old)?;
            progress(CopyStep::Replacing { done: 1 });
        }
        rename(&data.next, &data.store)?;
        progress(CopyStep::Replacing { done: 2 });
    }
    end(data)
}

fn rename(from: &Path, to: &Path) -> Result<(), Incomplete> {
    fs::rename(from, to).and_then(|()| files::sync_parent(to)).map_err(|source| unreadable(from, source))
}

/// Removes the marker, if any.
fn end(data: &DataDir) -> Result<(), Incomplete> {
    if !present(&data.migrating)? {
        return Ok(());
    }
    let removed = fs::remove_file(&data.migrating).and_then(|()| files::sync_parent(&data.migrating));
    removed.map_err(|source| unreadable(&data.migrating, source))
}

/// Deletes an incomplete copy, if any.
fn discard(copy: &Path) -> Result<(), Incomplete> {
    if present(copy)? {
        fs::remove_dir_all(copy).map_err(|source| unreadable(copy, source))?;
    }
    Ok(())
}

/// Returns an error if the folder of the store cannot be renamed.
fn is_movable(dir: &Path, store: &Path) -> Result<(), Incomplete> {
    let parent = fs::metadata(dir).map_err(|source| unreadable(dir, source))?;
    let folder = fs::symlink_metadata(store).map_err(|source| unreadable(store, source))?;
    if folder.is_symlink() || folder.dev() != parent.dev() {
        return Err(Incomplete::MountedStore(store.to_path_buf()));
    }
    Ok(())
}

/// Returns an error if the copy may not fit on the disk.
fn has_room(dir: &Path, data: &DataDir, (from, to): (EngineKind, EngineKind)) -> Result<(), Incomplete> {
    let bytes_of = |folder: &Path| files::bytes_below(folder).map_err(|source| unreadable(folder, source));
    let growth = if (from, to) == (EngineKind::Fjall, EngineKind::Sled) { SLED_PER_FJALL } else { 1 };
    let whole = bytes_of(&data.store)?.saturating_mul(growth).saturating_add(OVERHEAD);
    let needed = whole.saturating_sub(bytes_of(&data.next)?);
    let free = free_bytes(dir).map_err(|source| unreadable(dir, source))?;
    if free < needed {
        return Err(Incomplete::NoRoom { dir: dir.to_path_buf(), needed: needed >> 20, free: free >> 20 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs::File;

    use store::{Batch, Store, StoreError, copy, keys};

    use super::*;

    /// Creates a data directory with 2,500 values, some of them in several chunks on sled, and two numbered changes.
    async fn world(engine: EngineKind) -> (tempfile::TempDir, PathBuf) {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().join("data");
        fs::create_dir(&dir).unwrap();
        let data = DataDir::new(&dir);
        let store = open(&data, &data.key(false).unwrap(), engine);
        let mut batch = Batch::new();
        for n in 0..2_500u64 {
            batch.put(keys::record(1, 1, n), vec![n as u8; if n.is_multiple_of(500) { 9_000 } else { 50 }]);
        }
        batch.append(7, vec![1]).append(7, vec![2]);
        store.commit(batch).await.unwrap();
        data.note().unwrap();
        (temporary, dir)
    }

    fn open(data: &DataDir, keys: &StoreKeys, engine: EngineKind) -> EmbeddedStore {
        EmbeddedStore::open(embedded(engine, &data.store, keys)).unwrap()
    }

    /// Opens the store as a start does, and returns its contents.
    fn contents(dir: &Path, engine: EngineKind) -> Contents {
        let data = DataDir::new(dir);
        copy::contents(&open(&data, &data.key(false).unwrap(), engine), |_| {}).unwrap()
    }

    /// Moves the store to fjall, and interrupts the move at the first step that matches.
    async fn interrupted(dir: &Path, at: fn(CopyStep) -> bool) {
        let (dir, halt) = (dir.to_path_buf(), move |step| assert!(!at(step), "power cut"));
        let moved = tokio::spawn(async move { migrate_store(&dir, EngineKind::Fjall, halt).await.is_ok() });
        assert!(moved.await.unwrap_err().is_panic());
    }

    fn is_copying(step: CopyStep) -> bool {
        matches!(step, CopyStep::Copying { done: 1.., .. })
    }

    #[tokio::test]
    async fn store_is_moved_to_another_engine_and_back() {
        let (_temporary, dir) = world(EngineKind::Sled).await;
        let before = contents(&dir, EngineKind::Sled);
        assert_eq!(before.values, 2_502);
        let old = |engine: &str| dir.join(format!("store.old-{engine}"));
        let moved = migrate_store(&dir, EngineKind::Fjall, |_| {}).await.unwrap();
        assert!(
            matches!(&moved, Migrated::Moved { copied: Some(copied), old: kept }
            if *copied == before && *kept == old("sled")),
            "{moved:?}"
        );
        assert_eq!(contents(&dir, EngineKind::Fjall), before);
        assert_eq!(store::engine_of(&old("sled")).unwrap(), Some(EngineKind::Sled));
        assert!(matches!(migrate_store(&dir, EngineKind::Fjall, |_| {}).await.unwrap(), Migrated::Unchanged));
        migrate_store(&dir, EngineKind::Sled, |_| {}).await.unwrap();
        assert_eq!(contents(&dir, EngineKind::Sled), before);
        assert_eq!(store::engine_of(&old("fjall")).unwrap(), Some(EngineKind::Fjall));

        let refused = migrate_store(&dir, EngineKind::Fjall, |_| {}).await.unwrap_err();
        assert!(matches!(&refused, Incomplete::OldStore(kept) if *kept == old("sled")), "{refused}");
        assert_eq!(contents(&dir, EngineKind::Sled), before, "nothing has changed");
    }

    #[tokio::test]
    async fn interrupted_move_is_not_served_and_continues_after_every_step() {
        let stops: [fn(CopyStep) -> bool; 5] = [
            is_copying,
            |step| matches!(step, CopyStep::Comparing { .. }),
            |step| step == CopyStep::Replacing { done: 0 },
            |step| step == CopyStep::Replacing { done: 1 },
            |step| step == CopyStep::Replacing { done: 2 },
        ];
        for (number, stop) in stops.into_iter().enumerate() {
            let (_temporary, dir) = world(EngineKind::Sled).await;
            let before = contents(&dir, EngineKind::Sled);
            interrupted(&dir, stop).await;
            let refused = DataDir::new(&dir).key(false).unwrap_err().to_string();
            assert!(refused.contains("not complete") && refused.contains("store migrate"), "{number}: {refused}");
            let mut steps = Vec::new();
            migrate_store(&dir, EngineKind::Fjall, |step| steps.push(step)).await.unwrap();
            let copies_all = steps.iter().any(|step| matches!(step, CopyStep::Copying { done: 0, .. }));
            assert!(!copies_all, "{number}: not from the beginning");
            assert_eq!(contents(&dir, EngineKind::Fjall), before, "{number}");
            assert_eq!(store::engine_of(&dir.join("store.old-sled")).unwrap(), Some(EngineKind::Sled), "{number}");
            assert!(!dir.join("store.next").exists(), "{number}");
        }
    }

    #[tokio::test]
    async fn store_changed_in_between_is_copied_from_the_beginning() {
        let (_temporary, dir) = world(EngineKind::Sled).await;
        interrupted(&dir, is_copying).await;
        let data = DataDir::new(&dir);
        let store = open(&data, &StoreKeys::load(&data.key).unwrap(), EngineKind::Sled);
        let mut batch = Batch::new();
        batch.put(keys::record(1, 1, 0), b"changed".to_vec());
        store.commit(batch).await.unwrap();
        let served = migrate_store(&dir, EngineKind::Fjall, |_| {}).await.unwrap_err();
        assert!(matches!(served, Incomplete::Store(StoreError::Locked { .. })), "{served}");
        let after = copy::contents(&store, |_| {}).unwrap();
        drop(store);
        let mut steps = Vec::new();
        migrate_store(&dir, EngineKind::Fjall, |step| steps.push(step)).await.unwrap();
        assert!(matches!(steps[0], CopyStep::Copying { done: 0, .. }), "{:?}", steps[0]);
        assert_eq!(contents(&dir, EngineKind::Fjall), after);
    }

    #[tokio::test]
    async fn incomplete_move_is_cancelled_with_the_engine_of_the_store() {
        let (_temporary, dir) = world(EngineKind::Sled).await;
        let before = contents(&dir, EngineKind::Sled);
        interrupted(&dir, is_copying).await;
        assert!(matches!(migrate_store(&dir, EngineKind::Sled, |_| {}).await.unwrap(), Migrated::Unchanged));
        assert_eq!(contents(&dir, EngineKind::Sled), before);
        assert!(!dir.join("store.next").exists());
    }

    #[tokio::test]
    async fn move_that_cannot_complete_is_refused_before_it_begins() {
        let (_temporary, dir) = world(EngineKind::Fjall).await;
        let data = DataDir::new(&dir);
        let refused = async |to| migrate_store(&dir, to, |_| {}).await.unwrap_err();

        // A sparse file.
        let large = data.store.join("large");
        File::create(&large).unwrap().set_len(1 << 43).unwrap();
        let full = refused(EngineKind::Sled).await;
        assert!(matches!(full, Incomplete::NoRoom { .. }), "{full}");
        fs::remove_file(large).unwrap();

        let elsewhere = dir.join("elsewhere");
        fs::rename(&data.store, &elsewhere).unwrap();
        let missing = refused(EngineKind::Sled).await;
        assert!(matches!(missing, Incomplete::NoStoreYet(_)), "{missing}");
        std::os::unix::fs::symlink(&elsewhere, &data.store).unwrap();
        let linked = refused(EngineKind::Sled).await;
        assert!(matches!(linked, Incomplete::MountedStore(_)), "{linked}");
        fs::remove_file(&data.store).unwrap();
        fs::rename(&elsewhere, &data.store).unwrap();
        data.key(false).unwrap();

        fs::write(&data.migrating, "copying\n").unwrap();
        let unknown = refused(EngineKind::Sled).await;
        assert!(matches!(unknown, Incomplete::Unreadable { .. }), "{unknown}");
        fs::write(&data.copying, "").unwrap();
        let copied = refused(EngineKind::Sled).await;
        assert!(matches!(copied, Incomplete::HalfCopied(_)), "{copied}");
    }
}
