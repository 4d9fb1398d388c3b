//! The pace of hints from EHRs: many hints cause one read.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// Least time between two reads of the appointments of a data source because of hints.
const APPOINTMENTS_APART: Duration = Duration::from_secs(5);
/// Least time between two cycles of a data source because of hints.
const CYCLES_APART: Duration = Duration::from_secs(60);

/// The hints of all data sources. Sources are those of the setup, so their number is limited.
#[derive(Default)]
pub(crate) struct EhrHints(Mutex<BTreeMap<(u32, bool), HintPace>>);

/// The pace of hints of one kind: the first one is passed on at once, and those that follow soon share a later one.
#[derive(Debug, Default)]
struct HintPace {
    passed_on: Option<Instant>,
    /// `true` while a hint waits for the end of the pause.
    is_waiting: bool,
}

impl EhrHints {
    /// Takes a hint of a data source. Returns the time until it is passed on, or `None` if an earlier one waits.
    pub(crate) fn take(&self, source: u32, everything: bool, now: Instant) -> Option<Duration> {
        let apart = if everything { CYCLES_APART } else { APPOINTMENTS_APART };
        self.0.lock().entry((source, everything)).or_default().take(now, apart)
    }

    /// Records that the waiting hint of a data source is passed on.
    pub(crate) fn pass_on(&self, source: u32, everything: bool, now: Instant) {
        self.0.lock().entry((source, everything)).or_default().pass_on(now);
    }
}

impl HintPace {
    /// Takes a hint. Returns the time until it is passed on, or `None` if an earlier one waits.
    fn take(&mut self, now: Instant, apart: Duration) -> Option<Duration> {
        if self.is_waiting {
            return None;
        }
        self.is_waiting = true;
        Some(self.passed_on.map_or(Duration::ZERO, |last| (last + apart).saturating_duration_since(now)))
    }

    fn pass_on(&mut self, now: Instant) {
        *self = HintPace { passed_on: Some(now), is_waiting: false };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_that_follow_soon_share_one() {
        let (mut pace, start, apart) = (HintPace::default(), Instant::now(), Duration::from_secs(5));
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(pace.take(at(0), apart), Some(Duration::ZERO));
        assert_eq!(pace.take(at(0), apart), None);
        pace.pass_on(at(0));
        assert_eq!(pace.take(at(1), apart), Some(Duration::from_secs(4)));
        assert_eq!((pace.take(at(2), apart), pace.take(at(4), apart)), (None, None));
        pace.pass_on(at(5));
        assert_eq!(pace.take(at(60), apart), Some(Duration::ZERO));
    }
}
