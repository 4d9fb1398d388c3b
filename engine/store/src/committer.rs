//! Group commit: one thread takes every batch that waits, checks the preconditions of each against the store and the batches before it,
//! writes all in one go, syncs once and releases all. Values arrive sealed; here they are only compared and moved.

use std::{
    collections::{BTreeMap, VecDeque, btree_map::Entry},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Instant,
};

use sled::IVec;
use tokio::sync::oneshot;

use super::{
    audit::Replaced,
    batch::{Append, Batch, Expect},
    disk::{Disk, Floor},
    envelope::{Sealed, fingerprint, further_pieces, piece_key},
    error::{CommitError, StoreError},
    keys,
    range::Key,
    shared::Shared,
    sled_guard::guarded,
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
    pub expects: Vec<(Key, Expect)>,
    pub writes: Vec<(Key, Option<Sealed>)>,
    /// Sealed by the committer: a value is bound to its key, and the key has the number it is given there.
    pub appends: Vec<Append>,
    pub bytes: usize,
    pub arrived: Instant,
    pub reply: oneshot::Sender<Outcome>,
}

impl Job {
    pub(crate) fn seal(shared: &Shared, batch: Batch, reply: oneshot::Sender<Outcome>) -> Result<Self, StoreError> {
        let bytes = batch.weigh()?;
        let mut sealer = shared.envelope.sealer()?;
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
        // A panic in sled must not leave callers waiting for ever, nor let later commits build on half a group.
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
        let shared = self.shared.clone();
        let mut group = Group::new(&shared);
        let mut outcomes: Vec<Outcome> = jobs.iter().map(|job| group.admit(job)).collect();
        if group.is_empty() {
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
        let feed_end = self.feed_end + group.appends.iter().map(|append| append.numbers).sum::<u64>();
        let appended = group.number_appends(self.feed_end, feed_end)?;
        let Plan { batch, before, bytes, next, replaced } = group.plan(self.last, &appended)?;
        // From here until the sync readers see the state before the group. If anything fails they keep seeing it.
        self.shared.hide(before);
        self.make_durable(batch).map_err(|why| StoreError::Unknown { why: self.fail(why) })?;
        self.shared.audit.reveal(next, &replaced, || self.shared.reveal());
        (self.last, self.feed_end) = (next, feed_end);
        self.floor.written(bytes as u64);
        if let Err(error) = self.watermark.mark(next.group) {
            tracing::warn!(%error, "the watermark was not written; it keeps its earlier value");
        }
        Ok(())
    }

    fn make_durable(&self, batch: sled::Batch) -> Result<(), String> {
        let db = &self.shared.db;
        guarded(|| db.apply_batch(batch)).map_err(|error| format!("writing failed: {error}"))?;
        // This hands everything to the kernel, but asks neither for the file's length nor for the disk's own cache.
        guarded(|| db.flush()).map_err(|error| format!("flushing failed: {error}"))?;
        self.disk.sync().map_err(|error| format!("syncing failed: {error}"))
    }

    /// A living process that refuses every write would wait for somebody to restart it. Where the disk lets it live, it does refuse.
    fn fail(&self, why: String) -> String {
        self.disk.failed(&why);
        self.shared.refuse(why)
    }
}

/// The batches that go to the disk together.
struct Group<'a> {
    shared: &'a Shared,
    /// Every record touched or looked at, as it was before the group; pieces under their own keys.
    before: BTreeMap<Key, Option<IVec>>,
    writes: BTreeMap<&'a [u8], Option<&'a Sealed>>,
    appends: Vec<&'a Append>,
}

struct Plan {
    batch: sled::Batch,
    before: BTreeMap<Key, Option<IVec>>,
    bytes: usize,
    next: WatermarkRecord,
    replaced: Vec<Replaced>,
}

