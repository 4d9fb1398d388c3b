//! Dates as FHIR writes them, beside the SDK's instants.

pub use adapter_sdk::time::{http_date, instant_text};
use adapter_sdk::{
    clock,
    time::{self, date_of, date_text},
};

/// The years 1 to 9999, which the contract knows.
pub fn is_instant(at: i64) -> bool {
    (-62_135_596_800..=253_402_300_799).contains(&at)
}

/// An instant with its zone.
pub fn instant_of(text: &str) -> Option<i64> {
    time::instant_of(text).filter(|at| is_instant(*at))
}

/// A whole date; FHIR also knows `1969` and `1969-10`, which are none.
pub fn is_date(text: &str) -> bool {
    date_of(text).is_some() && !text.starts_with("0000")
}

/// An instant; of a whole date the beginning of its day in the practice.
pub fn instant_or_date(text: &str) -> Option<i64> {
    let midnight = || clock::to_instant(&format!("{text}T00:00:00")).first().copied().filter(|at| is_instant(*at));
    instant_of(text).or_else(|| is_date(text).then(midnight).flatten())
}

/// The day after a date.
pub fn next_date(date: &str) -> Option<String> {
    date_of(date).map(|days| date_text(days + 1))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn dates() {
        assert!(is_date("2024-02-29") && !is_date("2023-02-29") && !is_date("1969-10") && !is_date("1969"));
        assert!(is_date("0001-01-01") && !is_date("0000-01-01"));
        assert!(instant_of("9999-12-31T23:59:59Z").is_some() && instant_of("9999-12-31T23:59:59-05:00").is_none());
        assert_eq!(instant_of("0000-12-31T00:00:00Z"), None);
        assert_eq!(next_date("2026-12-31").unwrap(), "2027-01-01");
    }
}
