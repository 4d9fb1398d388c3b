//! Clients generated from `api/openapi/clients.json`. The programs in `tests/clients` are type-checked against them
//! and run against the product. The generators are installed into `target/` once per set of pinned versions.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use sandbox_ehr::records::{Record, Resource, Status};
use serde_json::{Value, json};
use testing::until;
use tests::harness::{
    components::root,
    ehr_server::EhrServer,
    external::Suite,
    fixtures,
    packages::{Project, run},
    process::{self, API_KEY, Installation, LOCATIONS, Process, SUBDOMAIN, binary},
    webhook_receiver::WebhookReceiver,
};
use tokio::process::Command;

/// Time limit for a generator, a type checker or a program.
const STEP: Duration = Duration::from_secs(600);
/// Maximum length of a sample of a booking.
const MOST_LINES: usize = 40;
/// Maximum length of the receptionist, which has no generated client.
const MOST_LINES_OF_RECEPTIONIST: usize = 60;

#[actix::test]
async fn generated_typescript_client_works_with_the_product() {
    if Suite::Node.is_skipped() {
        return;
    }
    let project = Project::new("client-typescript", "clients/typescript", Suite::Node);
    let folder = copied(&project.sources, &["program.ts", "tsconfig.json", "package.json"]);
    sample("booking.ts", folder.path(), MOST_LINES);
    std::os::unix::fs::symlink(project.npm().await.join("node_modules"), folder.path().join("node_modules")).unwrap();
    let tool = |name: &str, arguments: &[&str]| {
        let mut command = Command::new("node");
        command.arg(format!("node_modules/{name}")).args(arguments);
        command
    };
    let document = document();
    let generate = tool("openapi-typescript/bin/cli.js", &[document.to_str().unwrap(), "--output", "schema.d.ts"]);
    step(generate, folder.path()).await;
    step(tool("typescript/bin/tsc", &["--project", "."]), folder.path()).await;
    let node = |file: &str| {
        let mut program = Command::new("node");
        program.arg(file);
        program
    };
    works(node("out/program.js"), node("out/booking.js"), folder.path()).await;
}

/// The documents pass the third-party rules in `tests/clients/lint/ruleset.yaml`.
#[actix::test]
async fn documents_pass_the_linter() {
    if Suite::Node.is_skipped() {
        return;
    }
    let project = Project::new("document-lint", "clients/lint", Suite::Node);
    let folder = project.npm().await;
    let (documents, rules) = (tempfile::tempdir().unwrap(), project.sources.join("ruleset.yaml"));
    // The documents for v3.0.0 and v3.1.0 alone are parts of the one for both.
    for document in endpoints::openapi::DOCUMENTS.iter().filter(|it| !it.file.contains("-v3.")) {
        fs::write(documents.path().join(document.file), document.text()).unwrap();
    }
    let lint = |documents: &Path| {
        let mut command = Command::new("node");
        command.arg("node_modules/@stoplight/spectral-cli/dist/index.js").arg("lint").arg(documents);
        command
            .args(["--fail-on-unmatched-globs", "--fail-severity", "hint", "--format", "text", "--ruleset"])
            .arg(&rules)
            .current_dir(&folder);
        run(command, STEP)
    };
    lint(&documents.path().join("*.json")).await.unwrap_or_else(|why| panic!("{why}"));
    // The linter reports an invalid document.
    let (wrong, mut document) =
        (tempfile::tempdir().unwrap(), serde_json::from_slice::<Value>(&fs::read(document()).unwrap()).unwrap());
    document["paths"]["/me"]["get"]["operationId"] = json!("authenticate");
    let file = wrong.path().join("clients.json");
    fs::write(&file, document.to_string()).unwrap();
    let found = lint(&file).await.unwrap_err();
    assert!(found.contains("operation-operationId-unique"), "{found}");
}

#[actix::test]
async fn generated_python_client_works_with_the_product() {
    if Suite::Python.is_skipped() {
        return;
    }
    let project = Project::new("client-python", "clients/python", Suite::Python);
    let folder = copied(&project.sources, &["program.py", "generator.yaml"]);
    sample("booking.py", folder.path(), MOST_LINES);
    let python = project.python().await;
    let module = |name: &str, arguments: &[&str]| {
        let mut command = Command::new(&python);
        command.args(["-m", name]).args(arguments);
        command
    };
    let document = document();
    let arguments = ["generate", "--path", document.to_str().unwrap(), "--output-path", "practice_sync_client"];
    let rest = ["--config", "generator.yaml", "--meta", "none", "--fail-on-warning"];
    step(module("openapi_python_client", &[&arguments[..], &rest].concat()), folder.path()).await;
    // The generated package contains its types; its internals are not checked.
    let lenient = ["--strict", "--follow-imports=silent", "--cache-dir=.mypy", "program.py", "booking.py"];
    step(module("mypy", &lenient), folder.path()).await;
    let run = |file: &str| {
        let mut program = Command::new(&python);
        program.arg(file);
        program
    };
    works(run("program.py"), run("booking.py"), folder.path()).await;
}

