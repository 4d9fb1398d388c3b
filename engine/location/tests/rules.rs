//! Booking rules: values, overrides, digests, and local days around clock changes.

use std::sync::Arc;

use crate::support::{daily, date, hour, new_york, slot_query, utc};
use location::{
    Location,
    calendar::Placement,
    command::Closed,
    hours::{Recurrence, WorkingHour},
    ids::{AppointmentTypeId, LocationId, OperatoryId, PatientId, ProviderId, WorkingHourId},
    rules::{Candidate, Closure, Instead, Reason, RuleOverrides, RuleSet, VisitRules},
    settings::MachineSettings,
    slots::{Slot, SlotQuery},
    state::{CalendarAppointment, Insert, State},
    time::{DAY, HOUR, MINUTE, Span, Timestamp},
    zone::Zone,
};

const TYPE: AppointmentTypeId = AppointmentTypeId(5);

fn place(zone: Zone, hours: Vec<WorkingHour>, plain: VisitRules) -> Location {
    let mut settings = MachineSettings::new(LocationId(1), zone);
    settings.rules = RuleSet { plain, ..RuleSet::default() };
    let hours = (1..).zip(hours).map(|(id, hour)| (WorkingHourId(id), WorkingHour { id: WorkingHourId(id), ..hour }));
    Location::load(Arc::new(settings), State { hours: hours.collect(), ..State::default() })
}

fn always(zone: Zone, plain: VisitRules) -> Location {
    place(zone, vec![daily("00:00", "24:00")], plain)
}

fn slot(start: Timestamp, minutes: i64) -> Slot {
    let span = Span { start, end: start.plus(minutes * MINUTE) };
    Slot { span, provider: ProviderId(1), operatory: Some(OperatoryId(1)) }
}

fn judge(location: &Location, now: &str, start: &str) -> Reason {
    let candidate = Candidate {
        slot: slot(utc(start), 30),
        appointment_type: None,
        join_blocks: true,
        own: Vec::new(),
        closed: &Closed::default(),
        channel: None,
        patient: None,
        also_taken: &[],
    };
    location.judge(utc(now), &candidate)
}

fn appointment(start: Timestamp, minutes: i64) -> CalendarAppointment {
    let Slot { span, provider, operatory } = slot(start, minutes);
    CalendarAppointment {
        patient: Some(PatientId(1)),
        appointment_type: None,
        placement: Placement { operatory, provider: Some(provider), span },
        unavailable: false,
        insert: Insert::Pulled,
        cancelling: false,
        vacating: Vec::new(),
        confirmed: None,
        replaced: Vec::new(),
        gone: false,
    }
}

#[test]
fn notice_in_days_follows_local_dates_across_a_clock_change() {
    // Clocks go forward on March 8 at 02:00 (07:00 UTC), so the local day of March 8 has 23 hours.
    let rules = VisitRules { minimum_notice_days: 1, ..VisitRules::default() };
    let location = always(new_york(), rules);
    assert_eq!(judge(&location, "2026-03-07T23:00:00Z", "2026-03-08T04:30:00Z"), Reason::TooSoon);
    assert_eq!(judge(&location, "2026-03-07T23:00:00Z", "2026-03-08T05:00:00Z"), Reason::Offered);
    // March 9 begins at 04:00 UTC.
    assert_eq!(judge(&location, "2026-03-08T05:00:00Z", "2026-03-09T03:30:00Z"), Reason::TooSoon);
    assert_eq!(judge(&location, "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"), Reason::Offered);
}

#[test]
fn minimum_notice_is_elapsed_time_across_a_clock_change() {
    let rules = VisitRules { minimum_notice: 24 * HOUR, ..VisitRules::default() };
    let location = always(new_york(), rules);
    // From 12:00 EST to 12:00 EDT of the next day only 23 hours pass.
    assert_eq!(judge(&location, "2026-03-07T17:00:00Z", "2026-03-08T16:00:00Z"), Reason::TooSoon);
    assert_eq!(judge(&location, "2026-03-07T17:00:00Z", "2026-03-08T17:00:00Z"), Reason::Offered);
}

