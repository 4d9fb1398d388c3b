//! Recovery of a location after a restore from a backup. The EHR has changed since the backup was made.

use crate::{Decision, Event, Location, Reply, State, Timestamp, WriteId, writes::queue::WriteState};

/// Number of write ids skipped after a restore: more than a location allots between backup and restore.
const SKIPPED_WRITES: u64 = 1_000_000;

impl Location {
    /// Handles a restore. Waiting writes may have been sent since the backup, so they are looked up first. Write ids
    /// that may have been used are skipped. No slot is offered before the EHR is read, because it may contain unknown
    /// bookings.
    pub(crate) fn restored(&self) -> Decision {
        let mut events = vec![Event::Restored { skipped_writes: SKIPPED_WRITES, keep_cursors: true }];
        events.extend(self.state.queue.iter().map(|(write, _)| Event::WriteRestored {
            write,
            reason: "restored from a backup: the write may have been sent since the backup".to_owned(),
        }));
        Decision::new(Reply::Done, events)
    }
}

impl State {
    /// Marks a write as possibly sent, with the current local content.
    pub(crate) fn write_restored(&mut self, at: Timestamp, id: WriteId, reason: &str) {
        let Some(work) = self.queue.get(id).map(|write| write.work) else { return };
        let booked = work.appointment().and_then(|id| self.appointments.get(&id)).map(|a| a.placement);
        let hour = work.hour().and_then(|hour| self.hours.get(&hour)).cloned().map(Box::new);
        self.change_write(id, |write| {
            write.state = WriteState::Waiting { not_before: at };
            (write.unknown, write.restored) = (true, true);
            write.sent = write.sent.or(booked);
            write.sent_hour = write.sent_hour.take().or(hour);
            write.reason = Some(reason.to_owned());
        });
    }
}
