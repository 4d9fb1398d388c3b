//! Explanations of times, and their agreement with the search.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    slots_oracle::{Case, cases},
    support::{self, date, hour, new_york, slot_query, utc},
};
use location::{
    Location,
    calendar::{Column, Holder, Placement},
    command::{Closed, PulledAppointment, Written},
    event::Event,
    explain::{ExplainQuery, Explanation, Place, Question, ReasonCount, TimeQuestion},
    hours::{Recurrence, Weekday, WorkingHour},
    ids::{AppointmentId, AppointmentTypeId, LocationId, OperatoryId, PatientId, ProviderId, WorkingHourId},
    resource::Resource,
    rules::{Closure, PatientFacts, Reason, RuleOverrides, RuleSet, VisitRules},
    settings::{Capabilities, MachineSettings, PullPlan},
    slots::{Slot, SlotQuery, StartFilter},
    time::{HOUR, MINUTE, Span, Timestamp},
    zone::Zone,
};
use proptest::prelude::*;

const MONDAY: &str = "2026-03-02";

/// 8:30 on that Monday.
fn now() -> Timestamp {
    utc("2026-03-02T13:30:00Z")
}

/// Returns a time of that Monday.
fn at(text: &str) -> Timestamp {
    new_york().resolve(date(MONDAY), support::minutes(text)).first()
}

fn span(from: &str, to: &str) -> Span {
    Span { start: at(from), end: at(to) }
}

fn location(zone: Zone, hours: impl IntoIterator<Item = WorkingHour>, rules: RuleSet) -> Location {
    let mut settings = MachineSettings::new(LocationId(1), zone);
    settings.rules = rules;
    let mut location = Location::new(Arc::new(settings));
    for (id, hour) in (1..).zip(hours) {
        location.evolve(now(), &Event::HourPulled(WorkingHour { id: WorkingHourId(id), ..hour }));
    }
    location
}

/// Returns hours of a provider on Mondays from 9:00 to 12:00, in the operatory with the same id.
fn morning(provider: u32) -> WorkingHour {
    let operatory = Some(OperatoryId(provider.into()));
    let mondays = Recurrence::Weekly(vec![Weekday::Monday]);
    WorkingHour { provider: ProviderId(provider), operatory, ..hour(mondays, "09:00", "12:00") }
}

fn visit(location: &mut Location, id: u64, column: Column, span: Span) {
    let (operatory, provider) = match column {
        Column::Operatory(id) => (Some(id), Some(ProviderId(1))),
        Column::Provider(id) => (None, Some(id)),
    };
    let record = PulledAppointment {
        id: AppointmentId(id),
        patient: Some(PatientId(1)),
        appointment_type: None,
        placement: Placement { operatory, provider, span },
        unavailable: false,
        cancelled: false,
        written: Written { foreign_id: String::new(), version: None },
        replacement: None,
    };
    location.evolve(now(), &Event::AppointmentPulled { record, keep: false });
}

fn with_rules(plain: VisitRules) -> RuleSet {
    RuleSet { plain, ..RuleSet::default() }
}

fn search(query: SlotQuery) -> ExplainQuery {
    let question = Question::Search { query, starts: StartFilter::default() };
    ExplainQuery { question, channel: None, patient: None }
}

fn time(span: Span, place: Place) -> ExplainQuery {
    let own = Vec::new();
    let question = TimeQuestion { span, place, appointment_type: None, join_blocks: true, own };
    ExplainQuery { question: Question::Time(question), channel: None, patient: None }
}

fn any_place() -> Place {
    Place::Matching { provider: None, operatory: None }
}

/// Half hours of that Monday, or of more days.
fn half_hours(days: u16) -> SlotQuery {
    SlotQuery { not_before: now(), ..slot_query(MONDAY, days, 30 * MINUTE) }
}

fn counts(found: &Explanation) -> Vec<(Reason, u32)> {
    found.reasons.iter().map(|it| (it.reason, it.count)).collect()
}

#[test]
fn a_search_counts_its_times_by_the_first_reason() {
    let rules = with_rules(VisitRules { minimum_notice: HOUR, ..VisitRules::default() });
    let mut location = location(new_york(), [morning(1)], rules);
    visit(&mut location, 1, Column::Operatory(OperatoryId(1)), span("10:00", "11:00"));
    let found = location.explain(now(), &search(half_hours(1)), &Closed::default());
    let reason = |reason, count, example| ReasonCount { reason, count, example: at(example) };
    let expected =
        [reason(Reason::Offered, 3, "09:30"), reason(Reason::Taken, 2, "10:00"), reason(Reason::TooSoon, 1, "09:00")];
    assert_eq!((found.considered, &*found.reasons, found.truncated), (6, &expected[..], false));
    assert_eq!((found.offered(), found.slot, found.rules.minimum_notice), (3, None, HOUR));
}

