//! Rule: every Rust file is compiled. A file without a module declaration or a manifest entry is dead, and its tests
//! never run.

use std::collections::BTreeSet;

use crate::{
    crates::normal,
    source::Mod,
    tree::{Finding, Tree, folder},
};

/// `otherwise`: file and compiler.
pub fn check(tree: &Tree, otherwise: &[(&str, &str)]) -> Vec<Finding> {
    let declared: BTreeSet<String> = tree.rust().flat_map(|(file, source)| declared(file, &source.mods)).collect();
    let is_dead = |file: &str| !declared.contains(file) && !is_root(tree, file);
    let excused = |file: &str| otherwise.iter().any(|(known, _)| *known == file);
    let dead = tree.rust().map(|(file, _)| file).filter(|file| is_dead(file) && !excused(file));
    let mut findings: Vec<Finding> =
        dead.map(|file| Finding::at(file, 0, "no module declares it, so that it is not compiled")).collect();
    let stale = otherwise.iter().filter(|(file, _)| tree.get(file).is_none() || !is_dead(file));
    findings.extend(stale.map(|(file, _)| Finding::stale(file)));
    findings
}

/// Returns the possible files of a file's modules: next to a root, in a folder of its name otherwise.
fn declared(file: &str, mods: &[Mod]) -> Vec<String> {
    let (beside, below) = (folder(file), file.trim_end_matches(".rs"));
    let places = |module: &Mod| match &module.path {
        Some(own) => vec![normal(&format!("{beside}/{own}"))],
        None => {
            let name = &module.name;
            [beside, below]
                .iter()
                .flat_map(|dir| [format!("{dir}/{name}.rs"), format!("{dir}/{name}/mod.rs")])
                .collect()
        }
    };
    mods.iter().flat_map(places).collect()
}

/// Returns whether cargo compiles the file by convention or by the manifest.
fn is_root(tree: &Tree, file: &str) -> bool {
    let manifest = |dir: &str| tree.get(&format!("{dir}/Cargo.toml"))?.text.parse::<toml::Table>().ok();
    let Some((dir, within)) = file
        .match_indices('/')
        .rev()
        .find_map(|(at, _)| manifest(&file[..at]).map(|manifest| (manifest, &file[at + 1..])))
    else {
        return false;
    };
    let parts: Vec<&str> = within.split('/').collect();
    match parts.as_slice() {
        ["build.rs"] | ["src", "lib.rs" | "main.rs"] | ["src", "bin", _] => true,
        ["tests", rest @ ..] => {
            let found_by_cargo = matches!(rest, [_] | [_, "main.rs"]);
            let by_itself = dir.get("package").and_then(|package| package.get("autotests")?.as_bool()).unwrap_or(true);
            let named = dir.get("test").and_then(|tests| tests.as_array()).into_iter().flatten();
            let path = |test: &toml::Value| match test.get("path").and_then(|path| path.as_str()) {
                Some(path) => path.to_owned(),
                None => format!("tests/{}.rs", test["name"].as_str().unwrap_or_default()),
            };
            (by_itself && found_by_cargo) || named.map(path).any(|path| path == within)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) = ("a/Cargo.toml", "[package]\nname = \"a\"");
    const ONE_TEST: (&str, &str) =
        ("a/Cargo.toml", "[package]\nname = \"a\"\nautotests = false\n[[test]]\nname = \"all\"");

    fn dead(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::from_files(files), &[]).into_iter().map(|finding| finding.file).collect()
    }

    #[test]
    fn files_that_no_module_declares_are_found() {
        let files = [MANIFEST, ("a/src/lib.rs", "mod b;"), ("a/src/b.rs", "mod c;"), ("a/src/b/c.rs", "")];
        assert_eq!(dead(&files), [""; 0]);
        assert_eq!(dead(&[MANIFEST, ("a/src/lib.rs", ""), ("a/src/b/mod.rs", "")]), ["a/src/b/mod.rs"]);
        let path = "#[path = \"../common/b.rs\"]\nmod b;";
        assert_eq!(dead(&[MANIFEST, ("a/src/lib.rs", path), ("a/common/b.rs", "")]), [""; 0]);
    }

    #[test]
    fn tests_are_found_by_cargo_or_named() {
        assert_eq!(dead(&[MANIFEST, ("a/tests/b.rs", ""), ("a/tests/c/main.rs", "")]), [""; 0]);
        let files = [ONE_TEST, ("a/tests/all.rs", "mod b;"), ("a/tests/b/mod.rs", ""), ("a/tests/c.rs", "")];
        assert_eq!(dead(&files), ["a/tests/c.rs"]);
        assert_eq!(dead(&[ONE_TEST, ("a/tests/all.rs", ""), ("a/tests/c/main.rs", "")]), ["a/tests/c/main.rs"]);
    }

    #[test]
    fn files_compiled_otherwise_need_a_current_row() {
        let files = [MANIFEST, ("a/src/lib.rs", ""), ("a/src/b.rs", "")];
        assert_eq!(check(&Tree::from_files(&files), &[("a/src/b.rs", "by hand")]), []);
        assert_eq!(check(&Tree::from_files(&files[..2]), &[("a/src/b.rs", "by hand")]).len(), 1);
    }
}
