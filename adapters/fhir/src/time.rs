//! Dates and times in the formats of servers: R4's and other unambiguous ones. A time without a zone is in the
//! location's zone.

use std::cmp::Ordering;

use adapter_sdk::{
    clock,
    time::{date_of, date_text, instant_text, is_instant},
};

/// Parses an instant. Returns `None` for a date without a time of day and for ambiguous text.
pub fn instant(text: &str) -> Option<i64> {
    let (days, rest) = day(text.trim())?;
    let (seconds, zone) = time_of_day(rest)?;
    let at = days * 86_400 + seconds;
    let at = match offset(zone)? {
        Some(offset) => at - offset,
        None => clock::first_instant(instant_text(at).trim_end_matches('Z'))?,
    };
    Some(at).filter(|at| is_instant(*at))
}

/// Returns a date as `YYYY-MM-DD`; of a date with a time, the date as written.
pub fn date(text: &str) -> Option<String> {
    let (days, rest) = day(text.trim())?;
    let timed = || time_of_day(rest).and_then(|(_, zone)| offset(zone)).is_some();
    (rest.is_empty() || timed()).then(|| date_text(days))
}

/// Parses an instant. A date without a time is the beginning of that day at the location.
pub fn instant_or_date(text: &str) -> Option<i64> {
    instant(text).or_else(|| clock::first_instant(&format!("{}T00:00:00", date(text)?)).filter(|at| is_instant(*at)))
}

/// Compares the current time with a bound, at the precision of the bound: `Equal` on any day of a month. Returns `None`
/// if the bound cannot be parsed.
pub fn compare_now(bound: &str) -> Option<Ordering> {
    if let Some(at) = instant(bound) {
        return Some(clock::now().cmp(&at));
    }
    let day = date(bound).or_else(|| month_or_year(bound))?;
    Some(clock::today().get(..day.len())?.cmp(&day))
}

/// Parses `2026-12` or `2026`.
fn month_or_year(text: &str) -> Option<String> {
    let rest = if text.len() == 4 { "-01-01" } else { "-01" };
    let shaped = matches!(text.len(), 4 | 7) && date(&format!("{text}{rest}")).is_some();
    shaped.then(|| text.to_owned())
}

/// Parses a leading date. Returns the days since 1970-01-01 and the rest of the text.
fn day(text: &str) -> Option<(i64, &str)> {
    let (year, rest) = digits(text, 4, 4)?;
    let separator = rest.chars().next().filter(|c| matches!(c, '-' | '/'));
    let least = if separator.is_some() { 1 } else { 2 };
    let part = |rest| digits(separator.map_or(Some(rest), |c| str::strip_prefix(rest, c))?, least, 2);
    let (month, rest) = part(rest)?;
    let (day, rest) = part(rest)?;
    Some((date_of(&format!("{year:04}-{month:02}-{day:02}"))?, rest))
}

/// Parses a time of day without fractions. Returns the seconds of the day and the rest of the text. 24:00 is the end of
/// the day.
fn time_of_day(text: &str) -> Option<(i64, &str)> {
    let text = text.strip_prefix(['T', 't', ' '])?.trim_start();
    let (hour, rest) = digits(text, 1, 2)?;
    let colon = rest.starts_with(':');
    let part = |rest| digits(if colon { str::strip_prefix(rest, ':')? } else { rest }, 2, 2);
    let (minute, rest) = part(rest).unwrap_or((0, rest));
    let (second, rest) = part(rest).unwrap_or((0, rest));
    let rest = match rest.strip_prefix(['.', ',']) {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let fits = (hour <= 23 && minute <= 59 && second <= 60) || (hour, minute, second) == (24, 0, 0);
    fits.then_some((hour * 3_600 + minute * 60 + second, rest))
}

/// Returns seconds east of UTC; `Some(None)` without a zone, `None` for other text.
fn offset(zone: &str) -> Option<Option<i64>> {
    // The name of a zone after its offset is redundant.
    let zone = zone.split_once('[').map_or(zone, |(offset, _)| if offset.is_empty() { zone } else { offset }).trim();
    let sign = match zone {
        "" => return Some(None),
        "Z" | "z" | "UTC" | "GMT" => return Some(Some(0)),
        _ if zone.starts_with('+') => 1,
        _ if zone.starts_with('-') => -1,
        _ => return None,
    };
    let (hours, rest) = digits(&zone[1..], 2, 2)?;
    let minutes = rest.strip_prefix(':').unwrap_or(rest);
    let (minutes, rest) = if rest.is_empty() { (0, rest) } else { digits(minutes, 2, 2)? };
    (rest.is_empty() && hours <= 18 && minutes <= 59).then_some(Some(sign * (hours * 3_600 + minutes * 60)))
}

/// Parses a leading number of `least` to `most` digits. Returns it and the rest of the text.
fn digits(text: &str, least: usize, most: usize) -> Option<(i64, &str)> {
    let length = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    let number = text[..length].parse().ok()?;
    (length >= least).then_some((number, &text[length..]))
}