#[test]
fn a_day_without_times_counts_once_per_provider() {
    let location = location(new_york(), [morning(1), morning(2)], RuleSet::default());
    let found = location.explain(now(), &search(half_hours(7)), &Closed::default());
    assert_eq!(counts(&found), [(Reason::Offered, 12), (Reason::NoWorkingHours, 12)]);
    let one = SlotQuery { providers: vec![ProviderId(2)], ..half_hours(7) };
    let found = location.explain(now(), &search(one), &Closed::default());
    assert_eq!(counts(&found), [(Reason::Offered, 6), (Reason::NoWorkingHours, 6)]);
    // A provider or operatory without any hours.
    let none = SlotQuery { providers: vec![ProviderId(3)], ..half_hours(2) };
    let found = location.explain(now(), &search(none), &Closed::default());
    assert_eq!(counts(&found), [(Reason::NoWorkingHours, 2)]);
    let none = SlotQuery { operatories: vec![OperatoryId(9)], ..half_hours(2) };
    let found = location.explain(now(), &search(none), &Closed::default());
    assert_eq!(counts(&found), [(Reason::NoWorkingHours, 2)]);
}

#[test]
fn a_restriction_to_other_times_of_day_is_outside_hours() {
    let location = location(new_york(), [morning(1)], RuleSet::default());
    let evening = StartFilter { earliest: Some(20 * 60), ..StartFilter::default() };
    let question = Question::Search { query: half_hours(7), starts: evening };
    let asked = ExplainQuery { question, channel: None, patient: None };
    let found = location.explain(now(), &asked, &Closed::default());
    assert_eq!(counts(&found), [(Reason::NoWorkingHours, 6), (Reason::OutsideHours, 1)]);
    assert_eq!(found.reasons[1].example, at("20:00"));
    let tuesdays = StartFilter { weekdays: vec![Weekday::Tuesday], ..StartFilter::default() };
    let question = Question::Search { query: half_hours(7), starts: tuesdays };
    let asked = ExplainQuery { question, channel: None, patient: None };
    let found = location.explain(now(), &asked, &Closed::default());
    assert_eq!(counts(&found), [(Reason::NoWorkingHours, 1)]);
}

#[test]
fn hours_that_a_search_leaves_out_have_a_reason() {
    let other_type = WorkingHour { appointment_types: vec![AppointmentTypeId(2)], ..morning(2) };
    let location = location(new_york(), [morning(1), other_type, morning(3)], RuleSet::default());
    let closed = Closed { operatories: [OperatoryId(3)].into(), appointment_type: false };
    let asked = search(SlotQuery { appointment_type: Some(AppointmentTypeId(1)), ..half_hours(1) });
    let found = location.explain(now(), &asked, &closed);
    let expected = [(Reason::Offered, 6), (Reason::TypeNotOfferedHere, 6), (Reason::OperatoryNotBookableOnline, 6)];
    assert_eq!(counts(&found), expected);
    let closed = Closed { appointment_type: true, ..closed };
    let found = location.explain(now(), &asked, &closed);
    assert_eq!(counts(&found), [(Reason::TypeNotBookableOnline, 12), (Reason::TypeNotOfferedHere, 6)]);
}

#[test]
fn more_times_than_the_limit_are_reported() {
    let location = location(new_york(), [morning(1)], RuleSet::default());
    let explain = |limit| location.explain(now(), &search(SlotQuery { limit, ..half_hours(7) }), &Closed::default());
    let found = explain(4);
    assert_eq!((counts(&found), found.truncated), (vec![(Reason::Offered, 4)], true));
    assert!(!explain(6).truncated);
    let both = explain(4).merged(explain(6));
    assert_eq!((both.considered, both.offered(), both.truncated), (16, 10, true));
}

