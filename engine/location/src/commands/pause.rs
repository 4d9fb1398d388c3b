//! Reading or writing is paused, or goes on.

use crate::{
    Location,
    decision::{Decision, Reply},
    event::Event,
    pause::Directions,
};

impl Location {
    /// An operator pauses what `which` names, or resumes it. What is under way ends; deadlines of writes stay what was promised.
    pub(crate) fn pause(&self, which: Directions, paused: bool) -> Decision {
        let now = self.state.paused.now();
        let turned = |named: bool, known: bool| if named { paused } else { known };
        let to =
            Directions { reading: turned(which.reading, now.reading), writing: turned(which.writing, now.writing) };
        Decision::of(Reply::Done, (to != now).then_some(Event::PauseTurned { to }).into_iter().collect())
    }
}
