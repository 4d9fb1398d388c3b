//! Processes with a wrong wall clock. Monotonic time is not changed.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use tests::harness::process::Installation;

/// Sets the wall clock of the installation's processes ahead by `seconds`.
pub fn set_apart(installation: Installation, folder: &Path, seconds: i64) -> Installation {
    let library = shim(folder).to_str().expect("a name that is text").to_owned();
    installation.with_variable("LD_PRELOAD", library).with_variable("SECONDS_AHEAD", seconds.to_string())
}

/// Compiles the library to preload, once per folder.
fn shim(folder: &Path) -> PathBuf {
    let library = folder.join("libclock.so");
    if library.exists() {
        return library;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nodes/clock_shim.rs");
    let compiled = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition", "2024", "-O", "-C", "panic=abort", "--crate-type", "cdylib", "-o"])
        .arg(&library)
        .arg(source)
        .output()
        .expect("rustc can be started");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    library
}
