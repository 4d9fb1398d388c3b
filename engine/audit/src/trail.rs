//! The door: entries go in, and are durable or refused.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
};

use crate::{
    disk::{Disk, RealDisk},
    entry::{Body, Entry},
    error::AuditError,
    export::Filter,
    folder::Folder,
    mac::Key,
    newest::{self, Newest},
    queue::{Job, Pace, Queue, Written},
    rules::Rules,
    writer::Writer,
};

/// An open trail. Dropping it writes what waits, as `close` does, which says whether that went well.
pub struct Trail {
    queue: Arc<Queue>,
    folder: PathBuf,
    key: Key,
    writer: Option<JoinHandle<Result<(), AuditError>>>,
}

impl Trail {
    /// Blocks while the last file is read.
    pub fn open(folder: &Path, secret: &[u8; 32], rules: Rules) -> Result<Self, AuditError> {
        Self::open_on(folder, secret, rules, Arc::new(RealDisk))
    }

    pub fn open_on(folder: &Path, secret: &[u8; 32], rules: Rules, disk: Arc<dyn Disk>) -> Result<Self, AuditError> {
        let queue = Arc::new(Queue::new(rules.max_waiting_bytes, rules.gather));
        let key = Key::new(secret);
        let writer = Writer::open(Folder::claim(folder)?, key.clone(), rules, disk)?;
        let last = Last(queue.clone());
        let run = move || writer.run(&last.0);
        let thread = thread::Builder::new().name("audit-writer".to_owned()).spawn(run);
        let writer = thread.map_err(AuditError::io("starting the writer of the audit trail"))?;
        Ok(Self { queue, folder: folder.to_path_buf(), key, writer: Some(writer) })
    }

    /// Never blocks. The entry is durable once the answer was waited for and is Ok; after an error it is not to be counted on.
    pub fn append(&self, entry: &Entry) -> Result<Written, AuditError> {
        self.push(entry, Pace::AtOnce)
    }

    /// The same for what no answer waits for: it lets others come along, for `Rules::gather` at most.
    pub fn append_soon(&self, entry: &Entry) -> Result<Written, AuditError> {
        self.push(entry, Pace::Soon)
    }

    fn push(&self, entry: &Entry, pace: Pace) -> Result<Written, AuditError> {
        let (job, written) = Job::new(Body::of(entry)?);
        self.queue.push(job, pace)?;
        Ok(written)
    }

    /// Whether it takes entries now: who is about to change something asks before, since a change that is made cannot be taken back for want of
    /// an entry.
    pub fn takes_entries(&self) -> Result<(), AuditError> {
        self.queue.takes()
    }

    /// How many entries it has written since it was opened.
    pub fn written(&self) -> u64 {
        self.queue.written()
    }

    /// The newest entries of a sort, the last one first. Blocks while files are read.
    pub fn newest(&self, filter: Filter, most: usize) -> Result<Newest, AuditError> {
        newest::newest(&self.folder, &self.key, filter, most)
    }

    /// Blocks until what waits is written.
    pub fn close(mut self) -> Result<(), AuditError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), AuditError> {
        self.queue.close();
        let Some(writer) = self.writer.take() else { return Ok(()) };
        writer.join().unwrap_or(Err(AuditError::Closed))
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::error!(%error, "the audit trail was not closed well");
        }
    }
}

/// Lives as long as the writer. Should it ever panic, nobody waits for it for ever.
struct Last(Arc<Queue>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.abandon();
    }
}
