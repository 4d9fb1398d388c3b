//! The typed clients of `api/clients`, as their users install them. The stories in `tests/clients` and the samples of
//! the documentation are type-checked against the packages and run against the product.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use sandbox_ehr::records::{Record, Resource, Status};
use serde_json::{Value, json};
use testing::until;
use tests::harness::{
    clients::{PythonClient, TypescriptClient, python_tools},
    components::root,
    ehr_server::EhrServer,
    external::Suite,
    fixtures,
    packages::{Project, run},
    process::{self, API_KEY, Installation, LOCATIONS, Process, SUBDOMAIN, binary},
    webhook_receiver::WebhookReceiver,
};
use tokio::process::Command;

/// Time limit for a type checker or a program.
const STEP: Duration = Duration::from_secs(600);
/// Maximum length of a sample of a booking.
const MOST_LINES: usize = 30;
/// Maximum length of the receptionist, which has no client.
const MOST_LINES_OF_RECEPTIONIST: usize = 60;
/// Maximum number of handwritten lines of a client, without blank ones.
const MOST_LINES_OF_CLIENT: usize = 300;

#[actix::test]
async fn typescript_client_completes_the_story_of_the_guide() {
    if Suite::Node.is_skipped() {
        return;
    }
    let client = TypescriptClient::installed().await;
    let folder = copied("typescript", &["story.ts", "tsconfig.json"]);
    fs::write(folder.path().join("package.json"), r#"{"type":"module"}"#).unwrap();
    sample("booking.ts", folder.path(), MOST_LINES);
    client.compile(folder.path()).await;
    let node = |file: &str| {
        let mut program = Command::new("node");
        program.arg(file);
        program
    };
    works(node("out/story.js"), node("out/booking.js"), folder.path()).await;
}

#[actix::test]
async fn python_client_completes_the_story_of_the_guide() {
    if Suite::Python.is_skipped() {
        return;
    }
    let client = PythonClient::installed().await;
    let folder = copied("python", &["story.py"]);
    sample("booking.py", folder.path(), MOST_LINES);
    client.check(folder.path(), &["story.py", "booking.py"]).await;
    let python = |file: &str| {
        let mut program = Command::new(&client.python);
        program.arg(file);
        program
    };
    works(python("story.py"), python("booking.py"), folder.path()).await;
}

/// The versions of the packages are that of the document, which their types describe.
#[test]
fn packages_of_the_clients_have_the_version_of_the_document() {
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    let json = |file: &str| serde_json::from_str::<Value>(&read(file)).unwrap();
    let version = json("api/openapi/clients.json")["info"]["version"].clone();
    assert_eq!(json("api/clients/typescript/package.json")["version"], version);
    assert_eq!(json("api/clients/typescript/package-lock.json")["version"], version);
    let python: toml::Table = toml::from_str(&read("api/clients/python/pyproject.toml")).unwrap();
    assert_eq!(python["project"]["version"].as_str(), version.as_str());
}

#[test]
fn clients_have_few_handwritten_lines() {
    const GENERATED: [&str; 4] = ["posts.ts", "schema.ts", "operations.py", "types.py"];
    for folder in ["api/clients/typescript/src", "api/clients/python/practice_sync_client"] {
        let files = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap());
        let written = files
            .filter(|it| it.file_type().unwrap().is_file() && !GENERATED.iter().any(|name| it.file_name() == *name));
        let texts: Vec<String> = written.map(|file| fs::read_to_string(file.path()).unwrap()).collect();
        let lines = texts.iter().flat_map(|text| text.lines()).filter(|line| !line.trim().is_empty()).count();
        assert!(lines <= MOST_LINES_OF_CLIENT, "{folder} has {lines} lines, and {MOST_LINES_OF_CLIENT} are the most");
    }
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
    // The linter reports an invalid document. That of the operators is the smallest with several operations.
    let (wrong, valid) = (tempfile::tempdir().unwrap(), fs::read(root().join("api/openapi/operators.json")).unwrap());
    let mut document = serde_json::from_slice::<Value>(&valid).unwrap();
    document["paths"]["/operators"]["get"]["operationId"] = json!("get_operator");
    let file = wrong.path().join("operators.json");
    fs::write(&file, document.to_string()).unwrap();
    let found = lint(&file).await.unwrap_err();
    assert!(found.contains("operation-operationId-unique"), "{found}");
}

