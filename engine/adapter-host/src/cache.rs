//! A cache of compiled components on disk. They are native code, so a file is used under three conditions. Only this
//! user can write to its folder, it is sealed with the folder's key, and its name matches component, compiler and
//! settings. Otherwise the component is compiled again. The cache removes only files that it created.

use std::{
    fs,
    hash::{Hash, Hasher},
    io::{self, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use wasmtime::{Engine, component::Component};

use super::limits::CACHED_COMPONENTS;

const MAGIC: &[u8] = b"practice-sync compiled component 2\n";
const SEAL: usize = 32;
/// The cache's subfolder of the given folder, and the key in it.
const FOLDER: &str = "compiled";
const KEY: &str = "key";
const COMPILED: &str = ".cwasm";
const DRAFT: &str = ".new";

/// The cache folder. Created for this user only: whatever can write to it could as well replace this program.
pub(crate) struct Cache {
    dir: PathBuf,
    key: [u8; 32],
}

impl Cache {
    /// Opens or creates the folder. An existing one must belong to this user and be writable by no other.
    pub(crate) fn open(parent: &Path) -> io::Result<Cache> {
        fs::create_dir_all(parent)?;
        let dir = parent.join(FOLDER);
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => check_owner(&dir)?,
        }
        let key = match fs::read(dir.join(KEY)).ok().and_then(|bytes| bytes.try_into().ok()) {
            Some(key) => key,
            None => new_key(&dir)?,
        };
        Ok(Cache { dir, key })
    }

    /// Returns the compiled component, and `true` if it came from the cache. A failure to write the cache is only
    /// logged.
    pub(crate) fn component(&self, engine: &Engine, bytes: &[u8]) -> wasmtime::Result<(Component, bool)> {
        let name = format!("{}{COMPILED}", key(engine, bytes));
        let path = self.dir.join(&name);
        match self.read(&name) {
            Ok(Some(compiled)) => match deserialize(engine, &compiled) {
                Ok(component) => return Ok((component, true)),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "compiled component rejected; compiling again")
                }
            },
            Ok(None) => {
                tracing::warn!(path = %path.display(), "compiled component is damaged or foreign; compiling again")
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(path = %path.display(), %error, "compiled component cannot be read"),
        }
        let compiled = engine.precompile_component(bytes)?;
        if let Err(error) = self.write(&name, &compiled) {
            tracing::warn!(path = %path.display(), %error, "compiled component cannot be cached");
        }
        Ok((deserialize(engine, &compiled)?, false))
    }

    /// Returns `None` if the file has been changed.
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = fs::read(self.dir.join(name))?;
        let start = MAGIC.len() + SEAL;
        if !bytes.starts_with(MAGIC) || bytes.len() < start {
            return Ok(None);
        }
        let compiled = bytes.split_off(start);
        Ok(self.seal(name, &compiled).verify_slice(&bytes[MAGIC.len()..]).is_ok().then_some(compiled))
    }

    fn write(&self, name: &str, compiled: &[u8]) -> io::Result<()> {
        let seal = self.seal(name, compiled).finalize().into_bytes();
        write_whole(&self.dir, name, &[MAGIC, &seal, compiled])?;
        self.forget_oldest()
    }

    /// Computes the seal of a file. The seal includes the file name, so that files cannot be swapped.
    fn seal(&self, name: &str, compiled: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes keys of any length");
        mac.update(name.as_bytes());
        mac.update(compiled);
        mac
    }

    /// Keeps the newest files; outdated versions of adapters would otherwise accumulate.
    fn forget_oldest(&self) -> io::Result<()> {
        let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in self.dir.read_dir()? {
            let entry = entry?;
            if entry.file_name().to_str().is_some_and(is_compiled) {
                files.push((entry.metadata()?.modified()?, entry.path()));
            }
        }
        files.sort();
        let surplus = files.len().saturating_sub(CACHED_COMPONENTS);
        files.iter().take(surplus).try_for_each(|(_, path)| fs::remove_file(path))
    }
}

fn is_compiled(name: &str) -> bool {
    let digits = name.strip_suffix(COMPILED).filter(|digits| digits.len() == 64);
    digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)))
}

/// Checks that a folder belongs to this user and is writable by no other.
#[cfg(unix)]
fn check_owner(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let folder = fs::symlink_metadata(dir)?;
    let refused = |why: &str| Err(io::Error::other(format!("{}: {why}", dir.display())));
    if !folder.is_dir() {
        return refused("is not a folder");
    }
    // The owner of a new file is the current user.
    let probe = dir.join(format!("{}{DRAFT}", uuid::Uuid::new_v4()));
    let ours = fs::File::create_new(&probe).and_then(|file| file.metadata()).map(|file| file.uid());
    // Best effort: a leftover is empty, and its name is unique.
    let _ = fs::remove_file(&probe);
    if folder.uid() != ours? {
        return refused("belongs to another user");
    }
    if folder.mode() & 0o022 != 0 {
        return refused("others can write to it");
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_: &Path) -> io::Result<()> {
    Ok(())
}

fn new_key(dir: &Path) -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
    write_whole(dir, KEY, &[&key])?;
    Ok(key)
}

/// Writes a file atomically, readable by this user only.
fn write_whole(dir: &Path, name: &str, parts: &[&[u8]]) -> io::Result<()> {
    let beside = dir.join(format!("{}{DRAFT}", uuid::Uuid::new_v4()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&beside).and_then(|mut file| {
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.sync_all()?;
        fs::rename(&beside, dir.join(name))
    });
    if written.is_err() {
        // Best effort: the first error is the one to report.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Returns the hash of the component and of everything that affects its compilation.
fn key(engine: &Engine, bytes: &[u8]) -> String {
    struct Digesting(Sha256);
    impl Hasher for Digesting {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0 // The whole digest is taken below.
        }
    }
    let mut digest = Digesting(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut digest);
    digest.0.update(bytes);
    hex::encode(digest.0.finalize())
}

#[allow(unsafe_code)]
fn deserialize(engine: &Engine, compiled: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: `compiled` was returned by `precompile_component`, now or in an earlier run of this program. Its folder
    // belongs to this user and is closed to others. Its name is the hash of component, compiler and settings. A seal
    // over name and content uses a key that only this user can read. wasmtime itself checks version and settings once
    // more.
    unsafe { Component::deserialize(engine, compiled) }
}
