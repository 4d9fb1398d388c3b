//! Retention of data that locations keep for reference: finished writes, and journal records behind the snapshot.
//! Pruning works on the store alone. It covers sleeping locations without waking them, and removed ones.

use std::{sync::Arc, time::Duration};

use location::{DAY, LocationId, Timestamp};
use query::retention::steps;
use records::{
    FinishedWrite,
    document::{Document, DocumentKind},
};
use runtime::clock;
use store::{
    Batch, CommitError, Direction, KeyRange, Store, StoreError,
    journal::{self, JournalError},
    keys::{self, Space},
};

use crate::{call_changes, journal_record::Dated, note_keys::failed_write_key};

/// Keys per step. The commit is small enough not to delay those of bookings.
const STEP: usize = 200;
const PAUSE: Duration = Duration::from_millis(20);
const EVERY: Duration = Duration::from_secs(3_600);
/// Maximum length of a chain of retries, each made by an operator, that is followed to its end.
const RETRIES: usize = 32;

/// The limit of age as of `now`.
#[derive(Clone, Copy)]
struct Age {
    now: Timestamp,
    /// Data of this time or earlier is deleted.
    horizon: Timestamp,
}

/// Prunes while `is_ours` returns `true`: one of several processes on a store does it. `days` may change between calls.
pub async fn run(store: Arc<dyn Store>, days: impl Fn() -> u32, is_ours: impl Fn() -> bool) {
    loop {
        tokio::time::sleep(EVERY).await;
        if !is_ours() {
            continue;
        }
        if let Err(error) = all(&store, clock::now(), days(), PAUSE).await {
            tracing::warn!(%error, "the history was pruned partially; the next run is in an hour");
        }
    }
}

/// Deletes everything that is due as of `now`. A repeated call continues an interrupted one, because deleted keys are
/// not found again.
pub async fn all(store: &Arc<dyn Store>, now: Timestamp, days: u32, pause: Duration) -> Result<(), CommitError> {
    let age = Age { now, horizon: now.minus(i64::from(days.max(1)) * DAY) };
    steps(store, pause, (0, 0), move |store, from, batch| forget_writes(store, from, age, batch)).await?;
    steps(store, pause, 0, move |store, from, batch| trim_journal(store, from, age, batch)).await
}

/// Deletes finished writes of the next location. `from` is a location and an id. Unfinished writes are in the state
/// only.
fn forget_writes(
    store: &dyn Store,
    from: (u32, u64),
    age: Age,
    batch: &mut Batch,
) -> Result<Option<(u32, u64)>, StoreError> {
    let kind = DocumentKind::Write.byte();
    let range = KeyRange::new(keys::record(kind, from.0, from.1), keys::records(kind, u32::MAX).end);
    let page = store.scan_keys(range, Direction::Forward, STEP)?;
    let ids: Vec<(u32, u64)> =
        page.iter().filter_map(|key| keys::parse_record(key)).map(|(_, location, id)| (location, id)).collect();
    let Some((location, _)) = ids.first().copied() else { return Ok(None) };
    let next_location = location.checked_add(1).map(|next| (next, 0));
    let mut first_deleted = None;
    for (_, id) in ids.iter().take_while(|(of, _)| *of == location) {
        let key = keys::record(kind, location, *id);
        let Some(found) = store.read(&key)? else { continue };
        // An unreadable write is left for its readers to report.
        let Ok(write) = serde_json::from_slice::<FinishedWrite>(&found.value) else { continue };
        // Ids ascend in the order of time, so later writes ended later. A time in the future comes from a clock that
        // was ahead.
        if age.horizon < write.queued_at && write.queued_at <= age.now {
            return Ok(first_deleted.map(|id| (location, id)).or(next_location));
        }
        let failed = write.needs_operator();
        if ended_before(store, write, age.horizon)? {
            batch.expect_unchanged(key.clone(), Some(found.version)).delete(key);
            if failed {
                batch.delete(failed_write_key(location, *id));
            }
            first_deleted.get_or_insert(*id);
        }
    }
    // The next step repeats the keys of this one, in case its commit conflicts.
    let last = ids.last().filter(|(of, _)| *of == location && ids.len() == STEP);
    let on = last.map_or(next_location, |(_, id)| id.checked_add(1).map(|id| (location, id)).or(next_location));
    Ok(first_deleted.map(|id| (location, id)).or(on))
}

/// Returns `true` if a write and all its retries ended by the horizon. Retries carry the same write key, which
/// identifies the record in the EHR.
fn ended_before(store: &dyn Store, write: FinishedWrite, horizon: Timestamp) -> Result<bool, StoreError> {
    let mut last = write;
    for _ in 0..RETRIES {
        let Some(next) = last.retried_as else { break };
        let value = store.get(&keys::record(DocumentKind::Write.byte(), last.scope(), next))?;
        match value.and_then(|bytes| serde_json::from_slice::<FinishedWrite>(&bytes).ok()) {
            Some(retry) => last = retry,
            // The retry is not finished.
            None => return Ok(false),
        }
    }
    Ok(last.finished_at <= horizon)
}

