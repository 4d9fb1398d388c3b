//! The trial of a component before its use: it must start, and all types of its exports must match the contract.
//! wasmtime compares those only on an instance. Without the trial, an adapter with other types would load and then fail
//! in each call.

use std::{sync::Arc, time::Duration};

use chrono_tz::Tz;
use tokio::time::{Instant, timeout_at};

use super::{
    Adapter, Connection, GuestLimits, HttpRequest, LoadError, Transport, TransportError, TransportFuture,
    connection::link,
    imports::CallState,
    instance::Instance,
    manifest::narrow,
    metered::{CpuBudgetExceeded, metered},
    trace::Trace,
};

const TIME: Duration = Duration::from_secs(5);

pub(crate) async fn run(adapter: &Arc<Adapter>) -> Result<(), LoadError> {
    let limits = narrow(adapter.manifest(), &GuestLimits::default());
    let (ends, processor) = (Instant::now() + TIME, limits.processor);
    let trace = Arc::new(Trace::default());
    let nowhere = Connection::new("trial", "trial", "http://localhost", Tz::UTC, Arc::new(Nowhere));
    let link = Arc::new(link(nowhere).expect("a plain address"));
    let state = CallState::new(link, adapter.manifest.clone(), limits, ends, trace.clone(), None);
    let (starting, host) = (Instance::new(adapter.clone(), state), &adapter.host);
    let started = timeout_at(ends, metered(starting, processor, &host.turns, &trace.spending)).await;
    let started = started
        .unwrap_or(Err(CpuBudgetExceeded))
        .map_err(|CpuBudgetExceeded| LoadError::Start("initialization timed out".into()))?;
    let instance = started.map_err(|error| LoadError::Start(error.root_cause().to_string()))?;
    instance.check_types().map_err(|error| LoadError::Shape(format!("{error:#}")))
}

struct Nowhere;

impl Transport for Nowhere {
    fn send(&self, _: HttpRequest, _: Duration) -> TransportFuture<'_> {
        Box::pin(async { Err(TransportError::NotSent("no requests during the trial of an adapter".into())) })
    }
}
