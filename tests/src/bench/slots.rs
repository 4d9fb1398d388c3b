//! Free slots of a month, computed by the location's rules directly.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use location::{
    calendar::{Calendar, Column, Holder},
    hours::{HourKind, HourSource, Recurrence, Weekday, WorkingHour},
    ids::{AppointmentId, OperatoryId, ProviderId, WorkingHourId},
    slots::{Arrangement, Party, SlotQuery, free_slots, groups_of},
    time::{DAY, HOUR, MINUTE, Span, Timestamp},
    zone::{Date, Zone, ZoneChange},
};
use runtime::clock;

use super::{
    options::{BenchResult, Options},
    report::{Aim, BenchReport, median},
};
use crate::harness::fixtures;

const OPERATORIES: u64 = 10;
const PROVIDERS: u32 = 5;
const DAYS: i32 = 30;
const HALF_HOURS: u16 = 16;
const OPENS: u16 = 9 * 60;
const RUNS: usize = 300;
/// Patients of a group.
const PARTY: u8 = 4;
/// Groups of a search: the default `limit` of the API.
const GROUPS: usize = 20;

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    let runs = options.repetitions_of(RUNS);
    report.section(
        "free slots",
        format!(
            "{DAYS} days of {OPERATORIES} operatories and {PROVIDERS} providers who each work in all of them, 8 hours a day, \
             30-minute slots, in New York; median of {runs}"
        ),
    );
    let (zone, hours) = (new_york()?, hours());
    let first = Date(fixtures::today() + 1);
    for (name, free, aim) in [
        ("a full calendar", usize::MAX, Aim::Below(Duration::from_micros(50))),
        ("every 20th slot free", 20, Aim::None),
        ("an empty calendar", 1, Aim::Below(Duration::from_micros(500))),
    ] {
        let (calendar, query) = (calendar(&zone, first, free), query(first));
        let found = free_slots(&hours, &calendar, &zone, &query).len();
        let time = timed(runs, || free_slots(&hours, &calendar, &zone, &query));
        report.time(&format!("{name} ({} appointments, {found} slots found)", calendar.len()), time, aim);
    }
    for (name, free) in [("a full calendar", usize::MAX), ("every 20th slot free", 20), ("an empty calendar", 1)] {
        let calendar = calendar(&zone, first, free);
        let query = SlotQuery { limit: GROUPS, ..query(first) };
        for arrangement in Arrangement::ALL {
            let party = Party { size: PARTY, arrangement };
            let slots = |query: &SlotQuery| free_slots(&hours, &calendar, &zone, query);
            let search = || groups_of(&zone, &query, party, slots, |_, _| true);
            let found = search().len();
            let label = format!("{} slots for {PARTY} patients, {name} ({found} groups found)", arrangement.name());
            report.time(&label, timed(runs, search), Aim::Below(Duration::from_millis(1)));
        }
    }
    Ok(())
}

/// Returns New York by today's rule, for all years that the engine computes.
fn new_york() -> Result<Zone, Box<dyn std::error::Error>> {
    let mut changes = vec![change(Timestamp::MIN, -5, "EST")];
    for year in 1970..2100 {
        let sunday = |month, nth: i32| {
            let first = Date::from_ymd(year, month, 1)?;
            let mut sundays = (0..28).map(|day| first.add_days(day)).filter(|day| day.weekday() == Weekday::Sunday);
            sundays.nth(nth as usize)
        };
        let (march, november) = (sunday(3, 1).ok_or("no March")?, sunday(11, 0).ok_or("no November")?);
        changes.push(change(Timestamp(i64::from(march.0) * DAY + 7 * HOUR), -4, "EDT"));
        changes.push(change(Timestamp(i64::from(november.0) * DAY + 6 * HOUR), -5, "EST"));
    }
    Ok(Zone::new("America/New_York", changes)?)
}

fn change(at: Timestamp, hours: i32, abbreviation: &str) -> ZoneChange {
    ZoneChange { at, offset_seconds: hours * 3_600, abbreviation: abbreviation.to_owned() }
}

fn timed<T>(runs: usize, mut work: impl FnMut() -> T) -> Duration {
    let run = |_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    };
    median((0..runs).map(run).collect())
}

fn hours() -> Vec<WorkingHour> {
    let everywhere = (1..=PROVIDERS).flat_map(|provider| (1..=OPERATORIES).map(move |operatory| (provider, operatory)));
    let place = |(id, (provider, operatory))| WorkingHour {
        id: WorkingHourId(id),
        provider: ProviderId(provider),
        operatory: Some(OperatoryId(operatory)),
        recurrence: Recurrence::Weekly(Weekday::ALL.to_vec()),
        begin: OPENS,
        end: OPENS + HALF_HOURS * 30,
        kind: HourKind::WorkingHour,
        source: HourSource::Synced,
        appointment_types: Vec::new(),
        active: true,
    };
    (1..).zip(everywhere).map(place).collect()
}

/// Fills all half hours of every operatory, except each `free`th.
fn calendar(zone: &Zone, first: Date, free: usize) -> Calendar {
    let mut calendar = Calendar::new();
    let days = (0..DAYS).map(|day| first.add_days(day));
    let places = days.flat_map(|day| {
        (1..=OPERATORIES).flat_map(move |operatory| (0..HALF_HOURS).map(move |half| (day, operatory, half)))
    });
    for (index, (day, operatory, half)) in places.enumerate().filter(|(index, _)| (index + 1) % free != 0) {
        let start = zone.resolve(day, OPENS).first().plus(i64::from(half) * 30 * MINUTE);
        let span = Span { start, end: start.plus(30 * MINUTE) };
        let holder = Holder::Appointment(AppointmentId(index as u64));
        calendar.insert(Column::Operatory(OperatoryId(operatory)), span, holder);
    }
    calendar
}

fn query(from: Date) -> SlotQuery {
    let query = testing::slot_query(from, DAYS as u16, 30 * MINUTE, clock::now());
    SlotQuery { overlapping_operatory_slots: true, limit: usize::MAX, ..query }
}
