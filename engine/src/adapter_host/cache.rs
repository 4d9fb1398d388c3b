//! Compiled components on disk. A file is used only when its own hash holds and it was made of the same component by the same
//! compiler with the same settings; anything else is compiled again.

use std::{
    fs,
    hash::{Hash, Hasher},
    io::{self, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use sha2::{Digest, Sha256};
use wasmtime::{Engine, component::Component};

use super::limits::CACHED_COMPONENTS;

const MAGIC: &[u8] = b"practice-sync compiled component 1\n";
const HASH: usize = 32;

/// The folder. It is created for this user alone: whoever can write here could as well replace this program.
#[derive(Debug)]
pub struct Cache {
    dir: PathBuf,
}

impl Cache {
    pub fn open(dir: &Path) -> io::Result<Cache> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir)?;
        Ok(Cache { dir: dir.to_path_buf() })
    }

    /// The compiled component, and whether the cache had it. A cache that cannot be written is worth a warning, not a failure.
    pub fn component(&self, engine: &Engine, bytes: &[u8]) -> wasmtime::Result<(Component, bool)> {
        let path = self.dir.join(format!("{}.cwasm", key(engine, bytes)));
        match read(&path) {
            Ok(Some(compiled)) => match deserialize(engine, &compiled) {
                Ok(component) => return Ok((component, true)),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "compiled component refused, compiling again")
                }
            },
            Ok(None) => tracing::warn!(path = %path.display(), "compiled component is damaged, compiling again"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(path = %path.display(), %error, "compiled component cannot be read"),
        }
        let compiled = engine.precompile_component(bytes)?;
        if let Err(error) = self.write(&path, &compiled) {
            tracing::warn!(path = %path.display(), %error, "compiled component cannot be kept");
        }
        Ok((deserialize(engine, &compiled)?, false))
    }

    fn write(&self, path: &Path, compiled: &[u8]) -> io::Result<()> {
        let beside = self.dir.join(format!("{}.new", uuid::Uuid::new_v4()));
        let written = fs::File::create(&beside).and_then(|mut file| {
            file.write_all(MAGIC)?;
            file.write_all(&Sha256::digest(compiled))?;
            file.write_all(compiled)?;
            file.sync_all()?;
            fs::rename(&beside, path)
        });
        if written.is_err() {
            // Best effort: the error worth reporting is the first one.
            let _ = fs::remove_file(&beside);
        }
        written.and_then(|()| self.forget_oldest())
    }

    /// Keeps the newest files; versions of adapters nobody runs any more would otherwise stay for ever.
    fn forget_oldest(&self) -> io::Result<()> {
        let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in self.dir.read_dir()? {
            let entry = entry?;
            files.push((entry.metadata()?.modified()?, entry.path()));
        }
        files.sort();
        let surplus = files.len().saturating_sub(CACHED_COMPONENTS);
        files.iter().take(surplus).try_for_each(|(_, path)| fs::remove_file(path))
    }
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

/// None when the file is not what was written.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = fs::read(path)?;
    let start = MAGIC.len() + HASH;
    if !bytes.starts_with(MAGIC) || bytes.len() < start {
        return Ok(None);
    }
    let compiled = bytes.split_off(start);
    Ok((bytes[MAGIC.len()..] == Sha256::digest(&compiled)[..]).then_some(compiled))
}

#[allow(unsafe_code)]
fn deserialize(engine: &Engine, compiled: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: `compiled` is what `precompile_component` just returned, or what it returned to an earlier run of this program: the
    // file sits in a folder only this user writes to, named by the hash of component, compiler and settings, and its content was
    // compared with the hash written with it. wasmtime itself checks version and settings once more.
    unsafe { Component::deserialize(engine, compiled) }
}
