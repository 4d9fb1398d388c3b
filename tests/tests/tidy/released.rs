//! Rule: a released folder of the contract never changes. Existing components depend on its types, and even an
//! additional optional field prevents them from loading.
//!
//! Only the types count. Comments may be clarified as long as they do not add requirements.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::tree::{Finding, Tree};

const FOLDER: &str = "wit/";

/// `released`: folder and hash.
pub fn check(tree: &Tree, released: &[(&str, &str)]) -> Vec<Finding> {
    let of_contract = tree.files().filter(|(file, _)| file.ends_with(".wit"));
    let versions = of_contract.filter_map(|(file, _)| file.strip_prefix(FOLDER)?.split_once('/'));
    let versions: BTreeSet<&str> = versions.map(|(version, _)| version).collect();
    let unknown = versions.iter().map(|version| format!("{FOLDER}{version}"));
    let unknown = unknown.filter(|folder| released.iter().all(|(known, _)| known != folder));
    let mut findings: Vec<Finding> =
        unknown.map(|folder| Finding::at(&folder, 0, "it has no row among the released folders".to_owned())).collect();
    for (folder, hash) in released {
        let found = hash_of(tree, folder);
        if found != *hash {
            let message =
                format!("a released folder never changes: it has {found}, not {hash}; a change needs a new folder");
            findings.push(Finding::at(folder, 0, message));
        }
    }
    findings
}

/// Hashes all files without comments, empty lines and indentation.
fn hash_of(tree: &Tree, folder: &str) -> String {
    let mut hash = Sha256::new();
    for (file, read) in tree.files() {
        let Some(name) = file.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) else { continue };
        hash.update(format!("{name}\n"));
        let lines = read.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
        lines.for_each(|line| hash.update(format!("{line}\n")));
    }
    hex::encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(types: &str, hash: &str) -> usize {
        check(&Tree::from_files(&[("wit/README.md", ""), ("wit/v1/types.wit", types)]), &[("wit/v1", hash)]).len()
    }

    #[test]
    fn a_changed_type_is_found_and_a_clearer_comment_is_not() {
        let hash = hash_of(&Tree::from_files(&[("wit/v1/types.wit", "record a {\n  b: u8,\n}\n")]), "wit/v1");
        assert_eq!(found("/// Clear.\nrecord a {\n  /// Clearer.\n  b: u8,\n\n}\n", &hash), 0);
        assert_eq!(found("record a {\n  b: u16,\n}\n", &hash), 1);
        assert_eq!(found("record a {\n  b: u8,\n  c: option<u8>,\n}\n", &hash), 1);
    }

    #[test]
    fn added_removed_and_unlisted_files_are_found() {
        let one = Tree::from_files(&[("wit/v1/types.wit", "interface a {}")]);
        let two = Tree::from_files(&[("wit/v1/types.wit", "interface a {}"), ("wit/v1/more.wit", "")]);
        let hash = hash_of(&one, "wit/v1");
        assert_eq!(check(&one, &[("wit/v1", &hash)]), []);
        assert_eq!(check(&two, &[("wit/v1", &hash)]).len(), 1);
        assert_eq!(check(&Tree::from_files(&[]), &[("wit/v1", &hash)]).len(), 1);
        assert_eq!(check(&one, &[]).len(), 1);
    }
}
