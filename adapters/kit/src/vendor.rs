//! The SDK at the version of this kit. It is copied into each new crate, so that an author needs neither our checkout
//! nor a registry account, and the crate contains the version it was built with.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::{KitError, files};

/// The SDK's folder in a new crate.
pub const FOLDER: &str = "vendor/adapter-sdk";

macro_rules! sources {
    ($($name:literal)*) => { &[$((concat!("src/", $name), include_str!(concat!("../../sdk/src/", $name)))),*] };
}

const SOURCES: &[(&str, &str)] = sources! {
    "change.rs" "clock.rs" "config.rs" "fault.rs" "fields.rs" "gate.rs" "http.rs" "json.rs" "language.rs" "lib.rs" "limits.rs" "log.rs"
    "mark.rs" "money.rs" "notes.rs" "pages.rs" "panics.rs" "pass.rs" "records.rs" "redact.rs" "session.rs" "settings.rs" "spans.rs" "steps.rs"
    "streams.rs" "tables.rs" "testing.rs" "time.rs" "vocabulary.rs" "words.rs" "writes.rs"
};

const BINDINGS: (&str, &str) = ("generated/bindings.rs", include_str!("../../sdk/generated/bindings.rs"));

const CONTRACT: [(&str, &str); 3] = [
    ("wit/types.wit", include_str!("../../../wit/v1/types.wit")),
    ("wit/world.wit", include_str!("../../../wit/v1/world.wit")),
    ("wit/imports.wit", include_str!("../../../wit/v1/imports.wit")),
];

const DEPENDENCIES: [(&str, &str); 4] = [
    ("wit-bindgen", "{ version = \"=0.60.0\", default-features = false, features = [\"realloc\", \"std\"] }"),
    ("percent-encoding", "{ version = \"2.3\", default-features = false, features = [\"alloc\"] }"),
    ("serde", "{ version = \"1.0\", features = [\"derive\"] }"),
    ("serde_json", "\"1.0\""),
];

/// Dependencies of native builds, for the simulated host of tests.
const NATIVE_DEPENDENCIES: [(&str, &str); 1] = [("toml", "\"1.2\"")];
const NATIVE: &str = "cfg(not(target_arch = \"wasm32\"))";

/// Writes the SDK into a crate's folder.
pub fn write(dir: &Path) -> Result<(), KitError> {
    let mut hash = Sha256::new();
    let sdk = dir.join(FOLDER);
    let manifest = manifest();
    let all = SOURCES.iter().chain(&CONTRACT).copied().chain([BINDINGS, ("Cargo.toml", manifest.as_str())]);
    for (name, text) in all {
        hash.update(format!("{name}\n{text}"));
        files::write_below(&sdk, name, text)?;
    }
    let note = format!(
        "The SDK for adapters of practice-sync {version}, as `practice-sync adapter new` wrote it. To take a later one, replace this folder by \
         that of a new crate.\n\nSHA-256 of its files: {hash}\n",
        version = env!("CARGO_PKG_VERSION"),
        hash = hex::encode(hash.finalize()),
    );
    files::write_below(&sdk, "README.md", &note)
}

fn manifest() -> String {
    let lines =
        |all: &[(&str, &str)]| all.iter().map(|(name, version)| format!("{name} = {version}\n")).collect::<String>();
    let (dependencies, native) = (lines(&DEPENDENCIES), lines(&NATIVE_DEPENDENCIES));
    format!(
        "[package]\nname = \"adapter-sdk\"\nversion = \"{}\"\nedition = \"2024\"\nlicense = \"MIT OR Apache-2.0\"\npublish = false\n\n\
         [dependencies]\n{dependencies}\n[target.'{NATIVE}'.dependencies]\n{native}",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::{collections::BTreeSet, fs};

    use super::*;

    fn names(dir: &Path) -> BTreeSet<String> {
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn all_files_of_the_sdk_and_the_contract_are_vendored() {
        let adapters = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let carried = |files: &[(&str, &str)]| -> BTreeSet<String> {
            files.iter().map(|(name, _)| name.split_once('/').unwrap().1.to_owned()).collect()
        };
        assert_eq!(carried(SOURCES), names(&adapters.join("sdk/src")));
        assert_eq!(carried(&[BINDINGS]), names(&adapters.join("sdk/generated")));
        assert_eq!(carried(&CONTRACT), names(&adapters.join("../wit/v1")));
    }

    /// The dependencies of the SDK in this workspace.
    #[test]
    fn its_dependencies_are_those_of_the_workspace() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let workspace = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let sdk = fs::read_to_string(root.join("adapters/sdk/Cargo.toml")).unwrap();
        let workspace: toml::Table = toml::from_str(&workspace).unwrap();
        let sdk: toml::Table = toml::from_str(&sdk).unwrap();
        let needed =
            |of: &toml::Value| -> BTreeSet<String> { of["dependencies"].as_table().unwrap().keys().cloned().collect() };
        let carried =
            |all: &[(&str, &str)]| all.iter().map(|(name, _)| (*name).to_owned()).collect::<BTreeSet<String>>();
        assert_eq!(needed(&sdk.clone().into()), carried(&DEPENDENCIES));
        assert_eq!(needed(&sdk["target"][NATIVE]), carried(&NATIVE_DEPENDENCIES));
        let version = |value: &toml::Value| value.get("version").unwrap_or(value).as_str().unwrap().to_owned();
        for (name, text) in DEPENDENCIES.into_iter().chain(NATIVE_DEPENDENCIES) {
            let carried: toml::Table = toml::from_str(&format!("{name} = {text}")).unwrap();
            assert_eq!(version(&carried[name]), version(&workspace["workspace"]["dependencies"][name]), "{name}");
        }
    }
}
