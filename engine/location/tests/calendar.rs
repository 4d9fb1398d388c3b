//! The calendar: examples, and a comparison with a plain list.

use crate::support;
use location::{
    calendar::{Calendar, Column, Entry, Holder, Placement},
    ids::{AppointmentId, OperatoryId, ProviderId},
    state::{CalendarAppointment, Insert, State},
    time::{Span, Timestamp},
};
use proptest::prelude::*;

const CHAIR: Column = Column::Operatory(OperatoryId(1));
const DOCTOR: Column = Column::Provider(ProviderId(1));

fn span(start: i64, end: i64) -> Span {
    Span { start: Timestamp(start), end: Timestamp(end) }
}

fn appointment(id: u64) -> Holder {
    Holder::Appointment(AppointmentId(id))
}

fn holders<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<Holder> {
    entries.map(|entry| entry.holder).collect()
}

#[test]
fn provider_is_busy_through_operatory_and_provider_columns() {
    let mut calendar = Calendar::new();
    assert!(calendar.insert(CHAIR, span(10, 20), appointment(1)));
    assert!(calendar.insert(DOCTOR, span(30, 40), appointment(2)));
    let busy = |operatory: Option<u64>, provider, span| {
        holders(calendar.busy(operatory.map(OperatoryId), ProviderId(provider), span))
    };
    assert_eq!(busy(Some(1), 1, span(0, 50)), [appointment(1), appointment(2)]);
    assert_eq!(busy(Some(1), 2, span(0, 50)), [appointment(1)]);
    assert_eq!(busy(Some(2), 1, span(0, 50)), [appointment(2)]);
    assert_eq!(busy(Some(2), 2, span(0, 50)), []);
    assert_eq!(busy(None, 1, span(0, 50)), [appointment(2)]);
    // Spans are half-open: adjacent ones do not overlap.
    assert_eq!(busy(Some(1), 1, span(20, 30)), []);
    assert_eq!(busy(Some(1), 1, span(19, 20)), [appointment(1)]);
}

#[test]
fn appointment_without_operatory_and_provider_blocks_nothing_and_is_found_by_time() {
    let mut state = State::default();
    let placement = Placement { operatory: None, provider: None, span: span(10, 20) };
    let unplaced = CalendarAppointment {
        patient: None,
        appointment_type: None,
        placement,
        unavailable: false,
        insert: Insert::Pulled,
        cancelling: false,
        vacating: Vec::new(),
        confirmed: None,
        replaced: Vec::new(),
        gone: false,
    };
    state.put_appointment(AppointmentId(1), unplaced.clone());
    let placed = Placement { operatory: Some(OperatoryId(1)), ..placement };
    state.put_appointment(AppointmentId(2), CalendarAppointment { placement: placed, ..unplaced });
    assert_eq!(holders(state.calendar.during(span(19, 30))), [appointment(2), appointment(1)]);
    assert_eq!(holders(state.calendar.during(span(20, 30))), []);
    assert_eq!(holders(state.calendar.busy(Some(OperatoryId(1)), ProviderId(1), span(0, 50))), [appointment(2)]);
    state.remove_appointment(AppointmentId(1));
    assert_eq!(holders(state.calendar.during(span(0, 50))), [appointment(2)]);
}

#[test]
fn duplicate_calendar_entries_are_rejected() {
    let mut calendar = Calendar::new();
    assert!(!calendar.insert(CHAIR, span(10, 10), appointment(1)), "an empty span blocks nothing");
    assert!(calendar.insert(CHAIR, span(10, 20), appointment(1)));
    assert!(!calendar.insert(CHAIR, span(10, 20), appointment(1)));
    // An unconfirmed move within the old placement.
    assert!(calendar.insert(CHAIR, span(10, 20), Holder::Vacating(AppointmentId(1))));
    assert!(!calendar.remove(CHAIR, span(10, 21), appointment(1)));
    assert!(!calendar.remove(DOCTOR, span(10, 20), appointment(1)));
    assert!(calendar.remove(CHAIR, span(10, 20), appointment(1)));
    assert_eq!(calendar.len(), 1);
    assert!(calendar.remove(CHAIR, span(10, 20), Holder::Vacating(AppointmentId(1))));
    assert_eq!(calendar, Calendar::new());
}

#[test]
fn overlapping_finds_a_long_block_under_short_appointments() {
    let mut calendar = Calendar::new();
    calendar.insert(CHAIR, span(0, 1_000), appointment(0));
    (1..100).for_each(|n| assert!(calendar.insert(CHAIR, span(n as i64 * 10, n as i64 * 10 + 5), appointment(n))));
    assert_eq!(holders(calendar.overlapping(CHAIR, span(996, 999))), [appointment(0)]);
    assert_eq!(
        holders(calendar.overlapping(CHAIR, span(504, 511))),
        [appointment(0), appointment(50), appointment(51)]
    );
    assert_eq!(calendar.overlaps_within().count(), 99);
    calendar.check();
    (1..100).for_each(|n| assert!(calendar.remove(CHAIR, span(n as i64 * 10, n as i64 * 10 + 5), appointment(n))));
    calendar.check();
    assert_eq!(holders(calendar.overlapping(CHAIR, span(0, 10))), [appointment(0)]);
    assert!(calendar.remove(CHAIR, span(0, 1_000), appointment(0)));
    assert!(calendar.is_empty());
}

