//! Rules: each folder is documented, paths in documents exist, and no file contains a path of a developer's machine.

use std::collections::BTreeSet;

use crate::tree::{Finding, Tree, folder, is_below};

/// Folders in which cargo compiles each file as a program.
const PROGRAMS: [&str; 4] = ["tests", "bin", "benches", "examples"];

/// Checks that each folder with Rust files has a README.md or module documentation.
pub fn folders(tree: &Tree, except: &[(&str, &str)]) -> Vec<Finding> {
    let with_rust: BTreeSet<&str> = tree.rust().map(|(file, _)| folder(file)).collect();
    let has_docs = |file: &str| tree.get(file).and_then(|file| file.source().ok()).is_some_and(|it| it.has_docs);
    let says = |dir: &str| {
        let heads = ["mod.rs", "lib.rs", "main.rs"].map(|head| format!("{dir}/{head}"));
        let heads = heads.into_iter().chain([format!("{dir}.rs")]);
        tree.get(&format!("{dir}/README.md")).is_some() || { heads }.any(|head| has_docs(&head))
    };
    let alone = |dir: &str| {
        let parent = folder(dir);
        let of_crate = [parent, folder(parent)].iter().any(|dir| tree.get(&format!("{dir}/Cargo.toml")).is_some());
        of_crate && PROGRAMS.contains(&dir.rsplit('/').next().unwrap_or(dir))
    };
    let mut findings = Vec::new();
    for dir in with_rust.iter().filter(|dir| !except.iter().any(|(room, _)| room == *dir)) {
        if says(dir) {
            continue;
        }
        if !alone(dir) {
            findings.push(Finding::at(
                dir,
                0,
                "no README.md, and no `//!` in mod.rs, lib.rs or main.rs, states its purpose",
            ));
            continue;
        }
        let silent = tree.rust().filter(|(file, source)| folder(file) == *dir && !source.has_docs);
        findings.extend(silent.map(|(file, _)| Finding::at(file, 1, "no `//!` states its purpose")));
    }
    let stale = except.iter().filter(|(room, _)| !with_rust.contains(room) || says(room));
    findings.extend(stale.map(|(room, _)| Finding::stale(format!("the folder {room} without a document"))));
    findings
}

/// Checks that links and paths in backticks lead somewhere. `except`: document, path, reason.
pub fn paths(tree: &Tree, except: &[(&str, &str, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut needed = BTreeSet::new();
    let documents = tree.files().filter(|(file, _)| file.ends_with(".md") && !file.ends_with("CHANGELOG.md"));
    for (file, document) in documents {
        for (n, line) in prose(&document.text) {
            let links = links(line).into_iter().filter(|link| !leads(tree, &[folder(file)], link));
            let ticked = ticked(line).into_iter().filter(|path| looks_like_a_path(tree, file, path));
            let ticked = ticked.filter(|path| !exists(tree, file, path));
            for path in links.chain(ticked) {
                match except.iter().find(|(document, known, _)| *document == file && *known == path) {
                    Some(row) => drop(needed.insert((row.0, row.1))),
                    None => findings.push(Finding::at(file, n, format!("`{path}` does not exist"))),
                }
            }
        }
    }
    let stale = except.iter().filter(|(document, path, _)| !needed.contains(&(*document, *path)));
    findings.extend(stale.map(|(document, path, _)| Finding::stale(format!("{path} in {document}"))));
    findings
}

/// Returns the lines outside code blocks with their numbers.
pub fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Returns the targets of links, except links to other hosts and within a page.
fn links(line: &str) -> Vec<&str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next());
    targets.filter(|target| !target.is_empty() && !target.contains(':') && !target.starts_with('/')).collect()
}

fn ticked(line: &str) -> Vec<&str> {
    line.split('`').skip(1).step_by(2).collect()
}

/// Returns whether the text begins with an existing folder or has the extension of a file.
fn looks_like_a_path(tree: &Tree, document: &str, text: &str) -> bool {
    const FILES: [&str; 8] = [".rs", ".md", ".ts", ".mjs", ".py", ".wit", ".story", ".toml"];
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    if !text.chars().all(plain) || text.starts_with(['/', '.']) || text.contains("..") {
        return false;
    }
    let first = text.split('/').next().unwrap_or_default();
    let begins = text.contains('/') && [folder(document), ""].iter().any(|base| tree.has(&join(base, first)));
    begins || (FILES.iter().any(|ending| text.ends_with(ending)))
}

