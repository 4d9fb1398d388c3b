//! Adapters in JavaScript: their own tests pass in Node.js, and npm builds a component that a server accepts.

use std::{fs, path::Path, process::Command, time::Duration};
use tests::harness::process::binary;

use adapter_host::Host;
use setup::guests::HostLimits;
use tests::harness::{clients, components::root, external::Suite, javascript::Toolbox, packages::run};
use tokio::sync::Mutex;

use crate::adapter_tool::AdapterToolEhr;

/// Held while components are compiled. Each takes both cores of a small machine for a large part of the time that the
/// host allows.
static COMPILING: Mutex<()> = Mutex::const_new(());

const STEP: Duration = Duration::from_secs(600);

#[actix::test]
async fn the_adapter_for_the_simulated_ehr_passes_its_tests_and_is_fit() {
    if Suite::Node.is_skipped() {
        return;
    }
    let _alone = COMPILING.lock().await;
    passes_and_is_fit(&root().join("adapters/sandbox-js")).await;
}

#[actix::test]
async fn a_new_adapter_passes_its_tests_and_is_fit() {
    if Suite::Node.is_skipped() {
        return;
    }
    let _alone = COMPILING.lock().await;
    let work = tempfile::tempdir().unwrap();
    passes_and_is_fit(&scaffolded(work.path())).await;
}

/// Creates a new package in the folder `my-ehr`.
fn scaffolded(work: &Path) -> std::path::PathBuf {
    let dir = work.join("my-ehr");
    adapter_kit::scaffold_javascript(&dir, "my-ehr").unwrap();
    dir
}

fn edit(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{}: {from}", file.display());
    fs::write(file, text.replace(from, to)).unwrap();
}

/// Runs an `adapter` command in the adapter's folder against the simulated EHR.
fn typed(toolbox: &Toolbox, dir: &Path, ehr: &AdapterToolEhr, arguments: &[&str]) -> (bool, String) {
    for file in ["local.toml", "subject.toml"] {
        let text = fs::read_to_string(dir.join(file)).unwrap().replace("http://127.0.0.1:8090", &ehr.url);
        fs::write(dir.join(file), text).unwrap();
    }
    let mut command = Command::new(binary());
    command.current_dir(dir).env("PATH", toolbox.path()).arg("adapter").args(arguments);
    let output = command.output().unwrap();
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.success(), printed)
}

/// The commands work in the current directory, like cargo.
#[actix::test]
async fn errors_in_run_show_message_field_and_stack() {
    if Suite::Node.is_skipped() {
        return;
    }
    let _alone = COMPILING.lock().await;
    let (toolbox, ehr, work) = (Toolbox::installed().await, AdapterToolEhr::start(), tempfile::tempdir().unwrap());
    let dir = scaffolded(work.path());
    let map = dir.join("src/map.js");
    let pull = ["run", "pull", "patients", "--limit", "2"];
    let (well, printed) = typed(&toolbox, &dir, &ehr, &pull);
    assert!(well && printed.contains("2 records, 0 skipped"), "{printed}");
    assert!(!dir.join("dist/my-ehr.wasm").exists(), "`run` leaves the component of `build` alone");
    // A record that lacks a field.
    edit(&map, "    lastName: text(p.last_name),\n    dateOfBirth", "    dateOfBirth");
    let (well, printed) = typed(&toolbox, &dir, &ehr, &pull);
    let expected = "the adapter panicked at pull: what it returns is not of the contract: records[0] (patient).lastName is missing";
    assert!(!well && printed.contains(expected), "{printed}");
    // A JavaScript error.
    edit(
        &map,
        "    dateOfBirth: optional(p.born, date),",
        "    lastName: p.surname.trim(),\n    dateOfBirth: optional(p.born, date),",
    );
    let (well, printed) = typed(&toolbox, &dir, &ehr, &pull);
    assert!(!well && printed.contains("the adapter panicked at patient (src/map.js:"), "{printed}");
    assert!(
        printed.contains("TypeError: ") && printed.contains("called ") && printed.contains("src/adapter.js:"),
        "{printed}"
    );
    // An error thrown by the author's code.
    edit(&map, "    lastName: p.surname.trim(),", "    lastName: (() => { throw new Error(\"Oops\"); })(),");
    let (well, printed) = typed(&toolbox, &dir, &ehr, &pull);
    assert!(!well && printed.contains("src/map.js:") && printed.contains("Error: Oops"), "{printed}");
    let (well, printed) = typed(&toolbox, &dir, &ehr, &["check"]);
    assert!(well && printed.contains("verdict   fit") && dir.join("dist/my-ehr.wasm").exists(), "{printed}");
}

