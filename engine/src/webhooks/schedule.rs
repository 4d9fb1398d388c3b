//! When a message is tried again and when an endpoint is given up. Pure: the time is an argument.

use location::time::{HOUR, MINUTE, Millis, SECOND, Timestamp};

use super::limits::DEACTIVATE_AFTER;

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

/// The retry that follows an attempt begun at `attempted`. Retries missed meanwhile are not made up for: the one attempt
/// stood for all of them. None after the last.
pub fn next_attempt(first_attempt: Timestamp, attempted: Timestamp) -> Option<Timestamp> {
    RETRIES.iter().map(|elapsed| first_attempt.plus(*elapsed)).find(|retry| *retry > attempted)
}

/// What an attempt means for its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Unchanged,
    /// The first failure after a success.
    FailingSince(Timestamp),
    /// The first success after a failure.
    Recovered,
    /// Nothing but failures for too long.
    Deactivated,
}

pub fn health(failing_since: Option<Timestamp>, delivered: bool, attempted: Timestamp) -> Health {
    match (failing_since, delivered) {
        (None, true) => Health::Unchanged,
        (Some(_), true) => Health::Recovered,
        (None, false) => Health::FailingSince(attempted),
        (Some(since), false) if attempted.since(since) >= DEACTIVATE_AFTER => Health::Deactivated,
        (Some(_), false) => Health::Unchanged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: Timestamp = Timestamp(1_795_255_200_123);

    /// Attempts at one message, each begun `late` after it is due and failing unless `works` says otherwise: the times since
    /// the first one, and the endpoint's health after them.
    fn outage(late: Millis, works: impl Fn(Millis) -> bool) -> (Vec<Millis>, Option<Timestamp>, bool) {
        let (mut attempts, mut failing_since, mut due) = (Vec::new(), None, Some(T0));
        while let Some(at) = due {
            let at = if attempts.is_empty() { at } else { at.plus(late) };
            attempts.push(at.since(T0));
            let delivered = works(at.since(T0));
            match health(failing_since, delivered, at) {
                Health::Unchanged => {}
                Health::FailingSince(since) => failing_since = Some(since),
                Health::Recovered => failing_since = None,
                Health::Deactivated => return (attempts, failing_since, true),
            }
            due = if delivered { None } else { next_attempt(T0, at) };
        }
        (attempts, failing_since, false)
    }

    #[test]
    fn retries_come_at_the_published_times() {
        let minutes: [f64; 10] = [0.5, 1.5, 3.5, 10.0, 30.0, 120.0, 300.0, 600.0, 1440.0, 2880.0];
        assert_eq!(RETRIES.map(|ms| ms as f64 / 60_000.0), minutes);
        for (n, retry) in RETRIES.iter().enumerate() {
            let before = if n == 0 { 0 } else { RETRIES[n - 1] };
            for attempted in [before, before + 1, retry - 1] {
                assert_eq!(next_attempt(T0, T0.plus(attempted)), Some(T0.plus(*retry)), "after {attempted} ms");
            }
        }
        assert_eq!(next_attempt(T0, T0.plus(48 * HOUR)), None);
    }

    #[test]
    fn an_outage_of_48_hours_is_eleven_attempts_and_the_end() {
        for late in [0, 1, 14_999] {
            let (attempts, _, deactivated) = outage(late, |_| false);
            assert_eq!(attempts.len(), 11);
            assert!(deactivated);
            assert_eq!(attempts[10], 48 * HOUR + late);
        }
    }

    #[test]
    fn one_success_a_minute_before_keeps_the_endpoint() {
        let other_message = T0.plus(48 * HOUR - MINUTE);
        assert_eq!(health(Some(T0), true, other_message), Health::Recovered);
        let last = T0.plus(48 * HOUR);
        assert_eq!(health(None, false, last), Health::FailingSince(last));
        assert_eq!(health(Some(last), false, last.plus(48 * HOUR - 1)), Health::Unchanged);
        assert_eq!(health(Some(last), false, last.plus(48 * HOUR)), Health::Deactivated);
    }

    #[test]
    fn recovery_ends_the_retries() {
        let (attempts, failing_since, deactivated) = outage(0, |elapsed| elapsed >= 2 * HOUR);
        assert_eq!((attempts.len(), failing_since, deactivated), (7, None, false));
    }

    #[test]
    fn what_was_missed_in_downtime_is_tried_once_and_goes_on_in_the_schedule() {
        let back = T0.plus(3 * HOUR);
        assert_eq!(next_attempt(T0, back), Some(T0.plus(5 * HOUR)));
        assert_eq!(next_attempt(T0, T0.plus(72 * HOUR)), None);
    }
}
