//! Appending entries and verifying the result.

use std::{collections::BTreeSet, sync::Arc, sync::atomic::Ordering::SeqCst, thread, time::Duration};

use audit::{AuditError, MAX_ENTRY_BYTES, Rules, Trail, Verified, verify};
use testing::until_blocking;

use crate::{
    AT, SECRET, append, disk::TestDisk, entry, entry_at, files, folder, lines, open, rare_heads, small_files, written,
};

#[test]
fn appended_entries_survive_a_restart() {
    let (_dir, folder) = folder();
    written(&folder, Rules::default(), 3);
    let trail = open(&folder, Rules::default());
    append(&trail, 4..=5);
    trail.close().unwrap();
    let found = verify(&folder, &SECRET).unwrap();
    assert_eq!((found.files, found.entries, found.first, found.last, found.head), (1, 5, 1, 5, 5));
    assert_eq!((found.earliest, found.latest, found.torn), (Some(AT + 1), Some(AT + 5), 0));
    let file = &files(&folder)[0];
    assert_eq!(file.file_name().unwrap(), "audit-20261125-000000000001.jsonl");
    assert!(lines(file)[5].contains(&found.mac), "the MAC to note elsewhere is that of the last entry");
}

#[test]
fn a_trail_without_entries_is_valid() {
    let (_dir, folder) = folder();
    assert!(verify(&folder, &SECRET).unwrap_err().to_string().contains("No such file"));
    written(&folder, Rules::default(), 0);
    written(&folder, Rules::default(), 0);
    assert_eq!(verify(&folder, &SECRET).unwrap(), Verified { mac: "0".repeat(64), ..Verified::default() });
}

#[test]
fn a_thousand_waiting_entries_cost_two_syncs() {
    let (_dir, folder) = folder();
    let disk = TestDisk::new();
    let trail = Trail::open_on(&folder, &SECRET, rare_heads(), disk.clone()).unwrap();
    append(&trail, 1..=1);
    let before = disk.syncs.load(SeqCst);
    disk.shut();
    let first = trail.append(&entry(2)).unwrap();
    disk.until_sync_waits();
    let rest: Vec<_> = (3..=1_001).map(|n| trail.append(&entry(n)).unwrap()).collect();
    disk.open();
    first.wait().unwrap();
    rest.into_iter().for_each(|written| written.wait().unwrap());
    assert_eq!(disk.syncs.load(SeqCst) - before, 2);
    assert_eq!(verify(&folder, &SECRET).unwrap().entries, 1_001);
}

#[test]
fn entries_appended_soon_share_the_next_sync() {
    let (_dir, folder) = folder();
    let disk = TestDisk::new();
    let never = Rules { gather: Duration::from_secs(1 << 40), ..rare_heads() };
    let trail = Trail::open_on(&folder, &SECRET, never, disk.clone()).unwrap();
    append(&trail, 1..=1);
    let before = disk.syncs.load(SeqCst);
    let soon: Vec<_> = (2..=1_000).map(|n| trail.append_soon(&entry(n)).unwrap()).collect();
    append(&trail, 1_001..=1_001);
    soon.into_iter().for_each(|written| written.wait().unwrap());
    assert_eq!(disk.syncs.load(SeqCst) - before, 1);
    let last = trail.append_soon(&entry(1_002)).unwrap();
    trail.close().unwrap();
    last.wait().unwrap();
    assert_eq!(verify(&folder, &SECRET).unwrap().entries, 1_002);
}

#[test]
fn entries_appended_soon_are_written_after_the_gather_time() {
    let (_dir, folder) = folder();
    let trail = open(&folder, Rules { gather: Duration::from_millis(20), ..rare_heads() });
    trail.append_soon(&entry(1)).unwrap().wait().unwrap();
    assert_eq!(verify(&folder, &SECRET).unwrap().entries, 1);
}