/// The EHR has one telephone number without a type, and `describe` lists fields that are not kept. The suite tests
/// only what the contract promises.
#[actix::test]
async fn an_ehr_with_one_telephone_number_and_without_genders_conforms() {
    if Suite::Node.is_skipped() {
        return;
    }
    let _alone = COMPILING.lock().await;
    let (toolbox, ehr, work) = (Toolbox::installed().await, AdapterToolEhr::start(), tempfile::tempdir().unwrap());
    let dir = scaffolded(work.path());
    let map = dir.join("src/map.js");
    edit(&map, "    cellPhone: optional(p.cell),", "    cellPhone: null,");
    edit(&map, "    primaryPhone: null,", "    primaryPhone: optional(p.cell),");
    edit(&map, "    gender: optional(p.gender, ", "    gender: optional(undefined, ");
    edit(&dir.join("src/adapter.js"), "const UNKEPT = [\"ssn\"", "const UNKEPT = [\"gender\", \"ssn\"");
    let (well, printed) = typed(&toolbox, &dir, &ehr, &["test"]);
    assert!(
        well && printed.contains(" passed, 0 failed, ") && printed.contains("passed     a_change_leaves_the_rest"),
        "{printed}"
    );
    // A new adapter's file does not mention it.
    edit(&dir.join("src/adapter.js"), "const UNKEPT = [\"gender\", \"ssn\"", "const UNKEPT = [\"ssn\"");
    let (well, printed) = typed(&toolbox, &dir, &ehr, &["test", "--only", "written_records_are_pulled_unchanged"]);
    assert!(!well && printed.contains("gender: \"Female\" was written, nothing is shown"), "{printed}");
}

/// Checked by TypeScript, as in an editor.
#[actix::test]
async fn the_typings_fit_the_adapter_and_find_a_missing_field() {
    if Suite::Node.is_skipped() {
        return;
    }
    let typescript = clients::typescript_tools().await;
    let work = tempfile::tempdir().unwrap();
    let dir = scaffolded(work.path());
    let check = || {
        let mut tsc = tokio::process::Command::new("node");
        tsc.arg(typescript.join("node_modules/typescript/bin/tsc"))
            .args(["--project", "jsconfig.json"])
            .current_dir(&dir);
        run(tsc, STEP)
    };
    check().await.unwrap_or_else(|why| panic!("{why}"));
    edit(&dir.join("src/map.js"), "    lastName: text(p.last_name),\n    dateOfBirth", "    dateOfBirth");
    let found = check().await.unwrap_err();
    assert!(found.contains("src/map.js") && found.contains("'lastName' is missing"), "{found}");
}

async fn passes_and_is_fit(dir: &Path) {
    let toolbox = Toolbox::installed().await;
    toolbox.npm(dir, &["test"]).await;
    let work = tempfile::tempdir().unwrap();
    let build = |command: &mut Command| {
        let output = command.args(["adapter", "build"]).arg(dir).arg("--out").arg(work.path()).output().unwrap();
        let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (output.status.success(), printed)
    };
    let (well, printed) = build(&mut Command::new(binary()));
    assert!(!well && printed.contains("run `npm ci` there first"), "nothing is installed in the folder: {printed}");
    let id = adapter_kit::Manifest::parse(&std::fs::read_to_string(dir.join("adapter.toml")).unwrap()).unwrap().id;
    let component = work.path().join(format!("{id}.wasm"));
    assert!(!component.exists());
    let with_programs = || {
        let mut command = Command::new(binary());
        command.env("PATH", toolbox.path());
        command
    };
    let (well, printed) = build(&mut with_programs());
    assert!(well && printed.contains("wrote "), "{printed}");
    let (well, printed) = build(&mut with_programs());
    assert!(well && printed.contains("is up to date"), "{printed}");
    let report = adapter_kit::check(&component).unwrap();
    assert!(report.manifest.is_ok(), "{report:?}");
    assert!(report.imports.iter().all(|name| name.starts_with("practice-sync:ehr/")), "no WASI: {report:?}");
    // Judges the contract, the functions and their size, and the start within the manifest's memory.
    Host::judge(HostLimits::default(), &component).await.unwrap();
}
