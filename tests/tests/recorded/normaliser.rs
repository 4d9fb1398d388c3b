//! Replaces what differs between two runs: times, dates near the present, and random tokens.

use chrono::{DateTime, NaiveDate};
use regex::{Captures, Regex};
use runtime::clock;

/// Dates at this distance from the practice's first day or farther are fixed, such as dates of birth.
const NEAR_DAYS: i64 = 400;

const VARIABLE: &str = r#"(?x)
    (?P<uuid>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})
    | (?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})
      (?P<time>T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2}))?
    | (?P<weekday>[A-Z][a-z]{2},\x20[A-Z][a-z]{2}\x20[0-9]{1,2}\x20[0-9]{4})
    | (?P<token>bkg|slt|whsec)_[A-Za-z0-9+/=]+
    | "(?P<cursor>start_cursor|end_cursor)":"[^"]+"
    | (?P<position>end_cursor|since)=[^&]+
"#;

pub struct Normaliser {
    variable: Regex,
    /// Dates are shown as their distance from this day.
    first_day: NaiveDate,
    /// Milliseconds since 1970. Later times are those of the server's clock.
    started: i64,
    /// UUIDs in the order of their first appearance.
    uuids: Vec<String>,
}

impl Normaliser {
    pub fn new(first_day: NaiveDate, started: i64) -> Normaliser {
        let variable = Regex::new(VARIABLE).expect("an expression");
        Normaliser { variable, first_day, started, uuids: Vec::new() }
    }

    pub fn apply(&mut self, text: &str) -> String {
        let Normaliser { variable, first_day, started, uuids } = self;
        let replaced = variable.replace_all(text, |found: &Captures<'_>| {
            let part = |name: &str| found.name(name).map(|part| part.as_str());
            let days_to = |date: NaiveDate| (date - *first_day).num_days();
            if let Some(uuid) = part("uuid") {
                let known = uuids.iter().position(|known| known == uuid);
                let number = known.unwrap_or_else(|| {
                    uuids.push(uuid.to_owned());
                    uuids.len() - 1
                });
                format!("<uuid {number}>")
            } else if let Some(date) = part("date") {
                let at = DateTime::parse_from_rfc3339(&found[0]).map(|at| at.timestamp_millis());
                let days = date.parse::<NaiveDate>().map(days_to);
                match (at, days) {
                    (Ok(at), _) if (*started..=clock::now().0).contains(&at) => "<now>".to_owned(),
                    (_, Ok(days)) if days.abs() < NEAR_DAYS => {
                        format!("<day {days}>{}", part("time").unwrap_or_default())
                    }
                    _ => found[0].to_owned(),
                }
            } else if let Some(weekday) = part("weekday") {
                match NaiveDate::parse_from_str(weekday, "%a, %b %d %Y") {
                    Ok(date) => format!("<day {}>", days_to(date)),
                    Err(_) => weekday.to_owned(),
                }
            } else if let Some(token) = part("token") {
                format!("{token}_<token>")
            } else if let Some(cursor) = part("cursor") {
                format!(r#""{cursor}":"<cursor>""#)
            } else {
                format!("{}=<cursor>", part("position").unwrap_or_default())
            }
        });
        replaced.into_owned()
    }
}

#[test]
fn times_dates_and_tokens_are_replaced() {
    let started = clock::now().0;
    let first_day = DateTime::from_timestamp_millis(started).unwrap().date_naive();
    let mut normaliser = Normaliser::new(first_day, started);
    let now = DateTime::from_timestamp_millis(started).unwrap().format("%FT%T%.3f+00:00");
    let uuid = "0f5b087a-d930-822b-a400-00000000003d";
    let day = first_day.format("%a, %b %d %Y");
    let text = format!(r#"{now} {first_day}T08:00:00.5-07:00 1988-08-08 {uuid} {day}, 8 AM bkg_0a "end_cursor":"x""#);
    let expected =
        r#"<now> <day 0>T08:00:00.5-07:00 1988-08-08 <uuid 0> <day 0>, 8 AM bkg_<token> "end_cursor":"<cursor>""#;
    assert_eq!(normaliser.apply(&text), expected);
    assert_eq!(
        normaliser.apply(&format!("/a?since=x&b={uuid}&end_cursor=y")),
        "/a?since=<cursor>&b=<uuid 0>&end_cursor=<cursor>"
    );
}
