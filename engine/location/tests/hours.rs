//! Working hours: their dates, their windows, and invalid records.

use crate::support;
use crate::support::{daily, date, hour, new_york, utc, zone};
use location::{
    hours::{HourError, Recurrence, RecurrenceUnit, Weekday},
    ids::AppointmentTypeId,
    time::{HOUR, MINUTE, Span, Timestamp},
    zone::{Date, Zone},
};
use proptest::prelude::*;

fn every(number: u32, unit: RecurrenceUnit, reference: &str) -> Recurrence {
    Recurrence::Every { number, unit, reference: date(reference) }
}

/// Returns the dates on which the recurrence applies, of the `days` dates from `from` on.
fn dates(recurrence: Recurrence, from: &str, days: i32) -> Vec<String> {
    let hour = hour(recurrence, "09:00", "17:00");
    let dates = (0..days).map(|n| date(from).add_days(n)).filter(|date| hour.applies_on(*date));
    dates.map(|date| date.to_string()).collect()
}

#[test]
fn recurrences_apply_on_the_expected_dates() {
    use RecurrenceUnit::{Day, Month, Week};
    let weekly = Recurrence::Weekly(vec![Weekday::Sunday, Weekday::Tuesday]);
    assert_eq!(dates(weekly, "2026-10-12", 14), ["2026-10-13", "2026-10-18", "2026-10-20", "2026-10-25"]);
    assert_eq!(dates(Recurrence::On(date("2026-10-17")), "2026-10-01", 60), ["2026-10-17"]);
    assert_eq!(dates(every(1, Day, "2026-10-17"), "2026-10-15", 4), ["2026-10-17", "2026-10-18"]);
    assert_eq!(dates(every(10, Day, "2026-02-20"), "2026-02-01", 40), ["2026-02-20", "2026-03-02", "2026-03-12"]);
    assert_eq!(dates(every(2, Week, "2026-12-24"), "2026-12-01", 45), ["2026-12-24", "2027-01-07"]);
    // Months that lack the day are skipped, not moved.
    let ends = ["2026-01-31", "2026-03-31", "2026-05-31", "2026-07-31", "2026-08-31", "2026-10-31", "2026-12-31"];
    assert_eq!(dates(every(1, Month, "2026-01-31"), "2025-12-01", 396), ends);
    assert_eq!(
        dates(every(3, Month, "2025-11-30"), "2025-11-01", 400),
        ["2025-11-30", "2026-05-30", "2026-08-30", "2026-11-30"]
    );
    assert_eq!(dates(every(12, Month, "2024-02-29"), "2024-01-01", 366 * 5), ["2024-02-29", "2028-02-29"]);
    // Invalid, but must not divide by zero.
    assert_eq!(dates(every(0, Day, "2026-01-01"), "2026-01-01", 3), Vec::<String>::new());
    assert_eq!(dates(every(u32::MAX, Week, "2026-01-01"), "2026-01-01", 30), ["2026-01-01"]);
}

