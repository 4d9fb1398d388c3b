//! Detection of outdated components. The stamp lists every file that the build read, with its hash.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::{KitError, Profile, files};

/// Returns the first line of a stamp. It changes when this kit builds a different component from the same sources.
fn head(profile: Profile) -> String {
    format!("adapter-kit {} form 2 {profile:?}", env!("CARGO_PKG_VERSION"))
}

/// Records the sources and the profile from which `component` was built.
pub fn write(stamp: &Path, component: &Path, profile: Profile, inputs: &BTreeSet<PathBuf>) -> Result<(), KitError> {
    let mut text = format!("{}\n{} {}\n", head(profile), files::sha256(&files::read(component)?), component.display());
    for input in inputs {
        text.push_str(&format!("{} {}\n", files::sha256(&files::read(input)?), input.display()));
    }
    files::write_atomic(stamp, text.as_bytes())
}

/// Returns `true` if the component, its sources and the profile are unchanged. A file that cannot be read counts as
/// changed.
pub fn holds(stamp: &Path, component: &Path, profile: Profile) -> bool {
    let Ok(text) = files::read_text(stamp) else { return false };
    let mut lines = text.lines();
    if lines.next() != Some(head(profile).as_str()) {
        return false;
    }
    let mut seen_component = false;
    for line in lines {
        let Some((hash, path)) = line.split_once(' ') else { return false };
        let path = Path::new(path);
        seen_component |= path == component;
        if !files::read(path).is_ok_and(|bytes| files::sha256(&bytes) == hash) {
            return false;
        }
    }
    seen_component
}

/// Returns the sources named by cargo's dep-info file, and the `Cargo.toml` of each.
pub fn sources(dep_info: &Path) -> Result<BTreeSet<PathBuf>, KitError> {
    let text = files::read_text(dep_info)?;
    let mut sources = BTreeSet::new();
    for line in text.lines() {
        let Some((_, inputs)) = line.split_once(": ") else { continue };
        // A space inside a path is escaped with a backslash.
        for input in inputs.replace("\\ ", "\0").split_whitespace() {
            let input = PathBuf::from(input.replace('\0', " "));
            sources.extend(input.ancestors().skip(1).map(|dir| dir.join("Cargo.toml")).find(|path| path.is_file()));
            sources.insert(input);
        }
    }
    Ok(sources)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn any_change_breaks_the_stamp() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let write_all = || {
            std::fs::write(at("a.rs"), "a").unwrap();
            std::fs::write(at("c.wasm"), "c").unwrap();
        };
        write_all();
        assert!(!holds(&at("c.stamp"), &at("c.wasm"), Profile::Quick));
        write(&at("c.stamp"), &at("c.wasm"), Profile::Quick, &BTreeSet::from([at("a.rs")])).unwrap();
        assert!(holds(&at("c.stamp"), &at("c.wasm"), Profile::Quick));
        assert!(!holds(&at("c.stamp"), &at("other.wasm"), Profile::Quick));
        assert!(!holds(&at("c.stamp"), &at("c.wasm"), Profile::Release));
        std::fs::write(at("a.rs"), "b").unwrap();
        assert!(!holds(&at("c.stamp"), &at("c.wasm"), Profile::Quick));
        write_all();
        assert!(holds(&at("c.stamp"), &at("c.wasm"), Profile::Quick));
        std::fs::remove_file(at("c.wasm")).unwrap();
        assert!(!holds(&at("c.stamp"), &at("c.wasm"), Profile::Quick));
    }

    #[test]
    fn dep_info_names_sources_with_spaces() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("my crate/src/lib.rs");
        std::fs::create_dir_all(source.parent().unwrap()).unwrap();
        std::fs::write(&source, "").unwrap();
        let manifest = dir.path().join("my crate/Cargo.toml");
        std::fs::write(&manifest, "").unwrap();
        let dep_info = dir.path().join("x.d");
        let escaped = source.display().to_string().replace(' ', "\\ ");
        std::fs::write(&dep_info, format!("/out/x.wasm: {escaped}\n")).unwrap();
        assert_eq!(sources(&dep_info).unwrap(), BTreeSet::from([source, manifest]));
    }
}
