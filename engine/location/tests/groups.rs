//! Groups of slots for several patients, compared with all combinations of free slots.

use std::{collections::BTreeSet, sync::Arc};

use crate::support::{self, daily, date, free_groups, slot_query, utc};
use location::{
    Location,
    calendar::{Calendar, Column, Holder, Placement},
    command::{Book, BookGroup, BookPatient, Closed, Command, DecisionContext, OfferedSlot},
    decision::Reply,
    hours::WorkingHour,
    ids::{AppointmentId, LocationId, OperatoryId, PatientId, ProviderId, WorkingHourId},
    rules::{RuleSet, VisitRules},
    settings::MachineSettings,
    slots::{Arrangement, Party, Slot, SlotQuery, free_slots},
    state::{CalendarAppointment, Insert, State},
    time::{HOUR, MINUTE, Span, Timestamp},
    zone::Zone,
};
use proptest::prelude::*;

const DAY: &str = "2026-06-01";
const NEXT_DAY: &str = "2026-06-02";

fn hour_of(provider: u32, operatory: Option<u64>, begin: &str, end: &str) -> WorkingHour {
    WorkingHour { provider: ProviderId(provider), operatory: operatory.map(OperatoryId), ..daily(begin, end) }
}

fn consecutive(size: u8) -> Party {
    Party { size, arrangement: Arrangement::Consecutive }
}

fn parallel(size: u8) -> Party {
    Party { size, arrangement: Arrangement::Parallel }
}

/// Searches a day in UTC for visits of 30 minutes.
fn search(hours: &[WorkingHour], calendar: &Calendar, party: Party) -> Vec<Vec<Slot>> {
    free_groups(hours, calendar, &Zone::utc(), &slot_query(DAY, 1, 30 * MINUTE), party, |_, _| true)
}

/// Formats a group as `09:00 1/op1, 09:30 1/op1`.
fn shown(group: &[Slot]) -> String {
    let slot = |slot: &Slot| {
        let minute = slot.span.start.since(utc("2026-06-01T00:00:00Z")) / MINUTE;
        let operatory = slot.operatory.map_or("-".to_owned(), |id| format!("op{id}"));
        format!("{:02}:{:02} {}/{operatory}", minute / 60, minute % 60, slot.provider)
    };
    group.iter().map(slot).collect::<Vec<_>>().join(", ")
}

fn busy(calendar: &mut Calendar, operatory: u64, start: &str, minutes: i64) {
    let start = utc(&format!("{DAY}T{start}:00Z"));
    let span = Span { start, end: start.plus(minutes * MINUTE) };
    let holder = Holder::Appointment(AppointmentId(calendar.len() as u64));
    calendar.insert(Column::Operatory(OperatoryId(operatory)), span, holder);
}

#[test]
fn consecutive_visits_stay_with_the_provider_that_has_the_longest_time() {
    let hours = [hour_of(1, Some(1), "09:00", "10:00"), hour_of(2, Some(2), "09:00", "11:00")];
    let found = search(&hours, &Calendar::new(), consecutive(3));
    assert_eq!(shown(&found[0]), "09:00 2/op2, 09:30 2/op2, 10:00 2/op2");
    assert_eq!(found.len(), 2, "one group for each start: {found:?}");
}

#[test]
fn consecutive_visits_change_the_operatory_before_the_provider() {
    let hours = [
        hour_of(1, Some(1), "09:00", "10:30"),
        hour_of(1, Some(2), "09:00", "10:30"),
        hour_of(2, Some(3), "10:00", "10:30"),
    ];
    let mut calendar = Calendar::new();
    busy(&mut calendar, 1, "10:00", 30);
    busy(&mut calendar, 2, "09:00", 60);
    let found = search(&hours, &calendar, consecutive(3));
    assert_eq!(found.iter().map(|group| shown(group)).collect::<Vec<_>>(), ["09:00 1/op1, 09:30 1/op1, 10:00 1/op2"]);
}

#[test]
fn consecutive_visits_have_no_gap() {
    let hours = [hour_of(1, Some(1), "09:00", "10:30")];
    let mut calendar = Calendar::new();
    busy(&mut calendar, 1, "09:30", 30);
    assert_eq!(search(&hours, &calendar, consecutive(2)), Vec::<Vec<Slot>>::new());
}

