//! A location's EHR behind an adapter. Each call gets a fresh instance within its limits of memory, time and requests,
//! on the host's own threads unless it is short. A call always ends with an answer or a fault.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use chrono::DateTime;
use chrono_tz::Tz;
use records::{Description, Ehr, EhrFuture, Fault, Page, Receipt, Resource, Write};
use setup::secret::Secret;
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument, field::Empty, trace_span};

use super::{
    Adapter, AddressError, CallCosts, Clock, Gate, GuestLimits, LoadState, Transport, WriteTag,
    bindings::exports::practice_sync::ehr::ehr as wit,
    call_permits::Payer,
    check, convert,
    imports::CallState,
    instance::Instance,
    limits::{REASON_BYTES, SHORT_CALL},
    link::{AdapterCallKind, Link, system_clock},
    log_line::LineBudget,
    manifest::narrow,
    metered::{CpuBudgetExceeded, metered},
    outbound::OutboundAddress,
    plain, record,
    slot::{AdapterSlot, FindSlot, NoAdapter},
    trace::Trace,
    trap,
};

/// The parameters of a location's connection to its EHR.
pub struct Connection {
    /// The name of the location in the log.
    pub location: String,
    /// The id of the data source to which calls are charged.
    pub source: String,
    /// The EHR host to which calls are charged, shared by data sources; defaults to the EHR's address.
    pub host: Option<String>,
    /// The location's own identifier in the EHR.
    pub foreign_id: String,
    pub base_url: String,
    /// Credentials, sent with every request and invisible to the guest.
    pub headers: Vec<(String, Secret)>,
    /// Prefixes of the permitted paths; those of the adapter's manifest apply as well.
    pub allowed_paths: Vec<String>,
    pub settings: BTreeMap<String, Secret>,
    pub zone: Tz,
    pub limits: GuestLimits,
    pub transport: Arc<dyn Transport>,
    /// The gate through a workstation's session, for an EHR without another access.
    pub gate: Option<Arc<dyn Gate>>,
    pub clock: Clock,
}

impl Connection {
    /// Creates a connection without credentials, with every path, no settings, the default limits and the system clock.
    pub fn new(
        location: &str,
        foreign_id: &str,
        base_url: &str,
        zone: Tz,
        transport: Arc<dyn Transport>,
    ) -> Connection {
        Connection {
            location: location.to_string(),
            source: location.to_string(),
            host: None,
            foreign_id: foreign_id.to_string(),
            base_url: base_url.to_string(),
            headers: Vec::new(),
            allowed_paths: vec!["/".to_string()],
            settings: BTreeMap::new(),
            zone,
            limits: GuestLimits::default(),
            transport,
            gate: None,
            clock: Arc::new(system_clock),
        }
    }
}

pub fn check_address(
    base_url: &str,
    headers: Vec<(String, Secret)>,
    allowed_paths: Vec<String>,
) -> Result<(), AddressError> {
    OutboundAddress::new(base_url, headers, allowed_paths).map(drop)
}

impl Adapter {
    /// Connects a location to its EHR through exactly this version.
    pub fn connect(self: &Arc<Self>, connection: Connection) -> Result<Arc<dyn Ehr>, AddressError> {
        let slot = Arc::new(AdapterSlot::new(LoadState::Ready(self.clone())));
        connect(Arc::new(move |_| slot.clone()), connection)
    }
}

pub(super) fn connect(slot: FindSlot, connection: Connection) -> Result<Arc<dyn Ehr>, AddressError> {
    let limits = connection.limits.clone();
    Ok(Arc::new(Connected { slot, link: Arc::new(link(connection)?), limits }))
}

/// Returns the state that the calls of a connection share.
pub(super) fn link(connection: Connection) -> Result<Link, AddressError> {
    let mut settings = connection.settings;
    settings.insert("location".into(), Secret::new(connection.foreign_id));
    settings.insert("time-zone".into(), Secret::new(connection.zone.name()));
    let address = OutboundAddress::new(&connection.base_url, connection.headers, connection.allowed_paths)?;
    let host = connection.host.unwrap_or_else(|| authority(&connection.base_url));
    Ok(Link {
        location: connection.location,
        payer: Payer { source: connection.source, host },
        address,
        settings,
        zone: connection.zone,
        transport: connection.transport,
        gate: connection.gate,
        clock: connection.clock,
        lines: LineBudget::new(std::time::Instant::now()),
        requests_beyond: AtomicU32::new(0),
        last_was_short: Default::default(),
    })
}

