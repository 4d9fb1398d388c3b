//! Formatting of values for all pages.

use chrono_tz::Tz;
use engine::records::{AdapterStatus, GateState};
use location::{DAY, HOUR, MINUTE, Millis, SECOND, Timestamp};

use framework::values::times;

/// A point in time, shown as its distance from now.
#[derive(Clone, Debug)]
pub struct RelativeTime {
    /// ISO 8601, for the `datetime` attribute.
    pub iso: String,
    /// The full time, as in the log: `2026-12-01 14:30:05 UTC`.
    pub full: String,
    pub text: String,
}

impl RelativeTime {
    pub fn new(at: Timestamp, now: Timestamp) -> RelativeTime {
        let (length, ago) = (now.since(at), now >= at);
        let text = match span(length.abs()) {
            text if ago => format!("{text} ago"),
            text => format!("in {text}"),
        };
        RelativeTime { iso: times::utc(at), full: seconds(at), text }
    }
}

/// Formats a time as `2026-12-01 14:30:05 UTC`.
pub(crate) fn seconds(at: Timestamp) -> String {
    let utc = times::utc(at);
    format!("{} UTC", utc.get(..19).unwrap_or(&utc).replace('T', " "))
}

/// Formats a duration in a suitable unit: `40 s`, `3 min`, `5 h`, `12 d`.
pub fn span(length: Millis) -> String {
    match length {
        length if length < 2 * MINUTE => format!("{} s", length / SECOND),
        length if length < 2 * HOUR => format!("{} min", length / MINUTE),
        length if length < 2 * DAY => format!("{} h", length / HOUR),
        length => format!("{} d", length / DAY),
    }
}

/// Formats a time as `14:30` in the time zone of a location.
pub(crate) fn clock(at: Timestamp, zone: Tz) -> String {
    let (_, minutes) = times::local(at, zone);
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// A status with its color. The text conveys the same information as the color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Badge {
    pub color: &'static str,
    pub text: &'static str,
}

impl Badge {
    pub(crate) const fn good(text: &'static str) -> Badge {
        Badge { color: "good", text }
    }

    pub(super) const fn bad(text: &'static str) -> Badge {
        Badge { color: "bad", text }
    }

    pub const fn plain(text: &'static str) -> Badge {
        Badge { color: "plain", text }
    }

    pub(crate) const fn warn(text: &'static str) -> Badge {
        Badge { color: "warn", text }
    }
}

pub(crate) fn gate(state: GateState) -> Badge {
    match state {
        GateState::Closed => Badge::bad("no workstation"),
        GateState::LoggedOut => Badge::bad("logged out"),
        GateState::Paused => Badge::warn("paused by staff"),
        GateState::Connected => Badge::good("open"),
        GateState::WaitingForApproval => Badge::warn("waits for approval"),
    }
}

pub(crate) fn adapter(status: AdapterStatus) -> Badge {
    match status {
        AdapterStatus::Preparing => Badge::warn("preparing"),
        AdapterStatus::Ready => Badge::good("ready"),
        AdapterStatus::Refused => Badge::bad("refused"),
    }
}

pub(crate) fn short(sha256: &str) -> String {
    sha256.chars().take(12).collect()
}
