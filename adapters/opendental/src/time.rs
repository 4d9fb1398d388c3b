//! The office's times: local, without zone, `2026-12-01 09:00:00`; `0001-01-01` where there is none.

use adapter_sdk::{
    clock,
    time::{date_of, date_text, instant_of, instant_text},
};

/// The first moment at which the office's clocks show this. A time that the clocks leap over in spring is what they show an hour
/// later; none where the text is no time, or the API's word for none.
pub fn instant(text: &str) -> Option<i64> {
    let text = text.trim().replacen(' ', "T", 1);
    if text.starts_with("0001-01-01") {
        return None;
    }
    let first = |text: &str| clock::to_instant(text).first().copied();
    first(&text).or_else(|| {
        let later = instant_of(&format!("{text}Z"))? + 3_600;
        first(instant_text(later).trim_end_matches('Z'))
    })
}

/// What the office's clocks show.
pub fn text(at: i64) -> String {
    clock::to_local(at).text.replacen('T', " ", 1)
}

/// The date the office's clocks show.
pub fn date(at: i64) -> String {
    text(at).chars().take(10).collect()
}

/// True when the clocks show this time twice and this is the second: written, it would be read as the first.
pub fn is_repeated(at: i64) -> bool {
    instant(&text(at)) != Some(at)
}

/// A date of a row; none for the API's word for none.
pub fn day(text: &str) -> Option<String> {
    let day = text.get(..10)?;
    (date_of(day).is_some() && day != "0001-01-01").then(|| day.to_owned())
}

/// So many days after a date.
pub fn plus_days(date: &str, days: i64) -> String {
    date_of(date).map_or_else(|| date.to_owned(), |start| date_text(start + days))
}

/// The earliest local time written since `since`, now that it is `now`: clocks put back in between showed earlier times again.
pub fn since_text(since: i64, now: i64) -> String {
    let then = clock::to_local(since);
    earlier(&then.text, i64::from(then.offset - clock::to_local(now).offset))
}

/// A local time, by as much earlier as clocks were put back since.
fn earlier(local: &str, back: i64) -> String {
    let shown = instant_of(&format!("{local}Z")).map(|shown| instant_text(shown - back.max(0)));
    shown.as_deref().unwrap_or(local).trim_end_matches('Z').replacen('T', " ", 1)
}

#[cfg(test)]
mod tests {
    use adapter_sdk::testing::Host;

    use super::*;

    #[test]
    fn times_of_rows_are_the_offices() {
        Host::new().offset_seconds(-5 * 3_600).run(|| {
            assert_eq!(instant("2026-12-01 09:00:00"), instant_of("2026-12-01T14:00:00Z"));
            assert_eq!(instant("0001-01-01 00:00:00"), None);
            assert_eq!(instant("0001-01-01"), None);
            assert_eq!(instant("12/1/2026 9:00:00 AM"), None);
            assert_eq!(text(1_796_133_600), "2026-12-01 09:00:00");
            assert_eq!(date(1_796_133_600), "2026-12-01");
            assert!(!is_repeated(1_796_133_600));
            assert_eq!(since_text(1_796_133_600, 1_796_133_900), "2026-12-01 09:00:00");
        });
    }

    #[test]
    fn a_delta_reaches_back_behind_clocks_that_were_put_back() {
        assert_eq!(earlier("2026-11-01T01:50:00", 3_600), "2026-11-01 00:50:00");
        assert_eq!(earlier("2026-03-08T01:50:00", -3_600), "2026-03-08 01:50:00");
        assert_eq!(earlier("2026-11-01T00:10:00", 3_600), "2026-10-31 23:10:00");
    }

    #[test]
    fn dates_of_rows() {
        assert_eq!(day("2026-02-28").as_deref(), Some("2026-02-28"));
        assert_eq!(day("2026-02-28 10:00:00").as_deref(), Some("2026-02-28"));
        for none in ["", "0001-01-01", "0001-01-01 00:00:00", "2026-02-30", "soon"] {
            assert_eq!(day(none), None, "{none}");
        }
        assert_eq!(plus_days("2026-12-31", 1), "2027-01-01");
    }
}
