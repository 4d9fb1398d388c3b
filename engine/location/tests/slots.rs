//! Free slots by example: each rule once, on ordinary days and on days with clock changes.

use crate::support::{daily, date, hour, nearest, new_york, slot_query, utc, zone};
use location::{
    calendar::{Calendar, Column, Holder},
    hours::{HourKind, HourSource, Recurrence, WorkingHour},
    ids::{AppointmentId, AppointmentTypeId, OperatoryId, ProviderId},
    slots::{Fit, RequestedSlot, Slot, SlotQuery, fits, free_slots, next_available},
    time::{DAY, HOUR, MINUTE, Millis, Span},
    zone::Zone,
};

const CLEANING: AppointmentTypeId = AppointmentTypeId(7);
const IMPLANT: AppointmentTypeId = AppointmentTypeId(8);

/// Creates a query of one day for slots of one hour.
fn query(day: &str) -> SlotQuery {
    slot_query(day, 1, HOUR)
}

fn at(provider: u32, operatory: impl Into<Option<u64>>, hour: WorkingHour) -> WorkingHour {
    WorkingHour { provider: ProviderId(provider), operatory: operatory.into().map(OperatoryId), ..hour }
}

fn on(day: &str, begin: &str, end: &str) -> WorkingHour {
    hour(Recurrence::On(date(day)), begin, end)
}

fn synced(hour: WorkingHour) -> WorkingHour {
    WorkingHour { source: HourSource::Synced, ..hour }
}

fn block(hour: WorkingHour) -> WorkingHour {
    WorkingHour { kind: HourKind::SchedulableBlock, ..synced(hour) }
}

fn only(types: &[AppointmentTypeId], hour: WorkingHour) -> WorkingHour {
    WorkingHour { appointment_types: types.to_vec(), ..hour }
}

fn busy(entries: &[(Column, &str, &str)]) -> Calendar {
    let mut calendar = Calendar::new();
    for (id, (column, start, end)) in (1..).zip(entries) {
        calendar.insert(*column, Span { start: utc(start), end: utc(end) }, Holder::Appointment(AppointmentId(id)));
    }
    calendar
}

fn chair(id: u64) -> Column {
    Column::Operatory(OperatoryId(id))
}

fn doctor(id: u32) -> Column {
    Column::Provider(ProviderId(id))
}

/// Formats slot starts in local time, like `17 09:00`.
fn local_starts(slots: &[Slot], zone: &Zone) -> Vec<String> {
    let show = |slot: &Slot| {
        let (date, seconds) = zone.local(slot.span.start);
        format!("{:02} {:02}:{:02}", date.ymd().2, seconds / 3_600, seconds / 60 % 60)
    };
    slots.iter().map(show).collect()
}

fn starts(hours: &[WorkingHour], calendar: &Calendar, zone: &Zone, query: &SlotQuery) -> Vec<String> {
    local_starts(&free_slots(hours, calendar, zone, query), zone)
}

/// Returns the starts in UTC on 2026-01-05 with an empty calendar, without the date.
fn plain(hours: &[WorkingHour], query: &SlotQuery) -> Vec<String> {
    let shown = starts(hours, &Calendar::new(), &Zone::utc(), query);
    shown.iter().map(|start| start.strip_prefix("05 ").unwrap().to_string()).collect()
}

fn slot(provider: u32, operatory: impl Into<Option<u64>>, start: &str, length: Millis) -> Slot {
    let span = Span { start: utc(start), end: utc(start).plus(length) };
    Slot { span, provider: ProviderId(provider), operatory: operatory.into().map(OperatoryId) }
}

const MONDAY: &str = "2026-01-05";

