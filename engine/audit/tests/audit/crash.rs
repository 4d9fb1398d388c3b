//! Starts after a power loss, and after tampering with the files.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::Path,
};

use audit::{AuditError, Damage, Trail, Wrong, verify};

use crate::{SECRET, append, copy, files, folder, lines, open, rare_heads, small_files, write_lines, written};

fn add(file: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(file).unwrap().write_all(bytes).unwrap();
}

fn append_one_more(folder: &Path, entries: u64) {
    let trail = open(folder, rare_heads());
    append(&trail, 100..=100);
    trail.close().unwrap();
    let found = verify(folder, &SECRET).unwrap();
    assert_eq!((found.entries, found.last, found.torn), (entries + 1, entries + 1, 0));
}

#[test]
fn acknowledged_entries_survive_a_power_loss() {
    let (_dir, folder) = folder();
    let trail = open(&folder, small_files());
    append(&trail, 1..=25);
    let (_copy_dir, copy) = copy(&folder);
    assert!(verify(&copy, &SECRET).unwrap().head < 25, "the head was not written since");
    append_one_more(&copy, 25);
}

#[test]
fn a_torn_end_is_cut_off() {
    let line = r#"{"seq":4,"at":1795600800004,"actor":"service"}"#;
    for torn in [&line[..20], line, "\u{7f}garbage\n", "\0\0\0\0\0\0", "\0\0\0\n{\"seq\":5}\n", "\n"] {
        let (_dir, folder) = folder();
        written(&folder, rare_heads(), 3);
        add(&files(&folder)[0], torn.as_bytes());
        let found = verify(&folder, &SECRET).unwrap();
        assert_eq!((found.entries, found.torn), (3, torn.len() as u64), "{torn:?}");
        append_one_more(&folder, 3);
    }
}

#[test]
fn an_unfinished_file_is_created_again() {
    for begun in ["", "{\"format\":1,\"first\":", "\0\0\0\0\0"] {
        let (_dir, folder) = folder();
        written(&folder, rare_heads(), 3);
        fs::write(folder.join("audit-20261126-000000000004.jsonl"), begun).unwrap();
        assert_eq!(verify(&folder, &SECRET).unwrap().entries, 3);
        append_one_more(&folder, 3);
        assert_eq!(files(&folder).len(), 1);
    }
}

#[test]
fn a_file_with_only_a_header_is_continued() {
    let (_dir, folder) = folder();
    written(&folder, small_files(), 25);
    let last = &files(&folder)[2];
    let first: u64 = last.file_stem().unwrap().to_str().unwrap()[15..].parse().unwrap();
    write_lines(last, &lines(last)[..1]);
    // The head at the time when that file was begun.
    let (_dir_of_head, other) = self::folder();
    written(&other, small_files(), first - 1);
    fs::copy(other.join("head"), folder.join("head")).unwrap();
    append_one_more(&folder, first - 1);
    assert_eq!(files(&folder).len(), 3);
}

fn refused(folder: &Path) -> Damage {
    let before: Vec<Vec<u8>> = files(folder).iter().map(|file| fs::read(file).unwrap()).collect();
    let Err(AuditError::Damaged(damage)) = Trail::open(folder, &SECRET, rare_heads()) else { panic!("it opened") };
    let after: Vec<Vec<u8>> = files(folder).iter().map(|file| fs::read(file).unwrap()).collect();
    assert!(before == after, "damaged files are left unchanged");
    damage
}

#[test]
fn damage_beyond_a_power_loss_is_refused_with_file_and_line() {
    let (_dir, folder) = folder();
    written(&folder, rare_heads(), 9);
    let file = files(&folder)[0].clone();
    let whole = lines(&file);
    let mut edited = whole.clone();
    edited[4] = edited[4].replace("read", "fish");
    write_lines(&file, &edited);
    let damage = refused(&folder);
    let sentence =
        format!("audit trail: {}, line 5, entry 4: it was edited, or inserted without the secret", file.display());
    assert_eq!(damage.to_string(), sentence);
    // The last line is refused, too, as long as it can be parsed.
    edited = whole.clone();
    edited[9] = edited[9].replace("read", "fish");
    write_lines(&file, &edited);
    assert_eq!((refused(&folder).line, refused(&folder).wrong), (10, Wrong::Edited));
    // Cut off before the entry in the head, also with a torn line at the end.
    write_lines(&file, &whole[..8]);
    add(&file, b"{\"seq\":8,");
    assert_eq!(refused(&folder).wrong, Wrong::CutOff { from: 8, to: 9 });
    // A header with zeros in it is not the rest of an interrupted creation.
    let zeros = fs::read(&file).unwrap().into_iter().enumerate().map(|(n, byte)| if n == 5 { 0 } else { byte });
    fs::write(&file, zeros.collect::<Vec<u8>>()).unwrap();
    refused(&folder);
    fs::remove_file(&file).unwrap();
    assert_eq!(refused(&folder).wrong, Wrong::CutOff { from: 1, to: 9 });
}

/// Opening checks the last file only; earlier files are checked by `verify`.
#[test]
fn damage_further_up_does_not_stop_the_service() {
    let (_dir, folder) = folder();
    written(&folder, small_files(), 25);
    fs::remove_file(&files(&folder)[0]).unwrap();
    let trail = open(&folder, small_files());
    append(&trail, 26..=26);
    trail.close().unwrap();
    assert!(matches!(verify(&folder, &SECRET).unwrap_err().wrong, Wrong::Missing { from: 1, .. }));
}
