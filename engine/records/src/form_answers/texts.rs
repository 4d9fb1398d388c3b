//! Validation of texts in answers: dates, times and addresses, in the forms that formio sends or people write.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime};

/// Returns `true` for `12/24/1980` as sent by formio, `24/12/1980` in a form with the day first, or `1980-12-24`. Parts
/// that a form does not ask for are zero or absent.
pub(super) fn is_day(text: &str, day_first: bool) -> bool {
    let slashed = |parts: &[&str]| {
        let numbers: Option<Vec<u32>> = parts.iter().map(|part| number(part)).collect();
        match numbers.as_deref() {
            Some([day, month, year]) if day_first => is_date(*year, *month, *day),
            Some([month, day, year]) => is_date(*year, *month, *day),
            Some([first, second]) => (*first).max(1) <= 31 && is_part(*second),
            Some([one]) => is_part(*one),
            _ => false,
        }
    };
    let parts: Vec<&str> = text.split('/').collect();
    text.parse::<NaiveDate>().is_ok() || DateTime::parse_from_rfc3339(text).is_ok() || slashed(&parts)
}

/// Returns `true` for `00/00/0000`, which formio sends for no answer.
pub(super) fn no_day(text: &str) -> bool {
    text.chars().all(|c| matches!(c, '0' | '/' | ' '))
}

/// Digits of a year.
const YEAR: usize = 4;

fn number(part: &str) -> Option<u32> {
    let digits = (1..=YEAR).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    part.parse().ok().filter(|_| digits)
}

/// Checks a date. A leap year replaces a year of zero; January and 1 replace a month or day of zero.
fn is_date(year: u32, month: u32, day: u32) -> bool {
    let year = match year {
        0 => Some(2000),
        1..1000 => None,
        year => i32::try_from(year).ok(),
    };
    year.and_then(|year| NaiveDate::from_ymd_opt(year, month.max(1), day.max(1))).is_some()
}

/// Returns `true` for a day, a month or a year.
fn is_part(number: u32) -> bool {
    number <= 31 || (1000..=9999).contains(&number)
}

/// Returns `true` for a date and time: ISO 8601 with or without offset, as sent by formio, or as people write them.
pub(super) fn is_date_time(text: &str, day_first: bool) -> bool {
    let (day, time) = text.split_once(' ').unwrap_or((text, ""));
    let written = is_day(day, day_first) && day.len() > YEAR && (time.is_empty() || is_time(time));
    let local = || ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"].map(|it| NaiveDateTime::parse_from_str(text, it).is_ok());
    written || DateTime::parse_from_rfc3339(text).is_ok() || local().contains(&true)
}

/// Returns `true` for `14:30:00`, `14:30` or `2:30 PM`.
pub(super) fn is_time(text: &str) -> bool {
    let text = text.to_ascii_uppercase();
    ["%H:%M:%S%.f", "%H:%M", "%I:%M:%S %p", "%I:%M %p", "%I:%M%p"]
        .iter()
        .any(|format| NaiveTime::parse_from_str(&text, format).is_ok())
}

pub(super) fn is_email(text: &str) -> bool {
    let address = !text.contains(char::is_whitespace);
    let parts = text.rsplit_once('@').filter(|_| address);
    parts.is_some_and(|(local, domain)| {
        let labels = domain.contains('.') && domain.split('.').all(|label| !label.is_empty());
        !local.is_empty() && !local.contains('@') && labels
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(fits: impl Fn(&str) -> bool, right: &[&str], wrong: &[&str]) {
        right.iter().for_each(|text| assert!(fits(text), "{text}"));
        wrong.iter().for_each(|text| assert!(!fits(text), "{text}"));
    }

    #[test]
    fn texts_in_known_formats_are_accepted_and_others_rejected() {
        let days =
            ["12/24/1980", "1/2/1980", "00/00/1980", "12/00/1980", "02/29/0000", "1980-12-24", "12/1980", "1980"];
        let no_days = [
            "24/12/1980", "02/30/1980", "13/01/1980", "12/24/80000", "12/24/80", "x", "", "1/2/3/4", "-1/2/1980", "99",
            "1980-13-01",
        ];
        all(|text| is_day(text, false), &days, &no_days);
        all(|text| is_day(text, true), &["24/12/1980", "1980-12-24", "00/12/1980"], &["12/24/1980", "soon"]);
        let moments =
            ["2026-12-01T14:30:00Z", "2026-12-01T14:30:00.000-05:00", "2026-12-01T14:30:00", "2026-12-01T14:30"];
        let written = ["2026-12-01", "2026-12-01 14:30", "12/01/2026 2:30 PM", "12/01/2026"];
        let not = ["soon", "", "2026", "2026-12-01T25:00:00Z", "2026-12-01 25:00"];
        all(|text| is_date_time(text, false), &moments, &not);
        all(|text| is_date_time(text, false), &written, &["13/45/2026 14:30"]);
        all(is_time, &["14:30:00", "14:30", "2:30 PM", "2:30pm", "00:00:00"], &["25:00", "14", "noon", "", "2:30 XM"]);
        all(
            is_email,
            &["pat@example.com", "a.b+c@d-e.co.uk"],
            &["pat", "@b.co", "a@b", "a b@c.de", "a@@b.co", "a@b..co"],
        );
    }
}
