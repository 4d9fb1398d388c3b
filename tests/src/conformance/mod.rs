//! One suite for every adapter: [`run`] takes an adapter's component together with the EHR it is for, puts a proxy between them that
//! spoils what it is told to spoil, and calls the adapter as the engine does. What a new adapter needs is a [`EhrUnderTest`].
//!
//! Cases are told apart in the output; the variable `CONFORMANCE` names those to run, separated by commas.

mod cases;
mod ehr_under_test;
mod subject;
mod writes;

use std::{path::PathBuf, rc::Rc};

pub use ehr_under_test::{EhrUnderTest, Here};
pub use subject::{Pass, Subject};
pub use writes::KINDS;

use crate::harness::components;

const VARIABLE: &str = "CONFORMANCE";

/// Runs all cases, one after the other, on one EHR; fails at the end when any did.
pub async fn run<S: EhrUnderTest>(system: S) {
    run_component(system, components::component(S::ADAPTER)).await;
}

/// The same with another adapter for this EHR.
pub async fn run_component<S: EhrUnderTest>(system: S, component: PathBuf) {
    let name = component.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let only = std::env::var(VARIABLE).unwrap_or_default();
    let subject = Rc::new(Subject::new(system, component).await);
    let mut failed = Vec::new();
    for (name, case) in cases::all::<S>() {
        if !only.is_empty() && !only.split(',').any(|wanted| wanted.trim() == name) {
            continue;
        }
        subject.proxy.calm();
        // A task of its own, so that a case that panics does not end the others.
        if actix_rt::spawn(case(subject.clone())).await.is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "the adapter {name} does not conform: {failed:?}");
}
