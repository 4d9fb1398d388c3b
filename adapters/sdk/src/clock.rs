//! Time and the location's zone. The sandbox has no other clock: `std::time` panics inside it.

pub use crate::bindings::practice_sync::ehr::clock::Local;
use crate::{records::Instant, time};

/// Returns the current time in seconds since 1970-01-01T00:00:00Z.
pub fn now() -> Instant {
    #[cfg(target_arch = "wasm32")]
    return crate::bindings::practice_sync::ehr::clock::now();
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::now()
}

/// Returns the instants of the local time `YYYY-MM-DDTHH:MM:SS`, earliest first. The result is empty in a
/// daylight-saving gap or for other text, and has two entries in an overlap.
pub fn to_instant(local: &str) -> Vec<Instant> {
    #[cfg(target_arch = "wasm32")]
    return crate::bindings::practice_sync::ehr::clock::to_instant(local);
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::to_instant(local)
}

/// Converts an instant to local time.
pub fn to_local(at: Instant) -> Local {
    #[cfg(target_arch = "wasm32")]
    return crate::bindings::practice_sync::ehr::clock::to_local(at);
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::to_local(at)
}

/// Returns the first instant of a local time, `YYYY-MM-DDTHH:MM:SS` or another format of [`time::instant_of`] without a
/// zone. A time in a daylight-saving gap is moved forward by an hour. Returns `None` for other text.
///
/// ```
/// use adapter_sdk::{clock, testing::Host, time::instant_of};
///
/// let chicago = Host::new().offset_seconds(-6 * 3_600);
/// chicago.run(|| assert_eq!(clock::first_instant("2026-12-01T08:00:00"), instant_of("2026-12-01T14:00:00Z")));
/// ```
pub fn first_instant(local: &str) -> Option<Instant> {
    let shown = time::local_of(local)?;
    let first = |shown: i64| to_instant(time::instant_text(shown).trim_end_matches('Z')).first().copied();
    first(shown).or_else(|| first(shown + 3_600))
}

/// Returns the instant of a time with a zone. A time without a zone is in the location's zone, see [`first_instant`].
///
/// ```
/// use adapter_sdk::{clock, testing::Host, time::instant_of};
///
/// let chicago = Host::new().offset_seconds(-6 * 3_600);
/// chicago.run(|| {
///     let nine = instant_of("2026-12-01T15:00:00Z");
///     assert_eq!((clock::instant_of("2026-12-01 09:00"), clock::instant_of("2026-12-01T16:00+01:00")), (nine, nine));
///     assert_eq!(clock::instant_of("12/1/2026 9:00"), None);
/// });
/// ```
pub fn instant_of(text: &str) -> Option<Instant> {
    time::instant_of(text).or_else(|| first_instant(text))
}

/// Returns `true` if the local time of this instant occurs twice and the instant is the second one. Without a zone it
/// would be read as the first.
pub fn is_repeated(at: Instant) -> bool {
    first_instant(&to_local(at).text) != Some(at)
}

/// Returns the local date of an instant: `2026-12-01`.
pub fn date(at: Instant) -> String {
    to_local(at).text.chars().take(10).collect()
}

/// Returns the current local date.
pub fn today() -> String {
    date(now())
}

/// Returns the earliest local time written between `since` and `now`. If clocks were put back in between, earlier local
/// times occurred again.
pub fn earliest_since(since: Instant, now: Instant) -> String {
    let then = to_local(since);
    earlier(&then.text, i64::from(then.offset - to_local(now).offset))
}

/// Moves a local time back by the seconds that clocks were put back.
fn earlier(local: &str, back: i64) -> String {
    let shown = time::instant_of(&format!("{local}Z")).map(|shown| time::instant_text(shown - back.max(0)));
    shown.as_deref().unwrap_or(local).trim_end_matches('Z').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Host;

    #[test]
    fn local_times_and_dates() {
        Host::new().offset_seconds(-5 * 3_600).run(|| {
            assert_eq!(first_instant("2026-12-01T09:00:00"), Some(1_796_133_600));
            assert_eq!(first_instant("12/1/2026 9:00:00 AM"), None);
            assert_eq!(date(1_796_133_600 - 10 * 3_600), "2026-11-30");
            assert!(!is_repeated(1_796_133_600));
            assert_eq!(earliest_since(1_796_133_600, 1_796_133_900), "2026-12-01T09:00:00");
        });
    }

    #[test]
    fn changes_before_clocks_were_put_back_are_not_missed() {
        assert_eq!(earlier("2026-11-01T01:50:00", 3_600), "2026-11-01T00:50:00");
        assert_eq!(earlier("2026-03-08T01:50:00", -3_600), "2026-03-08T01:50:00");
        assert_eq!(earlier("2026-11-01T00:10:00", 3_600), "2026-10-31T23:10:00");
    }
}
