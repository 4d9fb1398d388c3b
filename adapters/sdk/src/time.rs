//! Instants and dates as text: `2026-12-01T14:00:00Z`, `2026-12-01`. [`crate::clock`] handles local times. The contract
//! supports the years 1 to 9999.

/// Returns `true` if the instant is within the supported years.
pub fn is_instant(at: i64) -> bool {
    (-62_135_596_800..=253_402_300_799).contains(&at)
}

/// Formats an instant: `2026-12-01T14:00:00Z`.
pub fn instant_text(at: i64) -> String {
    let (days, second) = (at.div_euclid(86_400), at.rem_euclid(86_400));
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", date_text(days))
}

/// Parses an instant with a zone in any unambiguous format: `2026-12-01T09:00:00-05:00`, `2026-12-01 14:00+0000`.
/// Seconds may be missing; fractions of a second are truncated.
pub fn instant_of(text: &str) -> Option<i64> {
    let (shown, zone) = date_and_time(text)?;
    Some(shown - offset_of(zone)?).filter(|at| is_instant(*at))
}

/// Parses a local time without a zone in the same formats, as if it were UTC.
pub(crate) fn local_of(text: &str) -> Option<i64> {
    date_and_time(text).filter(|(_, zone)| zone.is_empty()).map(|(shown, _)| shown)
}

/// Returns the day of a date, or of a date with a time: `2001-11-30` of `2001-11-30T00:00:00.000+0000`.
///
/// ```
/// assert_eq!(adapter_sdk::time::day_of("1940-01-01 00:00:00").as_deref(), Some("1940-01-01"));
/// assert_eq!(adapter_sdk::time::day_of("1940-01-01 or so"), None);
/// ```
pub fn day_of(text: &str) -> Option<String> {
    let text = text.trim();
    let day = text.get(..10).filter(|day| is_date(day))?;
    let timed = || date_and_time(text).is_some_and(|(_, zone)| zone.is_empty() || offset_of(zone).is_some());
    (text.len() == 10 || timed()).then(|| day.to_owned())
}

/// Parses date and time as UTC seconds. Also returns the zone that follows, which may be empty.
fn date_and_time(text: &str) -> Option<(i64, &str)> {
    let text = text.trim();
    let (days, rest) = (date_of(text.get(..10)?)?, text.get(10..)?);
    let clock = rest.strip_prefix(['T', 't']).or_else(|| rest.strip_prefix(' ').map(str::trim_start))?;
    let number = |from: usize| clock.get(from..from + 2).filter(|t| digits(t))?.parse::<i64>().ok();
    let (hour, minute) = (number(0)?, number(3)?);
    let (second, rest) = match clock.get(5..6) {
        Some(":") => (number(6)?, clock.get(8..)?),
        _ => (0, clock.get(5..)?),
    };
    let midnight = (hour, minute, second) == (24, 0, 0);
    if clock.get(2..3) != Some(":") || (hour > 23 && !midnight) || minute > 59 || second > 60 {
        return None;
    }
    let rest = match rest.strip_prefix(['.', ',']) {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    Some((days * 86_400 + hour * 3_600 + minute * 60 + second, rest.trim_start()))
}

/// Parses a zone into seconds east of UTC: `Z`, `-05:00`, `+0530`, `+01`.
fn offset_of(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z" | "UTC" | "GMT") {
        return Some(0);
    }
    let sign = match zone.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, rest) = (zone.get(1..3)?, zone.get(3..)?);
    let minutes = if rest.is_empty() { "00" } else { rest.strip_prefix(':').unwrap_or(rest) };
    let both = [hours, minutes].map(|t| (t.len() == 2 && digits(t)).then(|| t.parse::<i64>().ok()).flatten());
    Some(sign * (both[0]? * 3_600 + both[1].filter(|minutes| *minutes < 60)? * 60))
}

/// Parses an HTTP date: `Sat, 21 Nov 2026 00:41:39 GMT`.
pub fn http_date(text: &str) -> Option<i64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut parts = text.split(' ').skip(1);
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let (clock, zone) = (parts.next()?, parts.next()?);
    let month = MONTHS.find(month).filter(|at| month.len() == 3 && at % 3 == 0)? / 3 + 1;
    (zone == "GMT").then_some(())?;
    instant_of(&format!("{year}-{month:02}-{day}T{clock}Z"))
}

