//! The trial of a component before its use: it must start, and all types of its exports must match the contract.
//! wasmtime compares those only on an instance. Without the trial, an adapter with other types would load and then fail
//! in each call.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32},
    },
    time::Duration,
};

use chrono_tz::Tz;
use setup::guests::GuestLimits;
use tokio::time::{Instant, timeout_at};

use super::{
    Adapter, HttpRequest, LoadError, Transport, TransportError, TransportFuture,
    call_permits::Payer,
    imports::CallState,
    instance::Instance,
    link::{Link, system_clock},
    log_line::LineBudget,
    manifest::narrow,
    metered::{CpuBudgetExceeded, metered},
    outbound::OutboundAddress,
    trace::Trace,
};

const TIME: Duration = Duration::from_secs(5);

pub(crate) async fn run(adapter: &Arc<Adapter>) -> Result<(), LoadError> {
    let limits = narrow(adapter.manifest(), &GuestLimits::default());
    let (ends, processor) = (Instant::now() + TIME, limits.processor);
    let trace = Arc::new(Trace::default());
    let state = CallState::new(Arc::new(link()), adapter.manifest.clone(), limits, ends, trace.clone(), None);
    let (starting, host) = (Instance::new(adapter.clone(), state), &adapter.host);
    let started = timeout_at(ends, metered(starting, processor, &host.turns, &trace.spending)).await;
    let started = started
        .unwrap_or(Err(CpuBudgetExceeded))
        .map_err(|CpuBudgetExceeded| LoadError::Start("initialization timed out".into()))?;
    let instance = started.map_err(|error| LoadError::Start(error.root_cause().to_string()))?;
    instance.check_types().map_err(|error| LoadError::Shape(format!("{error:#}")))
}

/// Returns a link without a reachable EHR.
fn link() -> Link {
    Link {
        location: "trial".into(),
        payer: Payer { source: "trial".into(), host: "trial".into() },
        address: OutboundAddress::new("http://localhost", Vec::new(), Vec::new()).expect("a plain address"),
        settings: BTreeMap::new(),
        zone: Tz::UTC,
        transport: Arc::new(Nowhere),
        gate: None,
        clock: Arc::new(system_clock),
        lines: LineBudget::new(std::time::Instant::now()),
        requests_beyond: AtomicU32::new(0),
        last_was_short: AtomicBool::new(false),
    }
}

struct Nowhere;

impl Transport for Nowhere {
    fn send(&self, _: HttpRequest, _: Duration) -> TransportFuture<'_> {
        Box::pin(async { Err(TransportError::NotSent("no requests during the trial of an adapter".into())) })
    }
}