/// Looks up the path from the document, the root, and the sources of the document's crate. A bare name may be
/// anywhere below the document. A folder `docs` describes its parent.
fn exists(tree: &Tree, document: &str, path: &str) -> bool {
    let here = folder(document).trim_end_matches("/docs");
    let src = join(here, "src");
    leads(tree, &[here, "", &src], path)
        || (!path.contains('/')
            && tree.files().any(|(file, _)| is_below(file, here) && file.rsplit('/').next() == Some(path)))
        || (here.is_empty() && tree.files().any(|(file, _)| file.ends_with(&format!("/{path}"))))
}

fn leads(tree: &Tree, bases: &[&str], path: &str) -> bool {
    bases.iter().any(|base| tree.has(&crate::crates::normal(&join(base, path))))
}

fn join(base: &str, path: &str) -> String {
    if base.is_empty() { path.to_owned() } else { format!("{base}/{path}") }
}

/// Returns prefixes of paths that exist on one machine only. Concatenated, so that this file does not contain them.
fn machine_prefixes() -> [String; 5] {
    ["home/", "root/", "Users/", "work/", "var/folders/"].map(|path| format!("/{path}"))
}

pub fn machines(tree: &Tree) -> Vec<Finding> {
    let machines = machine_prefixes();
    let mut findings = Vec::new();
    for (file, text) in tree.files() {
        for (n, line) in text.text.lines().enumerate() {
            let names = |machine: &&String| {
                line.match_indices(machine.as_str()).any(|(at, _)| {
                    // Not within a longer path or an address.
                    !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-}/*".contains(c))
                })
            };
            if let Some(machine) = machines.iter().find(names) {
                findings.push(Finding::at(file, n + 1, format!("a path of a developer's machine: {machine}")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render_findings(findings: Vec<Finding>) -> Vec<String> {
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn undocumented_folders_are_found() {
        let tree = |head: &str| {
            Tree::from_files(&[
                ("a/Cargo.toml", ""),
                ("a/src/lib.rs", "//! A."),
                ("a/src/b/mod.rs", head),
                ("a/tests/c.rs", head),
            ])
        };
        assert_eq!(render_findings(folders(&tree("//! It is."), &[])), [""; 0]);
        let findings = render_findings(folders(&tree("// It is."), &[]));
        assert!(
            findings.len() == 2 && findings[0].starts_with("a/src/b: ") && findings[1].starts_with("a/tests/c.rs:1: "),
            "{findings:?}"
        );
        assert_eq!(folders(&tree(""), &[("a/src/b", "why")]).len(), 1);
        assert!(render_findings(folders(&tree("//! It is."), &[("a/src/b", "why")]))[0].contains("a/src/b"));
    }

    #[test]
    fn paths_in_documents_must_exist() {
        fn tree(text: &str) -> Tree {
            let below = "`src/lib.rs`, `lib.rs`, `a/src/lib.rs`";
            Tree::from_files(&[("README.md", text), ("a/src/lib.rs", ""), ("a/README.md", below)])
        }
        let good = "See [a](a/README.md), `a/src/`, `lib.rs`, `GET /docs`, `application/json`, [b](https://b/c).\n```\na/gone.rs\n```";
        assert_eq!(render_findings(paths(&tree(good), &[])), [""; 0]);
        for bad in ["[a](a/gone.md)", "`a/gone`", "`gone.rs`"] {
            let text = format!("\n{bad}");
            let findings = render_findings(paths(&tree(&text), &[]));
            assert!(findings.len() == 1 && findings[0].starts_with("README.md:2: "), "{bad}: {findings:?}");
        }
        assert_eq!(render_findings(paths(&tree("`a/gone`"), &[("README.md", "a/gone", "why")])), [""; 0]);
        assert_eq!(paths(&tree("`a/src`"), &[("README.md", "a/gone", "why")]).len(), 1);
    }

    #[test]
    fn a_path_of_a_machine_is_found() {
        for machine in machine_prefixes() {
            let text = format!("fine\nsee {machine}me");
            assert!(
                render_findings(machines(&Tree::from_files(&[("a.md", text.as_str())])))[0].starts_with("a.md:2: ")
            );
            let address = format!("http://host{machine}me");
            assert_eq!(machines(&Tree::from_files(&[("a.md", address.as_str())])), []);
        }
    }
}
