//! The history of one write, read from the journal of its location: when it was queued, each call to the EHR, and each
//! answer.

use location::{Event, LocationId, Timestamp, WriteId, event::CallKind};
use store::{Direction, KeyRange, Store, StoreError, keys};

use crate::journal_record::{Dated, JournalRecord};

/// Journal records read at each end of a write's time in the queue.
const LOOKED_AT: u64 = 20_000;
const PAGE: usize = 1_000;

/// An event in the history of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub at: Timestamp,
    pub what: Happened,
}

/// The kind of an event in the history of a write. No reason contains patient data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    Queued,
    /// Queued as the retry of this write.
    QueuedAsRetryOf(WriteId),
    Called {
        attempt: u32,
        /// `true` for a lookup, `false` for a push.
        lookup: bool,
    },
    /// Not written. The next attempt is not made before this time.
    Deferred {
        reason: String,
        not_before: Timestamp,
    },
    /// Possibly written. The lookup is not made before this time.
    Unknown {
        reason: String,
        not_before: Timestamp,
    },
    Done,
    Failed {
        reason: String,
    },
    Dropped,
    RetriedAs(WriteId),
}

/// The steps of a write in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteHistory {
    pub steps: Vec<Step>,
    /// The journal is too long, or was pruned: some steps are missing.
    pub incomplete: bool,
}

/// Reads the steps of a write that was queued at `from` and ended at `to`. `to` is `None` for an unfinished write.
pub fn read(
    store: &dyn Store,
    location: LocationId,
    write: WriteId,
    (from, to): (Timestamp, Option<Timestamp>),
) -> Result<WriteHistory, StoreError> {
    let whole = KeyRange::new(keys::journal(location.0, 0), keys::journal(location.0, u64::MAX));
    let end = |direction| -> Result<Option<u64>, StoreError> {
        let found = store.scan_keys(whole.clone(), direction, 1)?;
        Ok(found.first().and_then(|key| keys::parse_journal(key)).map(|(_, seq)| seq))
    };
    let (Some(eldest), Some(newest)) = (end(Direction::Forward)?, end(Direction::Backward)?) else {
        return Ok(WriteHistory::default());
    };
    let journal = Journal { store, location };
    let first = journal.first_from(from, eldest, newest + 1)?;
    let end = match to {
        Some(to) => journal.first_from(to.plus(1), first, newest + 1)?,
        None => newest + 1,
    };
    let mut history = WriteHistory { steps: Vec::new(), incomplete: end - first > 2 * LOOKED_AT };
    let near_end = end.saturating_sub(LOOKED_AT).max(first + LOOKED_AT);
    for (begin, end) in [(first, end.min(first + LOOKED_AT)), (near_end, end)] {
        journal.steps((begin, end), write, &mut history.steps)?;
    }
    let began = |step: &Step| matches!(step.what, Happened::Queued | Happened::QueuedAsRetryOf(_));
    history.incomplete |= !history.steps.iter().any(began);
    Ok(history)
}

struct Journal<'s> {
    store: &'s dyn Store,
    location: LocationId,
}

impl Journal<'_> {
    /// Returns the first record of `from` or later. Records are in the order of time, unless the clock was set back.
    fn first_from(&self, from: Timestamp, mut low: u64, mut high: u64) -> Result<u64, StoreError> {
        while low < high {
            let middle = low + (high - low) / 2;
            let record = self.store.get(&keys::journal(self.location.0, middle))?;
            let at = record.and_then(|bytes| serde_json::from_slice::<Dated>(&bytes).ok()).map(|record| record.at);
            if at.is_some_and(|at| at >= from) { high = middle } else { low = middle + 1 }
        }
        Ok(low)
    }

    fn steps(&self, (begin, end): (u64, u64), write: WriteId, steps: &mut Vec<Step>) -> Result<(), StoreError> {
        let names = [format!("\"write\":{}", write.0), format!("\"of\":{}", write.0)];
        let mut next = begin;
        while next < end {
            let range = KeyRange::new(keys::journal(self.location.0, next), keys::journal(self.location.0, end));
            let page = self.store.scan(range, Direction::Forward, PAGE)?;
            let Some(last) = page.last().and_then(|(key, _)| keys::parse_journal(key)) else { break };
            next = last.1 + 1;
            for (_, bytes) in page {
                let text = String::from_utf8_lossy(&bytes);
                if !names.iter().any(|name| text.contains(name.as_str())) {
                    continue;
                }
                // An unreadable record is reported when the location is loaded.
                let Ok(record) = JournalRecord::read(self.location, &bytes) else { continue };
                let happened = record.events.iter().filter_map(|event| happened(event, write));
                steps.extend(happened.map(|what| Step { at: record.at, what }));
            }
        }
        Ok(())
    }
}

