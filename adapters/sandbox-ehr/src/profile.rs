//! The initial state of a simulated practice.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    pub seed: u64,
    pub locations: Vec<LocationProfile>,
    /// Patients, shared by all locations; at most 99,999.
    pub patients: u32,
    /// Today, in days since 1970-01-01. Past appointments are before it, future ones after it.
    pub today: i32,
    pub days_back: u32,
    pub days_ahead: u32,
    /// Per cent of the working time that is booked.
    pub booked_percent: u32,
    /// Enables `/control`.
    pub control: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocationProfile {
    /// The location's foreign id.
    pub key: String,
    pub operatories: u32,
    /// The zone's offsets, ordered; the first also applies before it begins.
    pub offsets: Vec<OffsetFrom>,
}

/// From `from` (seconds since 1970) on, local time is `seconds` east of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetFrom {
    pub from: i64,
    pub seconds: i32,
}

impl Profile {
    /// Returns the demo: two locations, eight and six operatories, and about a month of appointments with free time
    /// between them.
    pub fn demo(seed: u64, today: i32, east: Vec<OffsetFrom>, west: Vec<OffsetFrom>) -> Profile {
        let location = |key: &str, operatories, offsets| LocationProfile { key: key.into(), operatories, offsets };
        Profile {
            seed,
            locations: vec![location("main-street", 8, east), location("lakeside", 6, west)],
            patients: 240,
            today,
            days_back: 7,
            days_ahead: 30,
            booked_percent: 55,
            control: true,
        }
    }
}

impl LocationProfile {
    /// Returns the instant of a local time within working hours, where zones do not change their offset.
    pub(super) fn instant(&self, day: i32, minute: i64) -> i64 {
        let local = i64::from(day) * 86_400 + minute * 60;
        let later = self.offsets.iter().rev().find(|o| o.from + i64::from(o.seconds) <= local);
        local - later.or(self.offsets.first()).map_or(0, |o| i64::from(o.seconds))
    }
}