fn authority(base_url: &str) -> String {
    reqwest::Url::parse(base_url).map_or_else(|_| base_url.to_owned(), |url| url.origin().ascii_serialization())
}

struct Connected {
    slot: FindSlot,
    link: Arc<Link>,
    limits: GuestLimits,
}

const NO_PLACE: &str = "waits for a place: other calls of its data source or its EHR's host have all of them";

/// The reason why a call ended without an answer of the guest.
#[derive(Debug)]
enum CallAborted {
    /// Not begun: there is no adapter.
    NoAdapter(NoAdapter),
    /// Not begun: the adapter does not accept the operator's settings.
    Settings(String),
    /// Not begun: no permit was free.
    NoPlace,
    /// The call exceeded its processor time.
    OutOfProcessor(Duration),
    /// The call exceeded its deadline.
    OutOfTime(Duration),
    /// The guest trapped: it panicked, exceeded its memory, or overflowed its stack.
    Trap(String),
    Host(String),
}

impl CallAborted {
    /// Returns the fault for a call that did not begin. Returns `Err(self)` for one that did.
    fn before_it_began(self) -> Result<Fault, CallAborted> {
        match self {
            // The operator must act first, so the pauses grow.
            CallAborted::NoAdapter(NoAdapter::Refused(_)) | CallAborted::Settings(_) => {
                Ok(Fault::NotReady(self.reason()))
            }
            CallAborted::NoAdapter(NoAdapter::Preparing) | CallAborted::NoPlace => Ok(Fault::NotBegun(self.reason())),
            begun => Err(begun),
        }
    }

    fn reason(self) -> String {
        match self {
            CallAborted::NoAdapter(NoAdapter::Preparing) => "the adapter is being prepared".to_owned(),
            CallAborted::NoAdapter(NoAdapter::Refused(reason)) => format!("the adapter cannot be used: {reason}"),
            CallAborted::Settings(wrong) => format!("the location's adapter_config: {wrong}"),
            CallAborted::NoPlace => NO_PLACE.to_owned(),
            CallAborted::OutOfProcessor(limit) => {
                format!("the adapter used more than {} ms of processor time", limit.as_millis())
            }
            CallAborted::OutOfTime(limit) => format!("the adapter did not answer within {} ms", limit.as_millis()),
            CallAborted::Trap(trap) => trap,
            CallAborted::Host(reason) => plain(&format!("the adapter host failed: {reason}"), REASON_BYTES),
        }
    }
}

