//! The rhythm of read cycles: faster while intents are active and the practice is open, slower while it is closed. The
//! quota limits it like every read.

use crate::{DecisionContext, HourKind, Location, MINUTE, Millis, PullRules, Timestamp, WorkingHour, Zone};

/// Time after a search, hold or booking during which intents count as active.
const ACTIVE_FOR: Millis = 15 * MINUTE;

/// The inputs of the rhythm.
struct Rhythm<'h, H> {
    rules: PullRules,
    zone: &'h Zone,
    /// The active working hours.
    hours: H,
    last_intent: Option<Timestamp>,
}

impl<'h, H: Iterator<Item = &'h WorkingHour> + Clone> Rhythm<'h, H> {
    /// Returns the pause after a cycle that ends at `now`, without its random extension.
    fn pause(&self, now: Timestamp) -> Millis {
        let PullRules { every, .. } = self.rules;
        let slow = self.rules.slowest();
        if slow == every || self.is_active(now) {
            return every;
        }
        match self.opening(now, now.plus(slow)) {
            Some(opening) => opening.since(now).max(every),
            None => slow,
        }
    }

    /// Returns the time of the next cycle. `ended`: end of the last one. `scheduled`: its start without active intents.
    fn cycle_at(&self, ended: Timestamp, scheduled: Timestamp) -> Timestamp {
        let Some(intent) = self.last_intent else { return scheduled };
        let PullRules { every, .. } = self.rules;
        let fast = ended.plus(self.rules.fastest()).max(intent);
        if self.rules.fastest() < every && self.is_active(fast) && self.opening(fast, fast) == Some(fast) {
            return scheduled.min(fast);
        }
        // Ends a slow pause early.
        if self.rules.slowest() > every { scheduled.min(ended.plus(every).max(intent)) } else { scheduled }
    }

    fn is_active(&self, at: Timestamp) -> bool {
        self.last_intent.is_some_and(|last| at <= last.plus(ACTIVE_FOR))
    }

    /// Returns the first time from `from` to `until` at which the practice is open. Without working hours, it counts as
    /// always open.
    fn opening(&self, from: Timestamp, until: Timestamp) -> Option<Timestamp> {
        let hours = || self.hours.clone().filter(|hour| hour.kind == HourKind::WorkingHour);
        if hours().next().is_none() {
            return Some(from);
        }
        let (first, last) = (self.zone.local_date(from).add_days(-1), self.zone.local_date(until));
        let days = i32::try_from(last.days_since(first)).unwrap_or(1);
        let dates = (0..=days).map(|day| first.add_days(day));
        let spans = dates.flat_map(|date| {
            hours().filter(move |hour| hour.applies_on(date)).filter_map(move |hour| hour.span_on(self.zone, date))
        });
        let open = spans.filter(|span| span.end > from && span.start <= until);
        open.map(|span| span.start.max(from)).min()
    }
}

impl Location {
    /// Returns the start of the next ordinary cycle under the rhythm.
    pub fn cycle_at(&self) -> Timestamp {
        let pulls = &self.state.pulls;
        match pulls.schedule.cycle_ended {
            Some(ended) if self.last_intent.is_some() && !self.settings.pull.is_steady() => {
                self.rhythm().cycle_at(ended, pulls.next_cycle)
            }
            _ => pulls.next_cycle,
        }
    }

    /// Returns the pause after an ordinary cycle that ends now. Its random extension is at most `every`.
    pub(super) fn pause_after_cycle(&self, cx: DecisionContext) -> Millis {
        let rules = &self.settings.pull;
        let pause = if rules.slowest() == rules.every { rules.every } else { self.rhythm().pause(cx.now) };
        let pause = if self.must_confirm() { pause.min(rules.confirm_after) } else { pause };
        // A random extension of the whole night would delay the first cycle of the day by more than a usual pause.
        let extended = pause.min(rules.every.saturating_mul(100) / Millis::from(rules.jitter_percent.max(1)));
        pause - extended + self.spread(cx, extended, rules.jitter_percent)
    }

    fn rhythm(&self) -> Rhythm<'_, impl Iterator<Item = &WorkingHour> + Clone> {
        let settings = &*self.settings;
        Rhythm { rules: settings.pull, zone: &settings.zone, hours: self.hours(), last_intent: self.last_intent }
    }
}
