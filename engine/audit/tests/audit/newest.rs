//! The newest entries, read while the trail is being written.

use std::fs;

use audit::{Actor, AuditEntry, Filter, Newest, Trail};

use crate::{AT, append, entry, entry_at, files, folder, open, rare_heads, small_files};

fn numbers(newest: &Newest) -> Vec<u64> {
    newest.entries.iter().map(|it| it.seq).collect()
}

fn found(trail: &Trail, filter: Filter, most: usize) -> (Vec<u64>, bool) {
    let newest = trail.newest(filter, most).unwrap();
    (numbers(&newest), newest.cut)
}

#[test]
fn newest_entries_come_first_across_files() {
    let (_dir, folder) = folder();
    let trail = open(&folder, small_files());
    assert_eq!(found(&trail, Filter::default(), 10), (vec![], false));
    append(&trail, 1..=25);
    assert!(files(&folder).len() > 2);
    assert_eq!(found(&trail, Filter::default(), 100), ((1..=25).rev().collect(), false));
    assert_eq!(found(&trail, Filter::default(), 3), (vec![25, 24, 23], true));
    assert_eq!(found(&trail, Filter { id: Some(2), ..Filter::default() }, 3), (vec![2], false));
    let within = Filter { from: Some(AT + 4), to: Some(AT + 7), ..Filter::default() };
    assert_eq!(found(&trail, within, 10), (vec![6, 5, 4], false));
    assert_eq!(trail.newest(Filter::default(), 1).unwrap().entries[0].entry, entry(25));
}

#[test]
fn entries_of_other_locations_and_actors_do_not_use_up_the_limit() {
    let (_dir, folder) = folder();
    let trail = open(&folder, small_files());
    let here = AuditEntry { location: Some(101), actor: Actor::Workstation("desk".to_owned()), ..entry(1) };
    let booking = AuditEntry { location: None, decisions: vec![(101, 8)], ..entry(2) };
    for entry in [&here, &booking] {
        trail.append(entry).unwrap().wait().unwrap();
    }
    append(&trail, 3..=25);
    assert_eq!(found(&trail, Filter { location: Some(101), ..Filter::default() }, 3), (vec![2, 1], false));
    let of_kind = |kind: &str| Filter { actor_kind: Some(kind.to_owned()), ..Filter::default() };
    assert_eq!(found(&trail, of_kind("workstation"), 3), (vec![1], false));
    assert_eq!(found(&trail, of_kind("key"), 3), (vec![25, 24, 23], true));
}

/// An entry appended late, such as one of a change whose process ended before it was audited.
#[test]
fn a_late_entry_hides_no_earlier_entries() {
    let (_dir, folder) = folder();
    let trail = open(&folder, small_files());
    append(&trail, 1..=9);
    let before = files(&folder).len();
    let mut last = 9;
    // Repeated until a late entry begins a file.
    while files(&folder).len() == before {
        last += 1;
        trail.append(&entry_at(last, AT)).unwrap().wait().unwrap();
    }
    append(&trail, last + 1..=last + 1);
    let from = Filter { from: Some(AT + 8), ..Filter::default() };
    assert_eq!(found(&trail, from, 10), (vec![last + 1, 9, 8], false));
}

#[test]
fn an_edited_entry_is_not_shown() {
    let (_dir, folder) = folder();
    let trail = open(&folder, rare_heads());
    append(&trail, 1..=5);
    let file = &files(&folder)[0];
    let text = fs::read_to_string(file).unwrap();
    fs::write(file, text.replacen("request-3", "request-9", 1)).unwrap();
    let error = trail.newest(Filter::default(), 10).unwrap_err().to_string();
    assert!(error.contains("3"), "{error}");
}