impl Connected {
    /// Waits for a permit, runs `work` on a fresh instance, and runs `accept` on its answer. Both run on the guest
    /// threads, because a page may be large and the caller's thread serves others too. After a short call of their
    /// kind, they begin on the caller's thread, see [`GuestThreads::run`](super::host_shared::GuestThreads::run).
    /// Cancellation of the caller does not end a call that has begun; its deadline does.
    async fn call<T, U, Work>(
        &self,
        kind: AdapterCallKind,
        deadline: Duration,
        trace: &Arc<Trace>,
        tag: Option<WriteTag>,
        work: impl FnOnce(Instance) -> Work + Send + 'static,
        accept: impl FnOnce(T) -> U + Send + 'static,
    ) -> Result<Result<U, wit::Fault>, CallAborted>
    where
        T: Send + 'static,
        U: Send + 'static,
        Work: Future<Output = wasmtime::Result<Result<T, wit::Fault>>> + Send,
    {
        let waits_until = Instant::now() + self.limits.wait;
        let adapter = (self.slot)(&self.link.location).ready(self.limits.wait).await.map_err(CallAborted::NoAdapter)?;
        self.link.accepts(&adapter.manifest).map_err(CallAborted::Settings)?;
        let limits = narrow(&adapter.manifest, &self.limits);
        let (named, location) = (adapter.manifest.id.as_str(), self.link.location.as_str());
        let span = trace_span!(
            "adapter_call",
            otel.kind = "client",
            adapter = named,
            location,
            call = kind.name(),
            outcome = Empty
        );
        let wait = waits_until.saturating_duration_since(Instant::now());
        let place = adapter.host.places.take(&self.link.payer, kind.purpose(), wait).await;
        let Some(place) = place else {
            span.record("outcome", "no_place");
            tracing::info!(adapter = named, location, call = kind.name(), "call put off: {NO_PLACE}");
            return Err(CallAborted::NoPlace);
        };
        let allowed = deadline.min(limits.call);
        let processor = if kind == AdapterCallKind::Pull { limits.pull_processor } else { limits.processor };
        let ends = Instant::now() + allowed;
        let state = CallState::new(self.link.clone(), adapter.manifest.clone(), limits, ends, trace.clone(), tag);
        let (running, memory, trap_trace) = (adapter.clone(), state.copy_limit(), trace.clone());
        let link = self.link.clone();
        let guest = async move {
            let (_place, began, host) = (place, Instant::now(), running.host.clone());
            let (adapter, call_trace) = (running.manifest.clone(), trap_trace.clone());
            let run = async {
                let trapped = |error| CallAborted::Trap(trap::reason(&error, memory, &trap_trace));
                let instance = Instance::new(running.clone(), state).await.map_err(trapped)?;
                work(instance).await.map_err(trapped)
            };
            let run = metered(run, processor, &host.turns, &call_trace.spending);
            let ended = match timeout_at(ends, run).await {
                Ok(Ok(ended)) => ended,
                Ok(Err(CpuBudgetExceeded)) => Err(CallAborted::OutOfProcessor(processor)),
                Err(_) => Err(CallAborted::OutOfTime(allowed)),
            };
            let costs = ended_as(&ended, call_trace.spending.costs(began.elapsed()));
            host.costs.note(&adapter.id, &link.location, call_trace.name, &costs);
            let ended = ended.map(|answer| answer.map(accept));
            link.last_was_short[kind as usize].store(began.elapsed() < SHORT_CALL, Ordering::Relaxed);
            ended
        };
        // The guest's log lines carry the request id too.
        let guest = Box::pin(guest.instrument(span.clone()).in_current_span());
        let here = self.link.last_was_short[kind as usize].swap(false, Ordering::Relaxed);
        let ended = adapter.host.threads.run(guest, here).await;
        let ended = ended.unwrap_or_else(|panic| Err(CallAborted::Host(panic.to_string())));
        span.record("outcome", outcome(&ended));
        if let Err(lost) = &ended {
            let (adapter, location) = (adapter.manifest.id.as_str(), self.link.location.as_str());
            let (call, id, write) = (trace.name, trace.id, trace.write_key.as_deref());
            tracing::warn!(adapter, location, call, id, write, sent = trace.sent(), ?lost, "an adapter call failed");
        }
        ended
    }

    fn reads(&self, kind: AdapterCallKind) -> Arc<Trace> {
        Arc::new(Trace::new(kind.name(), &self.link, None))
    }

    /// Makes a call that changes nothing. A lost call can be made again.
    async fn read<T, U, Work>(
        &self,
        kind: AdapterCallKind,
        trace: Arc<Trace>,
        deadline: Duration,
        work: impl FnOnce(Instance) -> Work + Send + 'static,
        accept: impl FnOnce(T) -> Result<U, String> + Send + 'static,
    ) -> Result<U, Fault>
    where
        T: Send + 'static,
        U: Send + 'static,
        Work: Future<Output = wasmtime::Result<Result<T, wit::Fault>>> + Send,
    {
        let retry = |reason| Fault::RetryLater { reason, after: None };
        let lost = |ended: CallAborted| ended.before_it_began().unwrap_or_else(|begun| retry(begun.reason()));
        let answer = self.call(kind, deadline, &trace, None, work, accept).await.map_err(lost)?;
        answer.map_err(|fault| trace.adjust_fault(fault))?.map_err(|rule| retry(broken_contract(&rule)))
    }

    /// Makes a call that writes. If the EHR may have received a request and there is no valid receipt, the outcome is
    /// unknown.
    async fn push(&self, write_key: String, write: Write, deadline: Duration) -> Result<Receipt, Fault> {
        let trace = Arc::new(Trace::new(AdapterCallKind::Push.name(), &self.link, Some((&write_key, &write))));
        let lost = |ended: CallAborted| {
            ended.before_it_began().unwrap_or_else(|begun| match trace.sent() {
                true => Fault::Unknown(begun.reason()),
                false => Fault::RetryLater { reason: begun.reason(), after: None },
            })
        };
        let tag = self.link.gate.is_some().then(|| tag(&write_key, &write, self.link.zone));
        let write = convert::write(write)?;
        let work = |instance: Instance| async move { instance.push(&write_key, &write).await };
        let answer =
            self.call(AdapterCallKind::Push, deadline, &trace, tag, work, convert::receipt).await.map_err(lost)?;
        answer
            .map_err(|fault| trace.adjust_fault(fault))?
            // The guest reports a completed write, whether or not it sent a request.
            .map_err(|broken| Fault::Unknown(broken_contract(&format!("receipt, {broken}"))))
    }
}

