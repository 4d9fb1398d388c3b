//! Rule: few test executables. Each one links the crates below it again, which took half of the time of a test build
//! when there were 74.

use toml::Table;

use crate::tree::{Finding, Tree, folder};

/// Unit tests and integration tests of all crates. A new suite is a module of the executable its crate already has.
const MOST_TEST_EXECUTABLES: usize = 40;

/// The only crate with documentation tests. Each other library would start rustdoc for nothing.
const CRATE_WITH_DOCTESTS: &str = "adapters/sdk/Cargo.toml";

/// Crates that are no members of the workspace.
const OTHER_WORKSPACE: &str = "tests/extism/";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut count = 0;
    for (path, file) in tree.files() {
        if path.rsplit('/').next() != Some("Cargo.toml") || path.starts_with(OTHER_WORKSPACE) {
            continue;
        }
        let Ok(manifest) = file.text.parse::<Table>() else { continue };
        if manifest.contains_key("package") {
            count += executables(tree, folder(path), &manifest);
            if path != CRATE_WITH_DOCTESTS && is_library(tree, folder(path)) && flag(manifest.get("lib"), "doctest") {
                findings.push(Finding::at(path, 0, "set `doctest = false` in `[lib]`".to_owned()));
            }
        }
    }
    if count > MOST_TEST_EXECUTABLES {
        let text = format!("{count} test executables, at most {MOST_TEST_EXECUTABLES}: add modules to existing ones");
        findings.push(Finding::at("Cargo.toml", 0, text));
    }
    findings
}

/// The number of test executables that cargo links for a crate.
fn executables(tree: &Tree, dir: &str, manifest: &Table) -> usize {
    let declared = |kind: &str| manifest.get(kind).and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let unit_tests = usize::from(is_library(tree, dir) && flag(manifest.get("lib"), "test"));
    let bins = declared("bin");
    let default_bin = usize::from(bins.is_empty() && tree.get(&format!("{dir}/src/main.rs")).is_some());
    let bins = default_bin + bins.iter().filter(|bin| flag(Some(bin), "test")).count();
    let discovered = if flag(manifest.get("package"), "autotests") {
        let tests = format!("{dir}/tests/");
        let names = tree.files().filter_map(|(path, _)| path.strip_prefix(tests.as_str()));
        names.filter(|name| is_root_of_a_test(name)).count()
    } else {
        0
    };
    unit_tests + bins + declared("test").len().max(discovered)
}

fn is_library(tree: &Tree, dir: &str) -> bool {
    tree.get(&format!("{dir}/src/lib.rs")).is_some()
}

/// Returns `true` if `name` in `tests/` is a file that cargo takes for an executable of its own.
fn is_root_of_a_test(name: &str) -> bool {
    match name.split_once('/') {
        None => name.ends_with(".rs"),
        Some((_, rest)) => rest == "main.rs",
    }
}

/// A flag of cargo, which is on unless the manifest turns it off.
fn flag(table: Option<&toml::Value>, name: &str) -> bool {
    table.and_then(|table| table.get(name)).and_then(toml::Value::as_bool).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(manifest: &str, files: &[&str]) -> usize {
        let paths: Vec<String> = files.iter().map(|file| format!("a/{file}")).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        executables(&Tree::of(&files), "a", &manifest.parse().unwrap())
    }

    #[test]
    fn libraries_binaries_and_integration_tests_count() {
        assert_eq!(
            count("[package]\nname = \"a\"", &["src/lib.rs", "src/main.rs", "tests/a.rs", "tests/b/main.rs"]),
            4
        );
        assert_eq!(count("[package]\nname = \"a\"", &["src/lib.rs", "tests/b/mod.rs"]), 1);
    }

    #[test]
    fn targets_that_are_switched_off_do_not_count() {
        let manifest = "[package]\nautotests = false\n[lib]\ntest = false\n[[bin]]\nname = \"b\"\ntest = false\n[[test]]\nname = \"t\"";
        assert_eq!(count(manifest, &["src/lib.rs", "src/main.rs", "tests/main.rs", "tests/other.rs"]), 1);
    }
}
