//! Dates and zones: tables of known changes, and a comparison with the zone database.

use crate::support;
use crate::support::{date, minutes, new_york, utc, zone};
use chrono::{DateTime, Datelike, Duration, NaiveDate, NaiveDateTime, TimeZone, offset::LocalResult};
use chrono_tz::{GapInfo, Tz};
use location::{
    time::{HOUR, MINUTE, SECOND, Timestamp},
    zone::{Date, NotADate, Resolved, Zone, ZoneChange, ZoneError},
};
use proptest::prelude::*;

fn naive(date: Date) -> NaiveDate {
    NaiveDate::from_ymd_opt(1970, 1, 1).unwrap() + Duration::days(date.0.into())
}

#[test]
fn dates_parse_and_format_as_iso_8601() {
    for text in ["0001-01-01", "1969-12-31", "1970-01-01", "2000-02-29", "2024-02-29", "2026-10-17", "9999-12-31"] {
        assert_eq!(date(text).to_string(), text);
    }
    assert_eq!(date("0001-01-01"), Date::MIN);
    assert_eq!(date("9999-12-31"), Date::MAX);
    for text in [
        "0000-01-01", "0000-12-31", "10000-01-01", "2026-00-10", "2026-13-01", "2026-01-00", "2026-01-32",
        "2026-02-29", "1900-02-29", "2026-04-31", "2026-1-1", "26-01-01", " 2026-01-01", "2026-01-01 ", "2026/01/01",
        "+026-01-01", "-001-01-01", "2026-01-0a", "", "today", "２０２６-01-01",
    ] {
        assert_eq!(text.parse::<Date>(), Err(NotADate), "{text}");
    }
    assert_eq!(Date(i32::MAX).add_days(1), Date(i32::MAX));
    assert_eq!(date("2026-03-01").months_since(date("2025-12-31")), 3);
    assert_eq!(date("2025-12-31").days_since(date("2026-01-01")), -1);
    assert_eq!(serde_json::to_string(&Date(3)).unwrap(), "3");
}

/// Local times with the expected instants.
#[test]
fn local_times_near_known_changes_resolve_as_expected() {
    let at = |text| Resolved::One(utc(text));
    let gap = |text| Resolved::Gap { next: utc(text) };
    let two = |first, second| Resolved::Two(utc(first), utc(second));
    let new_york = new_york();
    let lord_howe = zone("Australia/Lord_Howe", 2025, 2027);
    let sao_paulo = zone("America/Sao_Paulo", 2017, 2019);
    let kiritimati = zone("Pacific/Kiritimati", 1994, 1996);
    let havana = zone("America/Havana", 2025, 2027);
    let cases: &[(&Zone, &str, &str, Resolved)] = &[
        (&new_york, "2026-03-08", "01:59", at("2026-03-08T06:59:00Z")),
        (&new_york, "2026-03-08", "02:00", gap("2026-03-08T07:00:00Z")),
        (&new_york, "2026-03-08", "02:59", gap("2026-03-08T07:00:00Z")),
        (&new_york, "2026-03-08", "03:00", at("2026-03-08T07:00:00Z")),
        (&new_york, "2026-11-01", "00:59", at("2026-11-01T04:59:00Z")),
        (&new_york, "2026-11-01", "01:00", two("2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z")),
        (&new_york, "2026-11-01", "01:59", two("2026-11-01T05:59:00Z", "2026-11-01T06:59:00Z")),
        (&new_york, "2026-11-01", "02:00", at("2026-11-01T07:00:00Z")),
        // Minutes from 1440 on are in the next day.
        (&new_york, "2026-10-31", "25:30", two("2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z")),
        // Daylight saving time of half an hour.
        (&lord_howe, "2026-04-05", "01:29", at("2026-04-04T14:29:00Z")),
        (&lord_howe, "2026-04-05", "01:30", two("2026-04-04T14:30:00Z", "2026-04-04T15:00:00Z")),
        (&lord_howe, "2026-04-05", "02:00", at("2026-04-04T15:30:00Z")),
        (&lord_howe, "2026-10-04", "02:15", gap("2026-10-03T15:30:00Z")),
        (&lord_howe, "2026-10-04", "02:30", at("2026-10-03T15:30:00Z")),
        // A day without midnight, and an ambiguous hour before midnight.
        (&sao_paulo, "2018-11-04", "00:00", gap("2018-11-04T03:00:00Z")),
        (&sao_paulo, "2018-11-04", "01:00", at("2018-11-04T03:00:00Z")),
        (&sao_paulo, "2018-02-17", "23:30", two("2018-02-18T01:30:00Z", "2018-02-18T02:30:00Z")),
        (&sao_paulo, "2018-02-18", "00:00", at("2018-02-18T03:00:00Z")),
        // 1994-12-31 does not exist.
        (&kiritimati, "1994-12-30", "23:59", at("1994-12-31T09:59:00Z")),
        (&kiritimati, "1994-12-31", "00:00", gap("1994-12-31T10:00:00Z")),
        (&kiritimati, "1994-12-31", "23:59", gap("1994-12-31T10:00:00Z")),
        (&kiritimati, "1995-01-01", "00:00", at("1994-12-31T10:00:00Z")),
        // Two midnights.
        (&havana, "2026-11-01", "00:00", two("2026-11-01T04:00:00Z", "2026-11-01T05:00:00Z")),
    ];
    for (zone, day, time, expected) in cases {
        assert_eq!(zone.resolve(date(day), minutes(time)), *expected, "{} {day} {time}", zone.name());
    }
}