#[test]
fn a_group_may_end_after_the_last_day() {
    let hours = [hour_of(1, Some(1), "22:00", "02:00")];
    let found = search(&hours, &Calendar::new(), consecutive(3));
    let last = found.last().expect("the evening has groups");
    assert_eq!(shown(last), "23:30 1/op1, 24:00 1/op1, 24:30 1/op1");
}

#[test]
fn parallel_visits_have_as_many_providers_as_possible() {
    let hours = [
        hour_of(1, Some(1), "09:00", "09:30"),
        hour_of(1, Some(2), "09:00", "09:30"),
        hour_of(2, Some(1), "09:00", "09:30"),
    ];
    let found = search(&hours, &Calendar::new(), parallel(2));
    assert_eq!(found.iter().map(|group| shown(group)).collect::<Vec<_>>(), ["09:00 1/op2, 09:00 2/op1"]);
}

#[test]
fn one_provider_may_have_parallel_visits_only_in_different_operatories() {
    let one_place = [hour_of(1, Some(1), "09:00", "10:00")];
    assert!(search(&one_place, &Calendar::new(), parallel(2)).is_empty());
    let no_place = [hour_of(1, None, "09:00", "10:00")];
    assert!(search(&no_place, &Calendar::new(), parallel(2)).is_empty());
    let two_places = [hour_of(1, Some(1), "09:00", "09:30"), hour_of(1, Some(2), "09:00", "09:30")];
    let found = search(&two_places, &Calendar::new(), parallel(2));
    assert_eq!(found.iter().map(|group| shown(group)).collect::<Vec<_>>(), ["09:00 1/op1, 09:00 1/op2"]);
}

#[test]
fn slots_that_a_rule_refuses_after_other_members_are_replaced() {
    let hours = [hour_of(1, Some(1), "09:00", "10:30"), hour_of(2, Some(2), "09:00", "10:30")];
    // Like a buffer: two visits one after the other cannot be in one operatory.
    let admits = |chosen: &[Slot], slot: &Slot| {
        !chosen.iter().any(|other| other.operatory == slot.operatory && other.span.end == slot.span.start)
    };
    let query = slot_query(DAY, 1, 30 * MINUTE);
    let found = free_groups(&hours, &Calendar::new(), &Zone::utc(), &query, consecutive(3), admits);
    assert_eq!(shown(&found[0]), "09:00 1/op1, 09:30 2/op2, 10:00 1/op1");
}

#[test]
fn a_search_ends_at_its_limit_and_ignores_sizes_out_of_range() {
    let hours = [hour_of(1, Some(1), "09:00", "17:00")];
    let query = SlotQuery { limit: 3, ..slot_query(DAY, 30, 30 * MINUTE) };
    let groups = |size| free_groups(&hours, &Calendar::new(), &Zone::utc(), &query, consecutive(size), |_, _| true);
    assert_eq!(groups(2).len(), 3);
    assert!(groups(1).is_empty() && groups(9).is_empty());
}

#[derive(Clone, Debug)]
struct Case {
    hours: Vec<WorkingHour>,
    busy: Vec<(Column, Span)>,
    party: Party,
    days: u16,
}

impl Case {
    fn calendar(&self) -> Calendar {
        let mut calendar = Calendar::new();
        for (id, (column, span)) in (1..).zip(&self.busy) {
            calendar.insert(*column, *span, Holder::Appointment(AppointmentId(id)));
        }
        calendar
    }

    fn query(&self) -> SlotQuery {
        slot_query(DAY, self.days, 30 * MINUTE)
    }