#[test]
fn the_cutoff_is_a_local_time_on_both_sides_of_a_clock_change() {
    let location = always(new_york(), VisitRules { cutoff: Some(16 * 60), ..VisitRules::default() });
    // 16:00 is 21:00 UTC in winter and 20:00 UTC in summer.
    assert_eq!(judge(&location, "2026-03-07T20:59:00Z", "2026-03-07T22:00:00Z"), Reason::Offered);
    assert_eq!(judge(&location, "2026-03-07T21:00:00Z", "2026-03-07T22:00:00Z"), Reason::AfterCutoff);
    assert_eq!(judge(&location, "2026-03-08T19:59:00Z", "2026-03-08T22:00:00Z"), Reason::Offered);
    assert_eq!(judge(&location, "2026-03-08T20:00:00Z", "2026-03-08T22:00:00Z"), Reason::AfterCutoff);
}

#[test]
fn a_day_of_25_hours_has_one_cap() {
    let mut location = always(new_york(), VisitRules { daily_visits: Some(1), ..VisitRules::default() });
    // November 1 lasts from 04:00 UTC to 05:00 UTC of November 2.
    location.state.put_appointment(location::ids::AppointmentId(1), appointment(utc("2026-11-01T04:00:00Z"), 30));
    let now = "2026-10-31T12:00:00Z";
    assert_eq!(judge(&location, now, "2026-11-02T04:30:00Z"), Reason::DailyCap);
    assert_eq!(judge(&location, now, "2026-11-02T05:00:00Z"), Reason::Offered);
    assert_eq!(judge(&location, now, "2026-11-01T03:00:00Z"), Reason::Offered);
    let query = slot_query("2026-10-31", 3, HOUR);
    let offered = location.offered_slots(utc(now), &query, &Closed::default(), None);
    let dates: Vec<_> = offered.iter().map(|it| location.settings.zone.local_date(it.span.start)).collect();
    assert!(!dates.contains(&date("2026-11-01")), "{dates:?}");
    assert_eq!(dates.iter().filter(|it| **it == date("2026-11-02")).count(), 24);
}

#[test]
fn a_closed_date_lasts_as_long_as_the_local_day() {
    let closures = vec![Closure::of_days(date("2026-11-01"), date("2026-11-01"))];
    let location = always(new_york(), VisitRules { closures, ..VisitRules::default() });
    let now = "2026-10-31T12:00:00Z";
    assert_eq!(judge(&location, now, "2026-11-01T03:30:00Z"), Reason::Offered);
    assert_eq!(judge(&location, now, "2026-11-01T03:31:00Z"), Reason::Closed);
    assert_eq!(judge(&location, now, "2026-11-02T04:59:00Z"), Reason::Closed);
    assert_eq!(judge(&location, now, "2026-11-02T05:00:00Z"), Reason::Offered);
}

#[test]
fn a_closure_after_the_queried_days_adds_no_slots() {
    let closures = vec![Closure::of_days(date("2026-06-05"), date("2026-06-05"))];
    let location = always(Zone::utc(), VisitRules { closures, ..VisitRules::default() });
    let query = slot_query("2026-06-03", 1, HOUR);
    let offered = location.offered_slots(utc("2026-06-01T00:00:00Z"), &query, &Closed::default(), None);
    assert_eq!(offered.len(), 24);
}

#[test]
fn aligned_starts_are_not_lost_to_the_beginning_of_hours_or_to_the_interval() {
    let rules = VisitRules { align: Some(15), ..VisitRules::default() };
    let location = place(Zone::utc(), vec![daily("09:10", "11:00")], rules);
    let query = SlotQuery { interval: Some(20 * MINUTE), ..slot_query("2026-06-03", 1, 20 * MINUTE) };
    let offered = location.offered_slots(utc("2026-06-01T00:00:00Z"), &query, &Closed::default(), None);
    let starts: Vec<i64> = offered.iter().map(|it| it.span.start.0.rem_euclid(DAY) / MINUTE).collect();
    // The first start is 09:15, and the interval of 20 minutes becomes 30.
    assert_eq!(starts, [555, 585, 615]);
}

