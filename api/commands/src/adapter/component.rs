//! Resolution of an argument, a component file or an adapter's folder, to a component.

use std::path::{Path, PathBuf};

use adapter_kit::{Built, Profile};

use crate::terminal::print_line;

/// Builds an adapter and shows the progress. The error does not repeat the lines that were shown.
pub(super) fn build(dir: &Path, out: &Path, profile: Profile) -> Result<Built, String> {
    adapter_kit::build(dir, out, profile, &mut |progress| print_line(progress)).map_err(|error| error.without_output())
}

/// Returns the component to test. Builds a folder with the quick profile, separately from the output of
/// `adapter build`.
pub(super) fn quick(adapter: &Path) -> Result<PathBuf, String> {
    if !adapter.is_dir() {
        return Ok(adapter.to_path_buf());
    }
    Ok(build(adapter, &adapter.join("dist/quick"), Profile::Quick)?.component)
}

/// Returns the cache directory for compiled components.
pub(super) fn cache() -> PathBuf {
    std::env::temp_dir().join("practice-sync-adapter-run")
}
