//! The schedule of retries, and the deactivation of failing endpoints. Pure: the time is an argument.
//!
//! Time without attempts does not count. Failures further apart than the retries of one message are not one streak. A
//! message whose last retries were all missed gets one more, after the attempt made in their place.

use location::time::{HOUR, MINUTE, Millis, SECOND, Timestamp};

use super::limits::{DEACTIVATE_AFTER, FAILURE_NOTED_EVERY, LONGEST_SILENCE};

/// Time from the first attempt to each retry.
pub const RETRIES: [Millis; 10] = [
    30 * SECOND,
    90 * SECOND,
    210 * SECOND,
    10 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    24 * HOUR,
    48 * HOUR,
];

/// Returns the maximum jitter of a retry: a tenth of the pause before it, at most ten minutes. Jitter keeps messages
/// that failed together from being retried together.
pub fn max_jitter(retry: usize) -> Millis {
    let before = if retry == 0 { 0 } else { RETRIES[retry - 1] };
    ((RETRIES[retry] - before) / 10).min(10 * MINUTE)
}

/// Returns the retry that follows an attempt begun at `attempted`. Missed retries are skipped, because that one attempt
/// replaced them. Returns `None` after the last.
fn next_retry(first_attempt: Timestamp, attempted: Timestamp) -> Option<usize> {
    RETRIES.iter().position(|elapsed| first_attempt.plus(*elapsed) > attempted)
}

