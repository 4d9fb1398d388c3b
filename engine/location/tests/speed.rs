//! The time of decisions of a location with 5,000 future appointments. Always printed, asserted in release builds only.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use crate::support::{date, hour, new_york, shortest, slot_query, utc};
use location::{
    Location,
    command::{
        Book, BookPatient, Closed, Command, DecisionContext, OfferedSlot, Placement, PulledAppointment,
        PulledOperatory, PulledPage, Written,
    },
    decision::{Refusal, Reply},
    event::Event,
    hours::{Recurrence, Weekday, WorkingHour},
    ids::{AppointmentId, LocationId, OperatoryId, PatientId, ProviderId, WorkingHourId},
    pull::Resource,
    rules::{Closure, VisitRules},
    settings::{Capabilities, MachineSettings},
    slots::{SlotQuery, free_slots},
    state::State,
    time::{HOUR, MINUTE, Span, Timestamp},
};

const OPERATORIES: u64 = 10;
const DAYS: i32 = 32;
const HALF_HOURS: i64 = 16;

fn now() -> Timestamp {
    utc("2026-03-02T08:00:00Z")
}

/// Creates a location with 10 operatories, one provider each, whose 16 half hours a day are taken except for those
/// chosen by `free`.
fn full(free: impl Fn(i32, u64, i64) -> bool) -> Location {
    let zone = new_york();
    let mut settings = MachineSettings::new(LocationId(1), zone.clone());
    settings.capabilities = Capabilities {
        integrated: true,
        new_patients: true,
        creates_appointments: true,
        reschedules: true,
        cancels: true,
        ..Capabilities::default()
    };
    let mut location = Location::new(Arc::new(settings));
    let mut happens = |event: Event| location.evolve(now(), &event);
    for id in 1..=OPERATORIES {
        let provider = ProviderId(id as u32);
        happens(Event::OperatoryPulled(PulledOperatory { id: OperatoryId(id), active: true }));
        happens(Event::HourPulled(WorkingHour {
            id: WorkingHourId(id as u32),
            provider,
            operatory: Some(OperatoryId(id)),
            ..hour(Recurrence::Weekly(Weekday::ALL.to_vec()), "09:00", "17:00")
        }));
        for day in 0..DAYS {
            let nine = zone.resolve(date("2026-03-02").add_days(day), 9 * 60).first();
            for half in (0..HALF_HOURS).filter(|half| !free(day, id, *half)) {
                let start = nine.plus(half * 30 * MINUTE);
                let record = PulledAppointment {
                    id: AppointmentId(id * 1_000_000 + day as u64 * 100 + half as u64),
                    patient: Some(PatientId(half as u32 + 1)),
                    appointment_type: None,
                    placement: Placement {
                        operatory: Some(OperatoryId(id)),
                        provider: Some(provider),
                        span: Span { start, end: start.plus(30 * MINUTE) },
                    },
                    unavailable: false,
                    cancelled: false,
                    written: Written { foreign_id: String::new(), version: None },
                    replacement: None,
                };
                happens(Event::AppointmentPulled { record, keep: false });
            }
        }
    }
    location
}

fn report(what: &str, took: Duration, most: Duration) {
    let line = format!("{what}: {took:?}, at most {most:?}");
    // Visible with `--nocapture`. Libraries must not print, but tests may.
    #[allow(clippy::print_stdout)]
    {
        println!("{line}");
    }
    assert!(cfg!(debug_assertions) || took <= most, "{line}");
}

fn book(location: &Location, operatory: u64, half: i64) -> Command {
    let start = location.settings.zone.resolve(date("2026-03-05"), 9 * 60).first().plus(half * 30 * MINUTE);
    let place = Placement {
        operatory: Some(OperatoryId(operatory)),
        provider: Some(ProviderId(operatory as u32)),
        span: Span { start, end: start.plus(30 * MINUTE) },
    };
    Command::Book(Book {
        appointment: AppointmentId(1),
        offer: OfferedSlot::new(place, now().plus(HOUR)),
        key: None,
        patient: BookPatient { id: PatientId(1), is_new: false, missing_fields: Vec::new(), date_of_birth: None },
        by_rules: true,
    })
}

fn week() -> SlotQuery {
    let query = slot_query("2026-03-02", 7, 30 * MINUTE);
    SlotQuery { overlapping_operatory_slots: false, not_before: now(), limit: 20, ..query }
}