#[test]
fn days_with_clock_changes_have_their_actual_length() {
    let cases = [
        ("America/New_York", "2026-03-07", 24 * HOUR),
        ("America/New_York", "2026-03-08", 23 * HOUR),
        ("America/New_York", "2026-11-01", 25 * HOUR),
        ("Australia/Lord_Howe", "2026-04-05", 24 * HOUR + 30 * MINUTE),
        ("Australia/Lord_Howe", "2026-10-04", 23 * HOUR + 30 * MINUTE),
        ("America/Sao_Paulo", "2018-11-04", 23 * HOUR),
        ("America/Sao_Paulo", "2018-02-17", 25 * HOUR),
        ("America/Havana", "2026-11-01", 25 * HOUR),
        ("Pacific/Kiritimati", "1994-12-31", 0),
        ("Pacific/Kiritimati", "1995-01-01", 24 * HOUR),
        ("Asia/Kathmandu", "2026-01-01", 24 * HOUR),
    ];
    for (name, day, length) in cases {
        let zone = zone(name, date(day).ymd().0 - 1, date(day).ymd().0 + 2);
        assert_eq!(zone.day(date(day)).length(), length, "{name} {day}");
        assert_eq!(zone.day(date(day)).end, zone.day(date(day).add_days(1)).start, "{name} {day}");
    }
}

#[test]
fn local_returns_date_and_time_with_the_offset_in_force() {
    let zone = new_york();
    let abbreviation = |text| zone.offset_at(utc(text)).abbreviation.as_str();
    assert_eq!(abbreviation("2026-11-01T05:59:59Z"), "EDT");
    assert_eq!(abbreviation("2026-11-01T06:00:00Z"), "EST");
    assert_eq!(zone.local(utc("2026-11-01T05:30:01Z")), (date("2026-11-01"), 5_401));
    assert_eq!(zone.local(utc("2026-11-01T06:30:01Z")), (date("2026-11-01"), 5_401));
    assert_eq!(zone.local_date(utc("2026-07-01T03:59:59Z")), date("2026-06-30"));
    assert_eq!(zone.resolve_seconds(date("2026-07-01"), 5), Resolved::One(utc("2026-07-01T04:00:05Z")));
    // The first and last instants neither wrap nor panic.
    assert_eq!(zone.local_date(Timestamp::MIN), Date(i32::MIN));
    assert_eq!(zone.local_date(Timestamp::MAX), Date(i32::MAX));
}