/// Deletes old records of the next journal. A record with a time in the future keeps later ones until that time.
fn trim_journal(store: &dyn Store, from: u32, age: Age, batch: &mut Batch) -> Result<Option<u32>, StoreError> {
    let range = KeyRange::new(keys::journal(from, 0), Space::Journal.range().end);
    let first = store.scan_keys(range, Direction::Forward, 1)?;
    let Some((location, first)) = first.first().and_then(|key| keys::parse_journal(key)) else { return Ok(None) };
    // Records that the audit trail has not followed are kept.
    let followed = call_changes::position(store, LocationId(location))?.unwrap_or(0);
    let limit =
        usize::try_from(followed.saturating_sub(first.saturating_sub(1))).map_or(STEP, |records| records.min(STEP));
    if limit == 0 {
        return Ok(location.checked_add(1));
    }
    let old = |record: &[u8]| serde_json::from_slice::<Dated>(record).is_ok_and(|record| record.at <= age.horizon);
    match journal::trim(store, batch, location, limit, old) {
        Ok(0) => Ok(location.checked_add(1)),
        Ok(_) => Ok(Some(location)),
        Err(JournalError::Store(error)) => Err(error),
        Err(error @ JournalError::Damaged { .. }) => {
            tracing::warn!(location, %error, "the journal of a damaged location was not pruned");
            Ok(location.checked_add(1))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::{PatientId, WriteIntent};
    use store::MemoryStore;

    use super::*;
    use crate::note_keys::failed_writes_of;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn write(location: u32, id: u64, days_ago: i64, retried_as: Option<u64>) -> (Vec<u8>, Vec<u8>) {
        let at = NOW.minus(days_ago * DAY);
        let write = FinishedWrite {
            id,
            location_id: location,
            work: WriteIntent::CreatePatient(PatientId(7)),
            key: format!("ps-{location}-{id}"),
            attempts: 1,
            done: retried_as.is_none(),
            timed_out: false,
            reason: None,
            queued_at: at,
            finished_at: at,
            lane: None,
            retried_as,
            dropped: false,
            withdrawn: false,
            origin: None,
        };
        (keys::record(DocumentKind::Write.byte(), location, id), serde_json::to_vec(&write).unwrap())
    }

    fn put(store: &MemoryStore, (key, value): (Vec<u8>, Vec<u8>)) {
        let mut batch = Batch::new();
        batch.put(key, value);
        store.commit_now(batch).unwrap();
    }

    fn writes(store: &dyn Store, location: u32) -> Vec<u64> {
        let found =
            store.scan_keys(keys::records(DocumentKind::Write.byte(), location), Direction::Forward, usize::MAX);
        found.unwrap().iter().map(|key| keys::parse_record(key).unwrap().2).collect()
    }

    fn seqs(store: &dyn Store, location: u32) -> Vec<u64> {
        let range = KeyRange::new(keys::journal(location, 0), keys::journal(location, u64::MAX));
        let found = store.scan_keys(range, Direction::Forward, usize::MAX).unwrap();
        found.iter().map(|key| keys::parse_journal(key).unwrap().1).collect()
    }

    /// Writes a journal of one record a day that ends today, with a snapshot after record `snapshot`. The audit trail
    /// has followed all of it.
    fn journal_of(store: &MemoryStore, location: u32, records: u64, snapshot: u64) {
        for seq in 1..=records {
            let at = NOW.minus(i64::try_from(records - seq).unwrap() * DAY);
            let mut batch = Batch::new();
            journal::append(
                &mut batch,
                location,
                seq,
                serde_json::to_vec(&serde_json::json!({"at": at, "events": []})).unwrap(),
            );
            if seq == snapshot {
                journal::write_snapshot(&mut batch, location, seq, b"state");
            }
            call_changes::put_position(&mut batch, LocationId(location), seq);
            store.commit_now(batch).unwrap();
        }
    }

    fn age() -> Age {
        Age { now: NOW, horizon: NOW.minus(30 * DAY) }
    }

    async fn pruned(store: &Arc<MemoryStore>) {
        let shared: Arc<dyn Store> = store.clone();
        all(&shared, NOW, 30, Duration::ZERO).await.unwrap();
    }

    #[tokio::test]
    async fn only_old_writes_are_pruned_at_every_location() {
        let store = Arc::new(MemoryStore::new());
        for location in [1, 2, u32::MAX] {
            (0..500).for_each(|id| put(&store, write(location, id, 31, None)));
            put(&store, write(location, 500, 30, None));
            put(&store, write(location, 501, 29, None));
            put(&store, write(location, 502, 0, None));
        }
        pruned(&store).await;
        for location in [1, 2, u32::MAX] {
            assert_eq!(writes(&*store, location), [501, 502]);
        }
    }

    #[test]
    fn pruning_step_is_bounded_and_a_restart_continues() {
        let store = MemoryStore::new();
        (0..450).for_each(|id| put(&store, write(1, id, 40, None)));
        for left in [250, 50, 0] {
            let mut batch = Batch::new();
            forget_writes(&store, (0, 0), age(), &mut batch).unwrap();
            assert!(batch.writes().len() <= STEP);
            store.commit_now(batch).unwrap();
            assert_eq!(writes(&store, 1).len(), left);
        }
    }

    /// A failed write that was pruned is no longer counted as one that needs an operator.
    #[tokio::test]
    async fn mark_of_a_failed_write_is_pruned_with_the_write() {
        let store = Arc::new(MemoryStore::new());
        for (id, days_ago) in [(1, 40), (2, 5)] {
            let (key, value) = write(1, id, days_ago, None);
            let mut failed: FinishedWrite = serde_json::from_slice(&value).unwrap();
            failed.done = false;
            put(&store, (key, serde_json::to_vec(&failed).unwrap()));
            put(&store, (failed_write_key(1, id), Vec::new()));
        }
        pruned(&store).await;
        assert_eq!(writes(&*store, 1), [2]);
        let marks = store.scan_keys(failed_writes_of(1), Direction::Forward, usize::MAX).unwrap();
        assert_eq!(marks, [failed_write_key(1, 2)]);
    }

    /// All retries have the write key of the first write.
    #[tokio::test]
    async fn write_is_kept_as_long_as_its_retries() {
        let store = Arc::new(MemoryStore::new());
        put(&store, write(1, 1, 400, Some(2)));
        put(&store, write(1, 2, 300, Some(3)));
        pruned(&store).await;
        assert_eq!(writes(&*store, 1), [1, 2], "the third is not finished");
        put(&store, write(1, 3, 5, None));
        pruned(&store).await;
        assert_eq!(writes(&*store, 1), [1, 2, 3], "the third is young");
        put(&store, write(1, 3, 35, None));
        pruned(&store).await;
        assert!(writes(&*store, 1).is_empty());
    }

    #[test]
    fn concurrent_pruning_and_retry_conflict_without_loss() {
        let store = MemoryStore::new();
        put(&store, write(1, 1, 40, None));
        let [mut first, mut second] = [Batch::new(), Batch::new()];
        forget_writes(&store, (0, 0), age(), &mut first).unwrap();
        forget_writes(&store, (0, 0), age(), &mut second).unwrap();
        put(&store, write(1, 1, 40, Some(2)));
        assert!(matches!(store.commit_now(first), Err(CommitError::Conflict { .. })));
        assert_eq!(writes(&store, 1), [1], "it is being tried again");
        put(&store, write(1, 2, 40, None));
        let mut first = Batch::new();
        forget_writes(&store, (0, 0), age(), &mut first).unwrap();
        store.commit_now(first).unwrap();
        assert!(matches!(store.commit_now(second), Err(CommitError::Conflict { .. })));
        assert!(writes(&store, 1).is_empty());
    }

    #[tokio::test]
    async fn journal_records_are_kept_until_the_audit_trail_has_followed_them() {
        let store = Arc::new(MemoryStore::new());
        journal_of(&store, 1, 500, 490);
        let mut batch = Batch::new();
        batch.delete(keys::audit_position(1));
        store.commit_now(batch).unwrap();
        pruned(&store).await;
        assert_eq!(seqs(&*store, 1).len(), 500, "without a position, nothing is followed");
        for (followed, first_kept) in [(0, 1), (3, 4), (300, 301), (480, 471)] {
            let mut batch = Batch::new();
            call_changes::put_position(&mut batch, LocationId(1), followed);
            store.commit_now(batch).unwrap();
            pruned(&store).await;
            assert_eq!(seqs(&*store, 1), (first_kept..=500).collect::<Vec<_>>(), "followed to {followed}");
        }
    }

    #[tokio::test]
    async fn journal_records_are_pruned_by_age_and_only_behind_the_snapshot() {
        let store = Arc::new(MemoryStore::new());
        journal_of(&store, 1, 500, 490);
        journal_of(&store, 2, 500, 100);
        journal_of(&store, 3, 500, 0);
        journal_of(&store, 4, 20, 10);
        pruned(&store).await;
        assert_eq!(seqs(&*store, 1), (471..=500).collect::<Vec<_>>(), "by age");
        assert_eq!(seqs(&*store, 2), (100..=500).collect::<Vec<_>>(), "never past the snapshot");
        assert_eq!(seqs(&*store, 3).len(), 500, "without a snapshot all of it is needed");
        assert_eq!(seqs(&*store, 4).len(), 20, "young");
        for location in 1..=4 {
            let loaded = journal::load(&*store, location).unwrap();
            let mut next = Batch::new();
            journal::append(&mut next, location, loaded.next_seq, b"{}".to_vec());
            store.commit_now(next).unwrap();
        }
    }
}
