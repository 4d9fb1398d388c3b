//! The bounded queue of entries for the writer thread. Pushing never blocks: a full queue is an error.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use crate::{AuditError, entry::Body};

/// Room that the queue must have left to report that it accepts entries.
const USUAL: usize = 512;

type AppendResult = Result<(), AuditError>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    AtOnce,
    Soon,
}

pub(crate) struct AuditJob {
    pub body: Body,
    reply: oneshot::Sender<AppendResult>,
}

impl AuditJob {
    pub(crate) fn new(body: Body) -> (Self, Written) {
        let (reply, outcome) = oneshot::channel();
        (Self { body, reply }, Written(outcome))
    }

    pub(crate) fn answer(self, outcome: AppendResult) {
        // A send error means that the caller dropped its future.
        let _ = self.reply.send(outcome);
    }
}

/// Completes when the entry is durable, or with the error that prevented it.
#[must_use = "an entry is durable only after its future has completed"]
pub struct Written(oneshot::Receiver<AppendResult>);

impl Future for Written {
    type Output = Result<(), AuditError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|outcome| outcome.unwrap_or(Err(AuditError::Closed)))
    }
}

impl Written {
    /// Blocks the current thread until the entry is durable.
    pub fn wait(mut self) -> Result<(), AuditError> {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        loop {
            match Pin::new(&mut self).poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(outcome) => return outcome,
                Poll::Pending => thread::park(),
            }
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Entries refused since the last note about refusals in the trail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    pub entries: u64,
    /// The time of the latest refused entry.
    pub at: i64,
}

impl Refused {
    fn add(&mut self, entries: u64, at: i64) {
        self.entries += entries;
        self.at = self.at.max(at);
    }
}

pub(crate) enum Turn {
    /// All waiting entries.
    Group {
        jobs: Vec<AuditJob>,
        refused: Refused,
    },
    /// No entry arrived before the timeout.
    Quiet,
    Closed,
}

pub(crate) struct AuditQueue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
    max_bytes: usize,
    gather: Duration,
    written: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    jobs: Vec<AuditJob>,
    bytes: usize,
    /// At least one caller waits for its entry, or the queue is more than half full.
    at_once: bool,
    refused: Refused,
    /// Why the disk cannot be written now.
    interrupted: Option<String>,
    closed: bool,
}

impl AuditQueue {
    pub(crate) fn new(max_bytes: usize, gather: Duration) -> Self {
        Self { waiting: Mutex::default(), arrived: Condvar::new(), max_bytes, gather, written: AtomicU64::new(0) }
    }

    pub(crate) fn push(&self, job: AuditJob, pace: Pace) -> Result<(), AuditError> {
        let mut waiting = self.waiting.lock();
        let bytes = job.body.json.len();
        if waiting.closed {
            return Err(AuditError::Closed);
        }
        if let Some(why) = waiting.interrupted.clone() {
            waiting.refused.add(1, job.body.at);
            return Err(AuditError::Interrupted { why });
        }
        // An empty queue accepts an entry of any legal size.
        if waiting.bytes > 0 && waiting.bytes + bytes > self.max_bytes {
            waiting.refused.add(1, job.body.at);
            return Err(AuditError::Full);
        }
        waiting.bytes += bytes;
        waiting.jobs.push(job);
        // A queue that is half full is written at once, so that it does not fill up.
        waiting.at_once |= pace == Pace::AtOnce || waiting.bytes > self.max_bytes / 2;
        let is_noticed = waiting.at_once || waiting.jobs.len() == 1;
        drop(waiting);
        if is_noticed {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Blocks until there are entries to write, or until `patience` has elapsed. After the timeout, it still
    /// returns the count of refused entries.
    pub(crate) fn next(&self, patience: Option<Duration>) -> Turn {
        let mut waiting = self.waiting.lock();
        let nothing = |waiting: &mut Waiting| waiting.jobs.is_empty() && !waiting.closed;
        match patience {
            None => self.arrived.wait_while(&mut waiting, nothing),
            Some(patience) => {
                self.arrived.wait_while_for(&mut waiting, nothing, patience);
            }
        }
        if !waiting.jobs.is_empty() {
            let gathering = |waiting: &mut Waiting| !waiting.at_once && !waiting.closed;
            self.arrived.wait_while_for(&mut waiting, gathering, self.gather);
        }
        if !waiting.jobs.is_empty() || waiting.refused.entries > 0 {
            (waiting.bytes, waiting.at_once) = (0, false);
            return Turn::Group {
                jobs: std::mem::take(&mut waiting.jobs),
                refused: std::mem::take(&mut waiting.refused),
            };
        }
        if waiting.closed { Turn::Closed } else { Turn::Quiet }
    }

    /// Fails `jobs` and all queued entries with `error`. Later entries are refused with the same reason until
    /// `resume`.
    pub(crate) fn interrupt(&self, error: &AuditError, mut jobs: Vec<AuditJob>, refused: Refused) {
        let mut waiting = self.waiting.lock();
        waiting.interrupted = Some(error.to_string());
        (waiting.bytes, waiting.at_once) = (0, false);
        jobs.append(&mut waiting.jobs);
        waiting.refused.add(refused.entries, refused.at);
        jobs.iter().for_each(|job| waiting.refused.add(1, job.body.at));
        drop(waiting);
        jobs.into_iter().for_each(|job| job.answer(Err(error.clone())));
    }

    /// Reports success for `jobs`, which are durable.
    pub(crate) fn complete(&self, jobs: Vec<AuditJob>) {
        self.written.fetch_add(jobs.len() as u64, Ordering::Relaxed);
        jobs.into_iter().for_each(|job| job.answer(Ok(())));
    }

    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    pub(crate) fn resume(&self) {
        self.waiting.lock().interrupted = None;
    }

    /// Returns an error if an entry would be refused now.
    pub(crate) fn takes(&self) -> Result<(), AuditError> {
        let waiting = self.waiting.lock();
        match &waiting.interrupted {
            _ if waiting.closed => Err(AuditError::Closed),
            Some(why) => Err(AuditError::Interrupted { why: why.clone() }),
            None if waiting.bytes > 0 && waiting.bytes + USUAL > self.max_bytes => Err(AuditError::Full),
            None => Ok(()),
        }
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.waiting.lock().interrupted.is_some()
    }

    /// Closes the queue. Queued entries are still written; then the writer ends.
    pub(crate) fn close(&self) {
        self.waiting.lock().closed = true;
        self.arrived.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.waiting.lock().closed
    }

    /// Closes the queue without a writer. Waiting callers receive `AuditError::Closed`.
    pub(crate) fn abandon(&self) {
        let mut waiting = self.waiting.lock();
        waiting.closed = true;
        waiting.jobs.clear();
    }
}
