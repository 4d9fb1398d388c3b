//! Rule: dependencies between crates are exactly those in the table. An unused row is a finding.

use crate::{
    crates::Crates,
    tree::{Finding, Tree},
};

/// A crate and its dependencies within the workspace.
pub type CrateDependencies = (&'static str, &'static [&'static str]);

pub fn check(_: &Tree, crates: &Crates, arrows: &[CrateDependencies]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for it in &crates.all {
        let Some((_, allowed)) = arrows.iter().find(|(name, _)| *name == it.name) else {
            findings.push(Finding::at(
                &it.manifest(),
                1,
                format!("{} has no row among the arrows in {}", it.name, crate::TABLES),
            ));
            continue;
        };
        for (needed, line) in it.needs.iter().filter(|(needed, _)| !allowed.contains(&needed.as_str())) {
            findings.push(Finding::at(&it.manifest(), *line, format!("{} may not depend on {needed}", it.name)));
        }
        let unused = allowed.iter().filter(|allowed| !it.needs.iter().any(|(needed, _)| needed == *allowed));
        findings.extend(unused.map(|unused| Finding::stale(format!("the arrow {} → {unused}", it.name))));
    }
    let gone = arrows.iter().filter(|(name, _)| !crates.all.iter().any(|it| it.name == *name));
    findings.extend(gone.map(|(name, _)| Finding::stale(format!("the arrows of {name}"))));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(manifest: &str, arrows: &[CrateDependencies]) -> Vec<String> {
        let tree = Tree::from_files(&[("top/Cargo.toml", manifest), ("low/Cargo.toml", "[package]\nname = \"low\"")]);
        check(&tree, &Crates::from_tree(&tree), arrows).iter().map(ToString::to_string).collect()
    }

    const TOP: &str = "[package]\nname = \"top\"\n[dependencies]\nserde = \"1\"\nlow.workspace = true\n";

    #[test]
    fn an_arrow_that_is_not_in_the_table_is_found() {
        assert_eq!(found(TOP, &[("top", &["low"]), ("low", &[])]), [""; 0]);
        assert_eq!(found(TOP, &[("top", &[]), ("low", &[])]), ["top/Cargo.toml:5: top may not depend on low"]);
        let target = "[package]\nname = \"top\"\n[target.'cfg(unix)'.dependencies]\nlow = { path = \"../low\" }\n";
        assert_eq!(found(target, &[("top", &[]), ("low", &[])]).len(), 1);
    }

    #[test]
    fn dev_dependencies_are_not_arrows() {
        let manifest = TOP.replace("[dependencies]", "[dev-dependencies]");
        assert_eq!(found(&manifest, &[("top", &[]), ("low", &[])]), [""; 0]);
    }

    #[test]
    fn crates_without_a_row_and_rows_without_a_crate_or_an_arrow_are_found() {
        assert!(found(TOP, &[("top", &["low"])])[0].contains("low has no row"));
        assert!(found(TOP, &[("top", &["low"]), ("low", &["top"])])[0].contains("low → top"));
        assert!(found(TOP, &[("top", &["low"]), ("low", &[]), ("gone", &[])])[0].contains("gone"));
    }
}
