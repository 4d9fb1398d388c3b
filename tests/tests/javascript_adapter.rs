//! Adapters in JavaScript: their own tests pass in Node.js, and what npm makes of them is a component that a server takes.
#![allow(clippy::unwrap_used)]

use std::path::Path;

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
    let component = work.path().join("adapter.wasm");
    toolbox.build(dir, &component).await;
    let report = adapter_kit::check(&component).unwrap();
    assert!(report.manifest.is_ok(), "{report:?}");
    assert!(report.imports.iter().all(|name| name.starts_with("practice-sync:ehr/")), "no WASI: {report:?}");
    // Its contract, its functions and the largest of them, and that it starts within the memory its manifest asks for.
    Host::judge(HostLimits::default(), &component).await.unwrap();
}
