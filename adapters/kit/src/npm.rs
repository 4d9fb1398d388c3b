//! Builds the component of an adapter's npm package with the package's script `componentize`.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{KitError, build_output::BuildOutput, command::run, files, progress::Progress};

/// The file that marks a folder as a package.
pub(crate) const PACKAGE: &str = "package.json";
/// The script; accepts `--output FILE`.
const SCRIPT: &str = "componentize";
/// Exit status of a shell that cannot find a program.
const NO_PROGRAM: i32 = 127;

pub(crate) fn make(
    dir: &Path,
    out_dir: &Path,
    id: &str,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<BuildOutput, KitError> {
    let inputs = sources(dir, out_dir)?;
    let bare = out_dir.join(format!("{id}.bare.wasm"));
    let mut npm = Command::new("npm");
    npm.current_dir(dir).args(["run", SCRIPT, "--", "--output"]).arg(&bare);
    run(npm, progress).map_err(|error| explained(error, dir))?;
    let component = files::read(&bare)?;
    files::remove(&bare)?;
    Ok(BuildOutput { component, inputs })
}

/// Adds a remedy to the error.
fn explained(error: KitError, dir: &Path) -> KitError {
    match error {
        KitError::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => KitError::NoNpm,
        KitError::Failed { status, .. } if status.code() == Some(NO_PROGRAM) => {
            KitError::NotInstalled { dir: dir.to_path_buf(), script: SCRIPT }
        }
        other => other,
    }
}

/// Returns every file of the package, except installed packages, build output and hidden files.
fn sources(dir: &Path, out_dir: &Path) -> Result<BTreeSet<PathBuf>, KitError> {
    let mut sources = BTreeSet::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).map_err(KitError::at(&folder))? {
            let path = entry.map_err(KitError::at(&folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with('.') || name == "node_modules" || path == out_dir || path == dir.join("dist") {
                continue;
            }
            if path.is_dir() {
                left.push(path);
            } else {
                sources.insert(path);
            }
        }
    }
    Ok(sources)
}
