//! What a guest can reach: the contract's imports, for one call of one connection.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use records::ehr::{Fault, Write};
use setup::guests::GuestLimits;
use tokio::time::Instant;
use wasmtime::{StoreLimits, StoreLimitsBuilder};

use super::{
    adapter::Adapter,
    bindings::{
        exports::practice_sync::ehr::ehr as wit,
        practice_sync::ehr::{
            clock, config, gate,
            http::{self, Error, Request, Response},
            log::{self, Level},
            types,
        },
    },
    clock as zones,
    connection::Link,
    convert,
    gate::{GateError, GateRequest, WriteTag},
    guest_log::GuestLog,
    limits::{
        CORE_INSTANCES_PER_COMPONENT, LOG_LINE_BYTES, MEMORIES_PER_COMPONENT, REASON_BYTES, TABLE_ELEMENTS,
        TABLES_PER_COMPONENT,
    },
    log_line::{line, plain},
    redact::Redactor,
    transport::{HttpResponse, TransportError},
};

/// What the engine knows of a call: what it is, and, when it ends without an answer, how far it came.
#[derive(Default)]
pub struct Trace {
    pub name: &'static str,
    /// Tells the calls of this process apart in the log.
    pub id: u64,
    pub write_key: Option<String>,
    redactor: Redactor,
    /// None while an adapter is only tried.
    link: Option<Arc<Link>>,
    /// Where the guest said that it panicked.
    panicked: Mutex<Option<String>>,
    sent: AtomicBool,
    /// A request that can change something went through the gate, or may have.
    wrote: AtomicBool,
    /// Why the last request at the gate was not sent.
    stopped: Mutex<Option<GateError>>,
}

impl Trace {
    /// `write`: what is pushed or looked up, under its key.
    pub fn new(name: &'static str, link: &Arc<Link>, write: Option<(&str, &Write)>) -> Trace {
        static CALLS: AtomicU64 = AtomicU64::new(1);
        Trace {
            name,
            id: CALLS.fetch_add(1, Ordering::Relaxed),
            write_key: write.map(|(key, _)| key.to_owned()),
            redactor: Redactor::new(link.secrets(), write.map(|(_, write)| write.clone())),
            link: Some(link.clone()),
            ..Trace::default()
        }
    }

    /// A guest's text as it may be kept: every one that enters the engine goes through here.
    pub fn redacted(&self, text: &str, bytes: usize) -> String {
        let passing = self.link.as_ref().map(|link| link.transport.secrets()).unwrap_or_default();
        self.redactor.text(text, &passing, bytes)
    }

