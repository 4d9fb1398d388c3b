//! Adapters in JavaScript: their own tests pass in Node.js, and what npm makes of them is a component that a server takes.

use std::{path::Path, process::Command};
use tests::harness::process::binary;

use adapter_host::Host;
use setup::guests::HostLimits;
use tests::harness::{components::root, external::Suite, javascript::Toolbox};

#[actix::test]
async fn the_adapter_for_the_simulated_ehr_passes_its_tests_and_is_fit() {
    if Suite::Node.is_left_out() {
        return;
    }
    passes_and_is_fit(&root().join("adapters/sandbox-js")).await;
}

#[actix::test]
async fn a_new_adapter_passes_its_tests_and_is_fit() {
    if Suite::Node.is_left_out() {
        return;
    }
    let work = tempfile::tempdir().unwrap();
    let dir = work.path().join("my-ehr");
    adapter_kit::scaffold_javascript(&dir, "my-ehr").unwrap();
    passes_and_is_fit(&dir).await;
}

async fn passes_and_is_fit(dir: &Path) {
    let toolbox = Toolbox::installed().await;
    toolbox.npm(dir, &["test"]).await;
    let work = tempfile::tempdir().unwrap();
    let build = |command: &mut Command| {
        let output = command.args(["adapter", "build"]).arg(dir).arg("--out").arg(work.path()).output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (output.status.success(), said)
    };
    let (well, said) = build(&mut Command::new(binary()));
    assert!(!well && said.contains("run `npm ci` there first"), "nothing is installed in the folder: {said}");
    let id = adapter_kit::Manifest::parse(&std::fs::read_to_string(dir.join("adapter.toml")).unwrap()).unwrap().id;
    let component = work.path().join(format!("{id}.wasm"));
    assert!(!component.exists());
    let with_programs = || {
        let mut command = Command::new(binary());
        command.env("PATH", toolbox.path());
        command
    };
    let (well, said) = build(&mut with_programs());
    assert!(well && said.contains("wrote "), "{said}");
    let (well, said) = build(&mut with_programs());
    assert!(well && said.contains("is up to date"), "{said}");
    let report = adapter_kit::check(&component).unwrap();
    assert!(report.manifest.is_ok(), "{report:?}");
    assert!(report.imports.iter().all(|name| name.starts_with("practice-sync:ehr/")), "no WASI: {report:?}");
    // Its contract, its functions and the largest of them, and that it starts within the memory its manifest asks for.
    Host::judge(HostLimits::default(), &component).await.unwrap();
}
