//! The commands for adapter authors.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
};
use tests::harness::process::binary;

use serde_json::Value;
use tests::harness::components;

/// A process that runs `adapter ehr`.
pub struct AdapterToolEhr {
    process: Child,
    pub url: String,
}

impl AdapterToolEhr {
    pub fn start() -> AdapterToolEhr {
        let mut process =
            Command::new(binary()).args(["adapter", "ehr", "--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_once("at ").unwrap().1.split_once(',').unwrap().0.to_owned();
        AdapterToolEhr { process, url }
    }
}

impl AdapterToolEhr {
    /// Changes switches of the simulated EHR.
    fn switch(&self, switches: &Value) {
        let body = serde_json::json!({"switch": switches}).to_string();
        let address = self.url.strip_prefix("http://").unwrap();
        let mut connection = TcpStream::connect(address).unwrap();
        let head =
            format!("POST /control HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}", body.len());
        connection.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

impl Drop for AdapterToolEhr {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs `adapter run` and returns its success and output.
fn run(dir: &Path, arguments: &[&str]) -> (bool, String) {
    let component = components::component("sandbox");
    let mut command = Command::new(binary());
    command.args(["adapter", "run"]).arg(component).args(arguments).arg("--config").arg(dir.join("local.toml"));
    let output = command.output().unwrap();
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.success(), printed)
}

fn records(printed: &str) -> Vec<Value> {
    printed.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn run_calls_an_adapter_on_the_simulated_ehr() {
    let (ehr, dir) = (AdapterToolEhr::start(), tempfile::tempdir().unwrap());
    let local = |url: &str| format!("base_url = \"{url}\"\nlocation = \"main-street\"\nzone = \"America/New_York\"\n");
    fs::write(dir.path().join("local.toml"), local(&ehr.url)).unwrap();

    let (well, printed) = run(dir.path(), &["describe"]);
    assert!(well && printed.contains("create-patient") && printed.contains("requests_per_minute"), "{printed}");

    let (well, printed) = run(dir.path(), &["pull", "patients", "--limit", "5"]);
    assert!(well, "{printed}");
    let masked = records(&printed);
    assert_eq!(masked.len(), 5, "{printed}");
    assert!(printed.contains("5 records, 0 skipped, 0 deleted; whole, more to come; cursor whole:"), "{printed}");
    let (_, printed) = run(dir.path(), &["pull", "patients", "--limit", "5", "--show-patient-data"]);
    let plain = records(&printed);
    for (masked, plain) in masked.iter().zip(&plain) {
        assert_eq!(masked["id"], plain["id"]);
        let name = |record: &Value| record["last_name"].as_str().unwrap().to_owned();
        assert_eq!(name(masked).chars().count(), name(plain).chars().count());
        assert!(name(masked).chars().all(|c| !c.is_alphabetic() || c.eq_ignore_ascii_case(&'x')), "{masked}");
        assert!(!masked.to_string().contains(&name(plain)), "{masked}");
    }
    // Pages follow each other without overlap.
    let (_, printed) = run(dir.path(), &["pull", "patients", "--limit", "5", "--pages", "3"]);
    assert_eq!(records(&printed).len(), 15, "{printed}");
    // Operatory names are not masked, because they identify no person.
    let (_, printed) = run(dir.path(), &["pull", "operatories"]);
    assert!(printed.contains("Operatory 1") || printed.contains("Chair"), "{printed}");

    // Errors name their place.
    let (well, printed) = run(dir.path(), &["pull", "patiens"]);
    assert!(
        !well && printed.contains("`patiens` is no resource; the resources are providers, operatories,"),
        "{printed}"
    );
    assert!(!printed.contains("variant"), "{printed}");
    fs::write(dir.path().join("local.toml"), local("http://127.0.0.1:9")).unwrap();
    let (well, printed) = run(dir.path(), &["pull", "patients"]);
    assert!(!well && printed.contains("retry later"), "{printed}");
    fs::write(dir.path().join("local.toml"), "base_url = \"http://127.0.0.1:9\"\n").unwrap();
    let (well, printed) = run(dir.path(), &["describe"]);
    assert!(!well && printed.contains("local.toml") && printed.contains("location"), "{printed}");
}

/// Returns the subject file of a new adapter.
fn subject_file(dir: &Path) -> String {
    let new = dir.join("my-ehr");
    adapter_kit::scaffold(&new, "my-ehr", adapter_kit::Start::Minimal).unwrap();
    fs::read_to_string(new.join("subject.toml")).unwrap()
}

#[test]
fn notes_for_coding_assistants_name_existing_commands_and_files() {
    let work = tempfile::tempdir().unwrap();
    let [in_rust, in_javascript] = ["rust-ehr", "js-ehr"].map(|id| work.path().join(id));
    adapter_kit::scaffold(&in_rust, "rust-ehr", adapter_kit::Start::Booking).unwrap();
    adapter_kit::scaffold_javascript(&in_javascript, "js-ehr").unwrap();
    for dir in [in_rust, in_javascript] {
        let notes = fs::read_to_string(dir.join("AGENTS.md")).unwrap();
        let blocks: Vec<&str> = notes.split("```").skip(1).step_by(2).collect();
        let lines = blocks.iter().flat_map(|block| block.lines()).filter_map(|line| line.split(" #").next());
        let commands: Vec<&str> = lines.filter_map(|line| line.strip_prefix("practice-sync ")).collect();
        assert!(commands.len() > 5, "{commands:?}");
        for command in commands {
            let output = Command::new(binary()).args(command.split_whitespace()).arg("--help").output().unwrap();
            assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let files = notes.split("## ").find_map(|section| section.strip_prefix("Files\n")).unwrap();
        let names = files.lines().filter_map(|line| line.strip_prefix("- ")?.split(':').next());
        let names: Vec<&str> = names.flat_map(|names| names.split('`').skip(1).step_by(2)).collect();
        assert!(names.len() > 4, "{names:?}");
        for name in names {
            assert!(dir.join(name).exists(), "{name}");
        }
    }
    let wrong = Command::new(binary()).args(["adapter", "frobnicate", "--help"]).output().unwrap();
    assert!(!wrong.status.success(), "an unknown command has no help");
}

/// Returns whether all cases passed, and the report.
fn test(component: &Path, config: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(binary());
    command.args(["adapter", "test"]).arg(component).arg("--config").arg(config).args(arguments);
    let output = command.output().unwrap();
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.success(), printed)
}

#[test]
fn complete_adapter_conforms_repeatedly_with_the_subject_file_of_a_new_one() {
    let (ehr, dir) = (AdapterToolEhr::start(), tempfile::tempdir().unwrap());
    let config = dir.path().join("subject.toml");
    fs::write(&config, subject_file(dir.path())).unwrap();
    let component = components::component("sandbox");
    // Each run leaves its patients in the EHR, so the next run must use other ones.
    ehr.switch(&serde_json::json!({"refuse_duplicate_patients": true}));
    for _ in 0..2 {
        let (well, printed) = test(&component, &config, &["--against", &ehr.url]);
        assert!(well && printed.contains(" passed, 0 failed, "), "{printed}");
        assert!(!printed.contains("FAILED"), "{printed}");
    }
}

/// The adapters that `adapter new` starts with pass all cases of their features. A read-only adapter gets fewer
/// cases.
#[test]
fn the_examples_conform() {
    let (ehr, dir) = (AdapterToolEhr::start(), tempfile::tempdir().unwrap());
    let config = dir.path().join("subject.toml");
    fs::write(&config, subject_file(dir.path())).unwrap();
    for (example, passed) in [("examples/list", 1..20), ("examples/booking", 20..99)] {
        let (well, printed) = test(&components::component(example), &config, &["--against", &ehr.url]);
        let count = printed.lines().filter(|line| line.starts_with("passed ")).count();
        assert!(well && passed.contains(&count), "{example}: {count} passed\n{printed}");
    }
}

#[test]
fn failed_cases_report_request_answer_expectation_and_remedy() {
    let (ehr, dir) = (AdapterToolEhr::start(), tempfile::tempdir().unwrap());
    let config = dir.path().join("subject.toml");
    fs::write(&config, subject_file(dir.path())).unwrap();
    let component = components::component("sandbox");
    // This EHR writes again on each attempt. An adapter for such an EHR must search first, and this one does not.
    ehr.switch(&serde_json::json!({"idempotent": false}));
    let only = ["--against", &ehr.url, "--only", "one_key_writes_once", "--only", "a_key_never_sent_is_not_found"];
    let (well, printed) = test(&component, &config, &only);
    assert!(!well, "{printed}");
    for part in [
        "FAILED     one_key_writes_once\n    asked     push with key ps-1-",
        "patient-insert {",
        "\n    answered  a receipt for P-",
        "\n    expected  a receipt for P-",
        ": the same key, the same record\n    to mend   look for the key before writing",
        "passed     a_key_never_sent_is_not_found",
        "1 passed, 1 failed, 0 not asked",
    ] {
        assert!(printed.contains(part), "{part:?} is missing\n{printed}");
    }
    // Only the features in the adapter's description are tested.
    ehr.switch(&serde_json::json!({"idempotent": true, "unsupported": ["create_appointment"]}));
    let (well, printed) = test(&component, &config, &["--against", &ehr.url, "--only", "an_occupied_place_is_refused"]);
    let reason = "not asked  an_occupied_place_is_refused: the adapter does not describe create-appointment";
    assert!(well && printed.contains(reason) && printed.contains("0 passed, 0 failed, 1 not asked"), "{printed}");
}

#[test]
fn test_that_cannot_start_reports_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let (text, config) = (subject_file(dir.path()), dir.path().join("subject.toml"));
    let component = components::component("sandbox");
    let fails = |text: &str, arguments: &[&str], parts: &[&str]| {
        fs::write(&config, text).unwrap();
        let (well, printed) = test(&component, &config, arguments);
        assert!(!well && parts.iter().all(|part| printed.contains(part)), "{parts:?}: {printed}");
    };
    fails(&text.replace("step_minutes", "step"), &[], &["subject.toml", "`free", "unknown field `step`"]);
    fails(&text.replace("America/New_York", "Boston"), &[], &["subject.toml", "`zone`", "Boston is no IANA zone"]);
    fails(&text.replace("[change.patients]", "[change.people]"), &[], &["subject.toml", "`people`"]);
    fails(&text.replace("# authorization", "authorization"), &[], &["`authorization`", "MY_EHR_TOKEN", "is not set"]);
    fails(&text, &["--against", "http://127.0.0.1:9"], &["describe", "retry later"]);
    fails(&text, &["--against", "127.0.0.1"], &["`base_url` is 127.0.0.1", "not an address"]);
    let ehr = AdapterToolEhr::start();
    fails(&text, &["--against", &ehr.url, "--only", "everything"], &["`everything` is no case", "one_key_writes_once"]);
    let listed = Command::new(binary()).args(["adapter", "test", "--list"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.lines().any(|line| line == "one_key_writes_once"), "{listed}");
}

#[test]
fn recordings_contain_no_patient_data_and_replay_without_the_ehr() {
    let (ehr, dir) = (AdapterToolEhr::start(), tempfile::tempdir().unwrap());
    let local = format!("base_url = \"{}\"\nlocation = \"main-street\"\nzone = \"America/New_York\"\n", ehr.url);
    fs::write(dir.path().join("local.toml"), format!("{local}[headers]\nx-token = \"s3cret\"\n")).unwrap();
    let file = dir.path().join("patients.jsonl");
    let file = file.to_str().unwrap();
    let pull = ["pull", "patients", "--limit", "5", "--pages", "2"];
    let (_, plain) = run(dir.path(), &[&pull[..], &["--show-patient-data"]].concat());
    let (well, printed) = run(dir.path(), &[&pull[..], &["--record", file]].concat());
    assert!(well && records(&printed).len() == 10, "{printed}");
    let recorded = fs::read_to_string(file).unwrap();
    assert_eq!(recorded.lines().count(), 2, "{recorded}");
    assert!(!recorded.contains("s3cret"));
    for patient in records(&plain) {
        for field in ["last_name", "email", "cell_phone", "date_of_birth"] {
            let Some(value) = patient[field].as_str() else { continue };
            assert!(!recorded.contains(value), "{value} is in the recording");
        }
        assert!(recorded.contains(patient["id"].as_str().unwrap()));
    }
    // The EHR has stopped.
    drop(ehr);
    let (well, printed) = run(dir.path(), &[&pull[..], &["--replay", file]].concat());
    assert!(well && records(&printed).len() == 10, "{printed}");
    let (well, printed) = run(dir.path(), &["pull", "providers", "--replay", file]);
    assert!(!well && printed.contains("patients.jsonl has no answer to GET /v1/providers"), "{printed}");
    fs::write(file, "{\"asked\": 1}\n").unwrap();
    let (well, printed) = run(dir.path(), &["describe", "--replay", file]);
    assert!(!well && printed.contains("patients.jsonl, line 1: not an exchange written by `--record`"), "{printed}");
}

#[test]
fn options_inject_lost_throttled_and_slow_requests() {
    let (ehr, dir) = (AdapterToolEhr::start(), tempfile::tempdir().unwrap());
    let local = format!("base_url = \"{}\"\nlocation = \"main-street\"\nzone = \"America/New_York\"\n", ehr.url);
    fs::write(dir.path().join("local.toml"), local).unwrap();
    let pull = ["pull", "patients", "--limit", "5", "--pages", "3"];
    // The second page is the second request.
    let (well, printed) = run(dir.path(), &[&pull[..], &["--lose", "2"]].concat());
    assert!(!well && records(&printed).len() == 5 && printed.contains("retry later"), "{printed}");
    let (well, printed) = run(dir.path(), &[&pull[..], &["--throttle"]].concat());
    assert!(!well && records(&printed).is_empty() && printed.contains("retry later"), "{printed}");
    let (well, printed) = run(dir.path(), &["describe", "--slow", "120"]);
    let took = printed.lines().find_map(|line| line.strip_prefix("1 request, ")?.strip_suffix(" ms")).unwrap();
    assert!(well && took.parse::<f64>().unwrap() >= 120.0, "{printed}");
    let (well, printed) = run(dir.path(), &["describe", "--lose", "1", "--throttle"]);
    assert!(!well && printed.contains("cannot be used with"), "{printed}");
}
