//! Stretches of time: what overlaps an appointment, and places of a schedule that it fills.
//!
//! ```
//! use adapter_sdk::spans::{exact_cover, overlap};
//!
//! assert!(overlap((0, 60), (59, 90)) && !overlap((0, 60), (60, 90)));
//! let filled = exact_cover(vec![(30, 60), (0, 30)], |place| Some(*place), (0, 60));
//! assert_eq!(filled, Some(vec![(0, 30), (30, 60)]));
//! ```

use crate::records::Instant;

/// From when until when; the end is not part of it.
pub type Span = (Instant, Instant);

/// Whether two stretches have some time in common.
pub fn overlap(one: Span, other: Span) -> bool {
    one.0 < other.1 && other.0 < one.1
}

/// The places in their order, when each begins where the one before ends, from the start of `whole` to its end. None where they leave a
/// gap, overlap, or reach beyond it. A place without a span is no place.
pub fn exact_cover<T>(mut places: Vec<T>, span: impl Fn(&T) -> Option<Span>, whole: Span) -> Option<Vec<T>> {
    places.sort_by_key(&span);
    let mut at = whole.0;
    for place in &places {
        let (start, end) = span(place)?;
        if start != at {
            return None;
        }
        at = end;
    }
    (at == whole.1 && !places.is_empty()).then_some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_cover_a_time_exactly_or_not_at_all() {
        let covers = |places: &[Span]| exact_cover(places.to_vec(), |place| Some(*place), (0, 60)).is_some();
        assert!(covers(&[(0, 60)]) && covers(&[(30, 60), (0, 30)]));
        for other in
            [&[(0, 30)][..], &[(0, 30), (40, 60)], &[(0, 90)], &[(-30, 30), (30, 60)], &[(0, 60), (30, 60)], &[]]
        {
            assert!(!covers(other), "{other:?}");
        }
        assert!(exact_cover(vec![()], |()| None, (0, 60)).is_none());
    }
}
