//! The door: entries go in, and are durable or refused.

use std::{
    path::Path,
    sync::Arc,
    thread::{self, JoinHandle},
};

use crate::{
    disk::{Disk, RealDisk},
    entry::{Body, Entry},
    error::AuditError,
    folder::Folder,
    mac::Key,
    queue::{Job, Queue, Written},
    rules::Rules,
    writer::Writer,
};

/// An open trail. Dropping it writes what waits, as `close` does, which says whether that went well.
pub struct Trail {
    queue: Arc<Queue>,
    writer: Option<JoinHandle<Result<(), AuditError>>>,
}

impl Trail {
    /// Blocks while the last file is read.
    pub fn open(folder: &Path, secret: &[u8; 32], rules: Rules) -> Result<Self, AuditError> {
        Self::open_on(folder, secret, rules, Arc::new(RealDisk))
    }

    pub fn open_on(folder: &Path, secret: &[u8; 32], rules: Rules, disk: Arc<dyn Disk>) -> Result<Self, AuditError> {
        let queue = Arc::new(Queue::new(rules.max_waiting_bytes));
        let writer = Writer::open(Folder::claim(folder)?, Key::new(secret), rules, disk)?;
        let last = Last(queue.clone());
        let run = move || writer.run(&last.0);
        let thread = thread::Builder::new().name("audit-writer".to_owned()).spawn(run);
        Ok(Self { queue, writer: Some(thread.map_err(AuditError::io("starting the writer of the audit trail"))?) })
    }

    /// Never blocks. The entry is durable once the answer was waited for and is Ok; after an error it is not to be counted on.
    pub fn append(&self, entry: &Entry) -> Result<Written, AuditError> {
        let (job, written) = Job::new(Body::of(entry)?);
        self.queue.push(job)?;
        Ok(written)
    }

    /// Whether it takes entries now: who is about to change something asks before, since a change that is made cannot be taken back for want of
    /// an entry.
    pub fn takes_entries(&self) -> Result<(), AuditError> {
        self.queue.takes()
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