fn outcome<T>(ended: &Result<Result<T, wit::Fault>, CallAborted>) -> &'static str {
    match ended {
        Ok(Ok(_)) => "answered",
        Ok(Err(_)) => "fault",
        Err(_) => "lost",
    }
}

fn ended_as<T>(ended: &Result<Result<T, wit::Fault>, CallAborted>, costs: CallCosts) -> CallCosts {
    match ended {
        Ok(Ok(_)) => CallCosts { answered: 1, ..costs },
        Ok(Err(_)) => CallCosts { faults: 1, ..costs },
        Err(_) => CallCosts { lost: 1, ..costs },
    }
}

impl Ehr for Connected {
    fn describe(&self, deadline: Duration) -> EhrFuture<'_, Description> {
        let accept = |answer| convert::description(answer).map_err(|broken| format!("description, {broken}"));
        Box::pin(async move {
            let mut description = self
                .read(
                    AdapterCallKind::Describe,
                    self.reads(AdapterCallKind::Describe),
                    deadline,
                    Instance::describe,
                    accept,
                )
                .await?;
            if description.gated && self.link.gate.is_none() {
                return Err(Fault::Unsupported(UNGATED.to_owned()));
            }
            let asked =
                (self.slot)(&self.link.location).current().and_then(|adapter| adapter.manifest.requests_per_minute);
            description.requests_per_minute = [description.requests_per_minute, asked].into_iter().flatten().min();
            Ok(description)
        })
    }

    fn pull(&self, resource: Resource, cursor: Option<String>, limit: u32, deadline: Duration) -> EhrFuture<'_, Page> {
        let given = cursor.clone();
        let asked = record::contract_resource(resource);
        let work = move |instance: Instance| async move { instance.pull(asked, cursor.as_deref(), limit).await };
        let location = self.link.location.clone();
        let trace = self.reads(AdapterCallKind::Pull);
        let heard = trace.clone();
        let accept = move |page| {
            let heard = |reason: &str| heard.redacted(reason, REASON_BYTES);
            let (page, cut) = check::counting_cuts(|| convert::page(page, resource, given.as_deref(), limit, heard));
            if cut > 0 {
                tracing::warn!(
                    location,
                    ?resource,
                    texts = cut,
                    "texts of a page exceed the maximum length and are truncated"
                );
            }
            if let Ok(page) = &page
                && !page.skipped.is_empty()
            {
                let records = page.skipped.len();
                tracing::warn!(location, ?resource, records, "unreadable records of a page are skipped");
            }
            page
        };
        Box::pin(self.read(AdapterCallKind::Pull, trace, deadline, work, accept))
    }

    fn push(&self, write_key: String, write: Write, deadline: Duration) -> EhrFuture<'_, Receipt> {
        Box::pin(self.push(write_key, write, deadline))
    }

    fn find(&self, write_key: String, write: Write, deadline: Duration) -> EhrFuture<'_, Option<Receipt>> {
        let accept = |found: Option<wit::Receipt>| {
            found.map(convert::receipt).transpose().map_err(|broken| format!("receipt, {broken}"))
        };
        Box::pin(async move {
            let trace = Arc::new(Trace::new(AdapterCallKind::Find.name(), &self.link, Some((&write_key, &write))));
            let write = convert::write(write)?;
            let work = move |instance: Instance| async move { instance.find(&write_key, &write).await };
            self.read(AdapterCallKind::Find, trace, deadline, work, accept).await
        })
    }

    fn take_requests_beyond(&self) -> u32 {
        self.link.requests_beyond.swap(0, Ordering::Relaxed)
    }
}

const UNGATED: &str = "the adapter works through staff workstations only: its data source needs `workstation`";

/// Returns the description of a write for the staff, without patient data.
fn tag(write_key: &str, write: &Write, zone: Tz) -> WriteTag {
    let local = |seconds: i64| Some(DateTime::from_timestamp(seconds, 0)?.with_timezone(&zone).naive_local());
    let at = write.starts_at().and_then(local).map(|at| at.format("%Y-%m-%dT%H:%M").to_string());
    WriteTag { id: write_key.to_owned(), kind: write.kind(), at }
}

fn broken_contract(rule: &str) -> String {
    format!("the adapter broke the contract: {rule}")
}