#[derive(Clone, Debug)]
enum CalendarStep {
    Insert(Column, Span, Holder),
    Remove(prop::sample::Index),
    RemoveUnknown(Column, Span, Holder),
    Query(Option<u64>, u32, Span),
}

fn spans() -> impl Strategy<Value = Span> {
    // Mostly short spans, and some that cover everything.
    (0i64..200, prop_oneof![4 => 1i64..12, 1 => 1i64..250]).prop_map(|(start, length)| span(start, start + length))
}

fn columns() -> impl Strategy<Value = Column> {
    let operatory = (1u64..3).prop_map(|id| Column::Operatory(OperatoryId(id)));
    prop_oneof![3 => operatory, 1 => (1u32..3).prop_map(|id| Column::Provider(ProviderId(id)))]
}

fn any_holder() -> impl Strategy<Value = Holder> {
    (0u8..3, 0u64..6).prop_map(|(kind, id)| match kind {
        0 => Holder::Appointment(AppointmentId(id)),
        1 => Holder::Vacating(AppointmentId(id)),
        _ => Holder::Hold(id),
    })
}

fn steps() -> impl Strategy<Value = CalendarStep> {
    prop_oneof![
        8 => (columns(), spans(), any_holder()).prop_map(|(column, span, holder)| CalendarStep::Insert(column, span, holder)),
        3 => any::<prop::sample::Index>().prop_map(CalendarStep::Remove),
        1 => (columns(), spans(), any_holder()).prop_map(|(column, span, holder)| CalendarStep::RemoveUnknown(column, span, holder)),
        6 => (prop::option::of(1u64..4), 1u32..4, spans()).prop_map(|(operatory, provider, span)| CalendarStep::Query(operatory, provider, span)),
    ]
}

proptest! {
    #![proptest_config(support::cases(256))]

    #[test]
    fn calendar_agrees_with_a_plain_list(steps in prop::collection::vec(steps(), 1..120)) {
        let mut calendar = Calendar::new();
        let mut list: Vec<(Column, Entry)> = Vec::new();
        for step in steps {
            match step {
                CalendarStep::Insert(column, span, holder) => {
                    let entry = (column, Entry { span, holder });
                    prop_assert_eq!(calendar.insert(column, span, holder), !list.contains(&entry));
                    if !list.contains(&entry) {
                        list.push(entry);
                    }
                }
                CalendarStep::Remove(index) if !list.is_empty() => {
                    let (column, entry) = list.remove(index.index(list.len()));
                    prop_assert!(calendar.remove(column, entry.span, entry.holder));
                }
                CalendarStep::Remove(_) => {}
                CalendarStep::RemoveUnknown(column, span, holder) => {
                    let known = list.iter().position(|entry| *entry == (column, Entry { span, holder }));
                    prop_assert_eq!(calendar.remove(column, span, holder), known.is_some());
                    known.map(|index| list.remove(index));
                }
                CalendarStep::Query(operatory, provider, span) => {
                    let of = |column: Column| {
                        let mut entries: Vec<Entry> = list.iter().filter(|(c, e)| *c == column && e.span.overlaps(span)).map(|(_, e)| *e).collect();
                        entries.sort();
                        entries
                    };
                    let mut expected = operatory.map(|id| of(Column::Operatory(OperatoryId(id)))).unwrap_or_default();
                    expected.extend(of(Column::Provider(ProviderId(provider))));
                    let found: Vec<Entry> = calendar.busy(operatory.map(OperatoryId), ProviderId(provider), span).copied().collect();
                    prop_assert_eq!(found, expected);
                }
            }
            calendar.check();
        }
        list.sort();
        prop_assert_eq!(calendar.entries().map(|(column, entry)| (column, *entry)).collect::<Vec<_>>(), list.clone());
        let pairs = |(n, (column, first)): (usize, &(Column, Entry))| {
            let overlap = |(c, second): &&(Column, Entry)| c == column && first.span.overlaps(second.span);
            list[n + 1..].iter().filter(overlap).map(|(c, second)| (*c, *first, *second)).collect::<Vec<_>>()
        };
        let expected: Vec<_> = list.iter().enumerate().flat_map(pairs).collect();
        prop_assert_eq!(calendar.overlaps_within().map(|(c, a, b)| (c, *a, *b)).collect::<Vec<_>>(), expected);
    }
}
