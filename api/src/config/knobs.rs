//! The settings of a location, read at three levels: the defaults, the institution and the location. Each level
//! overrides the one before.

use engine::setup::WorkstationRules;
use location::{
    settings::{BookingRules, ConflictRule, PullRules, Quota, WriteRules},
    time::{DAY, HOUR, MINUTE, SECOND},
};

use super::reader::Section;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LocationSettings {
    pub booking: BookingRules,
    pub write: WriteRules,
    pub pull: PullRules,
    pub quota: Quota,
    pub workstation: WorkstationRules,
}

impl LocationSettings {
    /// Returns these settings, overridden by those of a section.
    pub(super) fn with(mut self, section: &Section<'_, '_>) -> LocationSettings {
        booking(
            &section
                .about(
                    "Bookings. The settings of a location are inherited: `[defaults.X]`, then the institution's, \
                     then the location's own; each level changes only the keys it names.",
                )
                .settings("booking"),
            &mut self.booking,
        );
        write(&section.about("Writes to the EHR.").settings("write"), &mut self.write);
        pull(&section.about("Reading from the EHR.").settings("pull"), &mut self.pull);
        quota(
            &section
                .about(
                    "A bucket of requests that the EHR takes from a location. A call is not split: it is sent at \
                     once, and the next one waits.",
                )
                .settings("quota"),
            &mut self.quota,
        );
        workstation(
            &section.about("EHRs that are reached through workstations.").settings("workstation"),
            &mut self.workstation,
        );
        self
    }
}

fn booking(s: &Section<'_, '_>, rules: &mut BookingRules) {
    s.about("How long a hold reserves its slot.").duration("hold", 10 * SECOND..=HOUR, &mut rules.hold);
    s.about("Holds of one location.").knob("max_holds", 0..=100_000, &mut rules.max_holds);
    s.about("Holds of one API key at a location.").knob("max_holds_per_key", 0..=100_000, &mut rules.max_holds_per_key);
    s.about("How long an idempotency key answers with its booking.").duration(
        "key_lifetime",
        MINUTE..=90 * DAY,
        &mut rules.key_lifetime,
    );
    s.about("Alternatives in the answer when a slot is taken.").knob("alternatives", 0..=20, &mut rules.alternatives);
    let words = [("fail", ConflictRule::Fail), ("move_operatory", ConflictRule::MoveOperatory)];
    s.about(
        "What becomes of a booking not yet written whose slot staff took in the EHR: it fails, or moves \
         to another operatory of the provider.",
    )
    .choice("on_conflict", &words, &mut rules.on_conflict);
}

fn write(s: &Section<'_, '_>, rules: &mut WriteRules) {
    s.about("Maximum number of concurrent writes to the EHR.").knob("concurrency", 1..=64, &mut rules.concurrency);
    s.about("How long a call may take; after it the outcome is unknown.").duration(
        "call_deadline",
        SECOND..=10 * MINUTE,
        &mut rules.call_deadline,
    );
    s.about("The first pause between attempts; pauses grow and are random.").duration(
        "backoff_base",
        100..=HOUR,
        &mut rules.backoff_base,
    );
    s.about("The longest pause between attempts.").duration("backoff_cap", SECOND..=DAY, &mut rules.backoff_cap);
    s.about("The deadline of writes. Appointment inserts end at the appointment's start instead.").duration(
        "deadline",
        MINUTE..=90 * DAY,
        &mut rules.deadline,
    );
    s.about(
        "Between an unknown outcome and the look-up. Longer than the EHR goes on with an abandoned \
         request, or it is written twice.",
    )
    .duration("settle", 0..=HOUR, &mut rules.settle);
    s.about("How often a write is sent again after a look-up that found nothing; then it fails.").knob(
        "max_resends",
        0..=1_000,
        &mut rules.max_resends,
    );
    s.about("Number of different writes that fail in a row before the circuit breaker pauses sending.").knob(
        "breaker_threshold",
        1..=100,
        &mut rules.breaker_threshold,
    );
    s.about("The first pause of the circuit breaker.").duration(
        "breaker_pause",
        SECOND..=DAY,
        &mut rules.breaker_pause,
    );
    s.about("The longest pause of the circuit breaker.").duration(
        "breaker_pause_cap",
        SECOND..=DAY,
        &mut rules.breaker_pause_cap,
    );
    s.about("Unfinished writes of a location; more are answered with 503.").knob(
        "max_queue",
        1..=1_000_000,
        &mut rules.max_queue,
    );
}

fn pull(s: &Section<'_, '_>, rules: &mut PullRules) {
    s.about("The time from the end of a read cycle to the start of the next.").duration(
        "every",
        10 * SECOND..=DAY,
        &mut rules.every,
    );
    s.about("Maximum random extension of that time, in percent.").knob(
        "jitter_percent",
        0..=100,
        &mut rules.jitter_percent,
    );
    s.about("Records of a page. A page is one commit.").knob("page", 1..=10_000, &mut rules.page);
    s.about("Pages of a resource in a cycle.").knob("max_pages", 1..=1_000_000, &mut rules.max_pages);
    s.about("How long reading one page may take.").duration(
        "call_deadline",
        SECOND..=10 * MINUTE,
        &mut rules.call_deadline,
    );
    s.about("The first pause after a failed read.").duration("retry_base", 100..=HOUR, &mut rules.retry_base);
    s.about("The longest pause after failed reads.").duration("retry_cap", SECOND..=DAY, &mut rules.retry_cap);
    s.about("A full pass that would delete more than this share of a resource is stopped.").knob(
        "guard_percent",
        1..=100,
        &mut rules.guard_percent,
    );
    s.about("Minimum number of deletions for `guard_percent` to apply.").knob(
        "guard_at_least",
        0..=1_000_000,
        &mut rules.guard_at_least,
    );
    let confirm = "Records that a full pass does not show are deleted if a second one does not show them either. It is read this long after the \
                   first. A change in the EHR between two pages can hide a record from one pass.";
    s.about(confirm).duration("confirm_after", 0..=DAY, &mut rules.confirm_after);
    s.about("How long ended appointments stay in the memory of a location.").duration(
        "keep_past",
        0..=3_650 * DAY,
        &mut rules.keep_past,
    );
}

fn quota(s: &Section<'_, '_>, rules: &mut Quota) {
    s.about("Requests (not calls) that the EHR takes from the location per minute.").knob(
        "per_minute",
        1..=1_000_000,
        &mut rules.per_minute,
    );
    s.about("Size of the bucket in requests.").knob("burst", 1..=100_000, &mut rules.burst);
}

fn workstation(s: &Section<'_, '_>, rules: &mut WorkstationRules) {
    s.about("Staff approve each write at the workstation.").flag("approval", &mut rules.approval);
    s.about("Maximum number of concurrent requests per workstation.").knob("in_flight", 1..=16, &mut rules.in_flight);
    let mut patience = i64::from(rules.patience_seconds) * SECOND;
    s.about("How long requests wait for a disconnected workstation before it is reported.").duration(
        "patience",
        0..=HOUR,
        &mut patience,
    );
    rules.patience_seconds = u32::try_from(patience / SECOND).unwrap_or(rules.patience_seconds);
}
