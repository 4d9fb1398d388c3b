//! The contract's imports, for one call of one connection.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::time::Instant;
use wasmtime::{ResourceLimiter, StoreLimits, StoreLimitsBuilder};

use super::{
    GateError, GateRequest, GuestLimits, HttpResponse, Manifest, TransportError, WriteTag,
    bindings::practice_sync::ehr::{
        clock, config, gate,
        http::{self, Error, Header, Request, Response},
        log::{self, Level},
        types,
    },
    clock as zones,
    guest_log::GuestLog,
    limits::{CORE_INSTANCES_PER_COMPONENT, MEMORIES_PER_COMPONENT, TABLE_ELEMENTS, TABLES_PER_COMPONENT},
    link::Link,
    log_line::line,
    trace::Trace,
};

/// The data of one call's store.
pub(crate) struct CallState {
    link: Arc<Link>,
    manifest: Arc<Manifest>,
    limits: GuestLimits,
    pub store_limits: GuestLimiter,
    deadline: Instant,
    requests: u32,
    trace: Arc<Trace>,
    /// The description of the write for the staff who approve it.
    tag: Option<WriteTag>,
}

impl CallState {
    pub(crate) fn new(
        link: Arc<Link>,
        manifest: Arc<Manifest>,
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
            // The trap reports the requested size; a failed `memory.grow` would only abort the guest.
            .trap_on_grow_failure(true)
            .build();
        let store_limits = GuestLimiter { limits: store_limits, trace: trace.clone() };
        CallState { link, manifest, limits, store_limits, deadline, requests: 0, trace, tag }
    }

    /// Returns the number of bytes that the host copies out of the guest at once. Bounds lists that refer to the same
    /// memory many times.
    pub(crate) fn copy_limit(&self) -> usize {
        self.limits.memory
    }

    /// Counts a request. Returns the remaining time of the call.
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
        let request = self.link.address.request(request, &self.manifest.asks(), &self.limits);
        let request = request.map_err(Error::Refused)?;
        let (sent_before, max_body) = (self.trace.sent(), request.max_response_body);
        let body = request.body.as_ref().map_or(0, Vec::len);
        // Set before sending, because the call may end during the wait.
        self.trace.sent.store(true, Ordering::SeqCst);
        let ended = self.link.transport.send(request, left).await;
        if matches!(ended, Err(TransportError::NotSent(_))) {
            self.trace.sent.store(sent_before, Ordering::SeqCst);
        }
        self.spent(body, !matches!(ended, Err(TransportError::NotSent(_))), ended.as_ref().ok());
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
        let request = self.link.address.gate_request(request, &self.manifest.asks(), &self.limits);
        let request = request.map_err(Error::Refused)?;
        let (sent_before, max_body, changes) =
            (self.trace.sent(), request.max_response_body, self.tag.is_some() && request.method != "GET");
        let body = request.body.as_ref().map_or(0, Vec::len);
        let request = GateRequest { write: self.tag.clone().filter(|_| changes), ..request };
        self.trace.sent.store(true, Ordering::SeqCst);
        let ended = gate.send(request, left).await;
        let sent = matches!(ended, Ok(_) | Err(GateError::NoAnswer(_)));
        if !sent {
            self.trace.sent.store(sent_before, Ordering::SeqCst);
        }
        self.spent(body, sent, ended.as_ref().ok());
        self.trace.at_gate(changes, &ended);
        match ended {
            Ok(answer) => response(answer, max_body),
            Err(GateError::NotSent(why) | GateError::Approval(why)) => Err(Error::NotSent(line(&why))),
            Err(GateError::NoAnswer(why)) => Err(Error::NoAnswer(line(&why))),
            Err(GateError::Refused(why) | GateError::Declined(why)) => Err(Error::Refused(line(&why))),
        }
    }

    fn spent(&self, body: usize, sent: bool, answer: Option<&HttpResponse>) {
        if sent {
            self.trace.spending.request(body);
        }
        if let Some(answer) = answer {
            self.trace.spending.answer(answer.body.len());
        }
    }
}

/// The resource limits of a guest, with metering of its memory.
pub(crate) struct GuestLimiter {
    limits: StoreLimits,
    trace: Arc<Trace>,
}

impl ResourceLimiter for GuestLimiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let grows = self.limits.memory_growing(current, desired, maximum)?;
        if grows {
            self.trace.spending.more_memory(desired.saturating_sub(current));
        }
        Ok(grows)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.limits.memory_grow_failed(error)
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        self.limits.table_growing(current, desired, maximum)
    }

    fn table_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.limits.table_grow_failed(error)
    }

    fn instances(&self) -> usize {
        self.limits.instances()
    }

    fn tables(&self) -> usize {
        self.limits.tables()
    }

    fn memories(&self) -> usize {
        self.limits.memories()
    }
}

fn response(answer: HttpResponse, max_body: usize) -> Result<Response, Error> {
    if answer.body.len() > max_body {
        return Err(Error::NoAnswer(format!("its body is longer than {max_body} bytes")));
    }
    let headers =
        answer.headers.into_iter().map(|(name, value)| Header { name: name.to_ascii_lowercase(), value }).collect();
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
        let panics = self.trace.panics(&message);
        let Some(suppressed) = self.link.lines.take(std::time::Instant::now(), panics) else { return Ok(()) };
        let log = GuestLog::for_adapter(&self.manifest.id);
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
            .ok_or_else(|| wasmtime::Error::msg("to-local: the instant is outside the years 1 to 9999"))
    }
}

impl config::Host for CallState {
    fn get(&mut self, name: String) -> wasmtime::Result<Option<String>> {
        let set = self.link.settings.get(&name).map(|value| value.expose().to_string());
        Ok(set.or_else(|| self.manifest.default_of(&name)))
    }
}

impl types::Host for CallState {}
