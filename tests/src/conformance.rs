//! The suite of `adapters/conformance` for the adapters of this repository. Components are built first, and a failed
//! case fails the test.
//!
//! The variable `CONFORMANCE` names the cases to run, separated by commas.

use std::path::PathBuf;

pub use adapter_conformance::{EhrAddress, EhrUnderTest, ExistingIds};

use crate::harness::components;

const VARIABLE: &str = "CONFORMANCE";

/// Runs all cases on an adapter in `adapters/`.
pub async fn run<S: EhrUnderTest>(adapter: &str, system: S) {
    run_component(components::component(adapter), system).await;
}

/// Runs all cases on a component.
pub async fn run_component<S: EhrUnderTest>(component: PathBuf, system: S) {
    let only = std::env::var(VARIABLE).unwrap_or_default();
    let only: Vec<String> =
        only.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    let adapter = adapter_conformance::load(&component, &components::compiled()).await;
    let adapter = adapter.unwrap_or_else(|error| panic!("{}: {error}", component.display()));
    let report = adapter_conformance::run(&adapter, system, &only, &mut |case| eprintln!("{case}")).await;
    let report = report.unwrap_or_else(|error| panic!("{}: {error}", component.display()));
    let failed: Vec<&str> = report.failed().map(|case| case.name).collect();
    assert!(failed.is_empty(), "{} does not conform: {failed:?}", component.display());
}