#[test]
fn slot_grid_begins_with_the_window_and_steps_by_the_interval() {
    let hours = [on(MONDAY, "09:10", "12:00")];
    assert_eq!(plain(&hours, &query(MONDAY)), ["09:10", "10:10"]);
    let every_20 = SlotQuery { interval: Some(20 * MINUTE), ..query(MONDAY) };
    assert_eq!(plain(&hours, &every_20), ["09:10", "09:30", "09:50", "10:10", "10:30", "10:50"]);
    let every_90 = SlotQuery { interval: Some(90 * MINUTE), ..query(MONDAY) };
    assert_eq!(plain(&hours, &every_90), ["09:10", "10:40"]);
    // Each window has its own grid, however long the interval.
    let every_10_hours = SlotQuery { interval: Some(10 * HOUR), ..query(MONDAY) };
    assert_eq!(
        plain(&[on(MONDAY, "09:10", "12:00"), on(MONDAY, "13:00", "15:00")], &every_10_hours),
        ["09:10", "13:00"]
    );
    // Busy spans do not move the grid, and past starts are left out.
    let calendar = busy(&[(chair(1), "2026-01-05T09:50:00Z", "2026-01-05T10:00:00Z")]);
    assert_eq!(starts(&hours, &calendar, &Zone::utc(), &every_20), ["05 10:10", "05 10:30", "05 10:50"]);
    let now = SlotQuery { not_before: utc("2026-01-05T10:10:01Z"), ..every_20 };
    assert_eq!(plain(&hours, &now), ["10:30", "10:50"]);
    assert_eq!(plain(&hours, &SlotQuery { limit: 1, ..now.clone() }), ["10:30"]);
    assert_eq!(plain(&hours, &SlotQuery { limit: 0, ..now }), Vec::<String>::new());
}

#[test]
fn adjacent_and_overlapping_windows_are_merged() {
    let (morning, noon, evening) =
        (on(MONDAY, "09:30", "11:00"), on(MONDAY, "11:00", "12:30"), on(MONDAY, "12:31", "13:31"));
    assert_eq!(plain(&[noon.clone(), evening, morning.clone()], &query(MONDAY)), ["09:30", "10:30", "11:30", "12:31"]);
    assert_eq!(plain(&[morning.clone(), on(MONDAY, "09:45", "12:30")], &query(MONDAY)), ["09:30", "10:30", "11:30"]);
    assert_eq!(plain(&[morning.clone(), on(MONDAY, "09:45", "10:00")], &query(MONDAY)), ["09:30"]);
    // Windows of another place are separate.
    let elsewhere = [morning, at(1, 2, noon)];
    assert_eq!(plain(&elsewhere, &query(MONDAY)), ["09:30", "11:00"]);
}

#[test]
fn slots_come_only_from_matching_hours() {
    let (early, late) = (on(MONDAY, "09:00", "10:00"), synced(on(MONDAY, "14:00", "15:00")));
    let hours = [early.clone(), at(2, 2, late)];
    let ask = |change: &dyn Fn(&mut SlotQuery)| {
        let mut query = query(MONDAY);
        change(&mut query);
        plain(&hours, &query)
    };
    assert_eq!(ask(&|_| {}), ["09:00", "14:00"]);
    assert_eq!(ask(&|query| query.providers = vec![ProviderId(1)]), ["09:00"]);
    assert_eq!(ask(&|query| query.operatories = vec![OperatoryId(2), OperatoryId(3)]), ["14:00"]);
    assert_eq!(ask(&|query| query.source = Some(HourSource::Manual)), ["09:00"]);
    assert_eq!(ask(&|query| query.source = Some(HourSource::Synced)), ["14:00"]);
    assert_eq!(ask(&|query| query.from = date("2026-01-04")), Vec::<String>::new());
    assert_eq!(plain(&[WorkingHour { active: false, ..early }], &query(MONDAY)), Vec::<String>::new());
}

#[test]
fn hours_offer_slots_only_for_accepted_types() {
    let hours = [
        on(MONDAY, "09:00", "10:00"),
        only(&[CLEANING], on(MONDAY, "10:00", "11:00")),
        only(&[CLEANING, IMPLANT], on(MONDAY, "12:00", "14:00")),
    ];
    let of_type = |appointment_type| plain(&hours, &SlotQuery { appointment_type, ..query(MONDAY) });
    assert_eq!(of_type(None), ["09:00", "10:00", "12:00", "13:00"]);
    assert_eq!(of_type(Some(CLEANING)), ["09:00", "10:00", "12:00", "13:00"]);
    assert_eq!(of_type(Some(IMPLANT)), ["09:00", "12:00", "13:00"]);
    assert_eq!(of_type(Some(AppointmentTypeId(9))), ["09:00"]);
    // Hours of one type do not extend those of another.
    let two_hours = SlotQuery { length: 2 * HOUR, ..query(MONDAY) };
    assert_eq!(plain(&hours, &two_hours), ["09:00", "12:00"]);
    assert_eq!(plain(&hours, &SlotQuery { appointment_type: Some(IMPLANT), ..two_hours }), ["12:00"]);
}

