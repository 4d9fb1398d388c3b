//! File access with the path in the error.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use sha2::{Digest, Sha256};

use crate::{InvalidComponent, KitError};

pub fn read(path: &Path) -> Result<Vec<u8>, KitError> {
    fs::read(path).map_err(KitError::at(path))
}

pub fn read_at_most(path: &Path, most: u64) -> Result<Vec<u8>, KitError> {
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    read.map_err(KitError::at(path))?;
    if bytes.len() as u64 > most {
        let reason = InvalidComponent::TooLarge(most).to_string();
        return Err(KitError::NotAnAdapter { path: path.to_path_buf(), reason });
    }
    Ok(bytes)
}

pub fn read_text(path: &Path) -> Result<String, KitError> {
    fs::read_to_string(path).map_err(KitError::at(path))
}

pub fn create_dir(path: &Path) -> Result<(), KitError> {
    fs::create_dir_all(path).map_err(KitError::at(path))
}

/// Writes a file atomically: to a temporary file in the same folder, synced and renamed.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), KitError> {
    let temporary_path = temporary_path(path);
    let written = fs::File::create(&temporary_path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary_path, path)
    });
    if written.is_err() {
        // Best effort: the first error is the one to report.
        let _ = fs::remove_file(&temporary_path);
    }
    written.map_err(KitError::at(path))
}

/// Writes a file below a folder. Creates the folders between them.
pub fn write_below(dir: &Path, name: &str, text: &str) -> Result<(), KitError> {
    let file = dir.join(name);
    file.parent().map_or(Ok(()), create_dir)?;
    write_atomic(&file, text.as_bytes())
}

/// Locks a file, which is created if missing, until the returned handle is dropped.
pub fn lock(path: &Path) -> Result<fs::File, KitError> {
    let locked = fs::File::create(path).and_then(|file| file.lock().map(|()| file));
    locked.map_err(KitError::at(path))
}

/// Removes a file. A missing file is no error.
pub fn remove(path: &Path) -> Result<(), KitError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(KitError::at(path)(error)),
        _ => Ok(()),
    }
}

pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Returns a temporary name unique to each writer, so that two builds never share a half-written file.
fn temporary_path(path: &Path) -> PathBuf {
    static WRITERS: AtomicU32 = AtomicU32::new(0);
    let writer = WRITERS.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}-{writer}.new", std::process::id()));
    path.with_file_name(name)
}
