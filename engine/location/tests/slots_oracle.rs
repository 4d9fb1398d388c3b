//! Free slots compared with a slow implementation of the rules, minute by minute, for random hours, calendars and
//! queries.

use crate::support;
use std::{collections::BTreeSet, sync::LazyLock};

use crate::support::{date, nearest, zone};
use location::{
    calendar::{Calendar, Column, Holder},
    hours::{HourKind, HourSource, Recurrence, RecurrenceUnit, Weekday, WorkingHour},
    ids::{AppointmentId, AppointmentTypeId, OperatoryId, ProviderId, WorkingHourId},
    slots::{Fit, RequestedSlot, Slot, SlotQuery, fits, free_slots, next_available},
    time::{DAY, MINUTE, Span, Timestamp},
    zone::{Date, Zone},
};
use proptest::prelude::*;

/// Zones, each with a day near a clock change.
static CHANGES: LazyLock<Vec<(Zone, Date)>> = LazyLock::new(|| {
    let changes = [
        ("America/New_York", "2026-03-08"),
        ("America/New_York", "2026-11-01"),
        ("America/New_York", "2026-06-03"),
        ("Australia/Lord_Howe", "2026-04-05"),
        ("Australia/Lord_Howe", "2026-10-04"),
        ("America/Sao_Paulo", "2018-11-04"),
        ("America/Sao_Paulo", "2018-02-18"),
        ("America/Havana", "2026-11-01"),
        ("Pacific/Kiritimati", "1994-12-31"),
        ("Asia/Kathmandu", "2026-10-17"),
    ];
    let year = |day: &str| date(day).ymd().0;
    changes.map(|(name, day)| (zone(name, year(day) - 1, year(day) + 2), date(day))).to_vec()
});

#[derive(Clone, Debug)]
pub struct Case {
    pub zone: Zone,
    pub hours: Vec<WorkingHour>,
    pub busy: Vec<(Column, Span)>,
    pub query: SlotQuery,
}

impl Case {
    fn calendar(&self) -> Calendar {
        let mut calendar = Calendar::new();
        for (id, (column, span)) in (1..).zip(&self.busy) {
            calendar.insert(*column, *span, Holder::Appointment(AppointmentId(id)));
        }
        calendar
    }
}

fn recurrences(around: Date) -> impl Strategy<Value = Recurrence> {
    let unit = prop_oneof![Just(RecurrenceUnit::Day), Just(RecurrenceUnit::Week), Just(RecurrenceUnit::Month)];
    prop_oneof![
        4 => prop::sample::subsequence(Weekday::ALL.to_vec(), 1..=7).prop_map(Recurrence::Weekly),
        1 => (-2..4).prop_map(move |days| Recurrence::On(around.add_days(days))),
        1 => (1u32..4, unit, -35..3).prop_map(move |(number, unit, days)| {
            Recurrence::Every { number, unit, reference: around.add_days(days) }
        }),
    ]
}

fn working_hours(around: Date) -> impl Strategy<Value = WorkingHour> {
    let place = (1u32..3, prop_oneof![1 => Just(None), 5 => (1u64..4).prop_map(Some)]);
    let time = || prop_oneof![3 => (0u16..288).prop_map(|n| n * 5), 2 => (0u16..8).prop_map(|n| n * 180)];
    let block = prop::bool::weighted(0.3);
    let types = prop_oneof![2 => Just(vec![]), 1 => prop::collection::vec((1u32..3).prop_map(AppointmentTypeId), 1..3)];
    (place, (time(), time()), recurrences(around), block, any::<bool>(), types, prop::bool::weighted(0.9)).prop_map(
        |((provider, operatory), (begin, end), recurrence, block, synced, appointment_types, active)| WorkingHour {
            id: WorkingHourId(1),
            provider: ProviderId(provider),
            operatory: operatory.map(OperatoryId),
            begin,
            end,
            recurrence,
            kind: if block { HourKind::SchedulableBlock } else { HourKind::WorkingHour },
            source: if synced { HourSource::Synced } else { HourSource::Manual },
            appointment_types,
            active,
        },
    )
}

