//! Damage to the files is detected and named.

use std::{fs, path::Path};

use audit::{AuditError, Damage, Rules, Trail, Wrong, verify};

use crate::{SECRET, append, copy, entry, files, folder, lines, open, rare_heads, small_files, write_lines, written};

/// Applies `harm` to a trail of three files and 25 entries, and returns the damage found.
fn found(harm: impl FnOnce(&Path)) -> Damage {
    let (_dir, folder) = folder();
    written(&folder, small_files(), 25);
    assert_eq!(verify(&folder, &SECRET).unwrap().files, 3);
    harm(&folder);
    let damage = verify(&folder, &SECRET).unwrap_err();
    let here = format!("{}/", folder.display());
    Damage { file: damage.file.replace(&here, ""), ..damage }
}

fn first_of(file: &Path) -> u64 {
    file.file_stem().unwrap().to_str().unwrap().rsplit('-').next().unwrap().parse().unwrap()
}

fn change(folder: &Path, file: usize, change: impl FnOnce(&mut Vec<String>)) {
    let path = &files(folder)[file];
    let mut lines = lines(path);
    change(&mut lines);
    write_lines(path, &lines);
}

/// Damages the second file; its line 4 contains the third entry.
fn second(seq: impl Fn(u64) -> u64, line: u64, wrong: impl Fn(u64) -> Wrong, harm: impl FnOnce(&mut Vec<String>)) {
    let mut name = String::new();
    let mut first = 0;
    let damage = found(|folder| {
        first = first_of(&files(folder)[1]);
        name = files(folder)[1].file_name().unwrap().to_str().unwrap().to_owned();
        change(folder, 1, harm);
    });
    assert_eq!(damage, Damage { file: name, line, seq: seq(first), wrong: wrong(first) });
}

#[test]
fn an_edited_entry_is_found() {
    second(|first| first + 2, 4, |_| Wrong::Edited, |lines| lines[3] = lines[3].replace("read", "fish"));
    second(|first| first + 2, 4, |_| Wrong::Unreadable, |lines| lines[3] = lines[3].replacen('{', "[", 1));
    second(
        |first| first + 2,
        4,
        |_| Wrong::Edited,
        |lines| {
            let upper = lines[3][lines[3].len() - 30..].to_uppercase();
            let at = lines[3].len() - 30;
            lines[3].replace_range(at.., &upper);
        },
    );
    let renumbered = |lines: &mut Vec<String>| lines[3] = lines[3].replacen("\"seq\":", "\"seq\":9", 1);
    second(|first| first + 2, 4, |_| Wrong::Edited, renumbered);
}

#[test]
fn deleted_lines_are_missing() {
    let missing = |first| Wrong::Missing { from: first + 2, to: first + 3 };
    second(|first| first + 2, 4, missing, |lines| drop(lines.drain(3..=4)));
}

#[test]
fn reordered_and_repeated_lines_are_found() {
    second(|first| first + 2, 4, |_| Wrong::Reordered, |lines| lines.swap(3, 4));
    second(|first| first + 2, 4, |_| Wrong::Reordered, |lines| lines.swap(3, 7));
    second(
        |first| first + 3,
        5,
        |first| Wrong::Repeated { found: first + 2 },
        |lines| lines.insert(4, lines[3].clone()),
    );
}

#[test]
fn an_inserted_line_is_found() {
    second(
        |first| first + 2,
        4,
        |_| Wrong::Edited,
        |lines| {
            let numbered = lines[3].replace("read", "fish");
            lines.insert(3, numbered);
        },
    );
}

#[test]
fn a_deleted_middle_file_is_missing() {
    let mut expected = (0, 0);
    let damage = found(|folder| {
        let files = files(folder);
        expected = (first_of(&files[1]), first_of(&files[2]) - 1);
        fs::remove_file(&files[1]).unwrap();
    });
    assert_eq!((damage.line, damage.seq), (1, expected.0));
    assert_eq!(damage.wrong, Wrong::Missing { from: expected.0, to: expected.1 });
}

#[test]
fn a_deleted_first_file_without_a_note_is_missing() {
    let mut last = 0;
    let damage = found(|folder| {
        last = first_of(&files(folder)[1]) - 1;
        fs::remove_file(&files(folder)[0]).unwrap();
    });
    assert_eq!((damage.line, damage.wrong), (1, Wrong::Missing { from: 1, to: last }));
}

#[test]
fn a_cut_off_end_is_found() {
    let damage = found(|folder| change(folder, 2, |lines| lines.truncate(2)));
    let Wrong::CutOff { from, to: 25 } = damage.wrong else { panic!("{damage}") };
    assert_eq!(from, damage.seq);
    let mut first = 0;
    let damage = found(|folder| {
        first = first_of(&files(folder)[2]);
        fs::remove_file(&files(folder)[2]).unwrap();
    });
    assert_eq!(damage.wrong, Wrong::CutOff { from: first, to: 25 });
    let damage = found(|folder| files(folder).iter().for_each(|file| fs::remove_file(file).unwrap()));
    // No file is left that another secret could have sealed.
    assert_eq!(damage.wrong, Wrong::CutOff { from: 1, to: 25 });
}