impl<'a> Group<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self { shared, before: BTreeMap::new(), writes: BTreeMap::new(), appends: Vec::new() }
    }

    fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.appends.is_empty()
    }

    /// Takes the batch in, or says why not and stays as it was.
    fn admit(&mut self, job: &'a Job) -> Outcome {
        for (key, expect) in &job.expects {
            if !self.holds(key, *expect)? {
                return Err(CommitError::Conflict { key: key.clone() });
            }
        }
        // Reading what will be replaced also finds damaged pages while nothing is written yet.
        for (key, _) in &job.writes {
            self.look_up_with_pieces(key)?;
        }
        self.writes.extend(job.writes.iter().map(|(key, value)| (key.as_slice(), value.as_ref())));
        self.appends.extend(&job.appends);
        Ok(())
    }

    /// Gives each appended value the next numbers: its record and, at the end, the number to go on from.
    fn number_appends(&mut self, mut last: u64, end: u64) -> Result<Vec<(Key, Sealed)>, StoreError> {
        let appends = std::mem::take(&mut self.appends);
        if appends.is_empty() {
            return Ok(Vec::new());
        }
        let mut sealer = self.shared.envelope.sealer()?;
        let mut records = Vec::with_capacity(appends.len() + 1);
        for Append { stream, numbers, value } in appends {
            last += numbers;
            let key = keys::feed(*stream, last);
            records.push((sealer.seal(&key, value)?, key));
        }
        let key = keys::feed_end();
        records.push((sealer.seal(&key, &end.to_be_bytes())?, key));
        for (_, key) in &records {
            self.look_up(key)?;
        }
        Ok(records.into_iter().map(|(sealed, key)| (key, sealed)).collect())
    }

    fn holds(&mut self, key: &[u8], expect: Expect) -> Result<bool, StoreError> {
        let head = match self.writes.get(key) {
            Some(value) => value.map(|sealed| sealed.head.clone()),
            None => self.look_up(key)?,
        };
        Ok(expect.is_met(head.map(|head| Version(fingerprint(&head)))))
    }

    fn look_up(&mut self, key: &[u8]) -> Result<Option<IVec>, StoreError> {
        Ok(match self.before.entry(key.to_vec()) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(unknown) => unknown.insert(self.shared.on_disk(key)?).clone(),
        })
    }

    fn look_up_pieces(&mut self, key: &[u8], head: &[u8]) -> Result<Vec<IVec>, StoreError> {
        let mut pieces = Vec::new();
        for index in 0..further_pieces(head) {
            // A damaged count could run far: the first piece that is missing ends it.
            let Some(piece) = self.look_up(&piece_key(key, index))? else { break };
            pieces.push(piece);
        }
        Ok(pieces)
    }

    fn look_up_with_pieces(&mut self, key: &[u8]) -> Result<(), StoreError> {
        if let Some(head) = self.look_up(key)? {
            self.look_up_pieces(key, &head)?;
        }
        Ok(())
    }

    /// One sled batch out of all writes, the pieces of replaced values removed, the watermark record moved on.
    fn plan(self, last: WatermarkRecord, appended: &[(Key, Sealed)]) -> Result<Plan, StoreError> {
        let (mut batch, mut bytes, mut replaced) = (sled::Batch::default(), 0, Vec::new());
        let mut next = last;
        next.group += 1;
        let appended = appended.iter().map(|(key, sealed)| (key.as_slice(), Some(sealed)));
        for (key, value) in self.writes.iter().map(|(key, value)| (*key, *value)).chain(appended) {
            let old = self.before.get(key).and_then(Option::as_ref);
            let prints = (old.map(|head| fingerprint(head)), value.map(|sealed| fingerprint(&sealed.head)));
            next.replace(prints.0, prints.1);
            replaced.push((key.to_vec(), prints.0, prints.1));
            let kept = value.map_or(0, |sealed| further_pieces(&sealed.head));
            for index in kept..old.map_or(0, |head| further_pieces(head)) {
                let piece = piece_key(key, index);
                if self.before.get(&piece).is_none_or(Option::is_none) {
                    break;
                }
                batch.remove(piece);
            }
            match value {
                None => batch.remove(key),
                Some(sealed) => {
                    for (index, piece) in (0..).zip(&sealed.pieces) {
                        bytes += piece.len();
                        batch.insert(piece_key(key, index), piece.clone());
                    }
                    bytes += key.len() + sealed.head.len();
                    batch.insert(key, sealed.head.clone());
                }
            }
        }
        batch.insert(WATERMARK_KEY, next.seal(&self.shared.envelope)?);
        Ok(Plan { batch, before: self.before, bytes, next, replaced })
    }
}
