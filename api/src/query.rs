//! Parameters of a query string, read by name and kind. Problems are collected, so that all of them are answered at once; what no
//! one asked for is named in a warning and never fails a call.

use std::ops::RangeInclusive;

use actix_web::web::Query;
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, TimeZone};
use chrono_tz::Tz;
use location::{time::Timestamp, zone::Date};

use crate::bounds::{MAX_ECHO, MAX_ECHOED_NAMES, MAX_PARAMETERS, MAX_VALUES, YEARS};

/// Reads one value; the error completes the sentence "<name> ...".
pub type Parsed<T> = Result<T, String>;

#[derive(Debug, Default)]
pub struct Params {
    given: Vec<Given>,
    problems: Vec<String>,
}

#[derive(Debug)]
struct Given {
    /// Without brackets.
    name: String,
    array: bool,
    value: String,
    known: bool,
}

impl Params {
    pub fn parse(raw: &str) -> Params {
        let pairs = Query::<Vec<(String, String)>>::from_query(raw);
        // Form decoding takes any bytes; what is left is a string.
        let pairs = pairs.map(Query::into_inner).unwrap_or_default();
        if pairs.len() > MAX_PARAMETERS {
            let problem = format!("The query holds more than {MAX_PARAMETERS} parameters.");
            return Params { given: Vec::new(), problems: vec![problem] };
        }
        Params { given: pairs.into_iter().map(Given::new).collect(), problems: Vec::new() }
    }

    /// None when it is missing or empty, or wrong, which is then among the problems.
    pub fn optional<T>(&mut self, name: &str, kind: impl Fn(&str) -> Parsed<T>) -> Option<T> {
        let mut given = self.given.iter_mut().filter(|given| given.name == name && !given.array);
        let first = given.next()?;
        first.known = true;
        let mut repeated = false;
        given.for_each(|again| (again.known, repeated) = (true, true));
        if repeated {
            self.problems.push(format!("{name} is given more than once."));
            return None;
        }
        let value = self.given.iter().find(|given| given.name == name && !given.array)?.value.trim();
        if value.is_empty() {
            return None;
        }
        kind(value).map_err(|problem| self.problems.push(format!("{name} {problem}."))).ok()
    }

    /// None is always among the problems.
    pub fn required<T>(&mut self, name: &str, kind: impl Fn(&str) -> Parsed<T>) -> Option<T> {
        let problems = self.problems.len();
        let value = self.optional(name, kind);
        if value.is_none() && self.problems.len() == problems {
            self.problems.push(format!("{name} is missing."));
        }
        value
    }

    /// `lids[]=1&lids[]=2` and `lids[0]=1`.
    pub fn list<T>(&mut self, name: &str, kind: impl Fn(&str) -> Parsed<T>) -> Vec<T> {
        let (mut values, mut count) = (Vec::new(), 0);
        for given in self.given.iter_mut().filter(|given| given.name == name && given.array) {
            given.known = true;
            if given.value.trim().is_empty() {
                continue;
            }
            count += 1;
            match kind(given.value.trim()) {
                _ if count > MAX_VALUES => break,
                Ok(value) => values.push(value),
                Err(problem) => self.problems.push(format!("{name}[] {problem}.")),
            }
        }
        if count > MAX_VALUES {
            self.problems.push(format!("{name}[] holds more than {MAX_VALUES} values."));
        }
        values
    }

    pub fn required_list<T>(&mut self, name: &str, kind: impl Fn(&str) -> Parsed<T>) -> Vec<T> {
        let problems = self.problems.len();
        let values = self.list(name, kind);
        if values.is_empty() && self.problems.len() == problems {
            self.problems.push(format!("{name}[] is missing."));
        }
        values
    }

    pub fn problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// Names a parameter, or one of its values, that has no effect.
    pub fn without_effect(&mut self, name: &str) {
        self.given.push(Given { name: name.to_owned(), array: false, value: String::new(), known: false });
    }

    pub fn take_problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    /// The warning about parameters nobody asked for.
    pub fn ignored(&self) -> Option<String> {
        let mut names: Vec<String> = Vec::new();
        for given in self.given.iter().filter(|given| !given.known) {
            let name = echo(&given.name);
            if !names.contains(&name) && names.len() < MAX_ECHOED_NAMES {
                names.push(name);
            }
        }
        (!names.is_empty()).then(|| format!("Note that following parameters are ignored: {}.", names.join(", ")))
    }

    /// All pairs but those named, for what is bound to a query.
    pub fn pairs_except(&self, names: &[&str]) -> Vec<(&str, &str)> {
        let kept = self.given.iter().filter(|given| !names.contains(&given.name.as_str()));
        kept.map(|given| (given.name.as_str(), given.value.as_str())).collect()
    }
}

