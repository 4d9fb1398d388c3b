//! The commands for whoever writes an adapter, as they type them.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use tests::harness::components;

const PROGRAM: &str = env!("CARGO_BIN_EXE_practice-sync-under-test");

struct Ehr {
    process: Child,
    url: String,
}

impl Ehr {
    fn start() -> Ehr {
        let mut process =
            Command::new(PROGRAM).args(["adapter", "ehr", "--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_once("at ").unwrap().1.split_once(',').unwrap().0.to_owned();
        Ehr { process, url }
    }
}

impl Drop for Ehr {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whether it ended well, and what it said.
fn run(dir: &Path, arguments: &[&str]) -> (bool, String) {
    let component = components::component("sandbox");
    let mut command = Command::new(PROGRAM);
    command.args(["adapter", "run"]).arg(component).args(arguments).arg("--config").arg(dir.join("local.toml"));
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.success(), said)
}

fn records(said: &str) -> Vec<Value> {
    said.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_adapter_is_called_by_hand_against_the_simulated_ehr() {
    let (ehr, dir) = (Ehr::start(), tempfile::tempdir().unwrap());
    let local = |url: &str| format!("base_url = \"{url}\"\nlocation = \"main-street\"\nzone = \"America/New_York\"\n");
    fs::write(dir.path().join("local.toml"), local(&ehr.url)).unwrap();

    let (well, said) = run(dir.path(), &["describe"]);
    assert!(well && said.contains("create-patient") && said.contains("requests_per_minute"), "{said}");

    let (well, said) = run(dir.path(), &["pull", "patients", "--limit", "5"]);
    assert!(well, "{said}");
    let masked = records(&said);
    assert_eq!(masked.len(), 5, "{said}");
    assert!(said.contains("5 records, 0 skipped, 0 deleted; whole, more to come; cursor whole:"), "{said}");
    let (_, said) = run(dir.path(), &["pull", "patients", "--limit", "5", "--show-patient-data"]);
    let plain = records(&said);
    for (masked, plain) in masked.iter().zip(&plain) {
        assert_eq!(masked["id"], plain["id"]);
        let name = |record: &Value| record["last_name"].as_str().unwrap().to_owned();
        assert_eq!(name(masked).chars().count(), name(plain).chars().count());
        assert!(name(masked).chars().all(|c| !c.is_alphabetic() || c.eq_ignore_ascii_case(&'x')), "{masked}");
        assert!(!masked.to_string().contains(&name(plain)), "{masked}");
    }
    // Pages follow each other.
    let (_, said) = run(dir.path(), &["pull", "patients", "--limit", "5", "--pages", "3"]);
    assert_eq!(records(&said).len(), 15, "{said}");
    // Nobody is known by an operatory.
    let (_, said) = run(dir.path(), &["pull", "operatories"]);
    assert!(said.contains("Operatory 1") || said.contains("Chair"), "{said}");

    // What is wrong is said with its place.
    let (well, said) = run(dir.path(), &["pull", "patiens"]);
    assert!(!well && said.contains("`patiens` is no resource"), "{said}");
    fs::write(dir.path().join("local.toml"), local("http://127.0.0.1:9")).unwrap();
    let (well, said) = run(dir.path(), &["pull", "patients"]);
    assert!(!well && said.contains("to be tried again"), "{said}");
    fs::write(dir.path().join("local.toml"), "base_url = \"http://127.0.0.1:9\"\n").unwrap();
    let (well, said) = run(dir.path(), &["describe"]);
    assert!(!well && said.contains("local.toml") && said.contains("location"), "{said}");
}

/// What a new adapter comes with, as its author has it.
fn subject_file(dir: &Path) -> String {
    let new = dir.join("my-ehr");
    adapter_kit::scaffold(&new, "my-ehr").unwrap();
    fs::read_to_string(new.join("subject.toml")).unwrap()
}

/// Whether every case passed, and the report.
fn test(component: &Path, config: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(PROGRAM);
    command.args(["adapter", "test"]).arg(component).arg("--config").arg(config).args(arguments);
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.success(), said)
}

#[test]
fn a_complete_adapter_conforms_with_the_subject_file_of_a_new_one_twice_on_one_ehr() {
    let (ehr, dir) = (Ehr::start(), tempfile::tempdir().unwrap());
    let config = dir.path().join("subject.toml");
    fs::write(&config, subject_file(dir.path())).unwrap();
    let component = components::component("sandbox");
    for _ in 0..2 {
        let (well, said) = test(&component, &config, &["--against", &ehr.url]);
        assert!(well && said.contains(" passed, 0 failed, "), "{said}");
        assert!(!said.contains("FAILED"), "{said}");
    }
}
