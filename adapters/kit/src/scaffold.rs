//! A new adapter's crate: the least that builds, loads and answers.

use std::path::{Path, PathBuf};

use crate::{KitError, MANIFEST_FILE, Manifest, files};

/// The SDK beside the sources this kit was built from.
pub fn sdk_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("sdk")
}

/// Writes a crate named `<id>-adapter` into `dir`, which must be empty or absent, depending on the SDK at `sdk`.
pub fn scaffold(dir: &Path, id: &str, sdk: &Path) -> Result<(), KitError> {
    let manifest = manifest_text(id);
    Manifest::parse(&manifest).map_err(|reason| KitError::Manifest { path: dir.join(MANIFEST_FILE), reason })?;
    let sdk = sdk.canonicalize().map_err(|_| KitError::NoSdk(sdk.to_path_buf()))?;
    if !sdk.join("Cargo.toml").is_file() {
        return Err(KitError::NoSdk(sdk));
    }
    if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(KitError::NotEmpty(dir.to_path_buf()));
    }
    files::create_dir(&dir.join("src"))?;
    files::write_atomic(&dir.join(MANIFEST_FILE), manifest.as_bytes())?;
    files::write_atomic(&dir.join("Cargo.toml"), cargo_text(id, &sdk).as_bytes())?;
    files::write_atomic(&dir.join("src/lib.rs"), SOURCE.as_bytes())
}

fn manifest_text(id: &str) -> String {
    format!(
        "# Who this adapter is and what it asks for. The operator can narrow it, never widen it.\n\
         id = {}\nname = {}\nversion = \"0.1.0\"\ncontract = 1\n\
         # Prefixes of the paths it may request below the location's base URL.\npaths = [\"/\"]\n\
         memory_mib = 64\ncall_seconds = 30\nrequests_per_call = 50\n\
         # Milliseconds of processor time a call may take, and one that reads a page, where less than the operator grants is enough.\n\
         # processor_ms = 500\n# pull_processor_ms = 2000\n\
         # Requests a minute the EHR bears, where it names a limit.\n# requests_per_minute = 60\n",
        toml::Value::from(id),
        toml::Value::from(id),
    )
}

fn cargo_text(id: &str, sdk: &Path) -> String {
    format!(
        "[package]\nname = \"{id}-adapter\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n\
         [lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n\n\
         [dependencies]\nadapter-sdk = {{ path = {} }}\n\n\
         # A workspace of its own, wherever this folder lies.\n[workspace]\n",
        toml::Value::from(sdk.to_string_lossy().into_owned()),
    )
}

const SOURCE: &str = r#"//! One EHR behind the adapter contract. Every call runs in a fresh instance: nothing is remembered between calls.

use adapter_sdk::{Adapter, Description, Fault, Hosting, Page, Receipt, Resource, Write, export_adapter};

struct Ehr;

impl Adapter for Ehr {
    fn describe() -> Result<Description, Fault> {
        Ok(Description {
            name: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
            hosting: Hosting::Cloud,
            // Name here what `pull` and `push` can do.
            ..Default::default()
        })
    }

    fn pull(resource: Resource, _cursor: Option<String>, _limit: u32) -> Result<Page, Fault> {
        Err(Fault::unsupported(format!("{resource:?} cannot be pulled yet")))
    }

    fn push(_write_key: String, _write: Write) -> Result<Receipt, Fault> {
        Err(Fault::unsupported("nothing can be written yet"))
    }

    fn find(_write_key: String, _write: Write) -> Result<Option<Receipt>, Fault> {
        // `push` never sends anything, so nothing was ever written.
        Ok(None)
    }
}

export_adapter!(Ehr);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_who_it_is() {
        let description = adapter_sdk::testing::Host::new().run(Ehr::describe).expect("no request is made");
        assert_eq!(description.name, env!("CARGO_PKG_NAME"));
    }
}
"#;