#[test]
fn windows_follow_clock_changes() {
    let new_york = new_york();
    let lord_howe = zone("Australia/Lord_Howe", 2025, 2027);
    let sao_paulo = zone("America/Sao_Paulo", 2017, 2019);
    let kiritimati = zone("Pacific/Kiritimati", 1994, 1996);
    type WindowCase<'a> = (&'a Zone, &'a str, &'a str, &'a str, Option<(&'a str, &'a str)>);
    let cases: &[WindowCase<'_>] = &[
        (&new_york, "2026-01-05", "09:00", "17:00", Some(("2026-01-05T14:00:00Z", "2026-01-05T22:00:00Z"))),
        // A gap: hours that begin in it, end in it, are within it, or span it.
        (&new_york, "2026-03-08", "02:30", "05:00", Some(("2026-03-08T07:00:00Z", "2026-03-08T09:00:00Z"))),
        (&new_york, "2026-03-08", "00:00", "02:30", Some(("2026-03-08T05:00:00Z", "2026-03-08T07:00:00Z"))),
        (&new_york, "2026-03-08", "02:00", "03:00", None),
        (&new_york, "2026-03-08", "02:10", "02:50", None),
        (&new_york, "2026-03-08", "00:00", "24:00", Some(("2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"))),
        // An overlap: from the first pass to the second.
        (&new_york, "2026-11-01", "01:30", "01:45", Some(("2026-11-01T05:30:00Z", "2026-11-01T06:45:00Z"))),
        (&new_york, "2026-11-01", "00:00", "01:30", Some(("2026-11-01T04:00:00Z", "2026-11-01T06:30:00Z"))),
        (&new_york, "2026-11-01", "00:00", "24:00", Some(("2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"))),
        // Across midnight, also into a date with a clock change. An end equal to the begin is a whole day.
        (&new_york, "2026-01-05", "22:00", "02:00", Some(("2026-01-06T03:00:00Z", "2026-01-06T07:00:00Z"))),
        (&new_york, "2026-10-31", "22:00", "01:30", Some(("2026-11-01T02:00:00Z", "2026-11-01T06:30:00Z"))),
        (&new_york, "2026-03-07", "22:00", "02:30", Some(("2026-03-08T03:00:00Z", "2026-03-08T07:00:00Z"))),
        (&new_york, "2026-03-07", "08:00", "08:00", Some(("2026-03-07T13:00:00Z", "2026-03-08T12:00:00Z"))),
        (&new_york, "2026-01-05", "20:00", "00:00", Some(("2026-01-06T01:00:00Z", "2026-01-06T05:00:00Z"))),
        (&lord_howe, "2026-04-05", "01:00", "02:00", Some(("2026-04-04T14:00:00Z", "2026-04-04T15:30:00Z"))),
        (&lord_howe, "2026-10-04", "01:30", "02:30", Some(("2026-10-03T15:00:00Z", "2026-10-03T15:30:00Z"))),
        (&lord_howe, "2026-10-04", "02:00", "02:30", None),
        (&sao_paulo, "2018-11-04", "00:00", "02:00", Some(("2018-11-04T03:00:00Z", "2018-11-04T04:00:00Z"))),
        (&sao_paulo, "2018-11-03", "22:00", "24:00", Some(("2018-11-04T01:00:00Z", "2018-11-04T03:00:00Z"))),
        (&sao_paulo, "2018-02-17", "22:00", "24:00", Some(("2018-02-18T00:00:00Z", "2018-02-18T03:00:00Z"))),
        // On a skipped date only hours that reach beyond it remain.
        (&kiritimati, "1994-12-31", "09:00", "17:00", None),
        (&kiritimati, "1994-12-31", "22:00", "02:00", Some(("1994-12-31T10:00:00Z", "1994-12-31T12:00:00Z"))),
        (&kiritimati, "1994-12-30", "22:00", "02:00", Some(("1994-12-31T08:00:00Z", "1994-12-31T10:00:00Z"))),
    ];
    for (zone, day, begin, end, expected) in cases {
        let expected = expected.map(|(start, end)| Span { start: utc(start), end: utc(end) });
        assert_eq!(daily(begin, end).span_on(zone, date(day)), expected, "{} {day} {begin}-{end}", zone.name());
    }
}

