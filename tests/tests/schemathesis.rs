//! Runs Schemathesis against the product: every operation of all OpenAPI documents, with valid and invalid requests,
//! alone and in sequences. Each answer is checked against the document.
//!
//! `tests/schemathesis.toml` lists the checks that do not apply, with reasons. The requests are deterministic;
//! `SCHEMATHESIS_CASES=20000` sends random ones until that number was answered.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tests::harness::{
    components::root,
    ehr_server::EhrServer,
    external::Suite,
    fixtures,
    packages::{Project, run},
    process::{self, API_KEY, Installation, OPERATOR_TOKEN, binary},
};
use tokio::process::Command;

/// Tested concurrently.
const DOCUMENTS: [&str; 5] = [
    "/openapi.json",
    "/openapi.json?version=v2.2.2",
    "/openapi.json?for=operators",
    "/openapi.json?for=operators&version=v2.2.2",
    "/openapi.json?for=workstations",
];
const SEED: &str = "1";
/// Examples per operation and generating phase.
const EXAMPLES: &str = "10";
/// Time limit on a busy machine.
const PATIENCE: Duration = Duration::from_secs(1_800);

#[actix::test]
async fn every_operation_keeps_what_its_description_promises() {
    if Suite::Python.is_skipped() {
        return;
    }
    let python = Project::new("schemathesis", "schemathesis", Suite::Python).python().await;
    let dir = tempfile::tempdir().unwrap();
    let ehr = EhrServer::start(fixtures::profile(7)).unwrap();
    let program = binary();
    let installation = Installation::new(program, dir.path(), &ehr.url(), "").unwrap();
    let _process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();

    let wanted = wanted();
    let seed = wanted.is_none().then_some(SEED);
    let since = Instant::now();
    let mut findings = Vec::new();
    loop {
        let before = answered(&installation).await;
        let token = caller.authorization().trim_start_matches("Bearer ");
        let rounds = DOCUMENTS.map(|document| {
            let (address, token) = match document.contains("operators") {
                true => (installation.operators, OPERATOR_TOKEN),
                false => (installation.address, token),
            };
            round(&python, format!("http://{address}{document}"), token, seed)
        });
        findings.extend(join_all(rounds).await.into_iter().flatten());
        let now = answered(&installation).await;
        eprintln!("schemathesis: {now} requests in {:?}", since.elapsed());
        assert!(now > before, "a round without requests");
        if wanted.is_none_or(|wanted| now >= wanted) || !findings.is_empty() {
            break;
        }
    }
    findings.extend(installation.panics().unwrap());
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    ehr.stop().await;
}

fn wanted() -> Option<u64> {
    std::env::var("SCHEMATHESIS_CASES").ok().map(|cases| cases.parse().expect("SCHEMATHESIS_CASES is a number"))
}

/// Runs Schemathesis on a document and returns its complaints.
async fn round(python: &Path, document: String, token: &str, seed: Option<&str>) -> Option<String> {
    let mut command = Command::new(python);
    let (config, hooks) = (root().join("tests/schemathesis.toml"), root().join("tests/schemathesis/hooks.py"));
    let dir = tempfile::tempdir().unwrap();
    let report = dir.path().join("report.json");
    command.args(["-m", "schemathesis.cli", "--config-file"]).arg(config);
    command.args(["run", &document, "--no-color"]);
    command.args(["--max-examples", EXAMPLES, "--report", "json", "--report-json-path"]).arg(&report);
    if let Some(seed) = seed {
        command.args(["--seed", seed]);
    }
    command.env("API_TOKEN", token).env("API_KEY", API_KEY).env("API_HOOKS", hooks).env("PYTHONDONTWRITEBYTECODE", "1");
    let complaint = run(command, PATIENCE).await.err();
    complaint.or_else(|| unsaid(&fs::read(report).unwrap()))
}

/// Returns problems that the exit code does not report: requests not sent and operations not reached.
fn unsaid(report: &[u8]) -> Option<String> {
    let report: Value = serde_json::from_slice(report).unwrap();
    let (cases, operations) = (&report["test_cases"], &report["operations"]);
    let status = |phase: &str| report["phases"][phase]["status"].clone();
    let all = operations["tested"].as_u64() > Some(0) && operations["tested"] == operations["selected"];
    let tried = ["examples", "coverage", "fuzzing"].iter().all(|phase| status(phase) == "success");
    // A single operation has no sequences.
    let alone = operations["total"] == 1 && status("stateful") == "skip";
    let sound =
        cases["errored"] == 0 && report["errors"] == json!([]) && tried && (alone || status("stateful") == "success");
    (!all || !sound).then(|| format!("not all of it was tried: {report:#}"))
}

#[test]
fn unsent_requests_are_not_a_success() {
    let phase = json!({"status": "success"});
    let report = |errored: u32, tested: u32, stateful: &Value| {
        let phases = json!({"examples": phase, "coverage": phase, "fuzzing": phase, "stateful": stateful});
        let operations = json!({"tested": tested, "selected": 9, "total": 9});
        let report =
            json!({"test_cases": {"errored": errored}, "operations": operations, "errors": [], "phases": phases});
        unsaid(report.to_string().as_bytes()).is_none()
    };
    assert!(report(0, 9, &phase));
    assert!(!report(1, 9, &phase) && !report(0, 8, &phase) && !report(0, 9, &json!({"status": "skip"})));
}

/// Returns the number of requests answered so far.
async fn answered(installation: &Installation) -> u64 {
    let text = installation.metrics().await.unwrap();
    let lines = text.lines().filter(|line| line.starts_with("practice_sync_http_responses_total"));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}
