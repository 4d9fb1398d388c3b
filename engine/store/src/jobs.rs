//! The queue of batches for a committer: sealed, with known size, and in the order of the calls.

use std::{
    collections::VecDeque,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use super::{Append, Batch, CommitError, Expect, Key, StoreError, Version, envelope::Envelope};

/// Limits of a group. Small groups keep the latency low and rarely fill a segment of sled between two syncs.
/// sled reuses the space of replaced records without knowing whether their successors are synced. A single
/// batch may be larger.
const GROUP_BYTES: usize = 256 << 10;
const GROUP_BATCHES: usize = 1_024;

pub(super) type CommitOutcome = Result<(), CommitError>;

/// A queued batch with sealed values.
pub(super) struct Job {
    pub expects: Vec<(Key, Expect)>,
    pub writes: Vec<(Key, Option<Vec<u8>>)>,
    /// Appended values, which are sealed when they are numbered: a value is bound to its key, and the key
    /// contains the number.
    pub appends: Vec<Append>,
    bytes: usize,
    pub arrived: Instant,
    pub reply: oneshot::Sender<CommitOutcome>,
}

impl Job {
    pub(crate) fn seal(
        envelope: &Envelope,
        batch: Batch,
        reply: oneshot::Sender<CommitOutcome>,
    ) -> Result<Self, StoreError> {
        let bytes = batch.weigh()?;
        let mut sealer = envelope.sealer()?;
        let writes = batch
            .writes
            .into_iter()
            .map(|(key, value)| Ok((value.map(|value| sealer.seal(&key, &value)).transpose()?, key)))
            .map(|sealed| sealed.map(|(value, key)| (key, value)))
            .collect::<Result<_, StoreError>>()?;
        Ok(Self { expects: batch.expects, writes, appends: batch.appends, bytes, arrived: Instant::now(), reply })
    }

    /// Creates the job that replaces a value by its resealed form, if the stored version is still the same.
    pub(crate) fn reseal(key: Key, sealed: Vec<u8>, reply: oneshot::Sender<CommitOutcome>) -> Self {
        let (expects, bytes) =
            (vec![(key.clone(), Expect::Version(Version::from_sealed(&sealed)))], key.len() + sealed.len());
        let (writes, appends) = (vec![(key, Some(sealed))], Vec::new());
        Self { expects, writes, appends, bytes, arrived: Instant::now(), reply }
    }

    /// Creates a job that forces a group: it deletes a key that never has a value.
    pub(crate) fn nothing(reply: oneshot::Sender<CommitOutcome>) -> Self {
        let (expects, writes, appends) = (Vec::new(), vec![(vec![0], None)], Vec::new());
        Self { expects, writes, appends, bytes: 1, arrived: Instant::now(), reply }
    }
}

/// Starts the thread of a committer, which commits groups and completes their futures until the queue is
/// closed.
pub(super) fn start_committer(
    queue: Arc<CommitQueue>,
    mut commit: impl FnMut(&[Job]) -> Vec<CommitOutcome> + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    let run = move || {
        while let Some(jobs) = queue.next_group() {
            let outcomes = commit(&jobs);
            // The memory of the batches is freed after all replies, so that these reach a caller's thread together.
            let mut contents = Vec::with_capacity(jobs.len());
            for (Job { reply, expects, writes, appends, .. }, outcome) in jobs.into_iter().zip(outcomes) {
                // A send error means that the caller dropped its future.
                let _ = reply.send(outcome);
                contents.push((expects, writes, appends));
            }
        }
    };
    thread::Builder::new().name("store-committer".into()).spawn(run).map_err(StoreError::io("starting the committer"))
}

/// Returns the time since the oldest job of a group arrived.
pub(super) fn waited(jobs: &[Job]) -> Duration {
    jobs.iter().map(|job| job.arrived).min().map_or(Duration::ZERO, |oldest| oldest.elapsed())
}

/// The bounded queue of batches. Pushing never blocks: a full queue is an error.
pub(super) struct CommitQueue {
    waiting: Mutex<WaitingJobs>,
    arrived: Condvar,
    limit: usize,
    limit_bytes: usize,
}

#[derive(Default)]
struct WaitingJobs {
    jobs: VecDeque<Job>,
    bytes: usize,
    closed: bool,
}

impl CommitQueue {
    pub(crate) fn new(limit: usize, limit_bytes: usize) -> Self {
        Self { waiting: Mutex::default(), arrived: Condvar::new(), limit, limit_bytes }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.lock().jobs.len()
    }

    pub(crate) fn push(&self, job: Job) -> Result<(), StoreError> {
        let mut waiting = self.waiting.lock();
        // An empty queue accepts a batch of any legal size.
        if waiting.jobs.len() >= self.limit || (waiting.bytes > 0 && waiting.bytes + job.bytes > self.limit_bytes) {
            return Err(StoreError::Busy);
        }
        waiting.bytes += job.bytes;
        waiting.jobs.push_back(job);
        drop(waiting);
        self.arrived.notify_one();
        Ok(())
    }

    /// Closes the queue. Queued batches are still committed; then the thread ends.
    pub(crate) fn close(&self) {
        self.waiting.lock().closed = true;
        self.arrived.notify_one();
    }

    /// Returns the oldest queued batches, up to the limits of a group. Blocks while the queue is empty. Returns
    /// `None` once the queue is closed and empty.
    pub(crate) fn next_group(&self) -> Option<Vec<Job>> {
        let mut waiting = self.waiting.lock();
        self.arrived.wait_while(&mut waiting, |waiting| waiting.jobs.is_empty() && !waiting.closed);
        let (mut group, mut bytes) = (Vec::new(), 0);
        while let Some(job) = waiting
            .jobs
            .pop_front_if(|job| group.is_empty() || (group.len() < GROUP_BATCHES && bytes + job.bytes <= GROUP_BYTES))
        {
            bytes += job.bytes;
            group.push(job);
        }
        waiting.bytes -= bytes;
        (!group.is_empty()).then_some(group)
    }
}
