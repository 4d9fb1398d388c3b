//! The public interface: accepts entries and makes them durable, or refuses them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
};

use crate::{
    AuditEntry, AuditError, Disk, Filter, Newest, RealDisk, Rules, Written,
    entry::Body,
    folder::Folder,
    mac::MacKey,
    newest,
    queue::{AuditJob, AuditQueue, Pace},
    writer::AuditWriter,
};

/// An open trail. Dropping it writes the queued entries, like `close`, but only logs errors.
pub struct Trail {
    queue: Arc<AuditQueue>,
    folder: PathBuf,
    key: MacKey,
    writer: Option<JoinHandle<Result<(), AuditError>>>,
}

impl Trail {
    /// Opens or creates the trail. Blocks while the last file is read.
    pub fn open(folder: &Path, secret: &[u8; 32], rules: Rules) -> Result<Self, AuditError> {
        Self::open_on(folder, secret, rules, Arc::new(RealDisk))
    }

    pub fn open_on(folder: &Path, secret: &[u8; 32], rules: Rules, disk: Arc<dyn Disk>) -> Result<Self, AuditError> {
        let queue = Arc::new(AuditQueue::new(rules.max_waiting_bytes, rules.gather));
        let key = MacKey::new(secret);
        let writer = AuditWriter::open(Folder::claim(folder)?, key.clone(), rules, disk)?;
        let last = AbandonOnDrop(queue.clone());
        let run = move || writer.run(&last.0);
        let thread = thread::Builder::new().name("audit-writer".to_owned()).spawn(run);
        let writer = thread.map_err(AuditError::io("starting the writer of the audit trail"))?;
        Ok(Self { queue, folder: folder.to_path_buf(), key, writer: Some(writer) })
    }

    /// Queues an entry without blocking. The entry is durable once the returned future is `Ok`; after an error it
    /// may or may not be stored.
    pub fn append(&self, entry: &AuditEntry) -> Result<Written, AuditError> {
        self.push(entry, Pace::AtOnce)
    }

    /// Like `append`, for entries that no response waits for. They share the sync of later entries, which delays
    /// them by up to `Rules::gather`.
    pub fn append_soon(&self, entry: &AuditEntry) -> Result<Written, AuditError> {
        self.push(entry, Pace::Soon)
    }

    fn push(&self, entry: &AuditEntry, pace: Pace) -> Result<Written, AuditError> {
        let (job, written) = AuditJob::new(Body::from_entry(entry)?);
        self.queue.push(job, pace)?;
        Ok(written)
    }

    /// Returns an error if the trail refuses entries now. Callers check this before a change, because a committed
    /// change cannot be undone if its entry is refused.
    pub fn takes_entries(&self) -> Result<(), AuditError> {
        self.queue.takes()
    }

    /// Returns the number of entries written since the trail was opened.
    pub fn written(&self) -> u64 {
        self.queue.written()
    }

    /// Returns up to `most` matching entries, newest first. Blocks while files are read.
    pub fn newest(&self, filter: Filter, most: usize) -> Result<Newest, AuditError> {
        newest::newest(&self.folder, &self.key, filter, most)
    }

    /// Closes the trail. Blocks until the queued entries are written.
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
            tracing::error!(%error, "closing the audit trail failed");
        }
    }
}

/// Drop guard owned by the writer thread. If the thread panics, waiting callers receive an error instead of
/// waiting forever.
struct AbandonOnDrop(Arc<AuditQueue>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.abandon();
    }
}