/// Formats days since 1970-01-01 as `YYYY-MM-DD`.
pub fn date_text(days: i64) -> String {
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Parses `YYYY-MM-DD` into days since 1970-01-01.
pub fn date_of(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| text.get(from..to).filter(|t| digits(t))?.parse::<i64>().ok();
    let year = number(0, 4).filter(|year| *year > 0)?;
    let days = days_of(year, number(5, 7)?, number(8, 10)?);
    (date_text(days) == text).then_some(days)
}

/// Returns `true` for `YYYY-MM-DD` of an existing day.
pub fn is_date(text: &str) -> bool {
    date_of(text).is_some()
}

/// Adds days to a date; a text that is not a date is returned unchanged.
///
/// ```
/// assert_eq!(adapter_sdk::time::plus_days("2026-12-31", 1), "2027-01-01");
/// ```
pub fn plus_days(date: &str, days: i64) -> String {
    date_of(date).map_or_else(|| date.to_owned(), |start| date_text(start + days))
}

fn digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

/// Returns the days since 1970-01-01 of a Gregorian date.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The inverse of `days_of`.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, of_year - (153 * march_month + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_of_every_writing() {
        for (text, at) in [
            ("2026-11-20T22:15:42Z", 1_795_212_942),
            ("2026-11-20T22:15:42.999Z", 1_795_212_942),
            ("2026-11-20T17:15:42-05:00", 1_795_212_942),
            ("2026-11-21T03:45:42.1+05:30", 1_795_212_942),
            ("1969-12-31T23:59:59Z", -1),
            ("2026-11-20 22:15:42Z", 1_795_212_942),
            ("2026-11-20t22:15:42z", 1_795_212_942),
            (" 2026-11-20T22:15Z ", 1_795_212_900),
            ("2026-11-20 17:15:42 -0500", 1_795_212_942),
            ("2026-11-20T23:15:42,5+01", 1_795_212_942),
            ("2026-11-20T24:00:00Z", 1_795_219_200),
        ] {
            assert_eq!(instant_of(text), Some(at), "{text}");
        }
        for at in [0, 951_782_399, 951_782_400, 1_795_212_942, -1, 4_102_444_799] {
            assert_eq!(instant_of(&instant_text(at)), Some(at));
        }
        assert_eq!(instant_text(1_795_212_942), "2026-11-20T22:15:42Z");
        for bad in [
            "",
            "2026-11-20",
            "2026-11-20T22:15:42",
            "2026-02-30T00:00:00Z",
            "2026-11-20T24:00:01Z",
            "2026-11-20T22:15:42+5",
            "2026-11-20T22:15:42+0560",
            "2026-11-20T22:15:42ä",
            "2026-11-20T22Z",
            "2026-11-20T22:15:Z",
            "2026-11-2022:15:42Z",
            "11/20/2026 22:15:42Z",
            "0000-12-31T00:00:00Z",
            "9999-12-31T23:59:59-05:00",
            "ä026-11-20T22:15:42Z",
        ] {
            assert_eq!(instant_of(bad), None, "{bad}");
        }
    }

    #[test]
    fn dates_of_http() {
        assert_eq!(http_date("Fri, 20 Nov 2026 22:15:42 GMT"), Some(1_795_212_942));
        for bad in ["", "Fri, 20 nov 2026 22:15:42 GMT", "Fri, 20 Nov 2026 22:15:42 CET", "20 Nov 2026"] {
            assert_eq!(http_date(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_date_with_a_time_is_that_day() {
        for text in ["2001-11-30", "2001-11-30T00:00:00", " 2001-11-30T00:00:00.000+0000", "2001-11-30 23:59Z"] {
            assert_eq!(day_of(text).as_deref(), Some("2001-11-30"), "{text}");
        }
        for bad in ["", "2001-11-31", "2001-11-30x", "2001-11-30T", "2001-11-30T25:00:00", "11/30/2001", "2001-11"] {
            assert_eq!(day_of(bad), None, "{bad}");
        }
    }

    #[test]
    fn dates_round_trip() {
        for days in (-700_000..2_000_000).step_by(37) {
            assert_eq!(date_of(&date_text(days)), Some(days));
        }
        assert!(is_date("2024-02-29") && is_date("0001-01-01"));
        for bad in ["2023-02-29", "1969-10", "1969", "2026-1-01", "0000-01-01", ""] {
            assert_eq!(date_of(bad), None, "{bad}");
        }
    }
}