    /// Where the guest panicked, if it said so.
    pub fn panicked(&self) -> Option<String> {
        self.panicked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A line of the guest, for the log.
    fn line(&self, text: &str) -> String {
        let line = self.redacted(text, LOG_LINE_BYTES);
        if let Some(place) = line.strip_prefix("panicked at ") {
            *self.panicked.lock().unwrap_or_else(PoisonError::into_inner) = Some(plain(place, PLACE_BYTES));
        }
        line
    }

    /// The fault a guest answered, as the engine takes it.
    pub fn heard(&self, fault: wit::Fault) -> Fault {
        let mut heard = match convert::fault(fault) {
            Fault::GateClosed if self.link.as_ref().is_none_or(|link| link.gate.is_none()) => self.no_gate(),
            fault => self.judge(fault),
        };
        match &mut heard {
            Fault::Rejected(reason)
            | Fault::RetryLater { reason, .. }
            | Fault::Unknown(reason)
            | Fault::Unauthorized(reason)
            | Fault::Unsupported(reason)
            | Fault::NotReady(reason)
            | Fault::NotBegun(reason) => *reason = self.redacted(reason, REASON_BYTES),
            Fault::GateClosed => {}
        }
        heard
    }

    /// Nobody could open it.
    fn no_gate(&self) -> Fault {
        let reason = NO_GATE.to_owned();
        match self.write_key.is_some() && self.sent() {
            true => Fault::Unknown(reason),
            false => Fault::RetryLater { reason, after: None },
        }
    }

    /// True when the EHR may have seen a request of this call.
    pub fn sent(&self) -> bool {
        self.sent.load(Ordering::SeqCst)
    }

    fn at_gate(&self, changes: bool, ended: &Result<HttpResponse, GateError>) {
        let stopped = match ended {
            Ok(_) | Err(GateError::NoAnswer(_)) => {
                self.wrote.fetch_or(changes, Ordering::SeqCst);
                None
            }
            Err(stopped) => Some(stopped.clone()),
        };
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = stopped;
    }

    /// A guest's fault, where the engine knows better than the guest why nothing was sent.
    fn judge(&self, fault: Fault) -> Fault {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(stopped) = stopped else { return fault };
        if self.wrote.load(Ordering::SeqCst) {
            // Part of it is in the EHR, or may be: not the time to begin anew.
            return match fault {
                Fault::RetryLater { .. } | Fault::GateClosed => Fault::Unknown(stopped.to_string()),
                fault => fault,
            };
        }
        match (fault, stopped) {
            (fault @ Fault::Unknown(_), _) => fault,
            (_, GateError::Declined(reason)) if reason.is_empty() => Fault::Rejected(DECLINED.to_owned()),
            (_, GateError::Declined(reason)) => Fault::Rejected(format!("{DECLINED}: {reason}")),
            (_, GateError::Approval(reason)) => Fault::NotReady(reason),
            (Fault::RetryLater { .. }, GateError::NotSent(_)) => Fault::GateClosed,
            (fault, _) => fault,
        }
    }
}

const NO_GATE: &str = "the adapter broke the contract: it says that its workstation gate is closed, and its data source has no `workstation`";
/// Of a file's name and a line.
const PLACE_BYTES: usize = 200;
const DECLINED: &str = "declined by the staff at the workstation";

/// The data of one call's store.
pub struct CallState {
    link: Arc<Link>,
    adapter: Arc<Adapter>,
    limits: GuestLimits,
    pub store_limits: StoreLimits,
    deadline: Instant,
    requests: u32,
    trace: Arc<Trace>,
    /// What the call writes, for the staff who approve it.
    tag: Option<WriteTag>,
}

impl CallState {
    pub fn new(
        link: Arc<Link>,
        adapter: Arc<Adapter>,
        limits: GuestLimits,
        deadline: Instant,
        trace: Arc<Trace>,
        tag: Option<WriteTag>,
    ) -> CallState {
        let store_limits = StoreLimitsBuilder::new()
            .memory_size(limits.memory)
            .memories(MEMORIES_PER_COMPONENT as usize)
            .instances(CORE_INSTANCES_PER_COMPONENT as usize)
            .tables(TABLES_PER_COMPONENT as usize)
            .table_elements(TABLE_ELEMENTS)
            // The trap says how much was asked for; a failed `memory.grow` would only be an abort inside the guest.
            .trap_on_grow_failure(true)
            .build();
        CallState { link, adapter, limits, store_limits, deadline, requests: 0, trace, tag }
    }

    /// Bytes the host copies out of the guest at once. Lists that point many times at the same memory stop here.
    pub fn copy_limit(&self) -> usize {
        self.limits.memory
    }

    /// One more request; what is left of the call's time for it.
    fn request_counted(&mut self) -> Result<Duration, Error> {
        self.requests += 1;
        if self.requests > self.limits.requests {
            return Err(Error::Refused(format!("more than {} requests in one call", self.limits.requests)));
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::NotSent("the call's time is up".into()));
        }
        if self.requests > 1 {
            self.link.requests_beyond.fetch_add(1, Ordering::Relaxed);
        }
        Ok(left)
    }

    async fn send_http(&mut self, request: Request) -> Result<Response, Error> {
        let left = self.request_counted()?;
        let request = self.link.address.request(request, &self.adapter.manifest().asks(), &self.limits);
        let request = request.map_err(Error::Refused)?;
        let (sent_before, max_body) = (self.trace.sent(), request.max_response_body);
        // Before, not after: the call may end while this waits.
        self.trace.sent.store(true, Ordering::SeqCst);
        let ended = self.link.transport.send(request, left).await;
        if matches!(ended, Err(TransportError::NotSent(_))) {
            self.trace.sent.store(sent_before, Ordering::SeqCst);
        }
        match ended {
            Ok(answer) => response(answer, max_body),
            Err(TransportError::NotSent(why)) => Err(Error::NotSent(line(&why))),
            Err(TransportError::NoAnswer(why)) => Err(Error::NoAnswer(line(&why))),
        }
    }

