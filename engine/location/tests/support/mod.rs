//! Fixtures of the tests of hours, calendar, slots and speed.
#![allow(dead_code, clippy::disallowed_methods, clippy::unwrap_used)]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use chrono::{DateTime, NaiveDate, Offset, TimeDelta, TimeZone};
use chrono_tz::{OffsetName, Tz};
use location::{
    calendar::Calendar,
    hours::{HourKind, HourSource, Recurrence, Weekday, WorkingHour},
    ids::{OperatoryId, ProviderId, WorkingHourId},
    slots::{Party, RequestedSlot, Slot, SlotQuery, free_slots, groups_of, nearest_by},
    time::{Millis, SECOND, Timestamp},
    zone::{Date, Zone, ZoneChange},
};
use proptest::test_runner::Config as ProptestConfig;

/// Reads a zone from the zone database, with changes between the two years only.
pub fn zone(name: &str, from_year: i32, to_year: i32) -> Zone {
    let tz: Tz = name.parse().unwrap();
    let state = |seconds: i64| {
        let offset = tz.offset_from_utc_datetime(&DateTime::from_timestamp(seconds, 0).unwrap().naive_utc());
        (offset.fix().local_minus_utc(), offset.abbreviation().unwrap_or_default().to_string())
    };
    let year_start =
        |year| NaiveDate::from_ymd_opt(year, 1, 1).unwrap().and_hms_opt(0, 0, 0).unwrap().and_utc().timestamp();
    let change = |at, (offset_seconds, abbreviation)| ZoneChange { at, offset_seconds, abbreviation };
    let (mut at, end, step) = (year_start(from_year), year_start(to_year), TimeDelta::hours(12).num_seconds());
    let mut changes = vec![change(Timestamp::MIN, state(at))];
    while at < end {
        if state(at) != state(at + step) {
            let (mut before, mut after) = (at, at + step);
            while after - before > 1 {
                let middle = (before + after) / 2;
                if state(middle) == state(at) { before = middle } else { after = middle }
            }
            changes.push(change(Timestamp(after * SECOND), state(after)));
        }
        at += step;
    }
    Zone::new(name, changes).unwrap()
}

/// Returns a proptest configuration with `cases` cases, unless `PROPTEST_CASES` overrides the number. Failures are
/// printed, not stored; they belong in separate tests.
pub fn cases(cases: u32) -> ProptestConfig {
    let requested = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { requested.cases } else { cases };
    ProptestConfig { cases, failure_persistence: None, ..requested }
}

pub fn new_york() -> Zone {
    zone("America/New_York", 2024, 2028)
}

pub fn date(text: &str) -> Date {
    text.parse().unwrap()
}

/// Parses an instant like `2026-03-08T06:59:00Z`.
pub fn utc(text: &str) -> Timestamp {
    Timestamp(DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis())
}

/// Converts `HH:MM` to minutes.
pub fn minutes(text: &str) -> u16 {
    let (hours, minutes) = text.split_once(':').unwrap();
    hours.parse::<u16>().unwrap() * 60 + minutes.parse::<u16>().unwrap()
}

/// Creates active manual hours of provider 1 in operatory 1 that accept all types.
pub fn hour(recurrence: Recurrence, begin: &str, end: &str) -> WorkingHour {
    WorkingHour {
        id: WorkingHourId(1),
        provider: ProviderId(1),
        operatory: Some(OperatoryId(1)),
        begin: minutes(begin),
        end: minutes(end),
        recurrence,
        kind: HourKind::WorkingHour,
        source: HourSource::Manual,
        appointment_types: vec![],
        active: true,
    }
}

pub fn daily(begin: &str, end: &str) -> WorkingHour {
    hour(Recurrence::Weekly(Weekday::ALL.to_vec()), begin, end)
}

/// Creates a query for all slots of `length`, in any operatory and with any provider.
pub fn slot_query(day: &str, days: u16, length: Millis) -> SlotQuery {
    SlotQuery {
        from: date(day),
        days,
        length,
        interval: None,
        appointment_type: None,
        providers: vec![],
        operatories: vec![],
        source: None,
        hours: None,
        join_blocks: true,
        overlapping_operatory_slots: true,
        appointments_per_timeslot: 1,
        not_before: Timestamp::MIN,
        limit: usize::MAX,
    }
}

/// Returns the shortest time of several runs, which other load on the machine disturbs least.
pub fn shortest<T>(mut work: impl FnMut() -> T) -> Duration {
    let run = |_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    };
    (0..if cfg!(debug_assertions) { 5 } else { 200 }).map(run).min().unwrap()
}

/// Returns up to `count` free slots near the wanted one.
pub fn nearest(
    hours: &[WorkingHour],
    calendar: &Calendar,
    zone: &Zone,
    requested: &RequestedSlot,
    not_before: Timestamp,
    count: usize,
) -> Vec<Slot> {
    let search = |query: &SlotQuery| free_slots(hours, calendar, zone, query);
    nearest_by(search, zone, requested, not_before, count, &[])
}

/// Returns the groups of free slots.
pub fn free_groups(
    hours: &[WorkingHour],
    calendar: &Calendar,
    zone: &Zone,
    query: &SlotQuery,
    party: Party,
    admits: impl FnMut(&[Slot], &Slot) -> bool,
) -> Vec<Vec<Slot>> {
    let slots = |query: &SlotQuery| free_slots(hours, calendar, zone, query);
    groups_of(zone, query, party, slots, admits)
}
