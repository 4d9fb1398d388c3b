//! The time of a slot search over a month. Asserted in release builds only.

use std::time::Duration;

use crate::support::{date, free_groups, hour, new_york, shortest, slot_query};
use location::{
    calendar::{Calendar, Column, Holder},
    hours::{Recurrence, Weekday, WorkingHour},
    ids::{AppointmentId, OperatoryId, ProviderId, WorkingHourId},
    slots::{Arrangement, Party, SlotQuery, free_slots, next_available},
    time::{HOUR, MINUTE, Span},
    zone::Zone,
};

const OPERATORIES: u64 = 10;
const PROVIDERS: u32 = 5;

fn hours() -> Vec<WorkingHour> {
    let everywhere = (1..=PROVIDERS).flat_map(|provider| (1..=OPERATORIES).map(move |operatory| (provider, operatory)));
    let daily = Recurrence::Weekly(Weekday::ALL.to_vec());
    let place = |(id, (provider, operatory))| WorkingHour {
        id: WorkingHourId(id),
        provider: ProviderId(provider),
        operatory: Some(OperatoryId(operatory)),
        ..hour(daily.clone(), "09:00", "17:00")
    };
    (1..).zip(everywhere).map(place).collect()
}

/// Fills 16 half hours a day in every operatory, except for each `free`th.
fn calendar(zone: &Zone, free: usize) -> Calendar {
    let mut calendar = Calendar::new();
    let days = (0..30).map(|day| date("2026-03-01").add_days(day));
    let places = days
        .flat_map(|day| (1..=OPERATORIES).flat_map(move |operatory| (0..16).map(move |half| (day, operatory, half))));
    for (index, (day, operatory, half)) in places.enumerate().filter(|(index, _)| (index + 1) % free != 0) {
        let start = zone.resolve(day, 9 * 60).first().plus(half * 30 * MINUTE);
        let span = Span { start, end: start.plus(30 * MINUTE) };
        calendar.insert(
            Column::Operatory(OperatoryId(operatory)),
            span,
            Holder::Appointment(AppointmentId(index as u64)),
        );
    }
    calendar
}

#[test]
fn slots_speed() {
    let (zone, hours) = (new_york(), hours()); // clocks change on March 8
    let query = slot_query("2026-03-01", 30, 30 * MINUTE);
    let full = calendar(&zone, usize::MAX);
    assert_eq!(full.len(), 4_800);
    assert_eq!(free_slots(&hours, &full, &zone, &query), []);
    let full_time = shortest(|| free_slots(&hours, &full, &zone, &query));

    let some = calendar(&zone, 20);
    assert_eq!(free_slots(&hours, &some, &zone, &query).len(), 240 * PROVIDERS as usize);
    let some_time = shortest(|| free_slots(&hours, &some, &zone, &query));

    let none = Calendar::new();
    assert_eq!(free_slots(&hours, &none, &zone, &query).len(), 4_800 * PROVIDERS as usize);
    let none_time = shortest(|| free_slots(&hours, &none, &zone, &query));
    let first = SlotQuery { limit: 20, ..query.clone() };
    let first_time = shortest(|| free_slots(&hours, &none, &zone, &first));

    let a_year =
        shortest(|| next_available(&hours, &none, &zone, &SlotQuery { length: 9 * HOUR, ..query.clone() }, 365));

    eprintln!(
        "slots_speed, 30 days of {OPERATORIES} operatories and {PROVIDERS} providers: full {full_time:?}, 5 % free {some_time:?}, \
         empty {none_time:?}, first 20 of the empty one {first_time:?}; a year searched in vain {a_year:?}"
    );
    if !cfg!(debug_assertions) {
        assert!(full_time < Duration::from_micros(100), "a full month took {full_time:?}");
        assert!(none_time < Duration::from_micros(500), "an empty month took {none_time:?}");
    }
}

#[test]
fn groups_speed() {
    let (zone, hours) = (new_york(), hours());
    let query = SlotQuery { limit: 20, ..slot_query("2026-03-01", 30, 30 * MINUTE) };
    for (name, free, groups) in [("full", usize::MAX, 0), ("5 % free", 20, 0), ("empty", 1, 20)] {
        let calendar = calendar(&zone, free);
        for arrangement in Arrangement::ALL {
            let party = Party { size: 4, arrangement };
            let search = || free_groups(&hours, &calendar, &zone, &query, party, |_, _| true);
            assert_eq!(search().len(), groups, "{name}, {arrangement:?}");
            let time = shortest(search);
            eprintln!(
                "groups_speed, 4 visits {arrangement:?} in 30 days of {OPERATORIES} operatories, {name}: {time:?}"
            );
            if !cfg!(debug_assertions) {
                assert!(time < Duration::from_millis(1), "{name}, {arrangement:?} took {time:?}");
            }
        }
    }
}
