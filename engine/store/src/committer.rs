//! Group commit. One thread takes all queued batches and checks the preconditions of each against the engine
//! and the batches before it. It writes all of them at once, syncs once and completes them. Values arrive
//! sealed; only their versions are compared.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::JoinHandle,
};

use super::{
    Append, CommitError, Disk, Key, StoreError, Version,
    audit::Replaced,
    disk::Floor,
    engine::{KeyWrite, Writer},
    group::{Group, GroupWrite, PriorVersions},
    jobs::{CommitOutcome, CommitQueue, Job, start_committer, waited},
    keys,
    recent_versions::Lookup,
    shared::StoreState,
    watermark::{WATERMARK_KEY, WatermarkFile, WatermarkRecord},
};

pub(super) struct Committer {
    pub shared: Arc<StoreState>,
    pub writer: Box<dyn Writer>,
    pub queue: Arc<CommitQueue>,
    pub floor: Arc<Floor>,
    pub disk: Arc<dyn Disk>,
    pub watermark: WatermarkFile,
    pub last: WatermarkRecord,
    /// The last number given in the feed.
    pub feed_end: u64,
}

impl Committer {
    pub(crate) fn start(mut self) -> Result<JoinHandle<()>, StoreError> {
        start_committer(self.queue.clone(), move |jobs| self.commit(jobs))
    }

    fn commit(&mut self, jobs: &[Job]) -> Vec<CommitOutcome> {
        // After a panic in the engine, callers must not wait forever, and later commits must not build on half a
        // group.
        let outcomes = catch_unwind(AssertUnwindSafe(|| self.outcomes(jobs))).unwrap_or_else(|_| {
            let why = self.fail("the committer panicked".into());
            vec![Err(StoreError::Unknown { why }.into()); jobs.len()]
        });
        self.shared.note_commit(waited(jobs));
        outcomes
    }

    fn outcomes(&mut self, jobs: &[Job]) -> Vec<CommitOutcome> {
        if let Err(error) = self.may_write() {
            return vec![Err(error); jobs.len()];
        }
        let mut group = Group::default();
        let mut prior = self.prior();
        let mut outcomes: Vec<CommitOutcome> = jobs.iter().map(|job| group.admit(&mut prior, job)).collect();
        if group.is_empty() {
            self.writer.forget();
            return outcomes;
        }
        // Refusals are returned after the sync, too, because they may depend on writes of an earlier batch of the
        // group.
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

    /// Returns the versions before the group that is collected.
    fn prior(&mut self) -> Lookup<'_> {
        Lookup { recent: &self.shared.recent, writer: &mut *self.writer }
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
        let Group { writes: mut grouped, .. } = group;
        for (key, before, sealed) in &appended.records {
            grouped.insert(key, GroupWrite { before: *before, sealed: Some(sealed) });
        }
        let mut replaced: Vec<Replaced<'_>> = Vec::with_capacity(grouped.len());
        let mut writes: Vec<KeyWrite<'_>> = Vec::with_capacity(grouped.len() + 1);
        for (key, GroupWrite { before, sealed }) in grouped {
            let new = sealed.map(Version::from_sealed);
            next.replace(before, new);
            replaced.push((key, before, new));
            writes.push((key, sealed));
        }
        let mark = next.seal(&self.shared.envelope).inspect_err(|_| self.writer.forget())?;
        writes.push((WATERMARK_KEY, Some(&mark)));
        let bytes: usize = writes.iter().filter_map(|(key, sealed)| Some(key.len() + sealed.as_ref()?.len())).sum();
        // Until the sync has succeeded, readers see the state before the group. If anything fails, they continue to
        // see it.
        let durable = self.writer.apply(&writes);
        let durable = durable.and_then(|()| self.disk.sync().map_err(|error| format!("syncing failed: {error}")));
        durable.map_err(|why| StoreError::Unknown { why: self.fail(why) })?;
        let Self { shared, writer, .. } = self;
        shared.recent.record(next.group, replaced.iter().map(|(key, _, new)| (*key, *new)));
        shared.audit.show(next, &replaced, || writer.show());
        shared.recent.show(next.group);
        (self.last, self.feed_end) = (next, feed_end);
        self.floor.written(bytes as u64);
        if let Err(error) = self.watermark.mark(next.group) {
            tracing::warn!(%error, "the watermark was not written; it keeps its earlier value");
        }
        Ok(())
    }

    /// Numbers each appended value, and returns the records to write and the last number given.
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
            let sealed = sealer.seal(&key, value)?;
            appended.records.push((key, None, sealed));
        }
        let key = keys::feed_end();
        let before = self.prior().replacing(&key)?;
        let sealed = sealer.seal(&key, &appended.end.to_be_bytes())?;
        appended.records.push((key, before, sealed));
        Ok(appended)
    }

    /// Reports the failure to the disk, which aborts the process so that it gets restarted. If the disk does not
    /// abort, the store refuses writes.
    fn fail(&self, why: String) -> String {
        self.disk.failed(&why);
        self.shared.refuse(why)
    }
}

/// The records that a group adds to the feed.
#[derive(Default)]
struct Appended {
    /// Keys, versions before the group, and sealed values.
    records: Vec<(Key, Option<Version>, Vec<u8>)>,
    end: u64,
}