#[test]
fn a_provider_without_active_hours_is_inactive() {
    let mut location = always(Zone::utc(), VisitRules::default());
    location.state.hours.values_mut().for_each(|hour| hour.active = false);
    assert_eq!(judge(&location, "2026-06-01T00:00:00Z", "2026-06-01T10:00:00Z"), Reason::ProviderInactive);
    location.state.hours.clear();
    assert_eq!(judge(&location, "2026-06-01T00:00:00Z", "2026-06-01T10:00:00Z"), Reason::NoWorkingHours);
}

#[test]
fn the_next_offered_day_obeys_the_rules() {
    let closures = vec![Closure::of_days(date("2026-06-02"), date("2026-06-20"))];
    let rules = VisitRules { closures, horizon_days: 30, ..VisitRules::default() };
    let location = place(Zone::utc(), vec![daily("09:00", "10:00")], rules);
    let (now, closed) = (utc("2026-06-01T12:00:00Z"), Closed::default());
    let next = |days| location.next_offered(now, &slot_query("2026-06-01", 1, HOUR), &closed, None, days);
    assert_eq!((next(180), next(10)), (Some(date("2026-06-21")), None));
    let beyond = slot_query("2026-07-01", 1, HOUR);
    assert_eq!(location.next_offered(now, &beyond, &closed, None, 180), None);
}

#[test]
fn the_next_offered_day_is_not_over_and_may_be_in_a_later_step() {
    let on = |day, begin, end| hour(Recurrence::On(date(day)), begin, end);
    // The second hours begin at 03:00 UTC of the next day, after the clock change.
    let hours = || vec![on("2026-01-05", "09:00", "10:00"), on("2026-03-08", "23:00", "24:00")];
    // Without and with rules.
    for rules in [VisitRules::default(), VisitRules { buffer_after: MINUTE, ..VisitRules::default() }] {
        let location = place(new_york(), hours(), rules);
        let next = |now, days| {
            location.next_offered(utc(now), &slot_query("2026-01-01", 1, HOUR), &Closed::default(), None, days)
        };
        assert_eq!(next("2026-01-05T14:00:00Z", 66), Some(date("2026-01-05")));
        assert_eq!(next("2026-01-05T14:01:00Z", 66), Some(date("2026-03-08")));
        assert_eq!(next("2026-01-05T14:01:00Z", 65), None);
    }
}

#[test]
fn a_type_overrides_single_keys_before_a_channel() {
    let voice = RuleOverrides {
        minimum_notice: Some(HOUR),
        cutoff: Some(Some(600)),
        instead: Some(Some(Instead::Call)),
        ..RuleOverrides::default()
    };
    let of_type =
        RuleOverrides { minimum_notice: Some(2 * HOUR), daily_visits: Some(Some(3)), ..RuleOverrides::default() };
    let rules = RuleSet {
        plain: VisitRules { daily_visits: Some(9), horizon_days: 60, ..VisitRules::default() },
        types: [(TYPE, of_type)].into(),
        channels: [("voice".to_owned(), voice)].into(),
    };
    let both = rules.effective(Some(TYPE), Some("voice"));
    assert_eq!((both.minimum_notice, both.cutoff, both.horizon_days), (2 * HOUR, Some(600), 60));
    assert_eq!((both.daily_visits, both.type_caps.visits, both.instead), (Some(9), Some(3), Some(Instead::Call)));
    let plain = rules.effective(Some(AppointmentTypeId(6)), Some("chat"));
    assert_eq!(plain, rules.plain);
    assert_eq!(rules.effective(None, Some("voice")).minimum_notice, HOUR);
}