#[test]
fn blocks_join_synced_hours_only_with_join_blocks() {
    let two_hours = SlotQuery { length: 2 * HOUR, interval: Some(HOUR), ..query(MONDAY) };
    let apart = SlotQuery { join_blocks: false, ..two_hours.clone() };
    let the_block = block(on(MONDAY, "12:00", "15:00"));
    let hours = [synced(on(MONDAY, "09:00", "12:00")), the_block.clone()];
    assert_eq!(plain(&hours, &two_hours), ["09:00", "10:00", "11:00", "12:00", "13:00"]);
    assert_eq!(plain(&hours, &apart), ["09:00", "10:00", "12:00", "13:00"]);
    // Manual hours never join blocks, but they join synced hours.
    let hours = [on(MONDAY, "09:00", "12:00"), the_block.clone()];
    assert_eq!(plain(&hours, &two_hours), ["09:00", "10:00", "12:00", "13:00"]);
    let hours = [on(MONDAY, "08:30", "10:00"), synced(on(MONDAY, "10:00", "12:00")), the_block.clone()];
    assert_eq!(plain(&hours, &two_hours), ["08:30", "09:30", "10:00", "11:00", "12:00", "13:00"]);
    assert_eq!(plain(&hours, &apart), ["08:30", "09:30", "12:00", "13:00"]);
    // A block within hours: joined, it uses the grid of the hours; otherwise each has its own grid. No slot occurs
    // twice.
    let hours = [
        synced(on(MONDAY, "09:00", "14:00")),
        block(on(MONDAY, "10:30", "12:30")),
        block(on(MONDAY, "11:00", "13:00")),
    ];
    assert_eq!(plain(&hours, &two_hours), ["09:00", "10:00", "11:00", "12:00"]);
    assert_eq!(plain(&hours, &apart), ["09:00", "10:00", "10:30", "11:00", "12:00"]);
    let hours = [synced(on(MONDAY, "09:00", "12:00")), block(on(MONDAY, "10:00", "12:00"))];
    assert_eq!(plain(&hours, &apart), ["09:00", "10:00"]);
}

#[test]
fn provider_slots_in_several_operatories_follow_the_query_options() {
    let hours = [
        at(1, 2, on(MONDAY, "09:00", "11:00")),
        at(1, 1, on(MONDAY, "09:00", "11:00")),
        at(2, 1, on(MONDAY, "10:00", "11:00")),
    ];
    let calendar = busy(&[(chair(1), "2026-01-05T09:30:00Z", "2026-01-05T10:00:00Z")]);
    let ask = |change: &dyn Fn(&mut SlotQuery)| {
        let mut query = query(MONDAY);
        change(&mut query);
        free_slots(&hours, &calendar, &Zone::utc(), &query)
    };
    let (nine, ten) = ("2026-01-05T09:00:00Z", "2026-01-05T10:00:00Z");
    assert_eq!(
        ask(&|_| {}),
        [slot(1, 2, nine, HOUR), slot(1, 1, ten, HOUR), slot(1, 2, ten, HOUR), slot(2, 1, ten, HOUR)]
    );
    let once = |query: &mut SlotQuery| query.overlapping_operatory_slots = false;
    assert_eq!(ask(&once), [slot(1, 2, nine, HOUR), slot(1, 1, ten, HOUR), slot(2, 1, ten, HOUR)]);
    let two = |query: &mut SlotQuery| query.appointments_per_timeslot = 2;
    assert_eq!(ask(&two), [slot(1, 1, ten, HOUR), slot(1, 2, ten, HOUR)]);
    assert_eq!(ask(&|query| (once(query), two(query)).0), [slot(1, 1, ten, HOUR)]);
    assert_eq!(ask(&|query| query.appointments_per_timeslot = 3), []);
    assert_eq!(ask(&|query| query.limit = 3), [slot(1, 2, nine, HOUR), slot(1, 1, ten, HOUR), slot(1, 2, ten, HOUR)]);
}

