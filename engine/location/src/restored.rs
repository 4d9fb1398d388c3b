//! A location whose store was restored from a backup: it is back on an earlier day, and the EHR has gone on without it.

use crate::{
    Location,
    decision::{Decision, Reply},
    event::Event,
    ids::WriteId,
    state::State,
    time::Timestamp,
    writes::queue::WriteState,
};

/// More writes than a location makes between a backup and the day it is restored.
const SKIPPED_WRITES: u64 = 1_000_000;

impl Location {
    /// What waits may have been written after the backup was made, so it is looked up first; numbers of writes that may have been given since
    /// do not come again; and no slot is offered before the EHR was read, which has bookings that this location does not know of.
    pub(crate) fn restored(&self) -> Decision {
        let mut events = vec![Event::Restored { skipped_writes: SKIPPED_WRITES }];
        events.extend(self.state.queue.iter().map(|(write, _)| Event::WriteRestored {
            write,
            reason: "restored from a backup: it may have been written since that was made".to_owned(),
        }));
        Decision::of(Reply::Done, events)
    }
}

impl State {
    /// It may be in the EHR as it stands here now, whatever it was when it was queued.
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