#[test]
fn a_torn_line_in_the_middle_is_unreadable() {
    let damage = found(|folder| {
        let path = &files(folder)[1];
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() - 5]).unwrap();
    });
    assert_eq!(damage.wrong, Wrong::Unreadable, "{damage}");
}

#[test]
fn foreign_headers_and_file_names_are_found() {
    let foreign = |harm: fn(&Path)| {
        let damage = found(harm);
        assert_eq!((damage.line, &damage.wrong), (1, &Wrong::ForeignHeader), "{damage}");
    };
    foreign(|folder| change(folder, 1, |lines| lines[0] = lines[0].replacen("2026", "2016", 1)));
    foreign(|folder| {
        let path = &files(folder)[1];
        fs::rename(path, path.to_str().unwrap().replace("20261125", "20261120")).unwrap();
    });
    // The same secret, but another trail.
    foreign(|folder| {
        let (_dir, other) = self::folder();
        let trail = open(&other, small_files());
        (1..=25).for_each(|n| {
            let mut entry = entry(n);
            entry.action = "fish".to_owned();
            trail.append(&entry).unwrap().wait().unwrap();
        });
        trail.close().unwrap();
        fs::copy(&files(&other)[1], &files(folder)[1]).unwrap();
    });
    let damage = found(|folder| change(folder, 1, |lines| drop(lines.remove(0))));
    assert_eq!((damage.line, damage.wrong), (1, Wrong::Unreadable));
}

#[test]
fn a_copied_file_is_found() {
    let damage = found(|folder| {
        let files = files(folder);
        let twice = files[1].to_str().unwrap().replace("20261125", "20261124");
        fs::copy(&files[1], twice).unwrap();
    });
    assert_eq!(damage.wrong, Wrong::ForeignHeader);
}

#[test]
fn a_missing_edited_or_foreign_head_is_found() {
    assert_eq!(found(|folder| fs::remove_file(folder.join("head")).unwrap()).wrong, Wrong::NoHead);
    let edited = found(|folder| {
        let head = fs::read_to_string(folder.join("head")).unwrap();
        fs::write(folder.join("head"), head.replace("\"seq\":25", "\"seq\":24")).unwrap();
    });
    assert_eq!((edited.file.as_str(), edited.wrong), ("head", Wrong::Edited));
    // The trail continues from an earlier state, then the head of the other continuation is restored.
    let (_dir, folder) = folder();
    written(&folder, rare_heads(), 5);
    let (_other_dir, other) = copy(&folder);
    for (folder, n) in [(&folder, 7), (&other, 8)] {
        let trail = open(folder, rare_heads());
        append(&trail, n..=n);
        trail.close().unwrap();
    }
    fs::copy(other.join("head"), folder.join("head")).unwrap();
    let damage = verify(&folder, &SECRET).unwrap_err();
    assert_eq!((damage.line, damage.seq, damage.wrong), (7, 6, Wrong::OtherHistory));
}

#[test]
fn another_secret_is_distinguished_from_damage() {
    let (_dir, folder) = folder();
    for entries in [0, 25] {
        written(&folder, small_files(), entries);
        assert_eq!(verify(&folder, &[43; 32]).unwrap_err().wrong, Wrong::WrongSecret);
        let refused = Trail::open(&folder, &[43; 32], Rules::default()).err().unwrap();
        assert!(matches!(&refused, AuditError::Damaged(Damage { wrong: Wrong::WrongSecret, .. })), "{refused}");
    }
    assert_eq!(verify(&folder, &SECRET).unwrap().entries, 25, "the trail is unchanged");
}

#[test]
fn a_folder_without_a_trail_is_none() {
    let (dir, _) = folder();
    assert_eq!(verify(dir.path(), &SECRET).unwrap_err().wrong, Wrong::Nothing);
}

#[test]
fn every_changed_byte_and_every_cut_is_found() {
    let (_dir, folder) = folder();
    written(&folder, Rules { max_file_bytes: 900, ..rare_heads() }, 5);
    assert_eq!(files(&folder).len(), 3);
    for path in files(&folder).into_iter().chain([folder.join("head")]) {
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut edited = whole.clone();
            edited[at] ^= 1;
            fs::write(&path, &edited).unwrap();
            assert!(verify(&folder, &SECRET).is_err(), "{path:?}, byte {at}");
            fs::write(&path, &whole[..at]).unwrap();
            assert!(verify(&folder, &SECRET).is_err(), "{path:?}, cut at {at}");
        }
        fs::write(&path, &whole).unwrap();
    }
    verify(&folder, &SECRET).unwrap();
}

/// The documented limit of the crate: a restored state is detected only if its last entry was recorded
/// elsewhere.
#[test]
fn an_earlier_state_put_back_as_a_whole_is_not_found() {
    let (_dir, folder) = folder();
    written(&folder, rare_heads(), 5);
    let (_earlier_dir, earlier) = copy(&folder);
    written(&folder, rare_heads(), 3);
    let (now, then) = (verify(&folder, &SECRET).unwrap(), verify(&earlier, &SECRET).unwrap());
    assert_eq!((now.last, then.last), (8, 5));
    assert_ne!(now.mac, then.mac, "the MAC to record elsewhere");
}
