//! One suite for every adapter. [`run`] takes an adapter together with its EHR, injects faults between them, and calls
//! the adapter as the engine does. A new adapter needs an [`EhrUnderTest`].
//!
//! ```text
//!  run ─► cases ─► subject ─► adapter (WASM) ─► flaky_proxy or flaky_transport ─► EHR
//!   │                 └──── counts, changes and breaks records ──── EhrUnderTest ──┘
//!   └──► report: passed, failed (asked, answered, expected, to mend), not asked
//! ```

mod cases;
pub mod display;
mod effect;
mod ehr_under_test;
mod fault_injector;
pub mod flaky_proxy;
mod flaky_transport;
mod from_file;
mod local;
mod report;
mod request;
pub mod subject;
mod subject_file;
mod writes;

use std::{path::Path, rc::Rc, sync::Arc, time::Instant};

use adapter_host::{Adapter, Host};
use setup::guests::HostLimits;

pub use cases::{NAMES, RESOURCES};
pub use display::{masked, name};
pub use ehr_under_test::{EhrAddress, EhrUnderTest, ExistingIds};
pub use fault_injector::{FaultInjector, InjectedFault, When};
pub use flaky_transport::FlakyTransport;
pub use from_file::FromFile;
pub use local::Local;
pub use report::{Case, CaseEnd, CaseResult, ConformanceReport, Finding};
pub use subject_file::SubjectFile;

use subject::Subject;

/// Loads the adapter of a component file; `cache` contains compiled code.
pub async fn load(component: &Path, cache: &Path) -> Result<Arc<Adapter>, String> {
    let host = Host::new(HostLimits::default(), cache).map_err(|error| error.to_string())?;
    host.load(component).await.map_err(|failed| failed.to_string())
}

/// Runs the named cases, or all, one after the other on one EHR, and calls `ended` after each. Must run within a tokio
/// `LocalSet`, such as actix's system.
pub async fn run<S: EhrUnderTest>(
    adapter: &Arc<Adapter>,
    system: S,
    only: &[String],
    ended: &mut dyn FnMut(&Case),
) -> Result<ConformanceReport, String> {
    if let Some(unknown) = only.iter().find(|name| !NAMES.contains(&name.as_str())) {
        return Err(format!("`{unknown}` is no case; the cases are: {}", NAMES.join(", ")));
    }
    let subject = Rc::new(Subject::new(system, adapter).await?);
    let mut report = ConformanceReport::default();
    for (name, case) in cases::all::<S>() {
        if !only.is_empty() && !only.iter().any(|wanted| wanted == name) {
            continue;
        }
        subject.injector.clear();
        let since = Instant::now();
        // In a separate task, so that a case that panics does not end the others.
        let ending = tokio::task::spawn_local(case(subject.clone())).await;
        let outcome = ending.unwrap_or_else(|broken| Err(panicked(&subject, broken)));
        let case = Case { name, outcome, took: since.elapsed() };
        ended(&case);
        report.cases.push(case);
    }
    Ok(report)
}

/// The finding of a case that panicked because the simulated EHR failed.
fn panicked<S: EhrUnderTest>(subject: &Subject<S>, broken: tokio::task::JoinError) -> CaseEnd {
    let message = match broken.try_into_panic() {
        Ok(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
        }
        Err(cancelled) => cancelled.to_string(),
    };
    CaseEnd::Failed(Box::new(Finding {
        asked: subject.last_call(),
        answered: message,
        expected: "the case comes to its end".to_owned(),
        remedy: "not caused by the adapter: the EHR under test cannot execute the suite's request".to_owned(),
    }))
}
