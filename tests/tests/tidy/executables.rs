//! Rule: few test executables. Each one links its dependencies again, which was half of a test build with 74
//! executables.

use toml::{Table, Value};

use crate::tree::{Finding, Tree, folder};

/// Maximum number of executables with unit or integration tests in all crates. A new suite is a module of its crate's
/// executable.
const MOST_TEST_EXECUTABLES: usize = 40;

/// The only crate with two integration test executables: `tidy` links neither the product nor wasmtime.
const CRATE_WITH_SUITES: &str = "tests/Cargo.toml";

/// The only crate with documentation tests. For other libraries, rustdoc would run without any test.
const CRATE_WITH_DOCTESTS: &str = "adapters/sdk/Cargo.toml";

/// Crates outside the workspace.
const OTHER_WORKSPACE: &str = "tests/extism/";

/// A kind of cargo target that is declared in the manifest or discovered in the file tree.
struct TargetKind {
    table: &'static str,
    discovery: &'static str,
    folder: &'static str,
}

const BINARY: TargetKind = TargetKind { table: "bin", discovery: "autobins", folder: "src/bin" };
const INTEGRATION_TEST: TargetKind = TargetKind { table: "test", discovery: "autotests", folder: "tests" };

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut count = 0;
    for (path, file) in tree.files() {
        if path.rsplit('/').next() != Some("Cargo.toml") || path.starts_with(OTHER_WORKSPACE) {
            continue;
        }
        let Ok(manifest) = file.text.parse::<Table>() else { continue };
        if !manifest.contains_key("package") {
            continue;
        }
        count += executables(tree, folder(path), &manifest);
        if path != CRATE_WITH_SUITES && linked(tree, folder(path), &manifest, &INTEGRATION_TEST) > 1 {
            findings.push(Finding::at(path, 0, "make its integration tests modules of one `[[test]]`".to_owned()));
        }
        if path != CRATE_WITH_DOCTESTS && is_library(tree, folder(path)) && flag(manifest.get("lib"), "doctest") {
            findings.push(Finding::at(path, 0, "set `doctest = false` in `[lib]`".to_owned()));
        }
    }
    if count > MOST_TEST_EXECUTABLES {
        let text = format!("{count} test executables, at most {MOST_TEST_EXECUTABLES}: add modules to existing ones");
        findings.push(Finding::at("Cargo.toml", 0, text));
    }
    findings
}

/// Returns the number of test executables that cargo links for a crate.
fn executables(tree: &Tree, dir: &str, manifest: &Table) -> usize {
    let unit_tests = usize::from(is_library(tree, dir) && flag(manifest.get("lib"), "test"));
    unit_tests + linked(tree, dir, manifest, &BINARY) + linked(tree, dir, manifest, &INTEGRATION_TEST)
}

/// Returns the number of a crate's targets of `kind` that have a test executable.
fn linked(tree: &Tree, dir: &str, manifest: &Table, kind: &TargetKind) -> usize {
    let declared = manifest.get(kind.table).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_discovered = |path: &str| is_root(path, kind) && !declared.iter().any(|target| has_root(target, path, kind));
    let discovered = if flag(manifest.get("package"), kind.discovery) {
        let dir = format!("{dir}/");
        tree.files().filter_map(|(path, _)| path.strip_prefix(dir.as_str())).filter(|path| is_discovered(path)).count()
    } else {
        0
    };
    discovered + declared.iter().filter(|target| flag(Some(target), "test")).count()
}

fn is_library(tree: &Tree, dir: &str) -> bool {
    tree.get(&format!("{dir}/src/lib.rs")).is_some()
}

/// Returns `true` if cargo discovers `path` as the root file of a target of `kind`.
fn is_root(path: &str, kind: &TargetKind) -> bool {
    if path == "src/main.rs" {
        return kind.table == BINARY.table;
    }
    let Some(name) = path.strip_prefix(kind.folder).and_then(|rest| rest.strip_prefix('/')) else { return false };
    match name.split_once('/') {
        None => name.ends_with(".rs"),
        Some((_, rest)) => rest == "main.rs",
    }
}

/// Returns `true` if `path` is the root file of a declared target.
fn has_root(target: &Value, path: &str, kind: &TargetKind) -> bool {
    let value = |key| target.get(key).and_then(Value::as_str);
    match (value("path"), value("name")) {
        (Some(root), _) => root == path,
        (None, Some(name)) => {
            let stem = format!("{}/{name}", kind.folder);
            path == format!("{stem}.rs") || path == format!("{stem}/main.rs")
        }
        (None, None) => false,
    }
}

/// Returns a cargo flag, which is on unless the manifest turns it off.
fn flag(table: Option<&Value>, name: &str) -> bool {
    table.and_then(|table| table.get(name)).and_then(Value::as_bool).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(manifest: &str, files: &[&str]) -> usize {
        let paths: Vec<String> = files.iter().map(|file| format!("a/{file}")).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        executables(&Tree::from_files(&files), "a", &manifest.parse().unwrap())
    }

    fn findings(manifest: &str, files: &[&str]) -> Vec<String> {
        let mut tree = vec![("a/Cargo.toml", manifest)];
        tree.extend(files.iter().map(|file| (*file, "")));
        check(&Tree::from_files(&tree)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn libraries_binaries_and_integration_tests_count() {
        let files = ["src/lib.rs", "src/main.rs", "src/bin/c.rs", "tests/a.rs", "tests/b/main.rs"];
        assert_eq!(count("[package]\nname = \"a\"", &files), 5);
        assert_eq!(count("[package]\nname = \"a\"", &["src/lib.rs", "tests/b/mod.rs"]), 1);
    }

    #[test]
    fn targets_that_are_switched_off_do_not_count() {
        let manifest = "[package]\nautotests = false\n[lib]\ntest = false\n\
                        [[bin]]\nname = \"b\"\npath = \"src/main.rs\"\ntest = false\n[[test]]\nname = \"t\"";
        assert_eq!(count(manifest, &["src/lib.rs", "src/main.rs", "tests/main.rs", "tests/other.rs"]), 1);
    }

    #[test]
    fn declared_targets_count_once_and_discovered_ones_next_to_them_count_too() {
        let manifest =
            "[package]\nname = \"a\"\n[[bin]]\nname = \"b\"\n[[test]]\nname = \"t\"\npath = \"tests/main.rs\"";
        assert_eq!(count(manifest, &["src/bin/b.rs", "tests/main.rs"]), 2);
        assert_eq!(count(manifest, &["src/bin/b.rs", "src/bin/c.rs", "tests/main.rs", "tests/other.rs"]), 4);
    }

    #[test]
    fn a_second_integration_test_of_a_crate_is_a_finding() {
        let manifest = "[package]\nname = \"a\"";
        assert_eq!(findings(manifest, &["a/tests/one.rs"]), [""; 0]);
        assert_eq!(findings(manifest, &["a/tests/one.rs", "a/tests/two.rs"]).len(), 1);
    }

    #[test]
    fn a_library_with_documentation_tests_is_a_finding() {
        assert_eq!(findings("[package]\nname = \"a\"", &["a/src/lib.rs"]).len(), 1);
        assert_eq!(findings("[package]\nname = \"a\"\n[lib]\ndoctest = false", &["a/src/lib.rs"]), [""; 0]);
    }
}
