//! Durations in the notation of the configuration.

use location::time::Millis;

const UNITS: [(&str, Millis); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Parses a duration such as `90s`, `1h30m` or `500ms`.
pub(super) fn parse_duration(text: &str) -> Option<Millis> {
    let (mut rest, mut sum) = (text.trim(), 0_i64);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit_and_rest) = rest.split_at(digits);
        let unit = unit_and_rest.find(|c: char| c.is_ascii_digit()).unwrap_or(unit_and_rest.len());
        let (unit, after) = unit_and_rest.split_at(unit);
        let (_, length) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
        sum = sum.checked_add(number.parse::<i64>().ok()?.checked_mul(*length)?)?;
        rest = after;
    }
    (!text.trim().is_empty()).then_some(sum)
}

pub(super) fn show_duration(length: Millis) -> String {
    let unit = UNITS.iter().find(|(_, unit)| length != 0 && length % unit == 0);
    unit.map_or_else(|| "0s".to_owned(), |(name, unit)| format!("{}{name}", length / unit))
}
