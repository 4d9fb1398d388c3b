//! The engine's record of a call, available even if the guest ends without an answer.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use parking_lot::Mutex;
use records::{Fault, Write};

use super::{
    GateError, HttpResponse,
    bindings::exports::practice_sync::ehr::ehr as wit,
    convert,
    costs::Spending,
    limits::{LOG_LINE_BYTES, REASON_BYTES},
    link::Link,
    plain,
    redact::Redactor,
};

/// The start of the SDK's log line with the place of a panic.
const PANICKED: &str = "panicked at ";

/// The identity of a call and its progress.
#[derive(Default)]
pub(crate) struct Trace {
    pub name: &'static str,
    /// Identifies the call in the log of this process.
    pub id: u64,
    pub write_key: Option<String>,
    redactor: Redactor,
    /// `None` during the trial of an adapter.
    link: Option<Arc<Link>>,
    /// The place of a panic, as logged by the guest.
    panicked: Mutex<Option<String>>,
    pub sent: AtomicBool,
    /// `true` once a request that can change something has passed the gate, or may have.
    wrote: AtomicBool,
    /// The reason why the last request at the gate was not sent.
    stopped: Mutex<Option<GateError>>,
    pub spending: Spending,
}

impl Trace {
    /// `write` is the write that the call pushes or looks up, with its key.
    pub(crate) fn new(name: &'static str, link: &Arc<Link>, write: Option<(&str, &Write)>) -> Trace {
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

    /// Redacts a text of the guest. Every text that enters the engine passes through this function.
    pub(crate) fn redacted(&self, text: &str, bytes: usize) -> String {
        let passing = self.link.as_ref().map(|link| link.transport.secrets()).unwrap_or_default();
        self.redactor.text(text, &passing, bytes)
    }

    /// Returns the place of the guest's panic, if the guest logged it.
    pub(crate) fn panicked(&self) -> Option<String> {
        self.panicked.lock().clone()
    }

    /// Returns `true` for the first panic line of the guest. A call panics once, and the adapter's author needs the
    /// place.
    pub(crate) fn panics(&self, text: &str) -> bool {
        text.starts_with(PANICKED) && self.panicked().is_none()
    }

    /// Returns a log line of the guest, redacted. Remembers the place of a panic.
    pub(crate) fn line(&self, text: &str) -> String {
        let line = self.redacted(text, LOG_LINE_BYTES);
        if let Some(place) = line.strip_prefix(PANICKED) {
            *self.panicked.lock() = Some(plain(place, PLACE_BYTES));
        }
        line
    }

    /// Converts the fault returned by a guest: adjusts it to the state of the gate and redacts its reason.
    pub(crate) fn adjust_fault(&self, fault: wit::Fault) -> Fault {
        let mut adjusted = match convert::fault(fault) {
            Fault::GateClosed if self.link.as_ref().is_none_or(|link| link.gate.is_none()) => self.no_gate(),
            fault => self.judge(fault),
        };
        match &mut adjusted {
            Fault::Rejected(reason)
            | Fault::RetryLater { reason, .. }
            | Fault::Unknown(reason)
            | Fault::Unauthorized(reason)
            | Fault::Unsupported(reason)
            | Fault::NotReady(reason)
            | Fault::NotBegun(reason) => *reason = self.redacted(reason, REASON_BYTES),
            Fault::GateClosed => {}
        }
        adjusted
    }

    /// Returns the fault of a guest that reports a closed gate although its data source has no gate.
    fn no_gate(&self) -> Fault {
        let reason = NO_GATE.to_owned();
        match self.write_key.is_some() && self.sent() {
            true => Fault::Unknown(reason),
            false => Fault::RetryLater { reason, after: None },
        }
    }

    /// Returns `true` if the EHR may have received a request of this call.
    pub(crate) fn sent(&self) -> bool {
        self.sent.load(Ordering::SeqCst)
    }

    pub(crate) fn at_gate(&self, changes: bool, ended: &Result<HttpResponse, GateError>) {
        let stopped = match ended {
            Ok(_) | Err(GateError::NoAnswer(_)) => {
                self.wrote.fetch_or(changes, Ordering::SeqCst);
                None
            }
            Err(stopped) => Some(stopped.clone()),
        };
        *self.stopped.lock() = stopped;
    }

    /// Corrects a guest's fault if the engine knows better why nothing was sent.
    fn judge(&self, fault: Fault) -> Fault {
        let stopped = self.stopped.lock().take();
        let Some(stopped) = stopped else { return fault };
        if self.wrote.load(Ordering::SeqCst) {
            // Part of the write is in the EHR, or may be: do not start again.
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

/// Enough for a file name and a line.
const PLACE_BYTES: usize = 200;

const DECLINED: &str = "declined by the staff at the workstation";
