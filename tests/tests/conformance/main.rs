//! Every adapter against its EHR, by the one suite.
#![allow(clippy::unwrap_used)]

mod fhir;
mod gnuhealth;
mod open_dental;
mod sandbox;

use tests::conformance::run;

#[actix::test]
async fn the_sandbox_adapter_conforms() {
    run(sandbox::Sandbox::start()).await;
}

#[actix::test]
async fn the_fhir_adapter_conforms() {
    if let Some(server) = fhir::Fhir::start().await {
        run(server).await;
    }
}

#[actix::test]
async fn the_open_dental_adapter_conforms() {
    run(open_dental::OpenDental::start()).await;
}

#[actix::test]
async fn the_gnuhealth_adapter_conforms() {
    if let Some(clinic) = gnuhealth::Clinic::start().await {
        run(clinic).await;
    }
}