#[test]
fn validate_returns_each_problem() {
    let problems = |change: &dyn Fn(&mut location::hours::WorkingHour)| {
        let mut hour = daily("09:00", "17:00");
        change(&mut hour);
        hour.validate().err().unwrap_or_default()
    };
    let recurs = |recurrence: Recurrence| problems(&move |hour| hour.recurrence = recurrence.clone());
    assert_eq!(problems(&|_| {}), []);
    assert_eq!(problems(&|hour| (hour.begin, hour.end) = (1439, 1440)), []);
    assert_eq!(problems(&|hour| (hour.begin, hour.end) = (0, 0)), []);
    assert_eq!(problems(&|hour| (hour.begin, hour.end) = (1440, 1441)), [HourError::Begin(1440), HourError::End(1441)]);
    assert_eq!(recurs(Recurrence::Weekly(vec![])), [HourError::NoWeekdays]);
    let twice = Recurrence::Weekly(vec![Weekday::Friday, Weekday::Monday, Weekday::Friday]);
    assert_eq!(recurs(twice), [HourError::RepeatedWeekday(Weekday::Friday)]);
    assert_eq!(recurs(every(0, RecurrenceUnit::Month, "2026-01-01")), [HourError::Interval(0)]);
    assert_eq!(recurs(every(10_001, RecurrenceUnit::Day, "2026-01-01")), [HourError::Interval(10_001)]);
    let early = Date::MIN.add_days(-1);
    assert_eq!(recurs(Recurrence::On(early)), [HourError::SpecificDate(early)]);
    let never = Recurrence::Every { number: 0, unit: RecurrenceUnit::Day, reference: early };
    assert_eq!(recurs(never), [HourError::Interval(0), HourError::Reference(early)]);
    let many = problems(&|hour| hour.appointment_types = (0..1_001).map(AppointmentTypeId).collect());
    assert_eq!(many, [HourError::TooManyAppointmentTypes(1_001)]);
    for (error, text) in [
        (HourError::Begin(1440), "begin_time must be from 0 to 1439 minutes after midnight, not 1440"),
        (HourError::End(1441), "end_time must be from 0 to 1440 minutes after midnight, not 1441"),
        (HourError::NoWeekdays, "days must name at least one weekday"),
        (HourError::RepeatedWeekday(Weekday::Friday), "days names Friday more than once"),
        (HourError::Interval(0), "custom_recurrence.num must be from 1 to 10000, not 0"),
        (
            HourError::Reference(Date(-719_163)),
            "custom_recurrence.ref must be from 0001-01-01 to 9999-12-31, not 0000-12-31",
        ),
        (
            HourError::SpecificDate(Date(2_932_897)),
            "specific_date must be from 0001-01-01 to 9999-12-31, not 10000-01-01",
        ),
        (HourError::TooManyAppointmentTypes(1_001), "appointment_type_ids has 1001 entries; at most 1000"),
    ] {
        assert_eq!(error.to_string(), text);
    }
}

/// Computes the expected window by reading the clock minute by minute.
fn read_from_the_clock(zone: &Zone, day: Date, begin: u16, end: u16) -> Option<Span> {
    let noon = Timestamp(i64::from(day.0) * 24 * HOUR + 12 * HOUR);
    let clock: Vec<(Timestamp, (Date, u32))> =
        (-60 * 60..84 * 60).map(|minute| noon.plus(minute * MINUTE)).map(|at| (at, zone.local(at))).collect();
    let begins = (day, u32::from(begin) * 60);
    let ends = match end {
        1440 => (day.add_days(1), 0),
        _ if end <= begin => (day.add_days(1), u32::from(end) * 60),
        _ => (day, u32::from(end) * 60),
    };
    let shown = |time: (Date, u32)| clock.iter().filter(move |(_, shown)| *shown == time).map(|(at, _)| *at);
    let after = |time: (Date, u32)| clock.iter().find(|(_, shown)| *shown > time).map(|(at, _)| *at);
    let start = shown(begins).next().or_else(|| after(begins)).unwrap();
    let end = shown(ends).next_back().or_else(|| after(ends)).unwrap();
    Span::new(start, end)
}

proptest! {
    #![proptest_config(support::cases(256))]

    #[test]
    fn windows_agree_with_the_clock(change in 0usize..7, shift in -2..=2, begin in 0u16..1440, end in 0u16..=1440) {
        let (name, day) = [
            ("America/New_York", "2026-03-08"),
            ("America/New_York", "2026-11-01"),
            ("Australia/Lord_Howe", "2026-04-05"),
            ("Australia/Lord_Howe", "2026-10-04"),
            ("America/Sao_Paulo", "2018-11-04"),
            ("America/Sao_Paulo", "2018-02-18"),
            ("Pacific/Kiritimati", "1994-12-31"),
        ][change];
        let day = date(day).add_days(shift);
        let zone = zone(name, day.ymd().0 - 1, day.ymd().0 + 2);
        let mut hour = daily("00:00", "00:00");
        (hour.begin, hour.end) = (begin, end);
        prop_assert_eq!(hour.span_on(&zone, day), read_from_the_clock(&zone, day, begin, end));
    }
}
