//! Creates a data directory from a backup. While it is incomplete, a file in it marks it, and it is not served.

use std::{
    fs::{self, File},
    path::Path,
};

use processor::id_pool;
use store::{BackedUp, EmbeddedStore, EngineKind, StoreKeys, backup, files};

use crate::{
    CopyStep, Incomplete,
    copy_data::{embedded, finish},
    data_dir::{DataDir, counters, present, unreadable},
};

const SAYS: &str = "of a backup: it is not whole. Delete this directory and run `practice-sync restore` again.";

/// Reads a whole backup, and verifies it with the key in a folder.
pub fn check_backup(file: &Path, keys: &Path, mut read: impl FnMut(u64)) -> Result<BackedUp, Incomplete> {
    let key = StoreKeys::load(&DataDir::new(keys).key)?;
    Ok(backup::check(file, &key, &mut read)?)
}

/// Creates the data directory `to` from a backup. The folder `keys` contains `store.key`, and `token.secret` if that
/// was kept.
pub async fn restore_data(
    file: &Path,
    keys: &Path,
    to: &Path,
    engine: EngineKind,
    mut progress: impl FnMut(CopyStep),
) -> Result<BackedUp, Incomplete> {
    let (kept, new) = (DataDir::new(keys), DataDir::new(to));
    let taken = || Ok::<bool, Incomplete>(fs::read_dir(to).map_err(|source| unreadable(to, source))?.next().is_some());
    if present(to)? && taken()? {
        return Err(Incomplete::Occupied(to.to_path_buf()));
    }
    let key = StoreKeys::load(&kept.key)?;
    let mut done = 0;
    let whole = backup::check(file, &key, |values| {
        done += values;
        progress(CopyStep::Reading { done });
    })?;
    new.make()?;
    files::replace(&new.copying, SAYS).map_err(|source| unreadable(&new.copying, source))?;
    for name in ["store.key", "token.secret", "audit.key"] {
        let (from, to) = (keys.join(name), to.join(name));
        if present(&from)? {
            let copied = fs::copy(&from, &to).and_then(|_| File::open(&to)?.sync_all());
            copied.map_err(|source| unreadable(&from, source))?;
        }
    }
    let (mut done, all) = (0, whole.values);
    let store = EmbeddedStore::open(embedded(engine, &new.store, &key))?;
    let names = id_pool::counter_names();
    backup::restore(file, &key, &counters(&names), &store, |values| {
        done += values;
        progress(CopyStep::Copying { done: done.min(all), all });
    })
    .await?;
    drop(store);
    finish(&new, to)?;
    files::sync_parent(to).map_err(|source| unreadable(to, source))?;
    Ok(whole)
}