#[test]
fn slot_in_two_layers_counts_as_one_operatory() {
    let hours = [synced(on(MONDAY, "09:00", "10:00")), block(on(MONDAY, "09:00", "10:00"))];
    let apart = SlotQuery { join_blocks: false, ..query(MONDAY) };
    assert_eq!(plain(&hours, &apart), ["09:00"]);
    assert_eq!(plain(&hours, &SlotQuery { appointments_per_timeslot: 2, ..apart }), Vec::<String>::new());
}

#[test]
fn hours_without_an_operatory_use_the_provider_column() {
    let hours = [at(1, None, on(MONDAY, "09:00", "12:00")), at(1, 1, on(MONDAY, "09:00", "12:00"))];
    let calendar = busy(&[
        (chair(1), "2026-01-05T09:00:00Z", "2026-01-05T10:00:00Z"),
        (doctor(1), "2026-01-05T10:59:00Z", "2026-01-05T11:00:00Z"),
        (doctor(2), "2026-01-05T09:00:00Z", "2026-01-05T12:00:00Z"),
    ]);
    let slots = free_slots(&hours, &calendar, &Zone::utc(), &query(MONDAY));
    let (nine, eleven) = ("2026-01-05T09:00:00Z", "2026-01-05T11:00:00Z");
    assert_eq!(slots, [slot(1, None, nine, HOUR), slot(1, None, eleven, HOUR), slot(1, 1, eleven, HOUR)]);
    let in_chair_1 = SlotQuery { operatories: vec![OperatoryId(1)], ..query(MONDAY) };
    assert_eq!(free_slots(&hours, &calendar, &Zone::utc(), &in_chair_1), [slot(1, 1, eleven, HOUR)]);
}

#[test]
fn windows_extend_across_midnight_and_beyond_the_query() {
    let night = [hour(Recurrence::On(date("2026-01-04")), "22:30", "02:00"), daily("01:30", "02:30")];
    let zone = Zone::utc();
    let none = Calendar::new();
    // The window of the previous evening keeps its own grid. A slot belongs to the date of its start.
    assert_eq!(starts(&night, &none, &zone, &query("2026-01-04")), ["04 01:30", "04 22:30", "04 23:30"]);
    assert_eq!(starts(&night, &none, &zone, &query("2026-01-05")), ["05 00:30", "05 01:30"]);
    // Open all day: a slot may end on the day after the query.
    let always = [daily("00:00", "24:00")];
    let long = SlotQuery { length: 9 * HOUR, ..query("2026-01-05") };
    assert_eq!(starts(&always, &none, &zone, &long), ["05 03:00", "05 12:00", "05 21:00"]);
}

