//! The rules of a location as stories: scripts in `stories/`, one file per topic, run by the interpreter in `story/`.

use crate::story;
macro_rules! stories {
    ($($theme:ident),* $(,)?) => {$(
        #[test]
        fn $theme() {
            story::run(concat!(stringify!($theme), ".story"));
        }
    )*};
}

stories!(
    booking, groups, keys, holds, moves, rescheduling, replacement, cancels, write_back, unknown_outcome, breaker_gate,
    gate, quota, deadlines, pull, conflicts, absence, deletion_guard, precedence, saving, own_hours, operator, pause,
    places, clock, restored, rules, freshness, rhythm,
);