#[test]
fn an_override_may_lift_a_value() {
    let lifted = RuleOverrides { cutoff: Some(None), ..RuleOverrides::default() };
    let rules = RuleSet {
        plain: VisitRules { cutoff: Some(600), ..VisitRules::default() },
        types: [(TYPE, lifted)].into(),
        ..RuleSet::default()
    };
    let stored = serde_json::to_string(&rules).unwrap();
    let read: RuleSet = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, rules);
    assert_eq!((read.effective(Some(TYPE), None).cutoff, read.effective(None, None).cutoff), (None, Some(600)));
}

#[test]
fn a_type_is_no_way_out_of_itself() {
    let instead = Some(Instead::Type(TYPE));
    let rules = RuleSet { plain: VisitRules { instead, ..VisitRules::default() }, ..RuleSet::default() };
    assert_eq!((rules.effective(Some(TYPE), None).instead, rules.effective(None, None).instead), (None, instead));
}

#[test]
fn the_digest_changes_with_rules_that_refuse() {
    let digest = |plain: VisitRules| RuleSet { plain, ..RuleSet::default() }.digest(None);
    assert_eq!(digest(VisitRules::default()), 0);
    let without_effect = VisitRules { cancel_notice: DAY, instead: Some(Instead::Call), ..VisitRules::default() };
    assert_eq!(digest(without_effect), 0);
    let (one, other) = (
        VisitRules { cutoff: Some(600), ..VisitRules::default() },
        VisitRules { cutoff: Some(601), ..VisitRules::default() },
    );
    assert_ne!(digest(one.clone()), 0);
    assert_ne!(digest(one.clone()), digest(other));
    assert_eq!(digest(one.clone()), digest(VisitRules { reschedule_notice: DAY, ..one }));
}

#[test]
fn the_digest_covers_the_rules_of_every_channel() {
    let ruled = |channel: &str, overrides: RuleOverrides| RuleSet {
        channels: [(channel.to_owned(), overrides)].into(),
        ..RuleSet::default()
    };
    let cutoff = |minute| RuleOverrides { cutoff: Some(Some(minute)), ..RuleOverrides::default() };
    let digests = [ruled("voice", cutoff(600)), ruled("voice", cutoff(601)), ruled("chat", cutoff(600))];
    let digests = digests.map(|rules| rules.digest(None));
    assert!(digests.iter().all(|digest| *digest != 0 && digests.iter().filter(|it| *it == digest).count() == 1));
    let notice = RuleOverrides { cancel_notice: Some(DAY), ..RuleOverrides::default() };
    assert_eq!(ruled("voice", notice).digest(None), 0);
}

#[test]
fn closures_are_read_as_they_are_written() {
    for text in ["2026-12-24", "2026-12-27..2027-01-02", "2026-12-31T12:00..2027-01-01T12:00"] {
        assert_eq!(text.parse::<Closure>().unwrap().to_string(), text);
    }
    let mixed: Closure = "2026-12-24T12:00..2026-12-26".parse().unwrap();
    assert_eq!((mixed.from_minute, mixed.to, mixed.to_minute), (720, date("2026-12-26"), 1_440));
    for text in ["", "2026-13-01", "2026-12-24T12:00", "2026-12-24..", "2026-12-24T25:00..2026-12-25", "24.12.2026"] {
        assert!(text.parse::<Closure>().unwrap_err().contains("such as 2026-12-24"), "{text}");
    }
    for text in ["2026-12-26..2026-12-24", "2026-12-24T12:00..2026-12-24T12:00"] {
        assert!(text.parse::<Closure>().unwrap_err().contains("must end after it begins"), "{text}");
    }
}

#[test]
fn ways_out_are_read_as_they_are_written() {
    for text in ["call", "request", "type:12"] {
        assert_eq!(text.parse::<Instead>().unwrap().to_string(), text);
    }
    for text in ["", "type:", "type:0", "type:x", "Call"] {
        assert!(text.parse::<Instead>().is_err(), "{text}");
    }
}

#[test]
fn reasons_are_serialized_as_their_words() {
    for reason in Reason::ALL {
        assert_eq!(serde_json::to_value(reason).unwrap(), reason.word());
    }
}