#[test]
fn one_time_has_the_place_with_the_least_obstacle() {
    let mut location = location(new_york(), [morning(1), morning(2)], RuleSet::default());
    visit(&mut location, 1, Column::Operatory(OperatoryId(1)), span("10:00", "11:00"));
    let ten = location.explain(now(), &time(span("10:00", "10:30"), any_place()), &Closed::default());
    assert_eq!(counts(&ten), [(Reason::Offered, 1), (Reason::Taken, 1)]);
    let slot = ten.slot.unwrap();
    assert_eq!(
        (slot.reason, slot.provider, slot.operatory),
        (Reason::Offered, Some(ProviderId(2)), Some(OperatoryId(2)))
    );
    let (provider, operatory) = (ProviderId(1), Some(OperatoryId(1)));
    let place = Place::Exact { provider, operatory };
    for (from, to, reason) in [
        ("10:00", "10:30", Reason::Taken),
        ("09:45", "10:15", Reason::TooShort),
        ("11:45", "12:15", Reason::OutsideHours),
        ("09:05", "09:35", Reason::Offered),
        ("08:00", "08:30", Reason::OutsideHours),
    ] {
        let found = location.explain(now(), &time(span(from, to), place), &Closed::default());
        assert_eq!(found.slot.unwrap().reason, reason, "{from}");
        assert_eq!(found.considered, 1);
    }
    let unknown = Place::Matching { provider: None, operatory: Some(OperatoryId(9)) };
    let slot = location.explain(now(), &time(span("10:00", "10:30"), unknown), &Closed::default()).slot.unwrap();
    assert_eq!((slot.reason, slot.provider), (Reason::NoWorkingHours, None));
}

#[test]
fn the_hold_of_the_client_is_no_obstacle() {
    let mut location = location(new_york(), [morning(1)], RuleSet::default());
    let (provider, operatory, ten) = (ProviderId(1), Some(OperatoryId(1)), span("10:00", "10:30"));
    let placement = Placement { operatory, provider: Some(provider), span: ten };
    let until = now().plus(HOUR);
    let held = Event::Held { hold: 7, placement, until, holder: None, appointment_type: None, channel: None };
    location.evolve(now(), &held);
    let reason = |own: Vec<Holder>| {
        let place = Place::Exact { provider, operatory };
        let question = TimeQuestion { span: ten, place, appointment_type: None, join_blocks: true, own };
        let asked = ExplainQuery { question: Question::Time(question), channel: None, patient: None };
        location.explain(now(), &asked, &Closed::default()).slot.unwrap().reason
    };
    assert_eq!(reason(Vec::new()), Reason::Held);
    assert_eq!(reason(vec![Holder::Hold(7)]), Reason::Offered);
}

#[test]
fn rules_of_the_channel_and_about_the_patient_apply() {
    let voice = RuleOverrides { minimum_notice_days: Some(1), ..RuleOverrides::default() };
    let plain = VisitRules { new_patients: false, ..VisitRules::default() };
    let rules = RuleSet { plain, channels: [("voice".to_owned(), voice)].into(), ..RuleSet::default() };
    let location = location(new_york(), [morning(1)], rules);
    let reason = |channel: Option<&str>, patient| {
        let asked =
            ExplainQuery { channel: channel.map(str::to_owned), patient, ..time(span("10:00", "10:30"), any_place()) };
        location.explain(now(), &asked, &Closed::default()).slot.unwrap().reason
    };
    let new = PatientFacts { is_new: true, date_of_birth: None };
    assert_eq!(reason(None, None), Reason::Offered);
    assert_eq!(reason(Some("chat"), None), Reason::Offered);
    assert_eq!(reason(Some("voice"), None), Reason::TooSoon);
    assert_eq!(reason(None, Some(new)), Reason::PatientNotEligible);
    assert_eq!(reason(None, Some(PatientFacts { is_new: false, ..new })), Reason::Offered);
}

#[test]
fn an_unread_schedule_is_the_reason_for_each_day_and_time() {
    let mut settings = MachineSettings::new(LocationId(1), new_york());
    let pulls = vec![PullPlan { resource: Resource::Appointments, deletions_by_absence: true }];
    settings.capabilities = Capabilities { integrated: true, pulls, ..Capabilities::default() };
    let location = Location::new(Arc::new(settings));
    let found = location.explain(now(), &search(half_hours(3)), &Closed::default());
    assert_eq!(counts(&found), [(Reason::ScheduleNotRead, 3)]);
    assert_eq!(found.reasons[0].example, now(), "not in the past");
    let one = location.explain(now(), &time(span("10:00", "10:30"), any_place()), &Closed::default());
    assert_eq!(one.slot.unwrap().reason, Reason::ScheduleNotRead);
}

