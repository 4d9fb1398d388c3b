//! Retention deletes old files and records their removal in the trail.

use std::{fs, path::Path};

use audit::{Rules, Wrong, verify};

use crate::{AT, DAY, SECRET, copy, entry_at, files, folder, lines, open, rare_heads};

fn keep(days: u32) -> Rules {
    Rules { keep_days: Some(days), ..rare_heads() }
}

/// Appends an entry on each of these days, counted from the first day.
fn on_days(folder: &Path, rules: Rules, days: impl IntoIterator<Item = i64>) {
    let trail = open(folder, rules);
    days.into_iter().for_each(|day| trail.append(&entry_at(1, AT + day * DAY)).unwrap().wait().unwrap());
    trail.close().unwrap();
}

fn days(folder: &Path) -> Vec<String> {
    files(folder).iter().map(|file| file.file_name().unwrap().to_str().unwrap()[12..14].to_owned()).collect()
}

#[test]
fn old_files_are_deleted_with_a_note_in_the_trail() {
    let (_dir, folder) = folder();
    on_days(&folder, keep(2), 0..=3);
    assert_eq!(
        days(&folder),
        ["25", "26", "27", "28"],
        "the last but one is of the 27th: none is more than two days older"
    );
    let mac = lines(&files(&folder)[0]).pop().unwrap();
    let mac = &mac[mac.len() - 66..mac.len() - 2];
    on_days(&folder, keep(2), [4]);
    assert_eq!(days(&folder), ["26", "27", "28", "29"]);
    let found = verify(&folder, &SECRET).unwrap();
    assert_eq!((found.first, found.last, found.entries), (2, 6, 5));
    let note = &lines(&files(&folder)[3])[1];
    let expected = format!(
        r#""actor":"service","action":"retention","record":"audit","status":"removed","note":{{"removed":{{"seq":1,"mac":"{mac}"}}}}"#
    );
    assert!(note.contains(&expected), "{note}");
    on_days(&folder, keep(2), 5..=5);
    assert_eq!(verify(&folder, &SECRET).unwrap().first, 3);
}

#[test]
fn a_shorter_time_takes_effect_at_the_start() {
    let (_dir, folder) = folder();
    on_days(&folder, rare_heads(), 0..=5);
    assert_eq!(days(&folder).len(), 6);
    on_days(&folder, keep(0), []);
    assert_eq!(days(&folder), ["29", "30"]);
    let found = verify(&folder, &SECRET).unwrap();
    assert_eq!((found.first, found.last, found.latest), (5, 7, Some(AT + 5 * DAY)));
}

#[test]
fn files_deleted_beyond_the_note_are_missing() {
    let (_dir, folder) = folder();
    on_days(&folder, keep(2), 0..=4);
    fs::remove_file(&files(&folder)[0]).unwrap();
    assert_eq!(verify(&folder, &SECRET).unwrap_err().wrong, Wrong::Missing { from: 1, to: 2 });
}

#[test]
fn a_deletion_that_the_power_cut_off_is_done_at_the_next_start() {
    let (_dir, folder) = folder();
    on_days(&folder, keep(9), 0..=5);
    let (_copy_dir, whole) = copy(&folder);
    on_days(&folder, keep(1), []);
    assert_eq!(days(&folder), ["28", "29", "30"]);
    // Simulates a power loss during the deletion: the second and third files still exist.
    let second = &files(&whole)[1];
    fs::copy(second, folder.join(second.file_name().unwrap())).unwrap();
    let third = &files(&whole)[2];
    fs::copy(third, folder.join(third.file_name().unwrap())).unwrap();
    assert_eq!(verify(&folder, &SECRET).unwrap().first, 2);
    on_days(&folder, keep(1), []);
    assert_eq!(days(&folder), ["28", "29", "30"]);
    verify(&folder, &SECRET).unwrap();
}

#[test]
fn no_file_is_deleted_while_a_reader_is_active() {
    let (_dir, folder) = folder();
    on_days(&folder, rare_heads(), 0..=5);
    let readers = fs::File::open(folder.join("readers")).unwrap();
    readers.lock_shared().unwrap();
    on_days(&folder, keep(1), []);
    assert_eq!(days(&folder).len(), 6);
    drop(readers);
    on_days(&folder, keep(1), []);
    assert_eq!(days(&folder).len(), 3);
}

#[test]
fn a_clock_ahead_for_one_file_deletes_nothing() {
    let (_dir, folder) = folder();
    on_days(&folder, keep(30), 0..=2);
    on_days(&folder, keep(30), [10_000, 3]);
    assert_eq!(files(&folder).len(), 4);
    assert_eq!(verify(&folder, &SECRET).unwrap().first, 1);
}

#[test]
fn damaged_files_are_not_deleted() {
    let (_dir, folder) = folder();
    on_days(&folder, rare_heads(), 0..=5);
    let first = &files(&folder)[0];
    let renamed = first.to_str().unwrap().replace("25", "24");
    fs::write(first, fs::read_to_string(first).unwrap().replacen("20261125", "20261124", 1)).unwrap();
    fs::rename(first, renamed).unwrap();
    on_days(&folder, keep(1), []);
    assert_eq!(files(&folder).len(), 6);
}
