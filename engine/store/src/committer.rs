//! Group commit: one thread takes every batch that waits, checks the preconditions of each against the engine and the batches before it,
//! writes all in one go, syncs once and releases all. Values arrive sealed; here only their versions are compared.

use std::{
    collections::{BTreeMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Instant,
};

use tokio::sync::oneshot;

use super::{
    audit::Replaced,
    batch::{Append, Batch, Expect},
    disk::{Disk, Floor},
    engine::Writer,
    envelope::Envelope,
    error::{CommitError, StoreError},
    keys,
    range::Key,
    shared::Shared,
    version::Version,
    watermark::{WATERMARK_KEY, WatermarkFile, WatermarkRecord},
};

/// A group is small enough that nobody waits long for the others in it, and that sled hardly fills a segment between two syncs: it
/// reuses the room of replaced records without knowing whether their successors are synced. A single batch may be larger.
const GROUP_BYTES: usize = 256 << 10;
const GROUP_BATCHES: usize = 1_024;

pub(super) type Outcome = Result<(), CommitError>;

/// A batch on its way: values sealed, weighed.
pub(super) struct Job {
    expects: Vec<(Key, Expect)>,
    writes: Vec<(Key, Option<Vec<u8>>)>,
    /// Sealed by the committer: a value is bound to its key, and the key has the number it is given there.
    appends: Vec<Append>,
    bytes: usize,
    arrived: Instant,
    reply: oneshot::Sender<Outcome>,
}

impl Job {
    pub(crate) fn seal(envelope: &Envelope, batch: Batch, reply: oneshot::Sender<Outcome>) -> Result<Self, StoreError> {
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
}

/// Batches that wait. Bounded, and never waited for: a full queue is an error.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
    limit: usize,
    limit_bytes: usize,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    bytes: usize,
    closed: bool,
}

impl Queue {
    pub(crate) fn new(limit: usize, limit_bytes: usize) -> Self {
        Self { waiting: Mutex::default(), arrived: Condvar::new(), limit, limit_bytes }
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().jobs.len()
    }

    pub(crate) fn push(&self, job: Job) -> Result<(), StoreError> {
        let mut waiting = self.lock();
        // An empty queue takes a batch of any legal size.
        if waiting.jobs.len() >= self.limit || (waiting.bytes > 0 && waiting.bytes + job.bytes > self.limit_bytes) {
            return Err(StoreError::Busy);
        }
        waiting.bytes += job.bytes;
        waiting.jobs.push_back(job);
        drop(waiting);
        self.arrived.notify_one();
        Ok(())
    }

    /// What waits is still written, then the thread ends.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    fn next_group(&self) -> Option<Vec<Job>> {
        let waiting = self.lock();
        let mut waiting = self
            .arrived
            .wait_while(waiting, |waiting| waiting.jobs.is_empty() && !waiting.closed)
            .unwrap_or_else(PoisonError::into_inner);
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

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct Committer {
    pub shared: Arc<Shared>,
    pub writer: Box<dyn Writer>,
    pub queue: Arc<Queue>,
    pub floor: Arc<Floor>,
    pub disk: Arc<dyn Disk>,
    pub watermark: WatermarkFile,
    pub last: WatermarkRecord,
    /// The last number given in the feed.
    pub feed_end: u64,
}

impl Committer {
    pub(crate) fn start(mut self) -> Result<JoinHandle<()>, StoreError> {
        let run = move || {
            while let Some(group) = self.queue.next_group() {
                self.commit(group);
            }
        };
        thread::Builder::new()
            .name("store-committer".into())
            .spawn(run)
            .map_err(StoreError::io("starting the committer"))
    }

    fn commit(&mut self, jobs: Vec<Job>) {
        let oldest = jobs.iter().map(|job| job.arrived).min();
        // A panic in the engine must not leave callers waiting for ever, nor let later commits build on half a group.
        let outcomes = catch_unwind(AssertUnwindSafe(|| self.outcomes(&jobs))).unwrap_or_else(|_| {
            let why = self.fail("the committer panicked".into());
            vec![Err(StoreError::Unknown { why }.into()); jobs.len()]
        });
        if let Some(oldest) = oldest {
            self.shared.note_commit(oldest.elapsed());
        }
        for (job, outcome) in jobs.into_iter().zip(outcomes) {
            // Whoever dropped the future does not care.
            let _ = job.reply.send(outcome);
        }
    }

    fn outcomes(&mut self, jobs: &[Job]) -> Vec<Outcome> {
        if let Err(error) = self.may_write() {
            return vec![Err(error); jobs.len()];
        }
        let mut group = Group::default();
        let mut outcomes: Vec<Outcome> = jobs.iter().map(|job| group.admit(&mut *self.writer, job)).collect();
        if group.is_empty() {
            self.writer.forget();
            return outcomes;
        }
        // Refusals wait for the sync as well: they may rest on what an earlier batch of the group has written.
        if let Err(error) = self.write(group) {
            outcomes = outcomes
                .into_iter()
                .map(|outcome| match outcome {
                    Err(CommitError::Store(error)) => Err(error.into()),
                    _ => Err(error.clone().into()),
                })
                .collect();
        }
        outcomes
    }

    fn may_write(&self) -> Result<(), CommitError> {
        self.shared.refusing()?;
        self.floor.check(&*self.disk)
    }

    fn write(&mut self, mut group: Group<'_>) -> Result<(), StoreError> {
        let appended = self.number_appends(std::mem::take(&mut group.appends)).inspect_err(|_| self.writer.forget())?;
        let feed_end = appended.end;
        let mut next = self.last;
        next.group += 1;
        let Group { mut writes, mut before, .. } = group;
        for (key, sealed) in &appended.records {
            writes.insert(key, Some(sealed));
        }
        before.extend(appended.replaced.iter().map(|(key, version)| (key.as_slice(), *version)));
        let mut replaced: Vec<Replaced> = Vec::with_capacity(writes.len());
        for (key, sealed) in &writes {
            let (old, new) = (before.get(key).copied().flatten(), sealed.map(Version::of));
            next.replace(old, new);
            replaced.push((key.to_vec(), old, new));
        }
        let mark = next.seal(&self.shared.envelope).inspect_err(|_| self.writer.forget())?;
        let mut writes: Vec<_> = writes.into_iter().collect();
        writes.push((WATERMARK_KEY, Some(&mark)));
        let bytes: usize = writes.iter().filter_map(|(key, sealed)| Some(key.len() + sealed.as_ref()?.len())).sum();
        // From here until the sync readers see the state before the group. If anything fails they keep seeing it.
        let durable = self.writer.apply(&writes);
        let durable = durable.and_then(|()| self.disk.sync().map_err(|error| format!("syncing failed: {error}")));
        durable.map_err(|why| StoreError::Unknown { why: self.fail(why) })?;
        let Self { shared, writer, .. } = self;
        shared.audit.show(next, replaced, || writer.show());
        (self.last, self.feed_end) = (next, feed_end);
        self.floor.written(bytes as u64);
        if let Err(error) = self.watermark.mark(next.group) {
            tracing::warn!(%error, "the watermark was not written; it keeps its earlier value");
        }
        Ok(())
    }

    /// Gives each appended value the next numbers: its record and, at the end, the number to go on from.
    fn number_appends(&mut self, appends: Vec<&Append>) -> Result<Appended, StoreError> {
        let mut appended = Appended { end: self.feed_end, ..Appended::default() };
        if appends.is_empty() {
            return Ok(appended);
        }
        let mut sealer = self.shared.envelope.sealer()?;
        for Append { stream, numbers, value } in appends {
            appended.end += numbers;
            let key = keys::feed(*stream, appended.end);
            self.writer.fresh(&key);
            appended.records.push((key.clone(), sealer.seal(&key, value)?));
        }
        let key = keys::feed_end();
        appended.replaced.push((key.clone(), self.writer.replacing(&key)?));
        appended.records.push((key.clone(), sealer.seal(&key, &appended.end.to_be_bytes())?));
        Ok(appended)
    }

    /// A living process that refuses every write would wait for somebody to restart it. Where the disk lets it live, it does refuse.
    fn fail(&self, why: String) -> String {
        self.disk.failed(&why);
        self.shared.refuse(why)
    }
}

/// What a group adds to the feed.
#[derive(Default)]
struct Appended {
    records: Vec<(Key, Vec<u8>)>,
    replaced: Vec<(Key, Option<Version>)>,
    end: u64,
}

/// The batches that go to the disk together.
#[derive(Default)]
struct Group<'a> {
    writes: BTreeMap<&'a [u8], Option<&'a [u8]>>,
    /// The versions of what it may replace, as they are before the group.
    before: BTreeMap<&'a [u8], Option<Version>>,
    appends: Vec<&'a Append>,
}

impl<'a> Group<'a> {
    fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.appends.is_empty()
    }

    /// Takes the batch in, or says why not and stays as it was.
    fn admit(&mut self, writer: &mut dyn Writer, job: &'a Job) -> Outcome {
        for (key, expect) in &job.expects {
            let found = match self.writes.get(key.as_slice()) {
                Some(value) => value.map(Version::of),
                None => writer.version(key)?,
            };
            if !expect.is_met(found) {
                return Err(CommitError::Conflict { key: key.clone() });
            }
        }
        // What is looked up here finds damage while nothing is written yet.
        for (key, _) in &job.writes {
            if !self.before.contains_key(key.as_slice()) {
                self.before.insert(key, writer.replacing(key)?);
            }
        }
        self.writes.extend(job.writes.iter().map(|(key, value)| (key.as_slice(), value.as_deref())));
        self.appends.extend(&job.appends);
        Ok(())
    }
}
