//! Pausing and resuming of reads and writes.

use crate::{Decision, Event, Location, Reply, pause::Directions};

impl Location {
    /// Pauses or resumes the directions in `which`. Calls in flight end normally, and deadlines of writes are
    /// unchanged.
    pub(crate) fn pause(&self, which: Directions, paused: bool) -> Decision {
        let now = self.state.paused.now();
        let turned = |named: bool, known: bool| if named { paused } else { known };
        let to =
            Directions { reading: turned(which.reading, now.reading), writing: turned(which.writing, now.writing) };
        Decision::new(Reply::Done, (to != now).then_some(Event::PauseTurned { to }).into_iter().collect())
    }
}