fn queries(around: Date, noon: Timestamp) -> impl Strategy<Value = SlotQuery> {
    let length = prop_oneof![4 => (1i64..25).prop_map(|n| n * 5), 1 => 1i64..=1440];
    let interval = prop::option::of(prop_oneof![Just(5i64), Just(7), Just(15), Just(60), Just(600)]);
    let what = (
        prop::option::of((1u32..4).prop_map(AppointmentTypeId)),
        prop::option::weighted(0.2, any::<bool>()),
        any::<bool>(),
    );
    let who = (prop::option::weighted(0.2, 1u32..4), prop::collection::vec(1u64..4, 0..2));
    let how = (
        any::<bool>(),
        1u8..4,
        prop::option::weighted(0.3, -2_000i64..2_000),
        prop_oneof![3 => Just(usize::MAX), 1 => 0usize..20],
    );
    (-1..2, 1u16..4, length, interval, what, who, how).prop_map(
        move |(shift, days, length, interval, what, who, how)| SlotQuery {
            from: around.add_days(shift),
            days,
            length: length * MINUTE,
            interval: interval.map(|minutes| minutes * MINUTE),
            appointment_type: what.0,
            providers: who.0.map(ProviderId).into_iter().collect(),
            operatories: who.1.into_iter().map(OperatoryId).collect(),
            source: what.1.map(|synced| if synced { HourSource::Synced } else { HourSource::Manual }),
            hours: None,
            join_blocks: what.2,
            overlapping_operatory_slots: how.0,
            appointments_per_timeslot: how.1,
            not_before: how.2.map_or(Timestamp::MIN, |minutes| noon.plus(minutes * MINUTE)),
            limit: how.3,
        },
    )
}

pub fn cases() -> impl Strategy<Value = Case> {
    (0..CHANGES.len()).prop_flat_map(|index| {
        let (zone, around) = CHANGES[index].clone();
        let noon = zone.day(around).start.plus(DAY / 2);
        let column = prop_oneof![
            4 => (1u64..4).prop_map(|id| Column::Operatory(OperatoryId(id))),
            1 => (1u32..3).prop_map(|id| Column::Provider(ProviderId(id))),
        ];
        let start = -4_000i64..6_000;
        let length = prop_oneof![5 => 1i64..120, 1 => 1i64..3_000];
        let span = (start, length).prop_map(move |(start, length)| {
            let start = noon.plus(start * MINUTE);
            Span { start, end: start.plus(length * MINUTE) }
        });
        let hours = prop::collection::vec(working_hours(around), 0..14);
        let busy = prop::collection::vec((column, span), 0..40);
        (hours, busy, queries(around, noon)).prop_map(move |(hours, busy, query)| Case {
            zone: zone.clone(),
            hours,
            busy,
            query,
        })
    })
}

/// A range of minutes, each with a flag.
struct Minutes {
    from: Timestamp,
    set: Vec<bool>,
}

impl Minutes {
    /// Creates a range without flags that covers all windows and entries relevant to the query.
    fn around(case: &Case) -> Minutes {
        let from = case.zone.day(case.query.from.add_days(-3)).start;
        Minutes { from, set: vec![false; (usize::from(case.query.days) + 10) * 1_440] }
    }

    fn mark(&mut self, span: Span) {
        let index = |at: Timestamp| (at.since(self.from) / MINUTE).clamp(0, self.set.len() as i64) as usize;
        let range = index(span.start)..index(span.end);
        self.set[range].fill(true);
    }

    /// Returns the index ranges of consecutive set flags.
    fn stretches(&self) -> Vec<(usize, usize)> {
        let change = |index: &usize| self.set[*index] != (*index > 0 && self.set[*index - 1]);
        let edges: Vec<usize> = (0..self.set.len()).filter(change).collect();
        edges.chunks(2).map(|edge| (edge[0], edge[1])).collect()
    }
}

type ProviderPlace = (ProviderId, Option<OperatoryId>);

fn windows(case: &Case, (provider, operatory): ProviderPlace, counts: impl Fn(&WorkingHour) -> bool) -> Minutes {
    let query = &case.query;
    let mut open = Minutes::around(case);
    // Windows of the previous evening, of the queried days, and of the days after.
    for date in (-1..i32::from(query.days) + 2).map(|days| query.from.add_days(days)) {
        for hour in &case.hours {
            let asked_for = hour.active
                && (hour.provider, hour.operatory) == (provider, operatory)
                && (query.providers.is_empty() || query.providers.contains(&provider))
                && (query.operatories.is_empty() || operatory.is_some_and(|id| query.operatories.contains(&id)))
                && (query.source.is_none() || query.source == Some(hour.source))
                && query
                    .appointment_type
                    .is_none_or(|id| hour.appointment_types.is_empty() || hour.appointment_types.contains(&id));
            if asked_for && hour.applies_on(date) && counts(hour) {
                hour.span_on(&case.zone, date).into_iter().for_each(|span| open.mark(span));
            }
        }
    }
    open
}