#[test]
fn free_slots_follow_clock_changes() {
    let new_york = new_york();
    let none = Calendar::new();
    let half = |day: &str, days| SlotQuery { length: 30 * MINUTE, days, ..query(day) };
    let night = [daily("00:30", "04:00")];
    let gap = starts(&night, &none, &new_york, &half("2026-03-08", 1));
    assert_eq!(gap, ["08 00:30", "08 01:00", "08 01:30", "08 03:00", "08 03:30"]);
    let overlap = free_slots(&night, &none, &new_york, &half("2026-11-01", 1));
    let shown =
        ["01 00:30", "01 01:00", "01 01:30", "01 01:00", "01 01:30", "01 02:00", "01 02:30", "01 03:00", "01 03:30"];
    assert_eq!(local_starts(&overlap, &new_york), shown);
    let abbreviation = |slot: &Slot| new_york.offset_at(slot.span.start).abbreviation.clone();
    assert_eq!(overlap[1..5].iter().map(abbreviation).collect::<Vec<_>>(), ["EDT", "EDT", "EST", "EST"]);
    // The second pass of an ambiguous time can be taken while the first is free.
    let calendar = busy(&[(chair(1), "2026-11-01T06:00:00Z", "2026-11-01T06:30:00Z")]);
    assert_eq!(
        starts(&night, &calendar, &new_york, &half("2026-11-01", 1))[1..4],
        ["01 01:00", "01 01:30", "01 01:30"]
    );
    // Days of 23 and 25 hours.
    let count = |day: &str| free_slots(&[daily("00:00", "24:00")], &none, &new_york, &half(day, 1)).len();
    assert_eq!((count("2026-03-07"), count("2026-03-08"), count("2026-11-01")), (48, 46, 50));

    let lord_howe = zone("Australia/Lord_Howe", 2025, 2027);
    let night = [daily("01:00", "03:00")];
    assert_eq!(starts(&night, &none, &lord_howe, &half("2026-10-04", 1)), ["04 01:00", "04 01:30", "04 02:30"]);
    assert_eq!(
        starts(&night, &none, &lord_howe, &half("2026-04-05", 1)),
        ["05 01:00", "05 01:30", "05 01:30", "05 02:00", "05 02:30"]
    );

    let sao_paulo = zone("America/Sao_Paulo", 2017, 2019);
    let evening = [daily("23:00", "01:30")];
    assert_eq!(
        starts(&evening, &none, &sao_paulo, &half("2018-11-03", 2)),
        ["03 00:00", "03 00:30", "03 01:00", "03 23:00", "03 23:30", "04 01:00", "04 23:00", "04 23:30"]
    );

    let kiritimati = zone("Pacific/Kiritimati", 1994, 1996);
    let day = [daily("09:00", "10:00")];
    assert_eq!(
        starts(&day, &none, &kiritimati, &half("1994-12-30", 3)),
        ["30 09:00", "30 09:30", "01 09:00", "01 09:30"]
    );
    assert_eq!(starts(&day, &none, &kiritimati, &half("1994-12-31", 1)), Vec::<String>::new());
}

#[test]
fn invalid_queries_report_their_fields_and_return_no_slots() {
    let hours = [daily("00:00", "24:00")];
    let problem = |change: &dyn Fn(&mut SlotQuery)| {
        let mut query = query(MONDAY);
        change(&mut query);
        assert_eq!(free_slots(&hours, &Calendar::new(), &Zone::utc(), &query), []);
        assert_eq!(
            next_available(&hours, &Calendar::new(), &Zone::utc(), &SlotQuery { days: 0, ..query.clone() }, 0),
            None
        );
        query.problems()
    };
    assert_eq!(problem(&|query| query.days = 0), ["days"]);
    assert_eq!(problem(&|query| query.days = 367), ["days"]);
    assert_eq!(problem(&|query| query.length = 0), ["length"]);
    assert_eq!(problem(&|query| query.length = DAY + 1), ["length"]);
    assert_eq!(problem(&|query| query.length = i64::MAX), ["length"]);
    assert_eq!(problem(&|query| query.interval = Some(-1)), ["interval"]);
    assert_eq!(problem(&|query| query.interval = Some(1)), ["interval"]);
    assert_eq!(problem(&|query| query.appointments_per_timeslot = 0), ["appointments_per_timeslot"]);
    assert_eq!(problem(&|query| query.from = date("9999-12-31").add_days(1)), ["from"]);
    assert_eq!(problem(&|query| (query.days, query.length) = (0, 0)), ["days", "length"]);
    // The first and last dates are valid.
    for day in ["0001-01-01", "9999-12-31"] {
        assert_eq!(free_slots(&hours, &Calendar::new(), &Zone::utc(), &query(day)).len(), 24);
    }
}

