//! The values JSON has no type for: `{"__class__": "datetime", ...}`. Datetimes of GNU Health are UTC without saying so.

use adapter_sdk::time::{date_of, date_text, instant_of};
use serde::{Deserialize, Deserializer, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "__class__", rename = "datetime")]
pub struct DateTime {
    year: i64,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
    microsecond: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "__class__", rename = "date")]
pub struct Date {
    year: i64,
    month: u8,
    day: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "__class__", rename = "Decimal")]
pub struct Decimal {
    decimal: String,
}

impl DateTime {
    pub fn at(instant: i64) -> DateTime {
        let (date, second) = (Date::of_days(instant.div_euclid(86_400)), instant.rem_euclid(86_400));
        let part = |seconds: i64, of: i64| u8::try_from(second / seconds % of).unwrap_or_default();
        let Date { year, month, day } = date;
        DateTime { year, month, day, hour: part(3_600, 24), minute: part(60, 60), second: part(1, 60), microsecond: 0 }
    }

    /// Fractions of a second are cut off.
    pub fn instant(&self) -> Option<i64> {
        let DateTime { year, month, day, hour, minute, second, .. } = self;
        instant_of(&format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
    }
}

impl Date {
    pub fn of(text: &str) -> Option<Date> {
        date_of(text).map(Date::of_days)
    }

    fn of_days(days: i64) -> Date {
        let text = date_text(days);
        // From the right: a year may have a sign.
        let mut parts = text.rsplitn(3, '-');
        let mut small = || parts.next().and_then(|part| part.parse().ok()).unwrap_or_default();
        let (day, month) = (small(), small());
        Date { year: parts.next().and_then(|part| part.parse().ok()).unwrap_or_default(), month, day }
    }

    pub fn text(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl Decimal {
    pub fn of(text: impl Into<String>) -> Decimal {
        Decimal { decimal: text.into() }
    }

    pub fn text(&self) -> &str {
        &self.decimal
    }

    /// In millionths; none for what is no plain decimal number or too large.
    pub fn millionths(&self) -> Option<i128> {
        let (sign, digits) = match self.decimal.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, self.decimal.strip_prefix('+').unwrap_or(&self.decimal)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let fits = whole.len() + fraction.len() > 0 && whole.len() <= 20 && fraction.len() <= 6;
        if !fits || !plain(whole) || !plain(fraction) {
            return None;
        }
        format!("{whole}{fraction:0<6}").parse::<i128>().ok().map(|number| sign * number)
    }
}

/// SQLite answers 0 and 1, PostgreSQL false and true; a field nobody ever set is null.
pub fn yes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Bool(bool),
        Number(i64),
    }
    Ok(match Option::<Either>::deserialize(deserializer)? {
        Some(Either::Bool(yes)) => yes,
        Some(Either::Number(number)) => number != 0,
        None => false,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn times_and_dates_go_there_and_back() {
        let there = json!({"__class__": "datetime", "year": 2026, "month": 11, "day": 20, "hour": 22, "minute": 15,
            "second": 42, "microsecond": 0});
        assert_eq!(serde_json::to_value(DateTime::at(1_795_212_942)).unwrap(), there);
        let mut back: DateTime = serde_json::from_value(there).unwrap();
        back.microsecond = 999_999;
        assert_eq!(back.instant(), Some(1_795_212_942));
        for at in [0, -1, 951_782_400, 4_102_444_799] {
            assert_eq!(DateTime::at(at).instant(), Some(at));
        }
        let leap = Date::of("2024-02-29").unwrap();
        assert_eq!(
            serde_json::to_value(leap).unwrap(),
            json!({"__class__": "date", "year": 2024, "month": 2, "day": 29})
        );
        assert_eq!(leap.text(), "2024-02-29");
        assert_eq!(Date::of("2023-02-29"), None);
    }

    #[test]
    fn decimals_are_compared_exactly() {
        let millionths = |text: &str| Decimal::of(text).millionths();
        assert_eq!(millionths("95"), millionths("95.00"));
        assert_eq!((millionths("-0.5"), millionths("+.25")), (Some(-500_000), Some(250_000)));
        for bad in ["", "-", "1e3", "NaN", "1.2.3", "0.1234567", "1,5", "--1"] {
            assert_eq!(millionths(bad), None, "{bad}");
        }
    }

    #[test]
    fn booleans_of_both_databases() {
        #[derive(Deserialize)]
        struct Row {
            #[serde(default, deserialize_with = "yes")]
            active: bool,
        }
        for (value, expected) in [(json!(1), true), (json!(true), true), (json!(0), false), (json!(null), false)] {
            assert_eq!(serde_json::from_value::<Row>(json!({"active": value})).unwrap().active, expected);
        }
        assert!(!serde_json::from_value::<Row>(json!({})).unwrap().active);
    }
}
