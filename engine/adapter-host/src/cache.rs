//! Compiled components on disk, which are native code: a file is used only when it lies in a folder this user alone can write to, was
//! sealed with the folder's own key, and was made of the same component by the same compiler with the same settings. Anything else is
//! compiled again. Only files of the cache's own are ever removed.

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
/// The cache's own folder in the one it is given, and the key in it.
const FOLDER: &str = "compiled";
const KEY: &str = "key";
const COMPILED: &str = ".cwasm";
const DRAFT: &str = ".new";

/// The folder. It is created for this user alone: whoever can write here could as well replace this program.
pub(crate) struct Cache {
    dir: PathBuf,
    key: [u8; 32],
}

impl Cache {
    /// An existing folder is taken only when it is this user's and nobody else can write to it.
    pub(crate) fn open(parent: &Path) -> io::Result<Cache> {
        fs::create_dir_all(parent)?;
        let dir = parent.join(FOLDER);
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => own(&dir)?,
        }
        let key = match fs::read(dir.join(KEY)).ok().and_then(|bytes| bytes.try_into().ok()) {
            Some(key) => key,
            None => new_key(&dir)?,
        };
        Ok(Cache { dir, key })
    }

    /// The compiled component, and whether the cache had it. A cache that cannot be written is worth a warning, not a failure.
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

    /// None when the file is not what was written.
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

    /// Under the file's name, so that none can be put in another's place.
    fn seal(&self, name: &str, compiled: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes keys of any length");
        mac.update(name.as_bytes());
        mac.update(compiled);
        mac
    }

    /// Keeps the newest files; versions of adapters nobody runs any more would otherwise stay for ever.
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

/// A name this cache gives.
fn is_compiled(name: &str) -> bool {
    let digits = name.strip_suffix(COMPILED).filter(|digits| digits.len() == 64);
    digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)))
}

/// Whether a folder is this user's, and nobody else may write to it.
#[cfg(unix)]
fn own(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let folder = fs::symlink_metadata(dir)?;
    let refused = |why: &str| Err(io::Error::other(format!("{}: {why}", dir.display())));
    if !folder.is_dir() {
        return refused("is not a folder");
    }
    // Who we are is what a file of ours belongs to.
    let probe = dir.join(format!("{}{DRAFT}", uuid::Uuid::new_v4()));
    let ours = fs::File::create_new(&probe).and_then(|file| file.metadata()).map(|file| file.uid());
    // Best effort: what stays is empty, and its name nobody's.
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
fn own(_: &Path) -> io::Result<()> {
    Ok(())
}

fn new_key(dir: &Path) -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
    write_whole(dir, KEY, &[&key])?;
    Ok(key)
}

/// The whole file or none of it, for this user alone.
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
        // Best effort: the error worth reporting is the first one.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Of the component and of all that decides what it is compiled to.
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
    // SAFETY: `compiled` is what `precompile_component` just returned, or what it returned to an earlier run of this program: the
    // file sits in a folder that was seen to be this user's and closed to others, named by the hash of component, compiler and settings,
    // and carries a seal over name and content by a key that only this user can read. wasmtime itself checks version and settings once
    // more.
    unsafe { Component::deserialize(engine, compiled) }
}
