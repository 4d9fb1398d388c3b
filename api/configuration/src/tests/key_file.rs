//! Edits of single entries of the key file.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use tempfile::TempDir;

use crate::*;

/// A file with comments around the keys.
const FILE: &str = "# Who may call.\n\n# The booking page.\n[[keys]]\nname = \"a\" # not the old one\nsha256 = \"11\"\n\n\
                    # Reports.\n# Read only.\n[[keys]]\nname = \"b\"\nlocations = [1, 2] # both\n[[keys]\nname = broken\n";

fn file(text: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keys.toml");
    fs::write(&path, text).unwrap();
    (dir, path)
}

#[test]
fn a_removed_entry_takes_its_comment_and_the_rest_stays() {
    let (_dir, path) = file(FILE);
    let mut keys = KeyFile::open(&path).unwrap();
    assert!(keys.remove("keys", "b"));
    assert!(!keys.remove("keys", "broken") && !keys.remove("operators", "a"));
    keys.save().unwrap();
    let left = FILE.replace("# Reports.\n# Read only.\n[[keys]]\nname = \"b\"\nlocations = [1, 2] # both\n", "");
    assert_eq!(fs::read_to_string(&path).unwrap(), left);
}

#[test]
fn a_key_of_an_entry_is_set_in_its_place() {
    let (_dir, path) = file(FILE);
    let mut keys = KeyFile::open(&path).unwrap();
    assert!(keys.set("keys", "b", "locations", &vec![2].into()));
    assert!(keys.set("keys", "b", "grants", &vec!["beta"].into()));
    assert!(!keys.set("keys", "nobody", "grants", &vec!["beta"].into()));
    keys.save().unwrap();
    let set = FILE.replace("locations = [1, 2] # both", "locations = [2] # both\ngrants = [\"beta\"]");
    assert_eq!(fs::read_to_string(&path).unwrap(), set);
}

#[test]
fn the_first_entry_creates_a_file_readable_by_its_owner_only() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = dir.path().join("keys.toml");
    for (digit, name) in [("1", "a\"b"), ("2", "c")] {
        let mut keys = KeyFile::open(&path).unwrap();
        keys.add("keys", &[("name", name.into()), ("sha256", digit.repeat(64).into())]);
        let setup = engine::setup::Setup::default();
        let wrong = keys.problems("keys", name, &setup);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        keys.save().unwrap();
    }
    let text = fs::read_to_string(&path).unwrap();
    let names: Vec<String> = text.parse::<toml::Table>().unwrap()["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["a\"b", "c"]);
    assert!(text.contains("\n\n[[keys]]\nname = \"c\"\n"), "{text}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    // The mode of an existing file is kept.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let mut keys = KeyFile::open(&path).unwrap();
    assert!(keys.remove("keys", "c"));
    keys.save().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    // A folder with group access gives a new file group access.
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o750)).unwrap();
    let path = dir.path().join("other.toml");
    KeyFile::open(&path).unwrap().save().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}
