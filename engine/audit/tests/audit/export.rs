//! Exports of the entries that match a filter.

use std::fs;

use audit::{Actor, AuditEntry, AuditError, Filter, Wrong, export};

use crate::{AT, SECRET, entry, files, folder, lines, open, small_files};

fn exported(filter: Filter) -> Vec<u64> {
    let (_dir, folder) = folder();
    let trail = open(&folder, small_files());
    for n in 1..=20 {
        let mut entry = entry(n);
        if n % 2 == 0 {
            entry.actor = Actor::Operator("anna".to_owned());
        }
        if n % 5 == 0 {
            (entry.record, entry.ids) = ("appointment".to_owned(), vec![7, 8, n]);
        }
        trail.append(&entry).unwrap().wait().unwrap();
    }
    let mut out = Vec::new();
    // The trail is still open.
    let entries = export(&folder, &SECRET, filter, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert_eq!(out.lines().count() as u64, entries);
    let all: Vec<String> = files(&folder).iter().flat_map(|file| lines(file)).collect();
    assert!(out.lines().all(|line| all.iter().any(|written| written == line)), "lines are exported as stored");
    let entries = out.lines().map(|line| serde_json::from_str::<AuditEntry>(line).unwrap());
    entries.map(|entry| entry.request_id.replace("request-", "").parse().unwrap()).collect()
}

#[test]
fn entries_that_match_the_filter_are_exported() {
    assert_eq!(exported(Filter::default()), (1..=20).collect::<Vec<_>>());
    assert_eq!(exported(Filter { from: Some(AT + 3), to: Some(AT + 6), ..Filter::default() }), [3, 4, 5]);
    let anna = Some(Actor::Operator("anna".to_owned()));
    assert_eq!(
        exported(Filter { actor: anna.clone(), record: Some("appointment".to_owned()), ..Filter::default() }),
        [10, 20]
    );
    assert_eq!(exported(Filter { id: Some(7), ..Filter::default() }), [5, 7, 10, 15, 20]);
    assert_eq!(exported(Filter { request: Some("request-9".to_owned()), ..Filter::default() }), [9]);
    assert_eq!(exported(Filter { id: Some(7), record: Some("patient".to_owned()), ..Filter::default() }), [7]);
    assert_eq!(exported(Filter { actor: Some(Actor::Key("anna".to_owned())), ..Filter::default() }), [0; 0]);
}

#[test]
fn a_damaged_trail_is_not_exported() {
    let (_dir, folder) = folder();
    crate::written(&folder, small_files(), 20);
    let file = &files(&folder)[1];
    fs::write(file, fs::read_to_string(file).unwrap().replacen("read", "fish", 1)).unwrap();
    let mut out = Vec::new();
    let refused = export(&folder, &SECRET, Filter::default(), &mut out);
    assert!(matches!(refused, Err(AuditError::Damaged(damage)) if damage.wrong == Wrong::Edited));
    assert!(!String::from_utf8(out).unwrap().contains("fish"));
}

struct Shut;

impl std::io::Write for Shut {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_output_is_an_error() {
    let (_dir, folder) = folder();
    crate::written(&folder, small_files(), 2);
    assert!(matches!(export(&folder, &SECRET, Filter::default(), Shut), Err(AuditError::Io { .. })));
}