    async fn send_through_gate(&mut self, request: Request) -> Result<Response, Error> {
        let left = self.request_counted()?;
        let Some(gate) = self.link.gate.clone() else {
            return Err(Error::NotSent("no workstation is connected".into()));
        };
        let request = self.link.address.gate_request(request, &self.adapter.manifest().asks(), &self.limits);
        let request = request.map_err(Error::Refused)?;
        let (sent_before, max_body, changes) =
            (self.trace.sent(), request.max_response_body, self.tag.is_some() && request.method != "GET");
        let request = GateRequest { write: self.tag.clone().filter(|_| changes), ..request };
        self.trace.sent.store(true, Ordering::SeqCst);
        let ended = gate.send(request, left).await;
        if !matches!(ended, Ok(_) | Err(GateError::NoAnswer(_))) {
            self.trace.sent.store(sent_before, Ordering::SeqCst);
        }
        self.trace.at_gate(changes, &ended);
        match ended {
            Ok(answer) => response(answer, max_body),
            Err(GateError::NotSent(why) | GateError::Approval(why)) => Err(Error::NotSent(line(&why))),
            Err(GateError::NoAnswer(why)) => Err(Error::NoAnswer(line(&why))),
            Err(GateError::Refused(why) | GateError::Declined(why)) => Err(Error::Refused(line(&why))),
        }
    }
}

fn response(answer: HttpResponse, max_body: usize) -> Result<Response, Error> {
    if answer.body.len() > max_body {
        return Err(Error::NoAnswer(format!("its body is longer than {max_body} bytes")));
    }
    let headers = answer.headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
    Ok(Response { status: answer.status, headers, body: answer.body })
}

impl http::Host for CallState {
    async fn send(&mut self, request: Request) -> wasmtime::Result<Result<Response, Error>> {
        Ok(self.send_http(request).await)
    }
}

impl gate::Host for CallState {
    fn current(&mut self) -> wasmtime::Result<gate::State> {
        let open = self.link.gate.as_ref().is_some_and(|gate| gate.is_open());
        Ok(if open { gate::State::Open } else { gate::State::Closed })
    }

    async fn send(&mut self, request: Request) -> wasmtime::Result<Result<Response, Error>> {
        Ok(self.send_through_gate(request).await)
    }
}

impl log::Host for CallState {
    fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        let Some(suppressed) = self.link.lines.take(std::time::Instant::now()) else { return Ok(()) };
        let log = GuestLog::of(&self.adapter.manifest().id);
        if suppressed > 0 {
            let text = format!("{suppressed} lines of the adapter were suppressed");
            log.write(Level::Warn, &self.link.location, &self.trace, &text);
        }
        log.write(level, &self.link.location, &self.trace, &self.trace.line(&message));
        Ok(())
    }
}

impl clock::Host for CallState {
    fn now(&mut self) -> wasmtime::Result<i64> {
        Ok((self.link.clock)())
    }

    fn to_instant(&mut self, local: String) -> wasmtime::Result<Vec<i64>> {
        Ok(zones::to_instant(self.link.zone, &local))
    }

    fn to_local(&mut self, at: i64) -> wasmtime::Result<clock::Local> {
        zones::to_local(self.link.zone, at)
            .ok_or_else(|| wasmtime::Error::msg("to-local: the instant lies outside the years 1 to 9999"))
    }
}

impl config::Host for CallState {
    fn get(&mut self, name: String) -> wasmtime::Result<Option<String>> {
        Ok(self.link.settings.get(&name).map(|value| value.expose().to_string()))
    }
}

impl types::Host for CallState {}

/// Seconds since 1970 by the system's clock.
pub fn system_clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