    /// Returns all groups that start at one of the slots, by trying every combination.
    fn combinations(&self, slots: &[Slot], admits: impl Fn(&[Slot], &Slot) -> bool) -> Vec<Vec<Slot>> {
        let mut groups: Vec<Vec<Slot>> = slots.iter().map(|slot| vec![*slot]).collect();
        for _ in 1..self.party.size {
            let mut longer = Vec::new();
            for group in &groups {
                let last = group[group.len() - 1];
                let follows = |slot: &&Slot| match self.party.arrangement {
                    Arrangement::Consecutive => slot.span.start == last.span.end,
                    Arrangement::Parallel => {
                        let place = |slot: &Slot| (slot.provider, slot.operatory);
                        slot.span == last.span && place(slot) > place(&last)
                    }
                };
                let apart = |slot: &&Slot| !group.iter().any(|other| other.conflicts_with(slot));
                let next = slots.iter().filter(follows).filter(apart).filter(|slot| admits(group, slot));
                longer.extend(next.map(|slot| group.iter().copied().chain([*slot]).collect::<Vec<_>>()));
            }
            groups = longer;
        }
        let end = utc(&format!("{DAY}T00:00:00Z")).plus(i64::from(self.days) * 24 * HOUR);
        groups.retain(|group| group[0].span.start < end);
        groups
    }
}

fn cases(places_only: bool) -> impl Strategy<Value = Case> {
    let operatory = prop_oneof![6 => (1u64..4).prop_map(Some), 1 => Just(None)];
    let operatory = operatory.prop_map(move |id| if places_only { id.or(Some(1)) } else { id });
    let time = (0i64..8).prop_map(|half| 19 * 60 + half * 30);
    let hours = (1u32..4, operatory, time, 1i64..9).prop_map(|(provider, operatory, begin, halves)| WorkingHour {
        provider: ProviderId(provider),
        operatory: operatory.map(OperatoryId),
        begin: begin as u16,
        end: ((begin + halves * 30) % (24 * 60)) as u16,
        ..daily("09:00", "10:00")
    });
    let column = prop_oneof![
        6 => (1u64..4).prop_map(|id| Column::Operatory(OperatoryId(id))),
        1 => (1u32..4).prop_map(|id| Column::Provider(ProviderId(id))),
    ];
    let busy = (column, 0i64..24, 1i64..4).prop_map(|(column, start, length)| {
        let start = utc("2026-06-01T18:00:00Z").plus(start * 15 * MINUTE);
        (column, Span { start, end: start.plus(length * 15 * MINUTE) })
    });
    let arrangement = prop::sample::select(Arrangement::ALL.to_vec());
    let party = (2u8..5, arrangement).prop_map(|(size, arrangement)| Party { size, arrangement });
    (prop::collection::vec(hours, 0..7), prop::collection::vec(busy, 0..10), party, 1u16..3)
        .prop_map(|(hours, busy, party, days)| Case { hours, busy, party, days })
}

/// Number of changes of provider of a consecutive group; number of visits that share a provider of a parallel one.
fn cost(party: Party, group: &[Slot]) -> usize {
    match party.arrangement {
        Arrangement::Consecutive => group.windows(2).filter(|pair| pair[0].provider != pair[1].provider).count(),
        Arrangement::Parallel => {
            let providers: BTreeSet<ProviderId> = group.iter().map(|slot| slot.provider).collect();
            group.len() - providers.len()
        }
    }
}

fn start_of(group: &[Slot]) -> Timestamp {
    group[0].span.start
}

/// Compares the groups with all combinations: one group for each start that has one, in order.
fn compare(case: &Case, admits: impl Fn(&[Slot], &Slot) -> bool) -> Result<Vec<(usize, usize)>, TestCaseError> {
    let (calendar, query) = (case.calendar(), case.query());
    let found = free_groups(&case.hours, &calendar, &Zone::utc(), &query, case.party, &admits);
    let slots = free_slots(&case.hours, &calendar, &Zone::utc(), &SlotQuery { days: case.days + 1, ..query });
    let all = case.combinations(&slots, admits);
    let starts: BTreeSet<Timestamp> = all.iter().map(|group| start_of(group)).collect();
    let found_starts: Vec<Timestamp> = found.iter().map(|group| start_of(group)).collect();
    prop_assert_eq!(found_starts, starts.into_iter().collect::<Vec<_>>());
    let mut costs = Vec::new();
    for group in &found {
        prop_assert!(all.contains(group), "{} is not a combination", shown(group));
        let same_start = all.iter().filter(|other| start_of(other) == start_of(group));
        let least = same_start.map(|other| cost(case.party, other)).min();
        costs.push((cost(case.party, group), least.expect("the group itself")));
    }
    Ok(costs)
}

