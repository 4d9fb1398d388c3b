//! Runs the conformance suite for every adapter against its EHR.

mod atomic;
#[path = "../../../adapters/fhir/tests/atomic_server/mod.rs"]
mod atomic_server;
mod fhir;
mod gated_cloud;
mod gnuhealth;
mod open_dental;
mod parts;
mod sandbox;
mod wrong;

use tests::{
    conformance::{run, run_component},
    harness::{components::root, external::Suite, javascript::Toolbox},
};

/// Replaces the SDK's module of this name, which `atomic_server` uses in the adapter's own tests.
mod adapter_time {
    pub fn instant_text(at: i64) -> String {
        let at = chrono::DateTime::from_timestamp(at, 0).unwrap();
        at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
    }

    pub fn instant_of(text: &str) -> Option<i64> {
        Some(chrono::DateTime::parse_from_rfc3339(text).ok()?.timestamp())
    }
}

#[actix::test]
async fn the_sandbox_adapter_conforms() {
    run("sandbox", sandbox::SandboxUnderTest::start()).await;
}

#[actix::test]
async fn the_sandbox_adapter_in_javascript_conforms() {
    if Suite::Node.is_skipped() {
        return;
    }
    let component = root().join("target/adapters/sandbox-js.wasm");
    Toolbox::installed().await.build(&root().join("adapters/sandbox-js"), &component).await;
    run_component(component, sandbox::SandboxUnderTest::start()).await;
}

#[actix::test]
async fn the_fhir_adapter_conforms() {
    if let Some(server) = fhir::Fhir::start().await {
        run("fhir", server).await;
    }
}

#[actix::test]
async fn the_open_dental_adapter_conforms() {
    run("opendental", open_dental::OpenDental::start()).await;
}

#[actix::test]
async fn the_gnuhealth_adapter_conforms() {
    if let Some(clinic) = gnuhealth::Clinic::start().await {
        run("gnuhealth", clinic).await;
    }
}

#[actix::test]
async fn the_fhir_adapter_conforms_where_transactions_are_atomic() {
    run("fhir", atomic::Atomic::start()).await;
}

#[actix::test]
async fn the_gated_cloud_adapter_conforms() {
    run("gated-cloud", gated_cloud::Cloud::start(cloud_ehr::Markup::V3)).await;
}

#[actix::test]
async fn the_gated_cloud_adapter_conforms_after_the_next_release() {
    run("gated-cloud", gated_cloud::Cloud::start(cloud_ehr::Markup::V4)).await;
}