impl Given {
    fn new((name, value): (String, String)) -> Given {
        let index = |inside: &str| inside.len() <= 4 && inside.bytes().all(|b| b.is_ascii_digit());
        let base = name.strip_suffix(']').and_then(|open| open.split_once('[')).filter(|(_, inside)| index(inside));
        match base.map(|(base, _)| base.to_owned()) {
            Some(name) => Given { name, array: true, value, known: false },
            None => Given { name, array: false, value, known: false },
        }
    }
}

/// The part of a client's text that may be repeated to it.
pub fn echo(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_ECHO).collect()
}

// Kinds.

pub fn integer(range: RangeInclusive<i64>) -> impl Fn(&str) -> Parsed<i64> {
    move |text| match text.parse::<i64>() {
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(_) => Err(outside(&range)),
        Err(_) if is_number(text) => Err(outside(&range)),
        Err(_) => Err("must be an integer".into()),
    }
}

pub fn outside(range: &RangeInclusive<i64>) -> String {
    format!("must lie between {} and {}", range.start(), range.end())
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// An id the API declares int32.
pub fn id(text: &str) -> Parsed<u32> {
    integer(crate::bounds::INT32)(text).map(|id| id as u32)
}

/// An id the API declares int64.
pub fn long_id(text: &str) -> Parsed<u64> {
    integer(crate::bounds::INT64)(text).map(|id| id as u64)
}

pub fn boolean(text: &str) -> Parsed<bool> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err("must be true or false".into()),
    }
}

pub fn text(max: usize) -> impl Fn(&str) -> Parsed<String> {
    move |text| {
        if text.chars().count() > max {
            Err(format!("must not be longer than {max} characters"))
        } else if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            Err("must not contain control characters".into())
        } else {
            Ok(text.to_owned())
        }
    }
}

/// One of a closed list of names.
pub fn one_of<T: Copy>(names: &[(&str, T)]) -> impl Fn(&str) -> Parsed<T> {
    move |text| match names.iter().find(|(name, _)| *name == text) {
        Some((_, value)) => Ok(*value),
        None => {
            let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            Err(format!("must be one of {}", known.join(", ")))
        }
    }
}

pub fn date(text: &str) -> Parsed<Date> {
    let date: Date = text.parse().map_err(|_| "must be a date in the form YYYY-MM-DD".to_owned())?;
    let known = YEARS.contains(&date.ymd().0);
    if known { Ok(date) } else { Err(format!("must lie in the years {} to {}", YEARS.start(), YEARS.end())) }
}

/// `HH:MM`, as minutes after midnight.
pub fn time_of_day(text: &str) -> Parsed<i64> {
    let wrong = || "must be a time of day in the form HH:MM".to_owned();
    let number = |digits: &str, max: i64| {
        let plain = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse::<i64>().ok().filter(|number| plain && *number <= max)
    };
    let (hours, minutes) = text.split_once(':').ok_or_else(wrong)?;
    let minutes = number(hours, 24).zip(number(minutes, 59)).map(|(hours, minutes)| hours * 60 + minutes);
    minutes.filter(|minutes| *minutes <= 1_440).ok_or_else(wrong)
}

pub fn zone(text: &str) -> Parsed<Tz> {
    text.parse().map_err(|_| format!("must be an IANA time zone such as America/New_York, not {:?}", echo(text)))
}

/// A date-time with offset.
pub fn instant(text: &str) -> Parsed<Timestamp> {
    instant_in(None)(text)
}

/// A date-time; without an offset, or as a date alone, it is read in `zone`.
pub fn instant_in(zone: Option<Tz>) -> impl Fn(&str) -> Parsed<Timestamp> {
    move |text| {
        // A plus sign that was not escaped arrives as a space.
        let text = text.replace(' ', "+");
        let at = DateTime::parse_from_rfc3339(&text)
            .ok()
            .map(|at| at.to_utc())
            .or_else(|| local(&text, zone.unwrap_or(Tz::UTC)));
        let at = at.ok_or("must be a date-time such as 2026-12-01T14:30:00Z")?;
        if !YEARS.contains(&at.year()) {
            return Err(format!("must lie in the years {} to {}", YEARS.start(), YEARS.end()));
        }
        Ok(Timestamp(at.timestamp_millis()))
    }
}