/// Returns the time of the attempt after one that was due at `due`. An attempt that replaced missed retries, including
/// the last, is followed by one more. `random` determines the jitter.
pub fn retry(first_attempt: Timestamp, due: Timestamp, attempted: Timestamp, random: u64) -> Option<Timestamp> {
    let [.., before, last] = RETRIES;
    let missed = due < first_attempt.plus(last);
    match next_retry(first_attempt, attempted) {
        Some(retry) => {
            let jitter = random % (max_jitter(retry).unsigned_abs() + 1);
            Some(first_attempt.plus(RETRIES[retry] + jitter.cast_signed()))
        }
        None => missed.then(|| attempted.plus(last - before)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    Delivered,
    Failed,
    /// 410: the receiver reports that the endpoint is gone.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streak {
    pub since: Timestamp,
    /// The last failure that was stored; `None` in records of earlier versions.
    pub last: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthChange {
    Unchanged,
    /// The first failure after a success, or after a time without attempts.
    FailingSince(Timestamp),
    /// A further failure that is due to be stored.
    StillFailing,
    /// The first success after a failure.
    Recovered,
    /// Failures for too long, or a receiver that wants no more messages; with the reason.
    Deactivated(&'static str),
}

pub fn health(failing: Option<Streak>, answer: AttemptOutcome, attempted: Timestamp) -> HealthChange {
    if answer == AttemptOutcome::Gone {
        return HealthChange::Deactivated("the receiver answered 410");
    }
    let delivered = answer == AttemptOutcome::Delivered;
    let Some(Streak { since, last }) = failing else {
        return if delivered { HealthChange::Unchanged } else { HealthChange::FailingSince(attempted) };
    };
    let silence = last.map(|last| attempted.since(last));
    if delivered {
        HealthChange::Recovered
    } else if silence.is_some_and(|silence| silence > LONGEST_SILENCE) {
        HealthChange::FailingSince(attempted)
    } else if attempted.since(since) >= DEACTIVATE_AFTER {
        HealthChange::Deactivated("48 hours of failures")
    } else if silence.is_none_or(|silence| silence >= FAILURE_NOTED_EVERY) {
        HealthChange::StillFailing
    } else {
        HealthChange::Unchanged
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const T0: Timestamp = Timestamp(1_795_255_200_123);

    fn answer(delivered: bool) -> AttemptOutcome {
        if delivered { AttemptOutcome::Delivered } else { AttemptOutcome::Failed }
    }

    #[test]
    fn retries_of_messages_that_failed_together_are_spread_by_jitter() {
        for (n, elapsed) in RETRIES.iter().enumerate() {
            let before = if n == 0 { T0 } else { T0.plus(RETRIES[n - 1] + max_jitter(n - 1)) };
            let due: std::collections::BTreeSet<_> =
                (0..1_000).map(|random| retry(T0, T0, before, random * 7_919).unwrap()).collect();
            assert!(due.len() > 900, "retry {n} comes at {} moments", due.len());
            let (first, last) = (*due.first().unwrap(), *due.last().unwrap());
            assert!(T0.plus(*elapsed) <= first && last <= T0.plus(elapsed + max_jitter(n)), "retry {n}");
        }
    }

    #[test]
    fn a_410_response_deactivates_the_endpoint() {
        assert_eq!(health(None, AttemptOutcome::Gone, T0), HealthChange::Deactivated("the receiver answered 410"));
    }

    /// Simulates attempts of one message, each begun `late` after it is due and failing unless `works` returns `true`.
    /// Returns the times since the first attempt, and the endpoint's health after them.
    fn outage(late: Millis, works: impl Fn(Millis) -> bool) -> (Vec<Millis>, Option<Timestamp>, bool) {
        let (mut attempts, mut failing, mut due) = (Vec::new(), None::<Streak>, Some(T0));
        while let Some(planned) = due {
            let at = if attempts.is_empty() { planned } else { planned.plus(late) };
            attempts.push(at.since(T0));
            let delivered = works(at.since(T0));
            match health(failing, answer(delivered), at) {
                HealthChange::Unchanged => {}
                HealthChange::FailingSince(since) => failing = Some(Streak { since, last: Some(since) }),
                HealthChange::StillFailing => failing = failing.map(|streak| Streak { last: Some(at), ..streak }),
                HealthChange::Recovered => failing = None,
                HealthChange::Deactivated(_) => return (attempts, failing.map(|streak| streak.since), true),
            }
            due = if delivered { None } else { retry(T0, planned, at, 0) };
        }
        (attempts, failing.map(|streak| streak.since), false)
    }

    #[test]
    fn retries_come_at_the_published_times() {
        let minutes: [f64; 10] = [0.5, 1.5, 3.5, 10.0, 30.0, 120.0, 300.0, 600.0, 1440.0, 2880.0];
        assert_eq!(RETRIES.map(|ms| ms as f64 / 60_000.0), minutes);
        for (n, retry) in RETRIES.iter().enumerate() {
            let before = if n == 0 { 0 } else { RETRIES[n - 1] };
            for attempted in [before, before + 1, retry - 1] {
                assert_eq!(next_retry(T0, T0.plus(attempted)), Some(n), "after {attempted} ms");
                assert_eq!(self::retry(T0, T0, T0.plus(attempted), 0), Some(T0.plus(*retry)));
            }
        }
        assert_eq!(next_retry(T0, T0.plus(48 * HOUR)), None);
    }

    #[test]
    fn an_outage_of_48_hours_makes_eleven_attempts_and_deactivates_the_endpoint() {
        for late in [0, 1, 14_999] {
            let (attempts, _, deactivated) = outage(late, |_| false);
            assert_eq!(attempts.len(), 11);
            assert!(deactivated);
            assert_eq!(attempts[10], 48 * HOUR + late);
        }
    }

    #[test]
    fn a_success_before_48_hours_keeps_the_endpoint_active() {
        let other_message = T0.plus(48 * HOUR - MINUTE);
        let failing = |since: Timestamp, last: Millis| Some(Streak { since, last: Some(since.plus(last)) });
        assert_eq!(health(failing(T0, 24 * HOUR), answer(true), other_message), HealthChange::Recovered);
        let last = T0.plus(48 * HOUR);
        assert_eq!(health(None, answer(false), last), HealthChange::FailingSince(last));
        assert_eq!(
            health(failing(last, 47 * HOUR + 1), answer(false), last.plus(48 * HOUR - 1)),
            HealthChange::Unchanged
        );
        assert_eq!(
            health(failing(last, 24 * HOUR), answer(false), last.plus(48 * HOUR - 1)),
            HealthChange::StillFailing
        );
        assert_eq!(
            health(failing(last, 24 * HOUR), answer(false), last.plus(48 * HOUR)),
            HealthChange::Deactivated("48 hours of failures")
        );
    }

    #[test]
    fn failures_far_apart_are_not_one_outage() {
        let failing = |last: Millis| Some(Streak { since: T0, last: Some(T0.plus(last)) });
        // Down for two days after one failure. The same as after a jump of the clock, or if the failing message was
        // stopped weeks ago.
        for silence in [49 * HOUR, 21 * 24 * HOUR] {
            let at = T0.plus(silence);
            assert_eq!(health(failing(0), answer(false), at), HealthChange::FailingSince(at));
        }
        // The longest time between two retries of one message, plus delays and failures not stored.
        assert_eq!(
            health(failing(24 * HOUR), answer(false), T0.plus(48 * HOUR + 15 * SECOND)),
            HealthChange::Deactivated("48 hours of failures")
        );
        assert_eq!(
            health(failing(23 * HOUR), answer(false), T0.plus(48 * HOUR + MINUTE)),
            HealthChange::Deactivated("48 hours of failures")
        );
        assert_eq!(
            health(Some(Streak { since: T0, last: None }), answer(false), T0.plus(48 * HOUR)),
            HealthChange::Deactivated("48 hours of failures")
        );
    }

    #[test]
    fn an_attempt_that_replaces_the_last_retries_is_followed_by_one_more() {
        let (back, due) = (T0.plus(49 * HOUR), T0.plus(RETRIES[0]));
        let further = retry(T0, due, back, 0).unwrap();
        assert_eq!(further, back.plus(24 * HOUR));
        assert_eq!(retry(T0, further, further, 0), None);
        assert_eq!(retry(T0, T0.plus(48 * HOUR), back, 0), None, "the last one, an hour late");
        assert_eq!(retry(T0, due, T0.plus(3 * HOUR), 0), Some(T0.plus(5 * HOUR)), "others are not made up for");
    }

    #[test]
    fn recovery_ends_the_retries() {
        let (attempts, failing_since, deactivated) = outage(0, |elapsed| elapsed >= 2 * HOUR);
        assert_eq!((attempts.len(), failing_since, deactivated), (7, None, false));
    }

    #[test]
    fn retries_missed_in_downtime_are_made_once_and_the_schedule_resumes() {
        let back = T0.plus(3 * HOUR);
        assert_eq!(retry(T0, T0, back, 0), Some(T0.plus(5 * HOUR)));
        assert_eq!(next_retry(T0, T0.plus(72 * HOUR)), None);
    }
}