#[test]
fn next_available_returns_the_first_later_date_with_a_slot() {
    let zone = new_york();
    let hours = [hour(Recurrence::On(date("2026-03-20")), "22:00", "02:00"), on("2026-06-01", "09:00", "10:00")];
    let next =
        |calendar: &Calendar, from: &str, horizon| next_available(&hours, calendar, &zone, &query(from), horizon);
    let none = Calendar::new();
    assert_eq!(next(&none, "2026-03-01", 60), Some(date("2026-03-20")));
    // After the days of the query, by the date of the slot's start.
    assert_eq!(next(&none, "2026-03-20", 60), Some(date("2026-03-21")));
    assert_eq!(next(&none, "2026-03-21", 71), None);
    assert_eq!(next(&none, "2026-03-21", 72), Some(date("2026-06-01")));
    let full = busy(&[(chair(1), "2026-03-21T01:30:00Z", "2026-03-21T07:00:00Z")]);
    assert_eq!(next(&full, "2026-03-01", 366), Some(date("2026-06-01")));
    assert_eq!(next(&none, "2026-03-01", 0), None);
    assert_eq!(next(&none, "9999-12-30", u16::MAX), None);
    let later = SlotQuery { not_before: utc("2026-03-21T04:30:00Z"), ..query("2026-03-01") };
    assert_eq!(next_available(&hours, &none, &zone, &later, 60), Some(date("2026-03-21")));
}

#[test]
fn fits_reports_why_a_slot_cannot_be_booked() {
    let hours = [
        on(MONDAY, "09:00", "12:00"),
        only(&[CLEANING], on(MONDAY, "12:00", "13:00")),
        synced(on(MONDAY, "15:00", "16:00")),
        block(on(MONDAY, "16:00", "17:00")),
        at(1, None, on(MONDAY, "18:00", "19:00")),
        WorkingHour { active: false, ..on(MONDAY, "20:00", "21:00") },
    ];
    let mut calendar = busy(&[
        (chair(1), "2026-01-05T10:00:00Z", "2026-01-05T10:30:00Z"),
        (doctor(1), "2026-01-05T11:00:00Z", "2026-01-05T11:30:00Z"),
    ]);
    let hold = Span { start: utc("2026-01-05T10:15:00Z"), end: utc("2026-01-05T10:45:00Z") };
    calendar.insert(chair(1), hold, Holder::Hold(3));
    let fit = |operatory: Option<u64>, start: &str, length, appointment_type, join_blocks, own: &[Holder]| {
        let slot = slot(1, operatory, &format!("2026-01-05T{start}:00Z"), length);
        fits(&hours, &calendar, &Zone::utc(), &RequestedSlot { slot, appointment_type, join_blocks, own: own.to_vec() })
    };
    let first = Holder::Appointment(AppointmentId(1));
    let second = Holder::Appointment(AppointmentId(2));
    // Any minute is allowed, up to the end of the hours.
    assert_eq!(fit(Some(1), "09:07", 53 * MINUTE, None, true, &[]), Fit::Free);
    assert_eq!(fit(Some(1), "09:07", 54 * MINUTE, None, true, &[]), Fit::Busy(first));
    assert_eq!(fit(Some(1), "11:30", 30 * MINUTE, None, true, &[]), Fit::Free);
    assert_eq!(fit(Some(1), "11:00", HOUR, None, true, &[]), Fit::Busy(second));
    assert_eq!(fit(Some(1), "08:59", HOUR, None, true, &[]), Fit::OutsideHours);
    assert_eq!(fit(Some(1), "20:00", HOUR, None, true, &[]), Fit::OutsideHours);
    assert_eq!(fit(Some(2), "09:00", HOUR, None, true, &[]), Fit::OutsideHours);
    assert_eq!(fit(Some(1), "09:00", 0, None, true, &[]), Fit::OutsideHours);
    assert_eq!(fit(Some(1), "09:00", i64::MAX / 2, None, true, &[]), Fit::OutsideHours);
    assert_eq!(fit(None, "18:00", HOUR, None, true, &[]), Fit::Free);
    assert_eq!(fit(Some(1), "18:00", HOUR, None, true, &[]), Fit::OutsideHours);
    // No type fits all hours, and hours of another type do not help.
    assert_eq!(fit(Some(1), "11:30", 90 * MINUTE, None, true, &[]), Fit::Free);
    assert_eq!(fit(Some(1), "11:30", 90 * MINUTE, Some(CLEANING), true, &[]), Fit::Free);
    assert_eq!(fit(Some(1), "11:30", 90 * MINUTE, Some(IMPLANT), true, &[]), Fit::TypeNotAccepted);
    // Hours and blocks.
    assert_eq!(fit(Some(1), "15:30", HOUR, None, true, &[]), Fit::Free);
    assert_eq!(fit(Some(1), "15:30", HOUR, None, false, &[]), Fit::OutsideHours);
    assert_eq!(fit(Some(1), "16:00", HOUR, None, false, &[]), Fit::Free);
    // The caller's own hold or old placement is ignored; those of others are not.
    assert_eq!(fit(Some(1), "10:30", 15 * MINUTE, None, true, &[]), Fit::Busy(Holder::Hold(3)));
    assert_eq!(fit(Some(1), "10:30", 15 * MINUTE, None, true, &[Holder::Hold(3)]), Fit::Free);
    assert_eq!(fit(Some(1), "10:15", 15 * MINUTE, None, true, &[first]), Fit::Busy(Holder::Hold(3)));
    assert_eq!(fit(Some(1), "10:15", 15 * MINUTE, None, true, &[Holder::Hold(3), first]), Fit::Free);
}

