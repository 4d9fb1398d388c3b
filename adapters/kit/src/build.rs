//! From an adapter's crate to its component.

use std::path::{Path, PathBuf};

use crate::{
    KitError, MANIFEST_FILE, Manifest,
    command::run,
    component::{encode, pack},
    files, find,
    progress::Progress,
    stamp,
    toolchain::{self, TARGET, Toolchain},
};

/// Settings of the release build, whatever the crate's own profile says. Speed over size: a component is compiled once and cached.
const PROFILE: [&str; 6] = [
    "profile.release.opt-level=3",
    "profile.release.lto=\"thin\"",
    "profile.release.codegen-units=1",
    "profile.release.panic=\"abort\"",
    "profile.release.debug=false",
    "profile.release.strip=\"debuginfo\"",
];

/// A component on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    pub component: PathBuf,
    pub manifest: Manifest,
    pub bytes: u64,
    pub sha256: String,
    /// False when nothing had changed.
    pub fresh: bool,
}

/// Makes `out_dir/<id>.wasm` of the adapter crate in `dir`. Skips the work when neither it nor any of its sources changed.
/// cargo's own files go to `out_dir/build`, shared by all adapters built into `out_dir`.
pub fn build(dir: &Path, out_dir: &Path, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Built, KitError> {
    // Without `..` and links: cargo names its crates by such paths.
    let dir = dir.canonicalize().map_err(KitError::at(dir))?;
    let out_dir = std::path::absolute(out_dir).map_err(KitError::at(out_dir))?;
    let manifest = manifest_of(&dir)?;
    files::create_dir(&out_dir)?;
    let component = out_dir.join(format!("{}.wasm", manifest.id));
    let stamp = out_dir.join(format!("{}.stamp", manifest.id));
    if stamp::holds(&stamp, &component) {
        progress(Progress::UpToDate(&component));
        return built(component, manifest, false);
    }
    let toolchain = find::toolchain(&dir, progress)?;
    progress(Progress::Toolchain(&toolchain));
    let root = workspace_manifest(&dir)?;
    // A build that fails leaves nothing that could be taken for its outcome.
    files::remove(&stamp)?;
    files::remove(&component)?;
    let module = compile(&dir, &out_dir.join("build"), &toolchain, progress)?;
    let not_an_adapter = |reason| KitError::NotAnAdapter { path: module.clone(), reason };
    let encoded = encode(&files::read(&module)?).map_err(not_an_adapter)?;
    files::write_atomic(&component, &pack(&encoded, &manifest).map_err(not_an_adapter)?)?;

    let mut inputs = stamp::sources(&module.with_extension("d"))?;
    inputs.extend([dir.join(MANIFEST_FILE), dir.join("Cargo.toml"), root.with_extension("lock"), root]);
    stamp::write(&stamp, &component, &inputs)?;
    progress(Progress::Wrote(&component));
    built(component, manifest, true)
}

/// Of the adapter crate in `dir`.
fn manifest_of(dir: &Path) -> Result<Manifest, KitError> {
    let path = dir.join(MANIFEST_FILE);
    Manifest::parse(&files::read_text(&path)?).map_err(|reason| KitError::Manifest { path, reason })
}

fn built(component: PathBuf, manifest: Manifest, fresh: bool) -> Result<Built, KitError> {
    let bytes = files::read(&component)?;
    Ok(Built { component, manifest, bytes: bytes.len() as u64, sha256: files::sha256(&bytes), fresh })
}

/// The `Cargo.toml` whose neighbour is the lock file.
fn workspace_manifest(dir: &Path) -> Result<PathBuf, KitError> {
    let mut locate = toolchain::cargo();
    locate.current_dir(dir).args(["locate-project", "--workspace", "--message-format", "plain"]);
    let found = locate.output().map_err(|source| KitError::Start { command: "cargo".into(), source })?;
    if !found.status.success() {
        let reason = String::from_utf8_lossy(&found.stderr).trim().to_string();
        return Err(KitError::NoCrate { dir: dir.to_path_buf(), reason });
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&found.stdout).trim()))
}

/// The core module. Where there is a lock file, cargo uses its versions and adds what is missing there.
fn compile(
    dir: &Path,
    target_dir: &Path,
    toolchain: &Toolchain,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<PathBuf, KitError> {
    let manifest = dir.join("Cargo.toml");
    let mut cargo = toolchain.cargo();
    cargo.current_dir(dir).args(["build", "--lib", "--release", "--target", TARGET, "--message-format"]);
    cargo.arg("json-render-diagnostics").arg("--manifest-path").arg(&manifest).arg("--target-dir").arg(target_dir);
    for setting in PROFILE {
        cargo.args(["--config", setting]);
    }
    cargo.args(toolchain.arguments());
    let messages = run(cargo, progress)?;
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| {
            message["reason"] == "compiler-artifact" && message["manifest_path"].as_str() == manifest.to_str()
        })
        .find_map(|message| {
            let files = message["filenames"].as_array()?;
            files.iter().filter_map(|file| file.as_str()).find(|file| file.ends_with(".wasm")).map(PathBuf::from)
        })
        .ok_or_else(|| KitError::NoLibrary { command: "cargo build --lib".into() })
}
