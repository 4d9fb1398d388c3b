//! Builds the component of an adapter's crate.

use std::path::{Path, PathBuf};

use crate::{
    KitError,
    build_output::BuildOutput,
    command::run,
    component::encode,
    files, find,
    profile::Profile,
    progress::Progress,
    stamp,
    toolchain::{self, TARGET, Toolchain},
};

pub(crate) fn make(
    dir: &Path,
    target_dir: &Path,
    profile: Profile,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<BuildOutput, KitError> {
    let toolchain = find::toolchain(dir, progress)?;
    progress(Progress::Toolchain(&toolchain));
    let root = workspace_manifest(dir)?;
    let module = compile(dir, target_dir, &toolchain, profile, progress)?;
    let component = encode(&files::read(&module)?);
    let component = component.map_err(|reason| KitError::NotAnAdapter { path: module.clone(), reason })?;
    let mut inputs = stamp::sources(&module.with_extension("d"))?;
    inputs.extend([dir.join("Cargo.toml"), root.with_extension("lock"), root]);
    Ok(BuildOutput { component, inputs })
}

/// Returns the `Cargo.toml` next to the lock file.
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

/// Compiles the core module. cargo uses the versions of an existing lock file and adds missing ones.
fn compile(
    dir: &Path,
    target_dir: &Path,
    toolchain: &Toolchain,
    profile: Profile,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<PathBuf, KitError> {
    let manifest = dir.join("Cargo.toml");
    let mut cargo = toolchain.cargo();
    cargo.current_dir(dir).args(["rustc", "--lib", "--crate-type", "cdylib", "--profile", profile.base()]);
    cargo.args(["--target", TARGET, "--message-format"]);
    cargo.arg("json-render-diagnostics").arg("--manifest-path").arg(&manifest).arg("--target-dir").arg(target_dir);
    for setting in profile.settings() {
        cargo.arg("--config").arg(format!("profile.{}.{setting}", profile.base()));
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
        .ok_or_else(|| KitError::NoLibrary { command: "cargo rustc --lib --crate-type cdylib".into() })
}
