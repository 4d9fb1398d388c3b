//! Dates as FHIR and HTTP write them, beside the SDK's instants.

pub use adapter_sdk::time::{instant_of, instant_text};
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

/// The instant of an HTTP date: `Sat, 21 Nov 2026 00:41:39 GMT`.
pub fn http_date(text: &str) -> Option<i64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut parts = text.split(' ').skip(1);
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let (clock, zone) = (parts.next()?, parts.next()?);
    let month = MONTHS.find(month).filter(|at| month.len() == 3 && at % 3 == 0)? / 3 + 1;
    (zone == "GMT").then_some(())?;
    instant_of(&format!("{year}-{month:02}-{day}T{clock}Z"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn dates() {
        assert!(is_date("2024-02-29") && !is_date("2023-02-29") && !is_date("1969-10") && !is_date("1969"));
        assert_eq!(next_date("2026-12-31").unwrap(), "2027-01-01");
        assert_eq!(http_date("Fri, 20 Nov 2026 22:15:42 GMT"), Some(1_795_212_942));
        for bad in ["", "Fri, 20 nov 2026 22:15:42 GMT", "Fri, 20 Nov 2026 22:15:42 CET", "20 Nov 2026"] {
            assert_eq!(http_date(bad), None, "{bad}");
        }
    }
}
