//! Architecture tests that read the source tree. The tables in `tables.rs` contain the permitted state; each rule is
//! described below. A finding names file and line. Unused rows are findings, too.
//!
//! ```text
//!  tree ─► source (one file) ─► crates (manifests, modules) ─► a rule ─► findings
//!                                            tables ────────────┘
//! ```
#![allow(clippy::unwrap_used)]

mod arrows;
mod circles;
mod compiled;
mod crates;
mod documents;
mod executables;
mod language;
mod length;
mod released;
mod rooms;
mod source;
mod tables;
mod tree;

use std::{path::Path, sync::OnceLock};

use crates::Crates;
use tree::{Finding, Tree};

/// The file in which rows are added and removed.
const TABLES: &str = "tests/tests/tidy/tables.rs";

/// Returns the current tree, which is read once.
fn now() -> &'static (Tree, Crates) {
    static NOW: OnceLock<(Tree, Crates)> = OnceLock::new();
    NOW.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the checkout");
        let tree = Tree::read(root);
        let crates = Crates::from_tree(&tree);
        (tree, crates)
    })
}

fn none(findings: &[Finding]) {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} findings; the tables are in {TABLES}\n{}\n", lines.len(), lines.join("\n"));
}

#[test]
fn every_file_can_be_read() {
    let (tree, _) = now();
    let unread = tree.files().filter(|(file, _)| file.ends_with(".rs"));
    let unread = unread.filter_map(|(file, text)| Some(Finding::at(file, 0, text.source().err()?)));
    none(&unread.collect::<Vec<_>>());
}

#[test]
fn tools_are_used_in_their_folders_only() {
    let (tree, crates) = now();
    none(&rooms::check(tree, crates, tables::TOOLS, tables::ANY_TOOL));
}

#[test]
fn crates_depend_only_on_permitted_crates() {
    let (tree, crates) = now();
    none(&arrows::check(tree, crates, tables::ARROWS));
}

#[test]
fn files_do_not_import_each_other_in_a_circle() {
    let (tree, crates) = now();
    none(&circles::check(tree, crates, tables::CIRCLES));
}

#[test]
fn every_folder_is_documented() {
    none(&documents::folders(&now().0, tables::FOLDERS_WITHOUT_DOCUMENT));
}

#[test]
fn documents_name_existing_paths() {
    none(&documents::paths(&now().0, tables::PATHS_THAT_DO_NOT_EXIST));
}

#[test]
fn no_file_names_a_path_of_a_machine() {
    none(&documents::machines(&now().0));
}

#[test]
fn every_file_is_compiled() {
    none(&compiled::check(&now().0, tables::COMPILED_OTHERWISE));
}

#[test]
fn test_executables_are_few() {
    none(&executables::check(&now().0));
}

#[test]
fn long_files_have_a_reason() {
    let (tree, crates) = now();
    none(&length::check(tree, crates, tables::LONG_FILES));
}

#[test]
fn comments_and_documents_are_in_plain_language() {
    none(&language::check(&now().0, &tables::LANGUAGE));
}

#[test]
fn released_contract_types_never_change() {
    none(&released::check(&now().0, tables::RELEASED));
}