#[test]
fn zones_with_invalid_changes_are_rejected() {
    let change = |at, offset_seconds| ZoneChange { at: Timestamp(at), offset_seconds, abbreviation: "X".into() };
    let first = change(i64::MIN, 0);
    let refused = |changes| Zone::new("X", changes).unwrap_err();
    assert_eq!(refused(vec![]), ZoneError::NoBeginning);
    assert_eq!(refused(vec![change(0, 0)]), ZoneError::NoBeginning);
    assert_eq!(refused(vec![first.clone(), change(5, 0), change(5, 1)]), ZoneError::OutOfOrder(Timestamp(5)));
    assert_eq!(refused(vec![first.clone(), change(5, 86_400)]), ZoneError::OffsetTooLarge(86_400));
    assert_eq!(refused(vec![first; Zone::MAX_CHANGES + 1]), ZoneError::TooManyChanges(Zone::MAX_CHANGES + 1));

    let zone = new_york();
    let text = serde_json::to_string(&zone).unwrap();
    assert_eq!(serde_json::from_str::<Zone>(&text).unwrap(), zone);
    let beheaded = text.replacen(&i64::MIN.to_string(), "0", 1);
    assert!(serde_json::from_str::<Zone>(&beheaded).unwrap_err().to_string().contains("beginning of time"));
    assert_eq!(Zone::utc().resolve(date("2026-03-08"), 150), Resolved::One(utc("2026-03-08T02:30:00Z")));
}

/// Zones with large and small jumps, at midnight and elsewhere, on both sides of UTC.
const ZONES: [(&str, i32); 12] = [
    ("America/New_York", 2015),
    ("Australia/Lord_Howe", 2015),
    ("America/Sao_Paulo", 2010),
    ("Pacific/Kiritimati", 1993),
    ("Pacific/Apia", 2009),
    ("Africa/Casablanca", 2018),
    ("America/St_Johns", 2006),
    ("America/Havana", 2015),
    ("Asia/Pyongyang", 2014),
    ("Antarctica/Troll", 2015),
    ("Europe/Dublin", 2015),
    ("America/Caracas", 2006),
];

/// Checks each quarter of an hour of three years, and each second around a change, against the zone database.
#[test]
fn zones_agree_with_the_database() {
    for (name, year) in ZONES {
        let (zone, tz) = (zone(name, year - 1, year + 5), name.parse::<Tz>().unwrap());
        assert!(zone.changes().len() > 1, "{name} never changes");
        let start = NaiveDate::from_ymd_opt(year, 1, 1).unwrap().and_hms_opt(0, 0, 0).unwrap();
        for quarter in 0..3 * 366 * 96 {
            agrees(&zone, tz, start + Duration::minutes(quarter * 15));
        }
        for change in &zone.changes()[1..] {
            let at = DateTime::from_timestamp_millis(change.at.0).unwrap().naive_utc();
            for offset in
                [change.offset_seconds, tz.offset_from_utc_datetime(&(at - Duration::seconds(1))).fix_seconds()]
            {
                let local = at + Duration::seconds(offset.into());
                (-2..=2).for_each(|seconds| agrees(&zone, tz, local + Duration::seconds(seconds)));
            }
        }
    }
}

trait FixSeconds {
    fn fix_seconds(&self) -> i32;
}

impl<T: chrono::Offset> FixSeconds for T {
    fn fix_seconds(&self) -> i32 {
        self.fix().local_minus_utc()
    }
}

