//! A disk that temporarily refuses writes.

use std::{path::Path, sync::Arc, sync::atomic::AtomicBool, sync::atomic::Ordering::SeqCst, thread, time::Duration};

use audit::{AuditError, Rules, Trail, Written, verify};
use testing::until_blocking;

use crate::{AT, DAY, SECRET, append, copy, disk::TestDisk, entry, entry_at, files, folder, lines, open, rare_heads};

fn rules() -> Rules {
    Rules { retry_after: Duration::from_millis(20), ..rare_heads() }
}

fn fails(disk: &Arc<TestDisk>, how: fn(&TestDisk) -> &AtomicBool, second: i64) {
    let (_dir, folder) = folder();
    let trail = Trail::open_on(&folder, &SECRET, rules(), disk.clone()).unwrap();
    append(&trail, 1..=2);
    how(disk).store(true, SeqCst);
    let error = trail.append(&entry_at(3, second)).unwrap().wait().unwrap_err();
    assert!(matches!(error, AuditError::Io { .. }), "{error}");
    let refused = trail.append(&entry_at(4, second)).err().unwrap();
    assert!(matches!(&refused, AuditError::Interrupted { why } if *why == error.to_string()), "{refused}");
    // The writer retries and fails again.
    thread::sleep(Duration::from_millis(70));
    assert!(matches!(trail.append(&entry_at(5, second)), Err(AuditError::Interrupted { .. })));
    how(disk).store(false, SeqCst);
    let mut refused = 3;
    let written = loop {
        match trail.append(&entry_at(6, second)) {
            Ok(written) => break written,
            Err(_) => refused += 1,
        }
        thread::sleep(Duration::from_millis(5));
    };
    written.wait().unwrap();
    trail.close().unwrap();
    assert_eq!(verify(&folder, &SECRET).unwrap().torn, 0);
    let all: Vec<String> = files(&folder).iter().flat_map(|file| lines(file).split_off(1)).collect();
    // The trail contains two entries before the failure, the notes, and one after it. Entries refused while the
    // first note was written are counted in a second note.
    assert!(all[1].contains("request-2") && all[all.len() - 1].contains("request-6"), "{all:?}");
    assert_eq!(all[2..all.len() - 1].iter().map(|line| noted(line)).sum::<u64>(), refused);
}

fn noted(line: &str) -> u64 {
    let note =
        r#""actor":"service","action":"record","record":"audit","status":"refused","note":{"refused":{"entries":"#;
    line.split_once(note).unwrap().1.split_once('}').unwrap().0.parse().unwrap()
}

#[test]
fn entries_are_refused_while_the_disk_is_full_and_taken_when_it_is_not() {
    fails(&TestDisk::new(), |disk| &disk.full, AT + 10);
}

#[test]
fn a_sync_that_fails_leaves_nothing_behind() {
    fails(&TestDisk::new(), |disk| &disk.sync_fails, AT + 10);
}

#[test]
fn entries_that_need_a_new_file_are_refused_on_a_full_disk() {
    fails(&TestDisk::new(), |disk| &disk.full, AT + DAY);
    fails(&TestDisk::new(), |disk| &disk.sync_fails, AT + DAY);
}

#[test]
fn entries_queued_behind_a_failed_write_fail_too() {
    let (_dir, folder) = folder();
    let disk = TestDisk::new();
    let trail = Trail::open_on(&folder, &SECRET, rules(), disk.clone()).unwrap();
    append(&trail, 1..=1);
    disk.shut();
    let first = trail.append(&entry(2)).unwrap();
    disk.until_sync_waits();
    let behind = trail.append(&entry(3)).unwrap();
    disk.sync_fails.store(true, SeqCst);
    disk.open();
    assert!(matches!(first.wait(), Err(AuditError::Io { .. })));
    assert!(matches!(behind.wait(), Err(AuditError::Io { .. })));
}

#[test]
fn closing_on_a_full_disk_fails_and_the_trail_reopens() {
    let (_dir, folder) = folder();
    let disk = TestDisk::new();
    let trail = Trail::open_on(&folder, &SECRET, rules(), disk.clone()).unwrap();
    append(&trail, 1..=2);
    disk.full.store(true, SeqCst);
    trail.append(&entry(3)).unwrap().wait().unwrap_err();
    assert!(matches!(trail.close(), Err(AuditError::Io { .. })));
    assert_eq!(verify(&folder, &SECRET).unwrap().entries, 2, "half a line is not an entry");
    let trail = open(&folder, rules());
    append(&trail, 3..=3);
    trail.close().unwrap();
    let found = verify(&folder, &SECRET).unwrap();
    assert_eq!((found.entries, found.torn), (3, 0));
}

#[test]
fn entries_are_durable_even_if_the_head_is_not() {
    let (_dir, folder) = folder();
    let disk = TestDisk::new();
    let trail = Trail::open_on(&folder, &SECRET, Rules { head_entries: 1, ..rules() }, disk.clone()).unwrap();
    append(&trail, 1..=2);
    until_blocking("the head", || verify(&folder, &SECRET).unwrap().head >= 2);
    std::fs::create_dir(folder.join("head.draft")).unwrap();
    append(&trail, 3..=4);
    assert!(trail.close().is_err());
    let found = verify(&folder, &SECRET).unwrap();
    assert_eq!((found.last, found.head), (4, 2));
}

/// Fails each write and sync of lines, files and the head in turn. Nothing is torn or lost, and the trail
/// continues. A power loss at that moment loses no acknowledged entry.
#[test]
fn any_failed_write_or_sync_loses_nothing() {
    for n in 1.. {
        let (_dir, folder) = folder();
        let disk = TestDisk::new();
        disk.fails_at.store(n, SeqCst);
        let rules =
            Rules { head_entries: 3, max_file_bytes: 1_000, retry_after: Duration::from_millis(1), ..rare_heads() };
        let open = || Trail::open_on(&folder, &SECRET, rules.clone(), disk.clone());
        let trail = open().or_else(|_| open()).unwrap();
        for done in 0..10 {
            while trail.append(&entry(done + 1)).and_then(Written::wait).is_err() {
                let (_copy_dir, copy) = copy(&folder);
                crate::open(&copy, rules.clone()).close().unwrap();
                verify(&copy, &SECRET).unwrap();
                assert_eq!(requests(&copy)[..done as usize], (1..=done).collect::<Vec<_>>(), "call {n}");
                thread::sleep(Duration::from_millis(1));
            }
        }
        // The failing call may be the last one, which writes the head only.
        drop(trail);
        assert_eq!(verify(&folder, &SECRET).unwrap().torn, 0, "call {n}");
        assert_eq!(requests(&folder), (1..=10).collect::<Vec<_>>(), "call {n}");
        if disk.calls.load(SeqCst) < n {
            return assert!(n > 40, "{n} calls");
        }
    }
}

/// Returns the request numbers in the trail, without its notes.
fn requests(folder: &Path) -> Vec<u64> {
    let all: Vec<String> = files(folder).iter().flat_map(|file| lines(file)).collect();
    let numbers = all.iter().filter_map(|line| line.split_once("request-")?.1.split('"').next()?.parse().ok());
    numbers.collect()
}