fn local(text: &str, zone: Tz) -> Option<DateTime<chrono::Utc>> {
    let midnight = || text.parse::<NaiveDate>().ok().and_then(|date| date.and_hms_opt(0, 0, 0));
    let local = text.parse::<NaiveDateTime>().ok().or_else(midnight)?;
    let resolved = zone.from_local_datetime(&local);
    // In a gap of the zone there is no such time; the one an hour later is meant.
    let resolved =
        resolved.earliest().or_else(|| zone.from_local_datetime(&(local + chrono::TimeDelta::hours(1))).earliest());
    resolved.map(|at| at.to_utc())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn values_are_read_by_kind() {
        let mut q = Params::parse("days=7&subdomain=a%20b&lids[]=1&lids%5B%5D=2&lids[3]=3&inactive=true&empty=");
        assert_eq!(q.required("days", integer(1..=60)), Some(7));
        assert_eq!(q.required("subdomain", text(10)), Some("a b".into()));
        assert_eq!(q.list("lids", id), vec![1, 2, 3]);
        assert_eq!(q.optional("inactive", boolean), Some(true));
        assert_eq!(q.optional("empty", integer(1..=2)), None);
        assert_eq!(q.optional("absent", integer(1..=2)), None);
        assert_eq!((q.take_problems(), q.ignored()), (vec![], None));
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let mut q = Params::parse("days=0&start_date=2026-02-30&lids[]=x&lids[]=4&inactive=yes&twice=1&twice=2");
        q.required("days", integer(1..=60));
        q.required("start_date", date);
        q.list("lids", id);
        q.optional("inactive", boolean);
        q.optional("twice", integer(1..=2));
        q.required("location_id", id);
        q.required_list("pids", id);
        let expected = [
            "days must lie between 1 and 60.",
            "start_date must be a date in the form YYYY-MM-DD.",
            "lids[] must be an integer.",
            "inactive must be true or false.",
            "twice is given more than once.",
            "location_id is missing.",
            "pids[] is missing.",
        ];
        assert_eq!(q.take_problems(), expected);
        assert_eq!(q.ignored(), None);
    }

    #[test]
    fn unknown_parameters_are_named_once_and_without_brackets() {
        let mut q = Params::parse("include[]=patient&include[]=x&lids=1,2&days=3");
        q.required("days", integer(1..=60));
        assert_eq!(q.list("lids", id), Vec::<u32>::new());
        assert_eq!(q.ignored().unwrap(), "Note that following parameters are ignored: include, lids.");
        let many: String = (0..1_000).map(|n| format!("p{n}=1&")).collect();
        assert!(Params::parse(&many).ignored().unwrap().len() < 300);
        let long = "x".repeat(10_000);
        assert!(Params::parse(&long).ignored().unwrap().len() < 200);
        assert_eq!(Params::parse(&"a=1&".repeat(5_000)).take_problems().len(), 1);
    }

    #[test]
    fn odd_query_strings_do_no_harm() {
        for raw in
            ["%", "%zz", "=&=&", "&&&", "[]=1", "a[=1", "a]=1", "a[][]=1", "%ff%fe=%ff", "a[99999999999]=1", "\u{0}=1"]
        {
            let mut q = Params::parse(raw);
            q.list("a", id);
            q.optional("a", id);
            let _ = q.ignored();
        }
    }

    #[test]
    fn numbers_and_their_edges() {
        for (given, expected) in [
            ("1", Ok(1)),
            ("2147483647", Ok(2147483647)),
            ("0", Err("must lie between 1 and 2147483647")),
            ("-1", Err("must lie between 1 and 2147483647")),
            ("2147483648", Err("must lie between 1 and 2147483647")),
            ("99999999999999999999", Err("must lie between 1 and 2147483647")),
            ("1.0", Err("must be an integer")),
            ("1e3", Err("must be an integer")),
            ("one", Err("must be an integer")),
            ("-", Err("must be an integer")),
        ] {
            assert_eq!(id(given), expected.map_err(str::to_owned), "{given}");
        }
    }

    #[test]
    fn dates_and_times() {
        assert_eq!(date("2026-12-01").unwrap().to_string(), "2026-12-01");
        for wrong in [
            "0000-01-01",
            "9999-12-31",
            "1899-12-31",
            "2026-13-01",
            "2026-2-1",
            "26-02-01",
            "2026-02-01T00:00:00Z",
            "x",
        ] {
            assert!(date(wrong).is_err(), "{wrong}");
        }
        assert_eq!(time_of_day("09:30"), Ok(570));
        assert_eq!(time_of_day("24:00"), Ok(1_440));
        for wrong in ["24:01", "9:30", "09:60", "0930", "-1:00", "+9:30", "", ":"] {
            assert!(time_of_day(wrong).is_err(), "{wrong}");
        }
        let new_york = instant_in(Some("America/New_York".parse().unwrap()));
        let at = instant("2026-12-01T14:30:00Z").unwrap();
        for same in ["2026-12-01T09:30:00-05:00", "2026-12-01T15:30:00 01:00", "2026-12-01T09:30:00"] {
            assert_eq!(new_york(same), Ok(at), "{same}");
        }
        assert_eq!(new_york("2026-12-01"), instant("2026-12-01T05:00:00Z"));
        assert_eq!(new_york("2026-03-08T02:30:00"), instant("2026-03-08T07:30:00Z"));
        for wrong in
            ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "+999999-01-01", "yesterday", "", "2026-12-01T25:00:00Z"]
        {
            assert!(instant(wrong).is_err(), "{wrong}");
        }
    }
}
