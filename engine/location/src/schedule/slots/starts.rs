//! Restriction of slot starts by local time of day and day of the week.

use crate::{Date, Weekday};

/// Restriction of slot starts. The default admits all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartFilter {
    /// Earliest start in minutes after local midnight.
    pub earliest: Option<i64>,
    /// Latest start in minutes after local midnight. A time before `earliest` is on the next day.
    pub latest: Option<i64>,
    /// Allowed days of the week. Empty for all.
    pub weekdays: Vec<Weekday>,
}

impl StartFilter {
    /// Returns `true` if a slot may start on `date`, this number of minutes after local midnight.
    pub fn admits(&self, date: Date, minute: i64) -> bool {
        let begun = self.earliest.is_none_or(|earliest| minute >= earliest);
        let in_time = self.latest.is_none_or(|latest| minute <= latest);
        // A latest time before the earliest means the next day, so the span includes midnight.
        let over_night = self.earliest.zip(self.latest).is_some_and(|(earliest, latest)| latest < earliest);
        (if over_night { begun || in_time } else { begun && in_time }) && self.admits_day(date)
    }

    /// Returns `true` if a slot may start on `date`.
    pub fn admits_day(&self, date: Date) -> bool {
        self.weekdays.is_empty() || self.weekdays.contains(&date.weekday())
    }
}
