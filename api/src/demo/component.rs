//! The demo's adapter as a file in the demo's folder. A binary with the feature `bundled` contains the adapter; other
//! binaries build it from the checkout.

use std::{
    fs,
    path::{Path, PathBuf},
};

use adapter_kit::Profile;

use commands::terminal::print_line;

macro_rules! bundled {
    ($($name:literal)*) => {
        [$(($name, include_bytes!(concat!(env!("OUT_DIR"), "/adapters/", $name, ".wasm")))),*]
    };
}

#[cfg(feature = "bundled")]
const BUNDLED: [(&str, &[u8]); 2] = bundled!("sandbox" "gated-cloud");
#[cfg(not(feature = "bundled"))]
const BUNDLED: [(&str, &[u8]); 0] = bundled!();

/// Writes `<name>.wasm` into the folder `dir`. Returns the name of the file.
pub(super) fn install(name: &str, dir: &Path) -> Result<PathBuf, String> {
    let component = match BUNDLED.iter().find(|(bundled, _)| *bundled == name) {
        Some((_, bytes)) => bytes.to_vec(),
        None => from_checkout(name, &Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))?,
    };
    let name = PathBuf::from(format!("{name}.wasm"));
    let file = dir.join(&name);
    if !fs::read(&file).is_ok_and(|installed| installed == component) {
        fs::write(&file, component).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(name)
}

/// Returns a component of the checkout, built if its sources changed.
fn from_checkout(name: &str, checkout: &Path) -> Result<Vec<u8>, String> {
    let sources = checkout.join("adapters").join(name);
    if !sources.is_dir() {
        return Err(format!(
            "this binary was built without the demo's adapter `{name}`: install it with `{INSTALL}` in a checkout of practice-sync"
        ));
    }
    let built =
        adapter_kit::build(&sources, &checkout.join("target/adapters"), Profile::like_this_build(), &mut |progress| {
            print_line(format_args!("  {progress}"))
        });
    let component = built.map_err(|error| error.without_output())?.component;
    fs::read(&component).map_err(|error| format!("{}: {error}", component.display()))
}

const INSTALL: &str = "cargo install --path api --features bundled";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn without_checkout_and_bundle_one_command_is_named() {
        let elsewhere = tempfile::tempdir().unwrap();
        let problem = from_checkout("sandbox", elsewhere.path()).unwrap_err();
        assert!(problem.contains(INSTALL) && !problem.contains(env!("CARGO_MANIFEST_DIR")), "{problem}");
        // The documentation contains the same command.
        let install = include_str!("../../docs/operations/install.md");
        assert!(install.contains(INSTALL));
    }
}
