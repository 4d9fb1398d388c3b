//! Builds the component of an adapter's folder, a crate or an npm package.

use std::path::{Path, PathBuf};

use crate::{
    KitError, MANIFEST_FILE, Manifest, Profile, build_output::BuildOutput, cargo, component::pack, files, npm,
    progress::Progress, stamp,
};

/// A component on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    pub component: PathBuf,
    pub manifest: Manifest,
    pub bytes: u64,
    pub sha256: String,
    /// `false` if nothing had changed.
    pub fresh: bool,
}

/// Builds `out_dir/<id>.wasm` from the adapter in `dir`: with npm if it has a `package.json`, otherwise with cargo and
/// `profile`. Skips the work if the component, its sources and the profile are unchanged. cargo's own files are in
/// `out_dir/build`, shared by all adapters with the same `out_dir`.
pub fn build(
    dir: &Path,
    out_dir: &Path,
    profile: Profile,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Built, KitError> {
    // Without `..` and links: cargo names its crates by such paths, and a stamp names the component by one. Callers
    // that reach a folder by different paths would otherwise remove and rebuild each other's component.
    let dir = dir.canonicalize().map_err(KitError::at(dir))?;
    let manifest = manifest_of(&dir)?;
    files::create_dir(out_dir)?;
    let out_dir = out_dir.canonicalize().map_err(KitError::at(out_dir))?;
    // One process at a time: a second build of the same adapter would remove the component that the first one returns.
    let _lock = files::lock(&out_dir.join(format!("{}.lock", manifest.id)))?;
    let component = out_dir.join(format!("{}.wasm", manifest.id));
    let stamp = out_dir.join(format!("{}.stamp", manifest.id));
    if stamp::holds(&stamp, &component, profile) {
        progress(Progress::UpToDate(&component));
        return built(component, manifest, false);
    }
    // A failed build must leave no file that could be mistaken for its result.
    files::remove(&stamp)?;
    files::remove(&component)?;
    let BuildOutput { component: bare, mut inputs } = if dir.join(npm::PACKAGE).is_file() {
        npm::make(&dir, &out_dir, &manifest.id, progress)?
    } else {
        cargo::make(&dir, &out_dir.join("build"), profile, progress)?
    };
    let packed = pack(&bare, &manifest);
    let packed = packed.map_err(|reason| KitError::NotAnAdapter { path: component.clone(), reason })?;
    files::write_atomic(&component, &packed)?;
    inputs.insert(dir.join(MANIFEST_FILE));
    stamp::write(&stamp, &component, profile, &inputs)?;
    progress(Progress::Wrote(&component));
    built(component, manifest, true)
}

/// Reads the manifest of the adapter in `dir`.
fn manifest_of(dir: &Path) -> Result<Manifest, KitError> {
    let path = dir.join(MANIFEST_FILE);
    Manifest::parse(&files::read_text(&path)?).map_err(|reason| KitError::Manifest { path, reason })
}

fn built(component: PathBuf, manifest: Manifest, fresh: bool) -> Result<Built, KitError> {
    let bytes = files::read(&component)?;
    Ok(Built { component, manifest, bytes: bytes.len() as u64, sha256: files::sha256(&bytes), fresh })
}