fn starts_in(case: &Case, place: ProviderPlace) -> BTreeSet<Timestamp> {
    let (query, zone) = (&case.query, &case.zone);
    let is_block = |hour: &WorkingHour| hour.kind == HourKind::SchedulableBlock;
    let mut hours = windows(case, place, |hour| !is_block(hour)).stretches();
    let blocks = if query.join_blocks {
        let joined = windows(case, place, |hour| is_block(hour) || hour.source == HourSource::Synced).stretches();
        let blocks = windows(case, place, is_block);
        let with_block: Vec<_> =
            joined.into_iter().filter(|(from, to)| blocks.set[*from..*to].contains(&true)).collect();
        hours.retain(|hour| !with_block.iter().any(|block| block.0 <= hour.0 && hour.1 <= block.1));
        with_block
    } else {
        windows(case, place, is_block).stretches()
    };
    let mut taken = Minutes::around(case);
    for (column, span) in &case.busy {
        if *column == Column::Provider(place.0) || place.1.is_some_and(|id| *column == Column::Operatory(id)) {
            taken.mark(*span);
        }
    }
    let length = (query.length / MINUTE) as usize;
    let step = (query.interval.unwrap_or(query.length) / MINUTE) as usize;
    let days = Span { start: zone.day(query.from).start, end: zone.day(query.from.add_days(query.days.into())).start };
    let mut starts = BTreeSet::new();
    for (from, to) in hours.into_iter().chain(blocks) {
        for index in (from..to).step_by(step).filter(|index| index + length <= to) {
            let start = taken.from.plus(index as i64 * MINUTE);
            let free = !taken.set[index..index + length].contains(&true);
            if free && days.start <= start && start < days.end && start >= query.not_before {
                starts.insert(start);
            }
        }
    }
    starts
}

fn oracle(case: &Case) -> Vec<Slot> {
    let query = &case.query;
    let places: BTreeSet<ProviderPlace> = case.hours.iter().map(|hour| (hour.provider, hour.operatory)).collect();
    let mut offers: BTreeSet<(Timestamp, ProviderId, Option<OperatoryId>)> = BTreeSet::new();
    for place in places {
        offers.extend(starts_in(case, place).into_iter().map(|start| (start, place.0, place.1)));
    }
    let of_timeslot = |start, provider| offers.iter().filter(move |offer| (offer.0, offer.1) == (start, provider));
    let offered = |offer: &&(Timestamp, ProviderId, Option<OperatoryId>)| {
        let first = of_timeslot(offer.0, offer.1).next() == Some(*offer);
        of_timeslot(offer.0, offer.1).count() >= usize::from(query.appointments_per_timeslot)
            && (query.overlapping_operatory_slots || first)
    };
    let slot = |offer: &(Timestamp, ProviderId, Option<OperatoryId>)| Slot {
        span: Span { start: offer.0, end: offer.0.plus(query.length) },
        provider: offer.1,
        operatory: offer.2,
    };
    offers.iter().filter(offered).map(slot).take(query.limit).collect()
}

/// Returns `true` if hours of one layer cover each minute of the slot.
fn on_duty(case: &Case, slot: &Slot, appointment_type: Option<AppointmentTypeId>, join_blocks: bool) -> bool {
    let (first, last) = (case.zone.local_date(slot.span.start).add_days(-2), case.zone.local_date(slot.span.end));
    let spans = |counts: &dyn Fn(&WorkingHour) -> bool| -> Vec<Span> {
        let here = |hour: &&WorkingHour| {
            hour.active
                && (hour.provider, hour.operatory) == (slot.provider, slot.operatory)
                && hour.accepts(appointment_type)
                && counts(hour)
        };
        let dates = |hour| (first.0..=last.0).map(move |days| (hour, Date(days)));
        let hours = case
            .hours
            .iter()
            .filter(here)
            .flat_map(dates)
            .filter(|(hour, date): &(&WorkingHour, Date)| hour.applies_on(*date));
        hours.filter_map(|(hour, date)| hour.span_on(&case.zone, date)).collect()
    };
    let minutes = || (0..slot.span.length() / MINUTE).map(|minute| slot.span.start.plus(minute * MINUTE));
    let covered = |spans: Vec<Span>| minutes().all(|at| spans.iter().any(|span| span.start <= at && at < span.end));
    let is_block = |hour: &WorkingHour| hour.kind == HourKind::SchedulableBlock;
    covered(spans(&|hour| !is_block(hour)))
        || covered(spans(&|hour| is_block(hour) || (join_blocks && hour.source == HourSource::Synced)))
}

