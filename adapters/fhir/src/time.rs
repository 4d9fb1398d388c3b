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