#[test]
fn full_calendar_decisions_meet_their_time_limits() {
    let location = full(|day, operatory, half| day == 3 && operatory == 7 && half == 10);
    assert!(location.state.appointments.len() > 5_000);
    let search = || free_slots(location.hours(), &location.state.calendar, &location.settings.zone, &week());
    assert_eq!(search().len(), 1, "one slot of the week is free");
    report("free slots of a full week", shortest(search), Duration::from_micros(100));

    let cx = DecisionContext { now: now(), random: 1 };
    let (free, taken) = (book(&location, 7, 10), book(&location, 7, 9));
    assert!(matches!(location.decide(cx, &free).reply, Reply::Booked { .. }));
    report("booking a free slot", shortest(|| location.decide(cx, &free)), Duration::from_micros(20));
    let refused = location.decide(cx, &taken).reply;
    assert!(matches!(refused, Reply::Refused(Refusal::SlotTaken { ref alternatives, .. }) if !alternatives.is_empty()));
    report(
        "refusing a taken one with alternatives",
        shortest(|| location.decide(cx, &taken)),
        Duration::from_millis(5),
    );
    report("the next wake-up", shortest(|| location.wake_at()), Duration::from_micros(2));
}

#[test]
fn search_of_a_partly_free_calendar_meets_its_time_limit() {
    let location = full(|_, _, half| half % 4 == 0);
    let search = || free_slots(location.hours(), &location.state.calendar, &location.settings.zone, &week());
    assert_eq!(search().len(), 20);
    report("the first 20 free slots of a week", shortest(search), Duration::from_micros(100));
}

#[test]
fn searches_and_bookings_with_rules_meet_their_time_limits() {
    let mut location = full(|_, _, half| half % 4 == 0);
    Arc::make_mut(&mut location.settings).rules.plain = VisitRules {
        minimum_notice: HOUR,
        horizon_days: 90,
        align: Some(15),
        daily_visits: Some(10_000),
        daily_minutes_per_provider: Some(1_440),
        closures: vec![Closure::of_days(date("2026-12-24"), date("2026-12-26"))],
        ..VisitRules::default()
    };
    location.state.pulls.last_success = Some(now());
    let closed = Closed::default();
    let search = || location.offered_slots(now(), &week(), &closed, None);
    assert_eq!(search().len(), 20);
    report("the first 20 offered slots of a week", shortest(search), Duration::from_micros(200));
    let (cx, free) = (DecisionContext { now: now(), random: 1 }, book(&location, 7, 8));
    assert!(matches!(location.decide(cx, &free).reply, Reply::Booked { .. }));
    report("booking an offered slot", shortest(|| location.decide(cx, &free)), Duration::from_micros(40));
}

/// Applied once per page of a first pull, and in each read cycle.
#[test]
fn page_without_deletions_meets_its_time_limit() {
    let mut location = full(|_, _, _| false);
    let (resource, call) = (Resource::Appointments, location.state.pulls.next_call);
    let until = now().plus(MINUTE);
    location.evolve(now(), &Event::CycleStarted);
    location.evolve(now(), &Event::PullStarted { resource, call, until, asked_at: None, written: BTreeSet::new() });
    let cx = DecisionContext { now: now(), random: 1 };
    let page = Command::Pulled { resource, call, outcome: Ok(PulledPage { last: true, ..PulledPage::default() }) };
    assert!(matches!(location.decide(cx, &page).reply, Reply::PageApplied { .. }));
    report("a page without deletions", shortest(|| location.decide(cx, &page)), Duration::from_micros(10));
}

#[test]
fn snapshot_loads_within_its_time_limit() {
    let location = full(|_, _, _| false);
    let snapshot = serde_json::to_vec(&location.state).unwrap();
    let load = || Location::load(location.settings.clone(), serde_json::from_slice::<State>(&snapshot).unwrap());
    assert_eq!(load().state, location.state);
    let what = format!("loading {} appointments from {} KiB", location.state.appointments.len(), snapshot.len() / 1024);
    report(&what, shortest(load), Duration::from_millis(20));
}

#[test]
fn decisions_with_a_long_queue_meet_their_time_limits() {
    let mut location = full(|day, _, _| day == 3);
    let cx = DecisionContext { now: now(), random: 1 };
    let mut appointment = 0;
    for operatory in 1..=OPERATORIES {
        for half in 0..HALF_HOURS {
            let Command::Book(mut booking) = book(&location, operatory, half) else { unreachable!() };
            appointment += 1;
            booking.appointment = AppointmentId(appointment);
            booking.patient.id = PatientId(appointment as u32 + 1_000);
            for event in location.decide(cx, &Command::Book(booking)).events {
                location.evolve(cx.now, &event);
            }
        }
    }
    assert_eq!(location.state.queue.len(), 160);
    report("the next wake-up with 160 writes", shortest(|| location.wake_at()), Duration::from_micros(2));
    report("starting what is due", shortest(|| location.decide(cx, &Command::Wake)), Duration::from_micros(50));
}