/// Returns a location with the hours and appointments of the case.
fn location(case: &Case, rules: VisitRules) -> Location {
    let mut settings = MachineSettings::new(LocationId(1), Zone::utc());
    settings.rules = RuleSet { plain: rules, ..RuleSet::default() };
    let mut state = State::default();
    for (id, hour) in (1..).map(WorkingHourId).zip(&case.hours) {
        state.hours.insert(id, WorkingHour { id, ..hour.clone() });
    }
    for (id, (column, span)) in (1..).map(AppointmentId).zip(&case.busy) {
        let (operatory, provider) = match column {
            Column::Operatory(operatory) => (Some(*operatory), None),
            Column::Provider(provider) => (None, Some(*provider)),
        };
        let appointment = CalendarAppointment {
            patient: Some(PatientId(1)),
            appointment_type: None,
            placement: Placement { operatory, provider, span: *span },
            unavailable: false,
            insert: Insert::Pulled,
            cancelling: false,
            vacating: Vec::new(),
            confirmed: None,
            replaced: Vec::new(),
            gone: false,
        };
        state.put_appointment(id, appointment);
    }
    Location::load(Arc::new(settings), state)
}

/// Returns the booking of a slot by a patient with the same id.
fn booking(id: u32, slot: &Slot, now: Timestamp) -> Book {
    let place = Placement { operatory: slot.operatory, provider: Some(slot.provider), span: slot.span };
    Book {
        appointment: AppointmentId(id.into()),
        offer: OfferedSlot { hold: id.into(), ..OfferedSlot::new(place, now.plus(HOUR)) },
        key: None,
        patient: BookPatient { id: PatientId(id), is_new: false, missing_fields: Vec::new(), date_of_birth: None },
        by_rules: true,
    }
}

proptest! {
    #![proptest_config(support::cases(300))]

    #[test]
    fn offered_groups_can_be_booked_under_the_rules(
        case in cases(false), before in 0i64..3, after in 0i64..3, daily_visits in prop::option::of(1u32..9)
    ) {
        let (buffer_before, buffer_after) = (before * 15 * MINUTE, after * 15 * MINUTE);
        let rules = VisitRules { buffer_before, buffer_after, daily_visits, ..VisitRules::default() };
        let location = location(&case, rules);
        let now = utc("2026-05-31T12:00:00Z");
        for group in location.offered_groups(now, &case.query(), case.party, &Closed::default(), None) {
            let bookings = (1_000..).zip(&group).map(|(id, slot)| booking(id, slot, now)).collect();
            let command = Command::BookGroup(BookGroup { bookings, key: None });
            let decision = location.decide(DecisionContext { now, random: 1 }, &command);
            let is_booked = matches!(decision.reply, Reply::GroupBooked { replay: false, .. });
            prop_assert!(is_booked, "{}: {:?}", shown(&group), decision.reply);
        }
    }

    #[test]
    fn groups_agree_with_all_combinations(case in cases(false)) {
        compare(&case, |_, _| true)?;
    }

    #[test]
    fn groups_in_operatories_are_the_best_of_their_start(case in cases(true)) {
        for (cost, least) in compare(&case, |_, _| true)? {
            prop_assert_eq!(cost, least);
        }
    }

    /// A pair of visits in one operatory is refused, as by buffers.
    #[test]
    fn groups_agree_with_all_combinations_under_a_rule(case in cases(true)) {
        compare(&case, |chosen, slot| !chosen.iter().any(|other| other.operatory == slot.operatory))?;
    }

    /// Each search of one day finds the groups of that day.
    #[test]
    fn searches_of_single_days_find_the_same_groups(case in cases(false)) {
        let calendar = case.calendar();
        let search = |query: SlotQuery| {
            free_groups(&case.hours, &calendar, &Zone::utc(), &query, case.party, |_, _| true)
        };
        let both = search(SlotQuery { days: 2, ..case.query() });
        let first = search(SlotQuery { days: 1, ..case.query() });
        let second = search(SlotQuery { days: 1, from: date(NEXT_DAY), ..case.query() });
        prop_assert_eq!([first, second].concat(), both);
    }
}