fn happened(event: &Event, id: WriteId) -> Option<Happened> {
    Some(match event {
        Event::WriteQueued { write, .. } if *write == id => Happened::Queued,
        Event::WriteRetried { write, of, .. } if *write == id => Happened::QueuedAsRetryOf(*of),
        Event::WriteRetried { write, of, .. } if *of == id => Happened::RetriedAs(*write),
        Event::CallStarted { write, attempt, kind, .. } if *write == id => {
            Happened::Called { attempt: *attempt, lookup: *kind == CallKind::Find }
        }
        Event::WriteDeferred { write, not_before, reason, .. } if *write == id => {
            Happened::Deferred { reason: reason.clone(), not_before: *not_before }
        }
        Event::WriteUnknown { write, not_before, reason } if *write == id => {
            Happened::Unknown { reason: reason.clone(), not_before: *not_before }
        }
        Event::WriteDone { write, .. } if *write == id => Happened::Done,
        Event::WriteFailed { write, reason, .. } if *write == id => Happened::Failed { reason: reason.clone() },
        Event::WriteDropped { write } if *write == id => Happened::Dropped,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::{OrderingKey, PatientId, WriteIntent, event::InsertFailure};
    use store::{Batch, MemoryStore, journal};

    use super::*;

    const HERE: LocationId = LocationId(7);
    const WORK: WriteIntent = WriteIntent::CreatePatient(PatientId(3));

    fn queued(write: u64) -> Event {
        Event::WriteQueued {
            write: WriteId(write),
            work: WORK,
            ordering_key: OrderingKey::Patient(PatientId(3)),
            key: "k".into(),
            deadline: Timestamp(9_000),
            origin: None,
        }
    }

    /// Returns a journal with a record for each list of events, at the times 10, 20, 30 and so on.
    fn journal_of(records: Vec<Vec<Event>>) -> MemoryStore {
        let store = MemoryStore::new();
        for (number, events) in records.into_iter().enumerate() {
            let (seq, at) = (number as u64 + 1, Timestamp((number as i64 + 1) * 10));
            let record = JournalRecord { at, events: events.into(), by: None, institution: None };
            let mut batch = Batch::new();
            journal::append(&mut batch, HERE.0, seq, serde_json::to_vec(&record).unwrap());
            store.commit_now(batch).unwrap();
        }
        store
    }

    #[test]
    fn each_call_of_a_write_has_its_time_and_its_answer() {
        let call = |write, attempt, kind| Event::CallStarted {
            write: WriteId(write),
            attempt,
            kind,
            until: Timestamp(0),
            sent: None,
        };
        let (lost, later) = ("no answer".to_owned(), Timestamp(25));
        let store = journal_of(vec![
            vec![queued(1), queued(12)],
            vec![call(1, 1, CallKind::Push), call(12, 1, CallKind::Push)],
            vec![Event::WriteUnknown { write: WriteId(1), not_before: later, reason: lost.clone() }],
            vec![Event::WriteDone { write: WriteId(12), work: WORK, written: None }],
            vec![call(1, 2, CallKind::Find)],
            vec![Event::WriteFailed {
                write: WriteId(1),
                work: WORK,
                how: InsertFailure::Failed,
                reason: "refused".into(),
            }],
            vec![Event::CycleStarted],
        ]);
        let step = |at, what| Step { at: Timestamp(at), what };
        let history = read(&store, HERE, WriteId(1), (Timestamp(10), Some(Timestamp(60)))).unwrap();
        assert_eq!(
            history.steps,
            [
                step(10, Happened::Queued),
                step(20, Happened::Called { attempt: 1, lookup: false }),
                step(30, Happened::Unknown { reason: lost, not_before: later }),
                step(50, Happened::Called { attempt: 2, lookup: true }),
                step(60, Happened::Failed { reason: "refused".into() }),
            ]
        );
        assert!(!history.incomplete);
        let other = read(&store, HERE, WriteId(12), (Timestamp(10), Some(Timestamp(40)))).unwrap();
        assert_eq!(other.steps.last(), Some(&step(40, Happened::Done)));
        assert_eq!(read(&store, LocationId(8), WriteId(1), (Timestamp(0), None)).unwrap(), WriteHistory::default());
    }

    #[test]
    fn a_history_whose_beginning_was_pruned_is_incomplete() {
        let store = journal_of(vec![vec![Event::CycleStarted], vec![Event::WriteDropped { write: WriteId(1) }]]);
        let history = read(&store, HERE, WriteId(1), (Timestamp(5), None)).unwrap();
        assert!(history.incomplete);
        assert_eq!(history.steps, [Step { at: Timestamp(20), what: Happened::Dropped }]);
    }
}
