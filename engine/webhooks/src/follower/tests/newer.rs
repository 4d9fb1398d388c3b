//! Messages about the end of a write whose commit does not change the record.

use std::sync::atomic::{AtomicBool, Ordering};

use testing::HookedStore;

use super::*;

const CHARGE: RecordId = (Resource::Charges, 1);

impl LogWriter {
    /// Commits the end of a write of the charge.
    fn write_end(&self) {
        let ((resource, id), operation, result, reason) = (CHARGE, Operation::Update, WriteResult::Complete, None);
        let ended = Change::Ended(EndedWrite { resource, id, operation, result, reason });
        let (institution, turn) = (Some(self.institution), Some((LocationId(1), 1_000)));
        let header = CommitHeader { at: T0, institution, turn, origin: None };
        let mut batch = Batch::new();
        stream::append(&mut batch, Stream::Source(SOURCE), &header, &[ended]);
        self.store.commit_now(batch).unwrap();
    }

    /// Commits an update of the charge without its before image.
    fn write_without_image(&self) {
        let mut state = self.state.lock();
        state.commits += 1;
        let ((resource, id), version, stream) = (CHARGE, state.commits, Stream::Source(SOURCE));
        let change = Change::Record(Recorded {
            resource,
            id,
            change: ChangeKind::Updated,
            readers: Readers::Source(SOURCE),
            removed: Vec::new(),
            added: Vec::new(),
            states: Some(RecordStates { before: None, deleted: false, in_ehr: true, facts: None }),
        });
        let turn = Some((LocationId(1), version));
        let header = CommitHeader { at: T0, institution: Some(self.institution), turn, origin: None };
        let mut batch = Batch::new();
        batch.put(stream.record_key(resource, id), record_at(id, version).to_string().into_bytes());
        stream::append(&mut batch, stream, &header, &[change]);
        self.store.commit_now(batch).unwrap();
    }
}

fn write(change: ChangeKind) -> Write {
    Write::new(CHARGE.0, CHARGE.1, change)
}

/// Returns the version in each message about the charge, and its `is_newer`.
fn versions_sent(store: &MemoryStore) -> Vec<(u64, bool)> {
    sent(store)[&CHARGE].iter().map(|message| (message.version, message.is_newer)).collect()
}

#[tokio::test]
async fn end_of_a_write_is_newer_if_later_changes_of_the_record_were_not_read() {
    let store = Arc::new(MemoryStore::new());
    subscribe(store.clone()).await;
    let log = LogWriter::new(store.clone());
    log.write(1, &[write(ChangeKind::Created)]);
    log.write_end();
    // More than is read at once.
    for id in 2..=300 {
        log.write(1, &[Write::new(Resource::Charges, id, ChangeKind::Created)]);
    }
    log.write(1, &[write(ChangeKind::Updated)]);
    let sizes = Sizes { window: 1, look_ahead: 1, ..Sizes::default() };
    follow(&start(store.clone(), &setup_of(1), sizes), &store);
    assert_eq!(versions_sent(&store), [(301, true), (301, true), (301, false)]);
}

/// The record is changed before the follower reads it.
#[tokio::test]
async fn end_of_a_write_shows_the_record_before_a_later_change() {
    let store = Arc::new(MemoryStore::new());
    subscribe(store.clone()).await;
    let log = LogWriter::new(store.clone());
    let (is_armed, record) = (Arc::new(AtomicBool::new(false)), Stream::Source(SOURCE).record_key(CHARGE.0, CHARGE.1));
    let hooked = HookedStore::over(store.clone()).before_read({
        let (log, is_armed) = (log.clone(), is_armed.clone());
        move |key| {
            if key == record && is_armed.swap(false, Ordering::SeqCst) {
                log.write(1, &[write(ChangeKind::Updated)]);
            }
            Ok(())
        }
    });
    let follower = start(Arc::new(hooked), &setup_of(1), Sizes::default());
    log.write(1, &[write(ChangeKind::Created)]);
    follow(&follower, &store);
    log.write_end();
    is_armed.store(true, Ordering::SeqCst);
    follow(&follower, &store);
    follow(&follower, &store);
    assert_eq!(versions_sent(&store), [(1, false), (1, false), (2, false)]);
}

/// No message is lost, and an earlier one shows the next known state.
#[tokio::test]
async fn change_without_its_before_image_has_no_previous_attributes() {
    let store = Arc::new(MemoryStore::new());
    subscribe(store.clone()).await;
    let log = LogWriter::new(store.clone());
    log.write(1, &[write(ChangeKind::Created)]);
    log.write_without_image();
    log.write(1, &[write(ChangeKind::Updated)]);
    follow(&start(store.clone(), &setup_of(1), Sizes::default()), &store);
    let sent = sent(&store).remove(&CHARGE).unwrap();
    let sent: Vec<_> = sent.iter().map(|it| (it.event.as_str(), it.version, it.previous, it.is_newer)).collect();
    assert_eq!(
        sent,
        [("charge_created", 2, None, true), ("charge_updated", 2, None, false), ("charge_updated", 3, Some(2), false)]
    );
}
