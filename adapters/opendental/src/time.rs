//! The office's times: local, without zone, `2026-12-01 09:00:00`; `0001-01-01` if absent.

use adapter_sdk::{clock, time::day_of};

/// The values for an absent date: the API's, and the database's.
const NEVER: [&str; 2] = ["0001-01-01", "0000-00-00"];

/// Returns the first instant of a local time; `None` if absent. Returns an error for other text.
pub fn instant(text: &str) -> Result<Option<i64>, &'static str> {
    read(text, clock::instant_of).map_err(|()| "a time of it cannot be read")
}

/// Returns a date, or the day of a time; `None` if absent. Returns an error for other text.
pub fn day(text: &str) -> Result<Option<String>, &'static str> {
    read(text, day_of).map_err(|()| "a date of it cannot be read")
}

fn read<T>(text: &str, of: fn(&str) -> Option<T>) -> Result<Option<T>, ()> {
    let text = text.trim();
    match text.is_empty() || NEVER.iter().any(|never| text.starts_with(never)) {
        true => Ok(None),
        false => of(text).map(Some).ok_or(()),
    }
}

/// Returns the minutes after midnight of a time of day, `08:30:00` or `8:30 AM`; `None` if absent.
pub fn minute(text: &str) -> Result<Option<u32>, &'static str> {
    let text = text.trim().to_ascii_uppercase();
    let (clock, noon) = match (text.strip_suffix("AM"), text.strip_suffix("PM")) {
        (Some(clock), _) => (clock.trim_end(), Some(0)),
        (_, Some(clock)) => (clock.trim_end(), Some(720)),
        _ => (text.as_str(), None),
    };
    if text.is_empty() {
        return Ok(None);
    }
    let parts: Option<Vec<u32>> = clock.split('.').next().unwrap_or_default().split(':').map(number).collect();
    let (hour, minute) = match parts.as_deref() {
        Some([hour, minute] | [hour, minute, 0..60]) if *minute < 60 => (*hour, *minute),
        _ => return Err(NO_TIME),
    };
    match noon {
        None if hour < 24 => Ok(Some(hour * 60 + minute)),
        Some(noon) if (1..=12).contains(&hour) => Ok(Some(hour % 12 * 60 + minute + noon)),
        _ => Err(NO_TIME),
    }
}

const NO_TIME: &str = "a time of day of it cannot be read";

fn number(text: &str) -> Option<u32> {
    let digits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Formats an instant in local time.
pub fn text(at: i64) -> String {
    written(&clock::to_local(at).text)
}

/// Converts a local time to the API's format.
pub fn written(local: &str) -> String {
    local.replacen('T', " ", 1)
}