/// The receptionist is typed, runs without packages, and leaves one of its two visits in the EHR.
#[actix::test]
async fn receptionist_books_for_two_and_changes_one_visit() {
    if Suite::Python.is_skipped() {
        return;
    }
    let python = Project::new("client-python", "clients/python", Suite::Python).python().await;
    let folder = tempfile::tempdir().unwrap();
    sample("receptionist.py", folder.path(), MOST_LINES_OF_RECEPTIONIST);
    let mut mypy = Command::new(&python);
    mypy.args(["-m", "mypy", "--strict", "--cache-dir=.mypy", "receptionist.py"]);
    step(mypy, folder.path()).await;

    let dir = tempfile::tempdir().unwrap();
    let ehr = EhrServer::start(fixtures::profile(12)).unwrap();
    let (installation, _process) = serving(dir.path(), &ehr).await;
    let (first, ..) = LOCATIONS[0];
    let mut receptionist = Command::new(&python);
    // Isolated, and without the environment's packages.
    receptionist.args(["-I", "-S", "receptionist.py", &format!("http://{}", installation.address)]);
    receptionist.args([API_KEY, SUBDOMAIN, &first.to_string()]);
    let said = step(receptionist, folder.path()).await;
    let sentences: Vec<&str> = said.lines().collect();
    let [ida, ole, moving, moved, confirmed, cancelled] = sentences.as_slice() else { panic!("{said}") };
    for written in [ida, ole] {
        assert!(written.ends_with("is booked and confirmed by the practice's system."), "{said}");
    }
    assert!(!moving.is_empty() && moved.contains("is booked") && ida != moved, "{said}");
    assert!(!confirmed.is_empty() && cancelled.contains("is cancelled"), "{said}");
    let live = || {
        let ehr = ehr.ehr();
        let family: BTreeMap<String, String> = ehr
            .records(Resource::Patients)
            .filter_map(|record| match record {
                Record::Patient(it) if it.last_name == "Sample" => Some((it.id.clone(), it.first_name.clone())),
                _ => None,
            })
            .collect();
        let live = ehr.records(Resource::Appointments).filter_map(|record| match record {
            Record::Appointment(it) if it.status != Status::Cancelled => family.get(it.patient.as_deref()?).cloned(),
            _ => None,
        });
        live.collect::<Vec<_>>()
    };
    until("the cancellation in the EHR", async || {
        let live = live();
        if live == ["Ole"] { Ok(()) } else { Err(live) }
    })
    .await;
    assert_eq!(installation.panics().unwrap(), [""; 0]);
    ehr.stop().await;
}

fn document() -> PathBuf {
    root().join("api/openapi/clients.json")
}

/// Copies these files into a temporary folder.
fn copied(sources: &Path, files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        fs::copy(sources.join(file), folder.path().join(file)).unwrap();
    }
    folder
}

/// Copies a sample of the documentation, which must be short.
fn sample(name: &str, folder: &Path, most: usize) {
    let file = root().join("api/docs/samples").join(name);
    let lines = fs::read_to_string(&file).unwrap().lines().count();
    assert!(lines <= most, "{name} has {lines} lines, and {most} are the most");
    fs::copy(file, folder.join(name)).unwrap();
}

async fn step(mut command: Command, folder: &Path) -> String {
    command.current_dir(folder);
    let output = run(command, STEP).await.unwrap_or_else(|why| panic!("{why}"));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the program and the sample against the product and checks their results.
async fn works(mut program: Command, mut sample: Command, folder: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let ehr = EhrServer::start(fixtures::profile(11)).unwrap();
    let (installation, _process) = serving(dir.path(), &ehr).await;
    let (first, ..) = LOCATIONS[0];
    let arguments = [format!("http://{}", installation.address), API_KEY.into(), SUBDOMAIN.into(), first.to_string()];
    program.args(&arguments);
    let said = step(program, folder).await;
    let seen: Value = serde_json::from_str(said.lines().next_back().unwrap()).unwrap();
    assert_eq!(seen["locations"], json!(LOCATIONS.map(|(id, ..)| id)), "{seen}");
    assert!(seen["booking"].as_str().unwrap().starts_with("bkg_"), "{seen}");
    assert!(["pending", "confirmed"].contains(&seen["writeback"].as_str().unwrap()), "{seen}");
    assert!(seen["appointment"].is_string(), "{seen}");
    assert_eq!((&seen["patients"], &seen["more_patients"]), (&json!(2), &json!(true)), "{seen}");
    assert_eq!(seen["refused"], json!(["Location with id 999999 not found"]), "{seen}");
    let receiver = WebhookReceiver::start().unwrap();
    sample.args(&arguments).arg(&receiver.url);
    let said = step(sample, folder).await;
    assert!(said.starts_with("bkg_") && said.trim_end().ends_with(" confirmed"), "{said}");
    let told = until("the message of the booking", async || receiver.messages().into_iter().next()).await;
    let told: Value = serde_json::from_slice(&told.body).unwrap();
    assert_eq!(told["event_name"], "appointment_insertion.complete", "{told}");
    ehr.stop().await;
}

async fn serving(dir: &Path, ehr: &EhrServer) -> (Installation, Process) {
    let program = binary();
    let installation = Installation::new(program, dir, &ehr.url(), "").unwrap();
    let process = installation.start().await.unwrap();
    process::first_sync(&mut installation.sign_in().await.unwrap()).await.unwrap();
    (installation, process)
}