/// Few different values, so that several rules often apply.
fn rules(case: &Case) -> impl Strategy<Value = RuleSet> + use<> {
    let from = case.query.from;
    let notice = (prop_oneof![Just(0), Just(2 * HOUR), Just(30 * HOUR)], 0u16..3, prop::option::of(0u16..1_440));
    let horizon = prop_oneof![2 => Just(730u16), 1 => 0u16..5];
    let buffers = (prop_oneof![2 => Just(0i64), 1 => 1i64..40], prop_oneof![2 => Just(0i64), 1 => 1i64..40]);
    let caps = (prop::option::weighted(0.2, 0u32..6), prop::option::weighted(0.2, 0u32..400));
    let closures = prop::collection::vec((-1i32..4, 0i32..2), 0..2);
    let align = || prop::option::of(prop::sample::select(vec![5u16, 10, 15, 20, 30, 60]));
    let of_type = prop::option::weighted(0.3, (align(), 0i64..30));
    (notice, horizon, buffers, caps, closures, align(), of_type).prop_map(
        move |(notice, horizon_days, buffers, caps, closures, align, of_type)| {
            let closures = closures.into_iter().map(|(first, days)| {
                let first = from.add_days(first);
                Closure::of_days(first, first.add_days(days))
            });
            let plain = VisitRules {
                minimum_notice: notice.0,
                minimum_notice_days: notice.1,
                cutoff: notice.2,
                horizon_days,
                buffer_before: buffers.0 * MINUTE,
                buffer_after: buffers.1 * MINUTE,
                daily_visits: caps.0,
                daily_minutes_per_provider: caps.1,
                closures: closures.collect(),
                align,
                ..VisitRules::default()
            };
            let of_type = of_type.map(|(align, buffer)| {
                let buffer_before = Some(buffer * MINUTE);
                RuleOverrides { align: Some(align), buffer_before, ..RuleOverrides::default() }
            });
            let types: BTreeMap<_, _> = of_type.into_iter().map(|it| (AppointmentTypeId(1), it)).collect();
            RuleSet { plain, types, ..RuleSet::default() }
        },
    )
}

fn starts() -> impl Strategy<Value = StartFilter> {
    let minute = || prop::option::weighted(0.3, 0i64..1_440);
    let weekdays = prop_oneof![2 => Just(vec![]), 1 => prop::sample::subsequence(Weekday::ALL.to_vec(), 1..=7)];
    (minute(), minute(), weekdays).prop_map(|(earliest, latest, weekdays)| StartFilter { earliest, latest, weekdays })
}

proptest! {
    #![proptest_config(support::cases(120))]

    #[test]
    fn offered_times_are_exactly_those_of_the_search(
        (case, rules) in cases().prop_flat_map(|case| (Just(case.clone()), rules(&case))),
        starts in starts(),
        closed in prop::collection::btree_set((1u64..4).prop_map(OperatoryId), 0..2),
        minutes in -3_000i64..3_000,
        is_new in any::<bool>(),
    ) {
        let Case { zone, hours, busy, query } = case;
        let mut location = location(zone.clone(), hours, rules);
        for (id, (column, span)) in (1..).zip(busy) {
            visit(&mut location, id, column, span);
        }
        let closed = Closed { operatories: closed, appointment_type: false };
        let now = zone.day(query.from).start.plus(minutes * MINUTE);
        // A coarse grid bounds the number of times.
        let interval = Some(query.interval.unwrap_or(query.length).max(15 * MINUTE));
        let query = SlotQuery {
            interval,
            overlapping_operatory_slots: true,
            appointments_per_timeslot: 1,
            limit: usize::MAX,
            ..query
        };
        let mut offered = location.offered_slots(now, &query, &closed, None);
        offered.retain(|slot| {
            let (date, seconds) = zone.local(slot.span.start);
            starts.admits(date, i64::from(seconds / 60))
        });
        let patient = is_new.then_some(PatientFacts { is_new, date_of_birth: None });
        let question = Question::Search { query: query.clone(), starts };
        let found = location.explain(now, &ExplainQuery { question, channel: None, patient }, &closed);
        prop_assert_eq!(found.considered, found.reasons.iter().map(|it| it.count).sum::<u32>());
        let counted = found.reasons.iter().find(|it| it.reason == Reason::Offered);
        let expected = offered.first().map(|first| (offered.len() as u32, first.span.start));
        prop_assert_eq!(counted.map(|it| (it.count, it.example)), expected);
        // Each of them is offered if the client asks about it alone.
        for Slot { span, provider, operatory } in offered.into_iter().take(50) {
            let question = Question::Time(TimeQuestion {
                span,
                place: Place::Exact { provider, operatory },
                appointment_type: query.appointment_type,
                join_blocks: query.join_blocks,
                own: Vec::new(),
            });
            let one = location.explain(now, &ExplainQuery { question, channel: None, patient }, &closed);
            prop_assert_eq!(one.slot.map(|it| it.reason), Some(Reason::Offered));
        }
    }
}
