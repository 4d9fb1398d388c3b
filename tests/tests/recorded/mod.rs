//! Recorded answers of every list and record, byte by byte, in all versions of the API. A restructuring of records or
//! views must not change what clients read.
//!
//! `answers.jsonl` has one line per request: method, path, versions with the same answer, status, body. Ids are as the
//! server assigned them; `normaliser` replaces everything that differs between two runs.
//!
//! ```text
//!  practice      a server on a simulated EHR, always with the same records
//!  requests      all requests of the OpenAPI documents ──► normaliser ──► lines
//! ```
//!
//! `earlier` has a data directory of an earlier build, which the current build must open.
//!
//! `RECORDED_PROGRAM` names another executable than the one of this checkout. `UPDATE_RECORDED=1` writes the file
//! instead of comparing it, also for a new list or field: the difference in the file shows what clients will read.

mod earlier;
mod normaliser;
mod practice;
mod requests;

use std::{env, fs, path::PathBuf};

use tests::harness::process::binary;

use self::{normaliser::Normaliser, practice::Practice};

/// The answers of commit ea8fb331, before records became files of their own fields and views followed from them.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded/answers.jsonl");

/// Intended differences from the file: path, text in the file, text now, reason. Each row must still be needed.
const INTENDED: &[(&str, &str, &str, &str)] = &[(
    "/changes?subdomain=demo-dental&location_id=101&since=<cursor>&per_page=100",
    r#""resource":"appointments","id":122,"change":"created","changed_at":"<now>","record""#,
    r#""resource":"appointments","id":122,"change":"created","changed_at":"<now>","facts":[{"fact":"confirmed","by":"client"}],"record""#,
    "the client that created the appointment confirmed it",
)];

#[actix::test]
async fn answers_of_every_list_and_record_are_as_recorded() {
    let named = env::var_os("RECORDED_PROGRAM").map(PathBuf::from);
    let program = named.unwrap_or_else(|| binary().to_path_buf());
    let mut practice = Practice::start(&program).await;
    practice.write_records().await;
    practice.read_twice().await;
    let normaliser = Normaliser::new(practice.first_day, practice.started);
    let recorded = requests::record(&practice, Some(normaliser)).await;
    practice.stop().await;
    if env::var_os("UPDATE_RECORDED").is_some() {
        fs::write(FILE, recorded.join("\n") + "\n").unwrap();
        return;
    }
    let file = fs::read_to_string(FILE).expect("UPDATE_RECORDED=1 writes the file");
    let expected = with_intended(file.lines(), INTENDED);
    let different = differences(&expected, &recorded);
    assert!(different.is_empty(), "{} answers differ:\n{}", different.len(), different.join("\n"));
}

/// Returns the lines as they should be now.
///
/// # Panics
///
/// If a row changes no line.
fn with_intended<'a>(lines: impl Iterator<Item = &'a str>, intended: &[(&str, &str, &str, &str)]) -> Vec<String> {
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    for (path, before, after, reason) in intended {
        let matching = format!(r#""path":"{path}"#);
        let mut changed = 0;
        for line in lines.iter_mut().filter(|line| line.contains(&matching) && line.contains(before)) {
            *line = line.replace(before, after);
            changed += 1;
        }
        assert!(changed > 0, "no recorded answer of {path} has {before}: {reason}");
    }
    lines
}

/// Describes recorded lines that no longer occur, and new ones.
fn differences(expected: &[String], recorded: &[String]) -> Vec<String> {
    let missing = expected.iter().filter(|line| !recorded.contains(line));
    let mut new: Vec<&String> = recorded.iter().filter(|line| !expected.contains(line)).collect();
    let mut described = Vec::new();
    for before in missing {
        match new.iter().position(|after| request_of(after) == request_of(before)) {
            Some(at) => described.push(first_difference(before, new.remove(at))),
            None => described.push(format!("no longer: {}", excerpt(before, 0))),
        }
    }
    described.extend(new.into_iter().map(|line| format!("new: {}", excerpt(line, 0))));
    described
}

/// Returns method, path and versions of a line.
fn request_of(line: &str) -> &str {
    line.split_once(r#","status":"#).map_or(line, |(request, _)| request)
}

fn first_difference(before: &str, after: &str) -> String {
    let same = before.chars().zip(after.chars()).take_while(|(before, after)| before == after).count();
    let from = same.saturating_sub(80);
    format!("{}\n  before: {}\n  now:    {}", request_of(before), excerpt(before, from), excerpt(after, from))
}

fn excerpt(line: &str, from: usize) -> String {
    line.chars().skip(from).take(240).collect()
}

#[test]
fn changed_missing_and_new_answers_are_described() {
    let line = |path: &str, body: &str| format!(r#"{{"path":"{path}","status":200,"body":{body}}}"#);
    let lines = |bodies: &[(&str, &str)]| bodies.iter().map(|(path, body)| line(path, body)).collect::<Vec<_>>();
    let before = lines(&[("/a", "1"), ("/b", "2"), ("/c", "3")]);
    assert_eq!(differences(&before, &before), [""; 0]);
    let found = differences(&before, &lines(&[("/a", "1"), ("/b", "4"), ("/d", "3")]));
    let heads: Vec<&str> = found.iter().map(|text| text.lines().next().unwrap()).collect();
    let [gone, new] = [line("/c", "3"), line("/d", "3")];
    assert_eq!(heads, [r#"{"path":"/b""#.to_owned(), format!("no longer: {gone}"), format!("new: {new}")]);
}

#[test]
fn intended_difference_applies_to_its_path() {
    let lines = [r#"{"path":"/a","body":{"x":1}}"#, r#"{"path":"/b","body":{"x":1}}"#];
    let expected = with_intended(lines.into_iter(), &[("/a", r#""x":1"#, r#""x":2"#, "a reason")]);
    assert_eq!(expected, [r#"{"path":"/a","body":{"x":2}}"#, lines[1]]);
}

#[test]
#[should_panic(expected = "a reason")]
fn intended_difference_without_effect_panics() {
    with_intended([r#"{"path":"/a"}"#].into_iter(), &[("/b", "x", "y", "a reason")]);
}