/// The receptionist is typed, runs without packages, and leaves one of its two visits in the EHR.
#[actix::test]
async fn receptionist_books_for_two_and_changes_one_visit() {
    if Suite::Python.is_skipped() {
        return;
    }
    let python = python_tools().await;
    let folder = tempfile::tempdir().unwrap();
    sample("receptionist.py", folder.path(), MOST_LINES_OF_RECEPTIONIST);
    let mut mypy = Command::new(&python);
    mypy.args(["-m", "mypy", "--strict", "--cache-dir=.mypy", "receptionist.py"]);
    step(mypy, folder.path()).await;

    let dir = tempfile::tempdir().unwrap();
    let ehr = EhrServer::start(fixtures::small_profile(12)).unwrap();
    let (installation, _process) = serving(dir.path(), &ehr).await;
    let (first, ..) = LOCATIONS[0];
    let mut receptionist = Command::new(&python);
    // Isolated, and without the environment's packages.
    receptionist.args(["-I", "-S", "receptionist.py", &format!("http://{}", installation.address)]);
    receptionist.args([API_KEY, SUBDOMAIN, &first.to_string()]);
    let output = step(receptionist, folder.path()).await;
    let sentences: Vec<&str> = output.lines().collect();
    let [ida, ole, moving, moved, confirmed, cancelled] = sentences.as_slice() else { panic!("{output}") };
    for written in [ida, ole] {
        assert!(written.ends_with("is booked and confirmed by the practice's system."), "{output}");
    }
    // Between sessions, both visits may have the same start, in two operatories of the provider.
    assert!(moving.contains(" moved to ") && moved.contains("is booked"), "{output}");
    assert!(!confirmed.is_empty() && cancelled.contains("is cancelled"), "{output}");
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

/// Copies these files of `tests/clients` into a temporary folder.
fn copied(language: &str, files: &[&str]) -> tempfile::TempDir {
    let (sources, folder) = (root().join("tests/clients").join(language), tempfile::tempdir().unwrap());
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

/// Runs the story and the sample against the product and checks their results.
async fn works(mut story: Command, mut sample: Command, folder: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let ehr = EhrServer::start(fixtures::small_profile(11)).unwrap();
    let (installation, _process) = serving(dir.path(), &ehr).await;
    let (first, ..) = LOCATIONS[0];
    let arguments = [format!("http://{}", installation.address), API_KEY.into(), SUBDOMAIN.into(), first.to_string()];
    story.args(&arguments);
    let output = step(story, folder).await;
    let seen: Value = serde_json::from_str(output.lines().next_back().unwrap()).unwrap();
    assert_eq!(seen["locations"], json!(LOCATIONS.map(|(id, ..)| id)), "{seen}");
    assert!(seen["booking"].as_str().unwrap().starts_with("bkg_"), "{seen}");
    // The lost response caused no second appointment, and the only one is cancelled.
    let patient = |record: &Record| match record {
        Record::Patient(it) if ["Script", "Thon"].contains(&it.last_name.as_str()) => Some(it.id.clone()),
        _ => None,
    };
    let patients: Vec<String> = ehr.ehr().records(Resource::Patients).filter_map(patient).collect();
    assert_eq!(patients.len(), 1, "{patients:?}");
    let visits: Vec<Status> = ehr
        .ehr()
        .records(Resource::Appointments)
        .filter_map(|record| match record {
            Record::Appointment(it) if it.patient.as_ref() == patients.first() => Some(it.status),
            _ => None,
        })
        .collect();
    assert_eq!(visits, [Status::Cancelled], "{seen}");
    let receiver = WebhookReceiver::start().unwrap();
    sample.args(&arguments).arg(&receiver.url);
    let printed = step(sample, folder).await;
    assert!(printed.starts_with("bkg_") && printed.trim_end().ends_with(" confirmed"), "{printed}");
    let message = until("the message of the booking", async || receiver.messages().into_iter().next()).await;
    let message: Value = serde_json::from_slice(&message.body).unwrap();
    assert_eq!(message["event_name"], "appointment_insertion.complete", "{message}");
    assert_eq!(installation.panics().unwrap(), [""; 0]);
    ehr.stop().await;
}

/// Starts the product with a limit of five requests per second to `GET /appointments`.
async fn serving(dir: &Path, ehr: &EhrServer) -> (Installation, Process) {
    let installation = Installation::new(binary(), dir, &ehr.url(), "").unwrap();
    let configuration = fs::read_to_string(installation.config()).unwrap();
    let limited = configuration.replacen("\"GET /appointments\" = 0", "\"GET /appointments\" = 5", 1);
    assert_ne!(configuration, limited);
    fs::write(installation.config(), limited).unwrap();
    let process = installation.start().await.unwrap();
    process::first_sync(&mut installation.sign_in().await.unwrap()).await.unwrap();
    (installation, process)
}
