//! The grid of slot starts in a window.

use crate::{Millis, Timestamp, Zone};

/// Returns the first point of the grid at or after `from`.
pub(super) fn on_grid(anchor: Timestamp, from: Timestamp, interval: Millis) -> Timestamp {
    let behind = from.since(anchor);
    if behind <= 0 {
        return anchor;
    }
    anchor.plus((behind + interval - 1) / interval * interval)
}

/// The alignment of starts in a zone.
#[derive(Clone, Copy)]
pub(super) struct Alignment<'a> {
    pub(super) zone: &'a Zone,
    pub(super) step: Millis,
}

impl Alignment<'_> {
    /// Returns the interval, rounded up to a multiple of the alignment.
    pub(super) fn interval(self, interval: Millis) -> Millis {
        (interval + self.step - 1) / self.step * self.step
    }

    /// Returns the first aligned point at or after `from` of the grid that begins at `anchor`, and the end of the grid.
    /// It begins again at each change of the offset from UTC, so that it remains aligned with local clocks.
    pub(super) fn next(self, anchor: Timestamp, from: Timestamp, interval: Millis) -> (Timestamp, Timestamp) {
        let mut from = from.max(anchor);
        loop {
            let (period, offset) = self.zone.period(from);
            let first = self.round_up(anchor.max(period.start), offset);
            let start = on_grid(first, from, interval);
            if start < period.end {
                return (start, period.end);
            }
            from = period.end;
        }
    }

    fn round_up(self, at: Timestamp, offset: Millis) -> Timestamp {
        at.plus((-at.plus(offset).0).rem_euclid(self.step))
    }
}
