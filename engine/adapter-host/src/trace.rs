//! What the engine knows of one call, also when the guest ends without an answer.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use records::ehr::{Fault, Write};

use super::{
    bindings::exports::practice_sync::ehr::ehr as wit,
    convert,
    costs::Spending,
    gate::GateError,
    limits::{LOG_LINE_BYTES, REASON_BYTES},
    link::Link,
    log_line::plain,
    redact::Redactor,
    transport::HttpResponse,
};

/// How the SDK begins a line that says where the guest panicked.
const PANICKED: &str = "panicked at ";

/// What the engine knows of a call: what it is, and, when it ends without an answer, how far it came.
#[derive(Default)]
pub(crate) struct Trace {
    pub name: &'static str,
    /// Tells the calls of this process apart in the log.
    pub id: u64,
    pub write_key: Option<String>,
    redactor: Redactor,
    /// None while an adapter is only tried.
    link: Option<Arc<Link>>,
    /// Where the guest said that it panicked.
    panicked: Mutex<Option<String>>,
    pub sent: AtomicBool,
    /// A request that can change something went through the gate, or may have.
    wrote: AtomicBool,
    /// Why the last request at the gate was not sent.
    stopped: Mutex<Option<GateError>>,
    pub spending: Spending,
}

impl Trace {
    /// `write`: what is pushed or looked up, under its key.
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

    /// A guest's text as it may be kept: every one that enters the engine goes through here.
    pub(crate) fn redacted(&self, text: &str, bytes: usize) -> String {
        let passing = self.link.as_ref().map(|link| link.transport.secrets()).unwrap_or_default();
        self.redactor.text(text, &passing, bytes)
    }

    /// Where the guest panicked, if it said so.
    pub(crate) fn panicked(&self) -> Option<String> {
        self.panicked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the guest says for the first time that it panicked: a call does so once, and where is what its author needs.
    pub(crate) fn panics(&self, text: &str) -> bool {
        text.starts_with(PANICKED) && self.panicked().is_none()
    }

    /// A line of the guest, for the log.
    pub(crate) fn line(&self, text: &str) -> String {
        let line = self.redacted(text, LOG_LINE_BYTES);
        if let Some(place) = line.strip_prefix(PANICKED) {
            *self.panicked.lock().unwrap_or_else(PoisonError::into_inner) = Some(plain(place, PLACE_BYTES));
        }
        line
    }

    /// The fault a guest answered, as the engine takes it.
    pub(crate) fn heard(&self, fault: wit::Fault) -> Fault {
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
