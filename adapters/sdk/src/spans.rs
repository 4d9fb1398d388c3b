//! Time spans: overlaps with appointments, and slots of a schedule that an appointment fills.
//!
//! ```
//! use adapter_sdk::spans::{exact_cover, overlap};
//!
//! assert!(overlap((0, 60), (59, 90)) && !overlap((0, 60), (60, 90)));
//! let filled = exact_cover(vec![(30, 60), (0, 30)], |place| Some(*place), (0, 60));
//! assert_eq!(filled, Some(vec![(0, 30), (30, 60)]));
//! ```

use crate::records::Instant;

/// Start and end; the end is exclusive.
pub type Span = (Instant, Instant);

/// Returns `true` if two spans overlap.
pub fn overlap(one: Span, other: Span) -> bool {
    one.0 < other.1 && other.0 < one.1
}

/// Returns the slots in order if they cover `whole` exactly, each starting at the end of the previous one. Returns
/// `None` for gaps, overlaps, slots beyond `whole`, or a slot without a span.
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