#[test]
fn nearest_returns_alternatives_by_provider_and_distance() {
    let hours = [
        at(1, 1, daily("09:00", "12:00")),
        at(1, 2, daily("09:00", "12:00")),
        at(2, 3, daily("09:00", "12:00")),
        only(&[IMPLANT], at(3, 4, daily("09:00", "12:00"))),
    ];
    let taken = busy(&[(chair(1), "2026-01-05T10:00:00Z", "2026-01-05T11:00:00Z")]);
    let requested = RequestedSlot {
        slot: slot(1, 1, "2026-01-05T10:00:00Z", HOUR),
        appointment_type: Some(CLEANING),
        join_blocks: true,
        own: vec![],
    };
    let ask = |calendar: &Calendar, not_before: &str, count| {
        nearest(&hours, calendar, &Zone::utc(), &requested, utc(not_before), count)
    };
    let found = ask(&taken, "2026-01-01T00:00:00Z", 5);
    let expected = [(2, "05T10"), (1, "05T09"), (1, "05T11"), (1, "04T11"), (1, "06T09")];
    assert_eq!(found, expected.map(|(chair, start)| slot(1, chair, &format!("2026-01-{start}:00:00Z"), HOUR)));
    // Never in the past.
    let found = ask(&taken, "2026-01-05T10:30:00Z", 2);
    assert_eq!(found, [slot(1, 1, "2026-01-05T11:00:00Z", HOUR), slot(1, 1, "2026-01-06T09:00:00Z", HOUR)]);
    // Other providers if the same one has no slot, and distant days if the near ones are full.
    let away = busy(&[(doctor(1), "2025-01-01T00:00:00Z", "2027-01-01T00:00:00Z")]);
    let found = ask(&away, "2026-01-05T00:00:00Z", 3);
    assert_eq!(found, ["10", "09", "11"].map(|start| slot(2, 3, &format!("2026-01-05T{start}:00:00Z"), HOUR)));
    let closed = busy(&[
        (chair(1), "2026-01-01T00:00:00Z", "2026-02-20T10:00:00Z"),
        (chair(2), "2025-12-01T00:00:00Z", "2026-12-01T00:00:00Z"),
        (chair(3), "2025-12-01T00:00:00Z", "2026-12-01T00:00:00Z"),
    ]);
    let found = ask(&closed, "2026-01-05T00:00:00Z", 2);
    assert_eq!(found, [slot(1, 1, "2026-02-20T10:00:00Z", HOUR), slot(1, 1, "2026-02-20T11:00:00Z", HOUR)]);
    assert_eq!(ask(&closed, "2026-12-01T00:00:00Z", 2), []);
    // A slot that is still free is not its own alternative.
    assert!(!ask(&Calendar::new(), "2026-01-01T00:00:00Z", 50).contains(&requested.slot));
}
