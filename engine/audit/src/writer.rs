//! The writer thread. It writes all queued entries as one group, syncs once, and then completes their
//! futures.

use std::{fs, sync::Arc, time::Duration};

use crate::{
    AuditError, Disk, Rules,
    day::Day,
    entry::{Body, Note},
    folder::Folder,
    head,
    line::{self, Point},
    mac::MacKey,
    queue::{AuditJob, AuditQueue, Refused, Turn},
    resume::{self, Resumed, Tip},
    retention,
    segment::Segment,
};

pub(crate) struct AuditWriter {
    folder: Folder,
    key: MacKey,
    rules: Rules,
    disk: Arc<dyn Disk>,
    /// `None` before the first entry.
    segment: Option<Segment>,
    /// The last durable entry.
    tip: Tip,
    /// The entry in the head.
    head: Tip,
}

impl AuditWriter {
    pub(crate) fn open(folder: Folder, key: MacKey, rules: Rules, disk: Arc<dyn Disk>) -> Result<Self, AuditError> {
        let Resumed { segment, tip, head } = resume::resume(&*disk, &folder, &key)?;
        let head = Tip { point: head, at: tip.at };
        let mut writer = Self { folder, key, rules, disk, segment, tip, head };
        // Overdue retention must not prevent new entries.
        if let Err(error) = writer.retain() {
            tracing::warn!(%error, "old files of the audit trail were not deleted");
        }
        Ok(writer)
    }

    /// Runs until the queue is closed and empty.
    pub(crate) fn run(mut self, queue: &AuditQueue) -> Result<(), AuditError> {
        loop {
            match queue.next(self.patience(queue)) {
                Turn::Group { jobs, refused } => self.group(queue, jobs, refused)?,
                Turn::Quiet => self.try_head(),
                Turn::Closed => return self.close(),
            }
        }
    }

    fn patience(&self, queue: &AuditQueue) -> Option<Duration> {
        if queue.is_interrupted() {
            return Some(self.rules.retry_after);
        }
        (self.head.point != self.tip.point).then_some(self.rules.head_after)
    }

    /// Writes one group. Returns an error only if the queue is closed and no retry follows.
    fn group(&mut self, queue: &AuditQueue, mut jobs: Vec<AuditJob>, refused: Refused) -> Result<(), AuditError> {
        let note = (refused.entries > 0).then_some(Note::Refused { entries: refused.entries });
        let note = note.map(|note| Body::from_note(&note, refused.at)).transpose()?;
        let bodies: Vec<&Body> = note.iter().chain(jobs.iter().map(|job| &job.body)).collect();
        let mut durable = 0;
        let outcome = self.record(&bodies, &mut durable);
        let notes = usize::from(note.is_some());
        let rest = jobs.split_off(durable.saturating_sub(notes));
        queue.complete(jobs);
        match outcome {
            Ok(()) => queue.resume(),
            Err(error) => {
                tracing::error!(%error, "the audit trail cannot be written");
                queue.interrupt(&error, rest, if durable < notes { refused } else { Refused::default() });
                if queue.is_closed() {
                    return Err(error);
                }
            }
        }
        if self.head_is_due() {
            self.try_head();
        }
        Ok(())
    }

    /// Writes and syncs the bodies. `durable` receives the number of durable ones, also after an error.
    fn record(&mut self, bodies: &[&Body], durable: &mut usize) -> Result<(), AuditError> {
        let mut draft = Draft::after(self.tip);
        for (n, body) in bodies.iter().enumerate() {
            if !self.takes(&draft, body) {
                self.append(draft)?;
                *durable = n;
                self.rotate(body.day)?;
                draft = Draft::after(self.tip);
            }
            draft.push(&self.key, body);
        }
        self.append(draft)?;
        *durable = bodies.len();
        Ok(())
    }

    fn takes(&self, draft: &Draft, body: &Body) -> bool {
        let (drafted, line, max) = (draft.lines.len(), body.line_bytes(), self.rules.max_file_bytes);
        self.segment.as_ref().is_some_and(|segment| segment.takes(body.day, drafted, line, max))
    }

    fn append(&mut self, draft: Draft) -> Result<(), AuditError> {
        let Some(segment) = self.segment.as_mut().filter(|_| !draft.lines.is_empty()) else { return Ok(()) };
        segment.append(&*self.disk, draft.lines.as_bytes()).map_err(AuditError::io("writing audit entries"))?;
        self.tip = draft.tip;
        Ok(())
    }

    /// Begins the next file. The previous file is repaired first, and the head is set to its end.
    fn rotate(&mut self, day: Day) -> Result<(), AuditError> {
        let io = |error| AuditError::io("beginning a file of the audit trail")(error);
        if let Some(segment) = &mut self.segment {
            segment.repair(&*self.disk).map_err(io)?;
            self.try_head();
        }
        let next = Segment::create(&*self.disk, &self.folder.path, &self.key, self.tip.point, day).map_err(io)?;
        self.segment = Some(next);
        if let Err(error) = self.retain() {
            tracing::warn!(%error, "old files of the audit trail were not deleted");
        }
        Ok(())
    }

    /// Deletes old files. A note about them is made durable first.
    fn retain(&mut self) -> Result<(), AuditError> {
        let Some(keep_days) = self.rules.keep_days else { return Ok(()) };
        let alone = self.folder.without_readers().map_err(AuditError::io("looking for readers of the audit trail"))?;
        let Some(_alone) = alone else { return Ok(()) };
        let Some(removal) = retention::due(&self.folder.path, &self.key, keep_days)? else { return Ok(()) };
        let note = Note::Removed { seq: removal.last.seq, mac: removal.last.mac };
        let body = Body::from_note(&note, self.tip.at)?;
        let mut draft = Draft::after(self.tip);
        draft.push(&self.key, &body);
        self.append(draft)?;
        for name in &removal.files {
            fs::remove_file(&name.path).map_err(AuditError::io(format!("deleting {}", name.path.display())))?;
        }
        Ok(())
    }

    fn head_is_due(&self) -> bool {
        let (entries, age) = (self.tip.point.seq - self.head.point.seq, self.tip.at.saturating_sub(self.head.at));
        let after = i64::try_from(self.rules.head_after.as_millis()).unwrap_or(i64::MAX);
        entries >= self.rules.head_entries || (entries > 0 && age >= after)
    }

    fn write_head(&mut self) -> Result<(), AuditError> {
        if self.head.point != self.tip.point {
            head::write(&*self.disk, &self.folder.path, &self.key, self.tip.point)?;
            self.head = self.tip;
        }
        Ok(())
    }

    /// Writes the head. Entries are durable without it; after an error, the next entries trigger another attempt.
    fn try_head(&mut self) {
        if let Err(error) = self.write_head() {
            tracing::warn!(%error, "the head of the audit trail was not written; it keeps its earlier entry");
        }
    }

    fn close(mut self) -> Result<(), AuditError> {
        self.write_head()
    }
}

/// Sealed lines that are not yet in the file.
struct Draft {
    lines: String,
    tip: Tip,
}

impl Draft {
    fn after(tip: Tip) -> Self {
        Self { lines: String::new(), tip }
    }

    fn push(&mut self, key: &MacKey, body: &Body) {
        let (seq, start) = (self.tip.point.seq + 1, self.lines.len());
        body.push_numbered(seq, &mut self.lines);
        let mac = line::seal_last(key, self.tip.point.mac, &mut self.lines, start);
        self.lines.push('\n');
        self.tip = Tip { point: Point { seq, mac }, at: body.at };
    }
}