#[test]
fn a_full_queue_refuses_entries_and_a_note_counts_them() {
    let (_dir, folder) = folder();
    let disk = TestDisk::new();
    let rules = Rules { max_waiting_bytes: 500, ..rare_heads() };
    let trail = Trail::open_on(&folder, &SECRET, rules, disk.clone()).unwrap();
    append(&trail, 1..=1);
    disk.shut();
    let first = trail.append(&entry(2)).unwrap();
    disk.until_sync_waits();
    let waiting: Vec<_> = (3..=4).map(|n| trail.append(&entry(n)).unwrap()).collect();
    (5..=9).for_each(|n| assert!(matches!(trail.append(&entry(n)), Err(AuditError::Full))));
    disk.open();
    first.wait().unwrap();
    waiting.into_iter().for_each(|written| written.wait().unwrap());
    trail.close().unwrap();
    assert_eq!(verify(&folder, &SECRET).unwrap().entries, 5);
    let note = &lines(&files(&folder)[0])[3];
    assert!(note.contains(r#""note":{"refused":{"entries":5}}"#), "{note}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_appends_leave_no_gap() {
    let (_dir, folder) = folder();
    let trail = Arc::new(open(&folder, Rules { max_file_bytes: 64 << 10, head_entries: 100, ..Rules::default() }));
    let tasks: Vec<_> = (0..50_u64)
        .map(|task| {
            let trail = trail.clone();
            tokio::spawn(async move {
                for n in 0..20 {
                    trail.append(&entry(task * 20 + n)).unwrap().await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let found = verify(&folder, &SECRET).unwrap();
    assert_eq!((found.entries, found.first, found.last), (1_000, 1, 1_000));
    let all: Vec<String> = files(&folder).iter().flat_map(|file| lines(file).split_off(1)).collect();
    let requests: BTreeSet<&str> = all.iter().filter_map(|line| line.split('"').nth(7)).collect();
    assert_eq!(requests.len(), 1_000, "each once");
}

/// Blocking in an async handler must not panic.
#[tokio::test]
async fn waiting_in_a_runtime_thread_does_not_panic() {
    let (_dir, folder) = folder();
    let trail = open(&folder, Rules::default());
    trail.append(&entry(1)).unwrap().wait().unwrap();
}

#[test]
fn files_are_readable_by_the_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, folder) = folder();
    written(&folder, small_files(), 25);
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder.clone()), 0o700);
    let all: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|found| found.unwrap().path()).collect();
    assert_eq!(all.len(), 6, "three files, head, two locks: {all:?}");
    all.into_iter().for_each(|path| assert_eq!(mode(path.clone()), 0o600, "{path:?}"));
}

#[test]
fn a_second_process_is_refused() {
    let (_dir, folder) = folder();
    let trail = open(&folder, Rules::default());
    let Err(error) = Trail::open(&folder, &SECRET, Rules::default()) else { panic!("a second one has it") };
    assert_eq!(error.to_string(), format!("the audit trail in {} is in use by another process", folder.display()));
    drop(trail);
    open(&folder, Rules::default());
}

#[test]
fn entries_that_are_too_large_or_out_of_time_are_refused() {
    let (_dir, folder) = folder();
    let trail = open(&folder, Rules::default());
    let mut large = entry(1);
    large.route = "x".repeat(MAX_ENTRY_BYTES);
    assert!(matches!(trail.append(&large), Err(AuditError::TooLarge { .. })));
    assert!(matches!(trail.append(&entry_at(1, -1)), Err(AuditError::Time { at: -1 })));
    let mut odd = entry(1);
    odd.request_id = "\n\"},\u{0}\",\"mac\":\"".to_owned();
    odd.ids = (0..1_000).map(|n| u64::MAX - n).collect();
    trail.append(&odd).unwrap().wait().unwrap();
    trail.close().unwrap();
    assert_eq!(verify(&folder, &SECRET).unwrap().entries, 1);
}

#[test]
fn the_head_follows_by_count_by_time_and_when_idle() {
    let (_dir, folder) = folder();
    let head = || verify(&folder, &SECRET).unwrap().head;
    let trail = open(&folder, Rules { head_entries: 10, ..rare_heads() });
    append(&trail, 1..=9);
    assert_eq!(head(), 0);
    append(&trail, 10..=11);
    assert_eq!(head(), 10, "by number");
    trail.close().unwrap();
    let trail = open(&folder, Rules { head_after: Duration::from_secs(60), ..rare_heads() });
    trail.append(&entry_at(12, AT + 61_000)).unwrap().wait().unwrap();
    append(&trail, 13..=13);
    assert_eq!(head(), 12, "by the times of entries");
    trail.close().unwrap();
    let trail = open(&folder, Rules { head_after: Duration::from_millis(20), ..rare_heads() });
    append(&trail, 14..=14);
    until_blocking("the head, by the clock", || head() >= 14);
}

#[test]
fn files_end_by_size_and_by_day() {
    let (_dir, folder) = folder();
    let rules = Rules { max_file_bytes: 1, ..rare_heads() };
    let trail = open(&folder, rules);
    append(&trail, 1..=2);
    trail.close().unwrap();
    let trail = open(&folder, rare_heads());
    let midnight = AT + 14 * 3_600_000;
    for at in [midnight - 1, midnight, midnight - 1, midnight + 1] {
        trail.append(&entry_at(3, at)).unwrap().wait().unwrap();
    }
    let names: Vec<_> = files(&folder).iter().map(|file| file.file_name().unwrap().to_owned()).collect();
    assert_eq!(
        names,
        ["audit-20261125-000000000001.jsonl", "audit-20261125-000000000002.jsonl", "audit-20261126-000000000004.jsonl"]
    );
    assert_eq!(verify(&folder, &SECRET).unwrap().last, 6);
}

#[test]
fn a_trail_is_verified_while_it_is_written() {
    let (_dir, folder) = folder();
    let rules = Rules { max_file_bytes: 20_000, head_entries: 7, ..Rules::default() };
    let trail = open(&folder, rules);
    append(&trail, 1..=1);
    thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let all: Vec<_> = (2..=1_000).map(|n| trail.append(&entry(n)).unwrap()).collect();
            all.into_iter().for_each(|written| written.wait().unwrap());
            append(&trail, 1_001..=1_100);
        });
        while !writing.is_finished() {
            verify(&folder, &SECRET).unwrap();
        }
    });
    assert_eq!(verify(&folder, &SECRET).unwrap().entries, 1_100);
}