fn agrees(zone: &Zone, tz: Tz, local: NaiveDateTime) {
    use chrono::Timelike;
    let instant = |time: DateTime<Tz>| Timestamp(time.timestamp_millis());
    let expected = match tz.from_local_datetime(&local) {
        LocalResult::Single(only) => Resolved::One(instant(only)),
        LocalResult::Ambiguous(first, second) => Resolved::Two(instant(first), instant(second)),
        LocalResult::None => Resolved::Gap { next: instant(GapInfo::new(&local, &tz).unwrap().end.unwrap()) },
    };
    let day = Date::from_ymd(local.year(), local.month(), local.day()).unwrap();
    let seconds = local.num_seconds_from_midnight();
    assert_eq!(zone.resolve_seconds(day, seconds), expected, "{} {local}", zone.name());
    if seconds.is_multiple_of(60) {
        assert_eq!(zone.resolve(day, (seconds / 60) as u16), expected, "{} {local}", zone.name());
    }
    match expected {
        Resolved::Gap { next } => {
            assert!(zone.local(next) > (day, seconds) && zone.local(next.minus(SECOND)) < (day, seconds));
        }
        Resolved::One(at) => assert_eq!(zone.local(at), (day, seconds)),
        Resolved::Two(first, second) => {
            assert_eq!((zone.local(first), zone.local(second)), ((day, seconds), (day, seconds)));
        }
    }
}

/// Generates arbitrary zones.
fn any_zone() -> impl Strategy<Value = Zone> {
    let change = (1..400 * HOUR / SECOND, -86_399..=86_399);
    (-86_399..=86_399, prop::collection::vec(change, 0..8)).prop_map(|(first, rest)| {
        let change = |at, offset_seconds| ZoneChange { at, offset_seconds, abbreviation: String::new() };
        let mut changes = vec![change(Timestamp::MIN, first)];
        let mut at = Timestamp(0);
        for (pause, offset) in rest {
            at = at.plus(pause * SECOND);
            changes.push(change(at, offset));
        }
        Zone::new("invented", changes).unwrap()
    })
}

proptest! {
    #![proptest_config(support::cases(1000))]

    #[test]
    fn dates_agree_with_chrono(days in Date::MIN.0..=Date::MAX.0) {
        let (ours, theirs) = (Date(days), naive(Date(days)));
        prop_assert_eq!(ours.ymd(), (theirs.year(), theirs.month(), theirs.day()));
        prop_assert_eq!(Date::from_ymd(theirs.year(), theirs.month(), theirs.day()), Some(ours));
        prop_assert_eq!(ours.to_string(), theirs.format("%Y-%m-%d").to_string());
        prop_assert_eq!(ours.to_string().parse(), Ok(ours));
        prop_assert_eq!(format!("{:?}", ours.weekday()), theirs.format("%A").to_string());
    }

    #[test]
    fn from_ymd_agrees_with_chrono(year in -1..=10_001, month in 0u32..=14, day in 0u32..=33) {
        let theirs = NaiveDate::from_ymd_opt(year, month, day).filter(|_| (1..=9999).contains(&year));
        prop_assert_eq!(Date::from_ymd(year, month, day).map(naive), theirs);
    }

    /// The definition of `resolve`: an instant has a local time if and only if that time resolves to the instant.
    #[test]
    fn resolve_returns_exactly_the_instants_of_a_local_time(zone in any_zone(), day in -4..140, seconds in 0u32..86_400, near in any::<prop::sample::Index>()) {
        let around = near.get(zone.changes()).at;
        let (day, seconds) = if around == Timestamp::MIN { (Date(day), seconds) } else { zone.local(around.plus(i64::from(day) * 600_000)) };
        let shows = |at: Timestamp| zone.local(at) == (day, seconds);
        let label = i64::from(day.0) * 24 * HOUR + i64::from(seconds) * SECOND;
        let candidates = zone.changes().iter().map(|change| Timestamp(label - i64::from(change.offset_seconds) * SECOND));
        let mut shown: Vec<Timestamp> = candidates.filter(|at| shows(*at)).collect();
        shown.sort();
        shown.dedup();
        match zone.resolve_seconds(day, seconds) {
            Resolved::Gap { next } => {
                prop_assert!(shown.is_empty());
                prop_assert!(zone.local(next) > (day, seconds) && zone.local(next.minus(SECOND)) < (day, seconds));
            }
            Resolved::One(only) => prop_assert_eq!(shown, vec![only]),
            Resolved::Two(first, last) => {
                prop_assert!(first < last);
                prop_assert_eq!((shown.first(), shown.last()), (Some(&first), Some(&last)));
            }
        }
    }
}
