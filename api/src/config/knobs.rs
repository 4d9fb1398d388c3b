//! The knobs of a location. Read three times over the same values: defaults, then the institution's, then the location's own.

use engine::setup::WorkstationRules;
use location::{
    settings::{BookingRules, ConflictRule, PullRules, Quota, WriteRules},
    time::{DAY, HOUR, MINUTE, SECOND},
};

use super::reader::Section;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Knobs {
    pub booking: BookingRules,
    pub write: WriteRules,
    pub pull: PullRules,
    pub quota: Quota,
    pub workstation: WorkstationRules,
}

impl Knobs {
    /// These knobs with what a section says instead.
    pub(super) fn with(mut self, section: &Section<'_, '_>) -> Knobs {
        section.table("booking").iter().for_each(|s| booking(s, &mut self.booking));
        section.table("write").iter().for_each(|s| write(s, &mut self.write));
        section.table("pull").iter().for_each(|s| pull(s, &mut self.pull));
        section.table("quota").iter().for_each(|s| quota(s, &mut self.quota));
        section.table("workstation").iter().for_each(|s| workstation(s, &mut self.workstation));
        self
    }
}

fn booking(s: &Section<'_, '_>, rules: &mut BookingRules) {
    s.duration("hold", 10 * SECOND..=HOUR, &mut rules.hold);
    s.knob("max_holds", 0..=100_000, &mut rules.max_holds);
    s.knob("max_holds_per_key", 0..=100_000, &mut rules.max_holds_per_key);
    s.duration("key_lifetime", MINUTE..=90 * DAY, &mut rules.key_lifetime);
    s.knob("alternatives", 0..=20, &mut rules.alternatives);
    let words = [("fail", ConflictRule::Fail), ("move_operatory", ConflictRule::MoveOperatory)];
    s.choice("on_conflict", &words, &mut rules.on_conflict);
}

fn write(s: &Section<'_, '_>, rules: &mut WriteRules) {
    s.knob("concurrency", 1..=64, &mut rules.concurrency);
    s.duration("call_deadline", SECOND..=10 * MINUTE, &mut rules.call_deadline);
    s.duration("backoff_base", 100..=HOUR, &mut rules.backoff_base);
    s.duration("backoff_cap", SECOND..=DAY, &mut rules.backoff_cap);
    s.duration("deadline", MINUTE..=90 * DAY, &mut rules.deadline);
    s.duration("settle", 0..=HOUR, &mut rules.settle);
    s.knob("max_resends", 0..=1_000, &mut rules.max_resends);
    s.knob("breaker_threshold", 1..=100, &mut rules.breaker_threshold);
    s.duration("breaker_pause", SECOND..=DAY, &mut rules.breaker_pause);
    s.duration("breaker_pause_cap", SECOND..=DAY, &mut rules.breaker_pause_cap);
    s.knob("max_queue", 1..=1_000_000, &mut rules.max_queue);
}

fn pull(s: &Section<'_, '_>, rules: &mut PullRules) {
    s.duration("every", 10 * SECOND..=DAY, &mut rules.every);
    s.knob("jitter_percent", 0..=100, &mut rules.jitter_percent);
    s.knob("page", 1..=10_000, &mut rules.page);
    s.knob("max_pages", 1..=1_000_000, &mut rules.max_pages);
    s.duration("call_deadline", SECOND..=10 * MINUTE, &mut rules.call_deadline);
    s.duration("retry_base", 100..=HOUR, &mut rules.retry_base);
    s.duration("retry_cap", SECOND..=DAY, &mut rules.retry_cap);
    s.knob("guard_percent", 1..=100, &mut rules.guard_percent);
    s.knob("guard_at_least", 0..=1_000_000, &mut rules.guard_at_least);
    s.duration("keep_past", 0..=3_650 * DAY, &mut rules.keep_past);
}

fn quota(s: &Section<'_, '_>, rules: &mut Quota) {
    s.knob("per_minute", 1..=1_000_000, &mut rules.per_minute);
    s.knob("burst", 1..=100_000, &mut rules.burst);
}

fn workstation(s: &Section<'_, '_>, rules: &mut WorkstationRules) {
    s.flag("approval", &mut rules.approval);
    s.knob("in_flight", 1..=16, &mut rules.in_flight);
    let mut patience = i64::from(rules.patience_seconds) * SECOND;
    s.duration("patience", 0..=HOUR, &mut patience);
    rules.patience_seconds = u32::try_from(patience / SECOND).unwrap_or(rules.patience_seconds);
}
