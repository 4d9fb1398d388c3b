//! The main story (`tests/src/main_story`) with real GNU Health and FHIR servers, and with the fake of Open Dental's
//! API.

use std::path::Path;
use tests::harness::process::binary;

use tests::main_story::{FhirPractice, GnuHealthPractice, OpenDentalPractice, run};

fn program() -> &'static Path {
    binary()
}

#[actix::test]
async fn with_gnu_health() {
    let Some(practice) = GnuHealthPractice::open().await else { return };
    run(program(), practice).await;
}

#[actix::test]
async fn with_a_fhir_server() {
    let Some(practice) = FhirPractice::open().await else { return };
    run(program(), practice).await;
}

#[actix::test]
async fn with_open_dental() {
    run(program(), OpenDentalPractice::open()).await;
}