proptest! {
    #![proptest_config(support::cases(400))]

    #[test]
    fn free_slots_agree_with_the_rules(case in cases()) {
        prop_assert_eq!(case.query.problems(), Vec::<&str>::new());
        let slots = free_slots(&case.hours, &case.calendar(), &case.zone, &case.query);
        prop_assert_eq!(slots, oracle(&case));
    }

    #[test]
    fn offered_slots_can_be_booked(case in cases()) {
        let (calendar, query) = (case.calendar(), &case.query);
        for slot in free_slots(&case.hours, &calendar, &case.zone, query) {
            let requested = RequestedSlot { slot, appointment_type: query.appointment_type, join_blocks: query.join_blocks, own: vec![] };
            prop_assert_eq!(fits(&case.hours, &calendar, &case.zone, &requested), Fit::Free);
        }
    }

    #[test]
    fn fits_agrees_with_the_rules(case in cases(), provider in 1u32..3, operatory in prop::option::weighted(0.9, 1u64..4), minute in -2_000i64..4_000, length in 1i64..120) {
        let (calendar, query) = (case.calendar(), &case.query);
        let start = case.zone.day(query.from).start.plus(minute * MINUTE);
        let slot = Slot { span: Span { start, end: start.plus(length * MINUTE) }, provider: ProviderId(provider), operatory: operatory.map(OperatoryId) };
        let requested = RequestedSlot { slot, appointment_type: query.appointment_type, join_blocks: query.join_blocks, own: vec![] };
        let busy = calendar.busy(slot.operatory, slot.provider, slot.span).next();
        let expected = match (on_duty(&case, &slot, None, query.join_blocks), on_duty(&case, &slot, query.appointment_type, query.join_blocks), busy) {
            (false, ..) => Fit::OutsideHours,
            (true, false, _) => Fit::TypeNotAccepted,
            (true, true, Some(entry)) => Fit::Busy(entry.holder),
            (true, true, None) => Fit::Free,
        };
        prop_assert_eq!(fits(&case.hours, &calendar, &case.zone, &requested), expected);
    }

    /// Expects the first following day that has a slot when queried alone. With an interval of a minute, the start of
    /// the query cannot move the grid of endless windows.
    #[test]
    fn next_available_agrees_with_daily_queries(case in cases(), horizon in 0u16..40) {
        let query = SlotQuery { interval: Some(MINUTE), limit: usize::MAX, ..case.query.clone() };
        let calendar = case.calendar();
        let days = (0..i32::from(horizon)).map(|day| query.from.add_days(i32::from(query.days) + day));
        let has_slot = |day: &Date| !free_slots(&case.hours, &calendar, &case.zone, &SlotQuery { from: *day, days: 1, ..query.clone() }).is_empty();
        let expected = days.into_iter().find(has_slot);
        prop_assert_eq!(next_available(&case.hours, &calendar, &case.zone, &query, horizon), expected);
    }

    #[test]
    fn alternatives_are_free_and_in_order(case in cases(), count in 0usize..8) {
        let (calendar, query) = (case.calendar(), &case.query);
        let span = Span { start: case.zone.day(query.from).start, end: case.zone.day(query.from).start.plus(query.length) };
        let slot = Slot { span, provider: ProviderId(1), operatory: Some(OperatoryId(1)) };
        let requested = RequestedSlot { slot, appointment_type: query.appointment_type, join_blocks: query.join_blocks, own: vec![] };
        let found = nearest(&case.hours, &calendar, &case.zone, &requested, query.not_before, count);
        prop_assert!(found.len() <= count);
        let rank = |slot: &Slot| (slot.provider != ProviderId(1), slot.span.start.since(span.start).abs(), slot.span.start, slot.provider);
        prop_assert!(found.is_sorted_by(|a, b| rank(a) < rank(b)));
        for slot in &found {
            prop_assert!(slot.span.start >= query.not_before && *slot != requested.slot && slot.span.length() == query.length);
            prop_assert_eq!(fits(&case.hours, &calendar, &case.zone, &RequestedSlot { slot: *slot, ..requested.clone() }), Fit::Free);
        }
    }
}
