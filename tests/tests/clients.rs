//! Clients that generators make of `api/openapi.json`: the programs of `tests/clients` type-check on them, and do with the running
//! product what applications do. The generators are installed into `target/` once for each set of pinned versions.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};
use tests::harness::{
    components::root,
    ehr_server::EhrServer,
    external::Suite,
    fixtures,
    packages::{Project, run},
    process::{self, API_KEY, Installation, LOCATIONS, Process, SUBDOMAIN},
};
use tokio::process::Command;

/// A generator, a type checker or a program.
const STEP: Duration = Duration::from_secs(180);

#[actix::test]
async fn an_application_in_typescript_gets_along_with_the_document_alone() {
    if Suite::Node.is_left_out() {
        return;
    }
    let project = Project::new("client-typescript", "clients/typescript", Suite::Node);
    let folder = copied(&project.sources, &["program.ts", "tsconfig.json", "package.json"]);
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
    let mut program = Command::new("node");
    program.arg("out/program.js");
    works(program, folder.path()).await;
}

#[actix::test]
async fn an_application_in_python_gets_along_with_the_document_alone() {
    if Suite::Python.is_left_out() {
        return;
    }
    let project = Project::new("client-python", "clients/python", Suite::Python);
    let folder = copied(&project.sources, &["program.py", "generator.yaml"]);
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
    // The generated package carries its types with it; what it is made of is not ours to judge.
    let lenient = ["--strict", "--follow-imports=silent", "--cache-dir=.mypy", "program.py"];
    step(module("mypy", &lenient), folder.path()).await;
    let mut program = Command::new(&python);
    program.arg("program.py");
    works(program, folder.path()).await;
}

fn document() -> PathBuf {
    root().join("api").join("openapi.json")
}

/// A folder of its own with these files in it.
fn copied(sources: &Path, files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        fs::copy(sources.join(file), folder.path().join(file)).unwrap();
    }
    folder
}

async fn step(mut command: Command, folder: &Path) -> String {
    command.current_dir(folder);
    let output = run(command, STEP).await.unwrap_or_else(|why| panic!("{why}"));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the program against the product, and looks at what it saw.
async fn works(mut program: Command, folder: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let ehr = EhrServer::start(fixtures::profile(11)).unwrap();
    let (installation, _process) = serving(dir.path(), &ehr).await;
    let (first, ..) = LOCATIONS[0];
    program.args([format!("http://{}", installation.address), API_KEY.into(), SUBDOMAIN.into(), first.to_string()]);
    let said = step(program, folder).await;
    let seen: Value = serde_json::from_str(said.lines().next_back().unwrap()).unwrap();
    assert_eq!(seen["locations"], json!(LOCATIONS.map(|(id, ..)| id)), "{seen}");
    assert!(seen["booking"].as_str().unwrap().starts_with("bkg_"), "{seen}");
    assert!(["pending", "confirmed"].contains(&seen["writeback"].as_str().unwrap()), "{seen}");
    assert!(seen["appointment"].is_string(), "{seen}");
    assert_eq!((&seen["patients"], &seen["more_patients"]), (&json!(2), &json!(true)), "{seen}");
    assert_eq!(seen["refused"], json!(["Location with id 999999 not found"]), "{seen}");
    ehr.stop().await;
}

async fn serving(dir: &Path, ehr: &EhrServer) -> (Installation, Process) {
    let program = Path::new(env!("CARGO_BIN_EXE_practice-sync-under-test"));
    let installation = Installation::new(program, dir, &ehr.url(), "").unwrap();
    let process = installation.start().await.unwrap();
    process::first_sync(&mut installation.sign_in().await.unwrap()).await.unwrap();
    (installation, process)
}
