//! Dates and instants in the format of the API: `2026-12-01` and `2026-12-01T15:00:00Z`.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// Returns the days since 1970-01-01 of a Gregorian date.
pub(super) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let year_of_era = year.rem_euclid(400);
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
}

/// Returns year, month and day of a number of days since 1970-01-01.
pub(super) fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, of_year - (153 * shifted + 2) / 5 + 1)
}

pub(super) fn date_text(days: i64) -> String {
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

pub(super) fn date_of(text: &str) -> Option<i64> {
    let (year, month, day) = (number(text.get(0..4)?)?, number(text.get(5..7)?)?, number(text.get(8..)?)?);
    let days = days_of(year, month, day);
    (text.len() == 10 && date_text(days) == text).then_some(days)
}

pub(super) fn instant_text(at: i64) -> String {
    let (days, second) = (at.div_euclid(86_400), at.rem_euclid(86_400));
    format!("{}T{:02}:{:02}:{:02}Z", date_text(days), second / 3_600, second / 60 % 60, second % 60)
}

pub(super) fn instant_of(text: &str) -> Option<i64> {
    let days = date_of(text.get(0..10)?)?;
    let (hour, minute, second) = (number(text.get(11..13)?)?, number(text.get(14..16)?)?, number(text.get(17..19)?)?);
    let at = days * 86_400 + hour * 3_600 + minute * 60 + second;
    (instant_text(at) == text).then_some(at)
}

/// Returns the weekday; 0 is Monday.
pub(super) fn weekday(days: i64) -> usize {
    usize::try_from((days + 3).rem_euclid(7)).expect("below 7")
}

fn number(digits: &str) -> Option<i64> {
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// For `#[serde(with)]`.
pub(super) mod instant {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(at: &i64, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&instant_text(*at))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<i64, D::Error> {
        let text = String::deserialize(d)?;
        instant_of(&text).ok_or_else(|| D::Error::custom("must be a time such as 2026-12-01T15:00:00Z"))
    }
}

/// For `#[serde(with)]`, with `default` and skipped if `None`.
pub(super) mod optional_instant {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(at: &Option<i64>, s: S) -> Result<S::Ok, S::Error> {
        at.map(instant_text).serialize(s)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<i64>, D::Error> {
        super::instant::deserialize(d).map(Some)
    }
}
