//! Dates as FHIR writes them, beside the SDK's instants.

pub use adapter_sdk::time::{http_date, instant_of, instant_text};
use adapter_sdk::{
    clock,
    time::{date_of, date_text},
};

/// A whole date; FHIR also knows `1969` and `1969-10`, which are none.
pub fn is_date(text: &str) -> bool {
    date_of(text).is_some()
}

/// An instant; of a whole date the beginning of its day in the practice.
pub fn instant_or_date(text: &str) -> Option<i64> {
    let midnight = || clock::to_instant(&format!("{text}T00:00:00")).first().copied();
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
        assert_eq!(next_date("2026-12-31").unwrap(), "2027-01-01");
    }
}
