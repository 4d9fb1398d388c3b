//! Rule: a file has at most 500 lines, not counting tests. Longer files are listed with a reason.

use crate::{
    crates::Crates,
    tree::{Finding, Tree},
};

const LINES: usize = 500;

/// `long`: file and reason.
pub fn check(tree: &Tree, crates: &Crates, long: &[(&str, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust().filter(|(file, _)| crates.production.contains(*file)) {
        let lines = tree.get(file).map_or(0, |file| file.text.lines().count()) - source.test_lines;
        if lines > LINES && !long.iter().any(|(known, _)| *known == file) {
            findings.push(Finding::at(file, 0, format!("{lines} lines, and {LINES} are the most")));
        }
        if lines <= LINES && long.iter().any(|(known, _)| *known == file) {
            findings.push(Finding::stale(format!("{file} has {lines} lines")));
        }
    }
    let gone = long.iter().filter(|(file, _)| !crates.production.contains(*file));
    findings.extend(gone.map(|(file, _)| Finding::stale(format!("{file} is gone"))));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: usize, tests: usize, long: &[(&str, &str)]) -> Vec<Finding> {
        let text =
            format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "struct A;\n".repeat(lines), "fn f() {}\n".repeat(tests));
        let tree = Tree::from_files(&[("a/Cargo.toml", "[package]\nname = \"a\""), ("a/src/lib.rs", &text)]);
        check(&tree, &Crates::from_tree(&tree), long)
    }

    #[test]
    fn long_files_are_named_with_a_reason_and_tests_do_not_count() {
        let known = [("a/src/lib.rs", "a table")];
        assert_eq!(found(400, 400, &[]), []);
        assert_eq!(found(600, 0, &[]).len(), 1);
        assert_eq!(found(600, 0, &known), []);
    }

    #[test]
    fn names_of_files_that_are_short_or_gone_are_stale() {
        assert_eq!(found(400, 0, &[("a/src/lib.rs", "a table")]).len(), 1);
        assert_eq!(found(400, 0, &[("a/src/gone.rs", "a table")]).len(), 1);
    }
}
