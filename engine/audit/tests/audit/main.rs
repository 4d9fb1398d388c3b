//! The public interface of the trail, on disks that are slow, full or tampered with.
#![allow(clippy::unwrap_used)]

mod crash;
mod damage;
mod disk;
mod export;
mod full;
mod newest;
mod retention;
mod writing;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use audit::{Actor, AuditEntry, Rules, Trail};
use tempfile::TempDir;

const SECRET: [u8; 32] = [42; 32];

/// 2026-11-25, 10:00 UTC.
const AT: i64 = 1_795_600_800_000;
const DAY: i64 = 86_400_000;

fn folder() -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().join("audit");
    (dir, folder)
}

fn entry(n: u64) -> AuditEntry {
    entry_at(n, AT + n as i64)
}

fn entry_at(n: u64, at: i64) -> AuditEntry {
    AuditEntry {
        at,
        request_id: format!("request-{n}"),
        actor: Actor::Key("booking site".to_owned()),
        client: Some("192.0.2.7".to_owned()),
        institution: Some(1),
        location: Some(2),
        action: "read".to_owned(),
        record: "patient".to_owned(),
        ids: vec![n],
        route: "/patients/{id}".to_owned(),
        tool: None,
        status: "200".to_owned(),
        decisions: Vec::new(),
    }
}

/// Writes the head only at the end of a file and at the close.
fn rare_heads() -> Rules {
    Rules { head_entries: 1 << 40, head_after: std::time::Duration::from_secs(1 << 40), ..Rules::default() }
}

/// Limits a file to about ten entries.
fn small_files() -> Rules {
    Rules { max_file_bytes: 3_300, ..rare_heads() }
}

fn open(folder: &Path, rules: Rules) -> Trail {
    Trail::open(folder, &SECRET, rules).unwrap()
}

/// Appends entries one after another, each durable before the next.
fn append(trail: &Trail, numbers: std::ops::RangeInclusive<u64>) {
    numbers.for_each(|n| trail.append(&entry(n)).unwrap().wait().unwrap());
}

/// Writes a trail and closes it.
fn written(folder: &Path, rules: Rules, entries: u64) {
    let trail = open(folder, rules);
    append(&trail, 1..=entries);
    trail.close().unwrap();
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).unwrap().map(|found| found.unwrap().path());
    let mut files: Vec<PathBuf> = all.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect();
    files.sort();
    files
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

fn write_lines(path: &Path, lines: &[String]) {
    fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}

/// Copies the trail as a power loss would leave it. Reads until two consecutive copies match, because a
/// writer may be active.
fn copy(folder: &Path) -> (TempDir, PathBuf) {
    let snapshot = loop {
        let seen = contents(folder);
        if seen == contents(folder)
            && let Some(seen) = seen
        {
            break seen;
        }
    };
    let (dir, copy) = self::folder();
    fs::create_dir(&copy).unwrap();
    snapshot.iter().for_each(|(name, bytes)| fs::write(copy.join(name), bytes).unwrap());
    (dir, copy)
}

/// Returns `None` if a file disappeared while it was read.
fn contents(folder: &Path) -> Option<BTreeMap<OsString, Vec<u8>>> {
    let names = fs::read_dir(folder).unwrap().map(|found| found.unwrap().file_name());
    names.map(|name| Some((name.clone(), fs::read(folder.join(name)).ok()?))).collect()
}
