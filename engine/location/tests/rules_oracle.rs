//! Booking rules compared with a slow model, minute by minute, for random rules, hours and calendars.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::support::{date, zone};
use location::{
    Location,
    calendar::{Column, Holder, Placement},
    command::Closed,
    hours::{HourKind, HourSource, Recurrence, Weekday, WorkingHour},
    ids::{AppointmentId, AppointmentTypeId, LocationId, OperatoryId, PatientId, ProviderId, WorkingHourId},
    rules::{Candidate, Closure, Companion, PatientFacts, Reason, RuleOverrides, RuleSet, VisitRules},
    settings::MachineSettings,
    slots::{Slot, SlotQuery},
    state::{CalendarAppointment, Hold, Insert, State},
    time::{DAY, MINUTE, Millis, Span, Timestamp},
    zone::{Date, Zone},
};

const CASES: u64 = 10_000;
/// Days of the model's bitmaps, around the first day of a query.
const DAYS: i64 = 8;

/// splitmix64.
struct Random(u64);

impl Random {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit
    }

    /// Returns `true` in `percent` of the cases.
    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    fn maybe<T>(&mut self, percent: u64, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
        self.chance(percent).then(|| make(self))
    }
}

struct Case {
    location: Location,
    from: Date,
    now: Timestamp,
    closed: Closed,
    channel: Option<&'static str>,
    appointment_type: Option<AppointmentTypeId>,
    patient: Option<PatientFacts>,
    own: Vec<Holder>,
    also_taken: Vec<Companion>,
}

fn zones() -> Vec<(Zone, Date)> {
    let days = [
        ("America/New_York", "2026-03-08"),
        ("America/New_York", "2026-11-01"),
        ("America/New_York", "2026-06-03"),
        ("Australia/Lord_Howe", "2026-04-05"),
        ("Australia/Lord_Howe", "2026-10-04"),
        ("Asia/Kathmandu", "2026-10-17"),
    ];
    days.map(|(name, day)| (zone(name, 2025, 2028), date(day))).to_vec()
}

fn kind(random: &mut Random) -> Option<AppointmentTypeId> {
    random.maybe(60, |random| AppointmentTypeId(1 + random.below(2) as u32))
}

fn operatory(random: &mut Random) -> Option<OperatoryId> {
    random.maybe(85, |random| OperatoryId(1 + random.below(2)))
}

fn provider(random: &mut Random) -> ProviderId {
    ProviderId(1 + random.below(2) as u32)
}

fn hours(random: &mut Random) -> BTreeMap<WorkingHourId, WorkingHour> {
    let hour = |random: &mut Random, id: u32| {
        let begin = random.below(24 * 12) as u16 * 5;
        let end = (begin + 30 + random.below(30) as u16 * 5) % 1_440;
        WorkingHour {
            id: WorkingHourId(id),
            provider: provider(random),
            operatory: operatory(random),
            begin,
            end,
            recurrence: Recurrence::Weekly(Weekday::ALL.to_vec()),
            kind: HourKind::WorkingHour,
            source: HourSource::Manual,
            appointment_types: random.maybe(20, |_| vec![AppointmentTypeId(1)]).unwrap_or_default(),
            active: random.chance(95),
        }
    };
    (1..=1 + random.below(3) as u32).map(|id| (WorkingHourId(id), hour(random, id))).collect()
}

fn span(random: &mut Random, noon: Timestamp) -> Span {
    let start = noon.plus((random.below(3 * 1_440) as i64 - 1_440) / 5 * 5 * MINUTE);
    Span { start, end: start.plus((5 + random.below(16) as i64 * 5) * MINUTE) }
}

fn placement(random: &mut Random, noon: Timestamp) -> Placement {
    Placement { operatory: operatory(random), provider: Some(provider(random)), span: span(random, noon) }
}

fn state(random: &mut Random, noon: Timestamp) -> State {
    let mut state = State { hours: hours(random), ..State::default() };
    for id in 1..=random.below(8) {
        let unavailable = random.chance(20);
        let cancelling = random.chance(10);
        let place = placement(random, noon);
        let moved = random.maybe(15, |random| placement(random, noon));
        let appointment = CalendarAppointment {
            patient: (!unavailable).then_some(PatientId(1)),
            appointment_type: kind(random),
            placement: place,
            unavailable,
            insert: random.pick(&[Insert::Pulled, Insert::Pending, Insert::Done]),
            cancelling,
            vacating: if cancelling { vec![place] } else { moved.into_iter().collect() },
            confirmed: None,
            replaced: Vec::new(),
            gone: false,
        };
        state.put_appointment(AppointmentId(id), appointment);
    }
    for id in 1..=random.below(3) {
        let hold = Hold {
            placement: placement(random, noon),
            until: Timestamp::MAX,
            holder: None,
            appointment_type: kind(random),
            channel: None,
        };
        state.put_hold(id, hold);
    }
    state
}

fn minutes(random: &mut Random, options: &[i64]) -> Millis {
    random.pick(options) * MINUTE
}

fn plain(random: &mut Random, from: Date) -> VisitRules {
    let mut rules = VisitRules::default();
    if random.chance(30) {
        rules.minimum_notice = minutes(random, &[30, 60, 240, 1_440]);
    }
    if random.chance(20) {
        rules.minimum_notice_days = random.below(3) as u16;
    }
    rules.cutoff = random.maybe(20, |random| random.below(1_440) as u16);
    if random.chance(20) {
        rules.horizon_days = random.below(4) as u16;
    }
    if random.chance(30) {
        rules.buffer_before = minutes(random, &[5, 10, 45]);
    }
    if random.chance(30) {
        rules.buffer_after = minutes(random, &[5, 15, 60]);
    }
    rules.daily_visits = random.maybe(15, |random| random.below(5) as u32);
    rules.daily_minutes = random.maybe(15, |random| random.below(200) as u32);
    rules.daily_visits_per_provider = random.maybe(10, |random| random.below(4) as u32);
    rules.daily_minutes_per_provider = random.maybe(10, |random| random.below(200) as u32);
    for _ in 0..random.below(3) {
        let (first, begin) = (from.add_days(random.below(4) as i32 - 1), random.below(1_440) as u16);
        let closure = match random.below(3) {
            0 => Closure::of_days(first, first),
            1 => Closure::of_days(first, first.add_days(1)),
            _ => Closure { from: first, from_minute: begin, to: first.add_days(1), to_minute: begin },
        };
        rules.closures.push(closure);
    }
    rules.align = random.maybe(30, |random| random.pick(&[5, 10, 15, 20, 30, 60]));
    rules.new_patients = random.chance(90);
    rules.known_patients = random.chance(90);
    rules.age_min = random.maybe(10, |_| 18);
    rules.age_max = random.maybe(10, |_| 65);
    rules
}

fn overrides(random: &mut Random) -> RuleOverrides {
    RuleOverrides {
        minimum_notice: random.maybe(30, |random| minutes(random, &[0, 120])),
        buffer_after: random.maybe(30, |random| minutes(random, &[0, 30])),
        daily_visits: random.maybe(30, |random| Some(random.below(3) as u32)),
        daily_minutes_per_provider: random.maybe(20, |random| Some(random.below(120) as u32)),
        align: random.maybe(20, |_| None),
        ..RuleOverrides::default()
    }
}

fn rule_set(random: &mut Random, from: Date) -> RuleSet {
    let mut rules = RuleSet { plain: plain(random, from), ..RuleSet::default() };
    if random.chance(30) {
        rules.types.insert(AppointmentTypeId(1), overrides(random));
    }
    if random.chance(30) {
        rules.channels.insert("voice".to_owned(), overrides(random));
    }
    rules
}

fn case(seed: u64, zones: &[(Zone, Date)]) -> Case {
    let mut random = Random(seed);
    let random = &mut random;
    let (zone, from) = zones[random.below(zones.len() as u64) as usize].clone();
    let noon = zone.day(from).start.plus(DAY / 2);
    let mut settings = MachineSettings::new(LocationId(1), zone);
    if random.chance(90) {
        settings.rules = rule_set(random, from);
    }
    let state = state(random, noon);
    let own = random.maybe(30, |random| match random.below(3) {
        0 => Holder::Hold(1),
        1 => Holder::Vacating(AppointmentId(1)),
        _ => Holder::Appointment(AppointmentId(1)),
    });
    let companion = |random: &mut Random| {
        let Placement { operatory, span, .. } = placement(random, noon);
        let appointment_type = operatory.map(|operatory| AppointmentTypeId(operatory.0 as u32));
        Companion { slot: Slot { span, provider: provider(random), operatory }, appointment_type }
    };
    Case {
        location: Location::load(Arc::new(settings), state),
        from,
        now: noon.plus((random.below(2_880) as i64 - 2_160) * MINUTE),
        closed: Closed {
            operatories: random.maybe(10, |_| OperatoryId(1)).into_iter().collect(),
            appointment_type: random.chance(3),
        },
        channel: random.maybe(30, |_| "voice"),
        appointment_type: kind(random),
        patient: random.maybe(40, |random| PatientFacts {
            is_new: random.chance(50),
            date_of_birth: random.maybe(80, |random| from.add_days(-(random.below(90 * 365) as i32))),
        }),
        own: own.into_iter().collect(),
        also_taken: random.maybe(20, companion).into_iter().collect(),
    }
}

impl Case {
    fn candidate(&self, slot: Slot, is_search: bool) -> Candidate<'_> {
        Candidate {
            slot,
            appointment_type: self.appointment_type,
            join_blocks: false,
            own: if is_search { Vec::new() } else { self.own.clone() },
            closed: &self.closed,
            channel: self.channel,
            patient: self.patient.filter(|_| !is_search),
            also_taken: self.also_taken.get(..).filter(|_| !is_search).unwrap_or_default(),
        }
    }

    fn zone(&self) -> &Zone {
        &self.location.settings.zone
    }
}

/// An entry of the calendar as the model sees it.
struct ModelEntry {
    column: Column,
    span: Span,
    reason: Reason,
    /// Minutes before and after; `None` for blocks.
    buffers: Option<(Millis, Millis)>,
    /// The type of a visit and its provider.
    visit: Option<(Option<AppointmentTypeId>, Option<ProviderId>)>,
    /// The appointment, which counts once for a day.
    appointment: Option<AppointmentId>,
}

/// The model of one case.
struct Model<'a> {
    case: &'a Case,
    rules: VisitRules,
    base: Timestamp,
    /// Minutes in which hours of a place that accept any type, and the wanted type, apply.
    duty: BTreeMap<(ProviderId, Option<OperatoryId>), [Vec<bool>; 2]>,
}

impl Model<'_> {
    fn new(case: &Case) -> Model<'_> {
        let zone = case.zone();
        let base = zone.day(case.from.add_days(-3)).start;
        let mut duty: BTreeMap<_, [Vec<bool>; 2]> = BTreeMap::new();
        for hour in case.location.state.hours.values().filter(|hour| hour.active) {
            let here = duty
                .entry((hour.provider, hour.operatory))
                .or_insert_with(|| [(); 2].map(|()| vec![false; (DAYS * 1_440) as usize]));
            for day in -2..4 {
                let Some(span) = hour.span_on(zone, case.from.add_days(day)) else { continue };
                let index = |at: Timestamp| (at.since(base) / MINUTE) as usize;
                let range = index(span.start)..index(span.end);
                here[0][range.clone()].fill(true);
                if hour.accepts(case.appointment_type) {
                    here[1][range].fill(true);
                }
            }
        }
        let rules = case.location.settings.rules.effective(case.appointment_type, case.channel);
        Model { case, rules, base, duty }
    }

    fn index(&self, at: Timestamp) -> usize {
        (at.since(self.base) / MINUTE) as usize
    }

    fn works(&self, slot: &Slot, of_type: usize) -> bool {
        let range = self.index(slot.span.start)..self.index(slot.span.end);
        self.duty.get(&(slot.provider, slot.operatory)).is_some_and(|duty| duty[of_type][range].iter().all(|on| *on))
    }

    fn buffers_of(&self, kind: Option<AppointmentTypeId>) -> (Millis, Millis) {
        let set = &self.case.location.settings.rules;
        let overrides = kind.and_then(|kind| set.types.get(&kind)).cloned().unwrap_or_default();
        (
            overrides.buffer_before.unwrap_or(set.plain.buffer_before),
            overrides.buffer_after.unwrap_or(set.plain.buffer_after),
        )
    }

    /// Returns the buffers of a new visit.
    fn new_buffers_of(&self, kind: Option<AppointmentTypeId>) -> (Millis, Millis) {
        let set = &self.case.location.settings.rules;
        let of_type = kind.and_then(|kind| set.types.get(&kind)).cloned().unwrap_or_default();
        let channel = self.case.channel.and_then(|name| set.channels.get(name)).cloned().unwrap_or_default();
        (
            of_type.buffer_before.or(channel.buffer_before).unwrap_or(set.plain.buffer_before),
            of_type.buffer_after.or(channel.buffer_after).unwrap_or(set.plain.buffer_after),
        )
    }

    /// Returns the entries that count for a candidate.
    fn entries(&self, candidate: &Candidate<'_>) -> Vec<ModelEntry> {
        let mut entries = Vec::new();
        let state = &self.case.location.state;
        for (id, it) in &state.appointments {
            let kind = it.appointment_type;
            let buffers = match it.insert {
                Insert::Pulled => (0, 0),
                Insert::Pending | Insert::Done => self.buffers_of(kind),
            };
            let mut add = |place: &Placement, is_live: bool| {
                let Some(column) = place.column() else { return };
                let reason = if it.unavailable && is_live { Reason::Blocked } else { Reason::Taken };
                let visit = (!it.unavailable).then_some((kind, place.provider));
                let buffers = (!it.unavailable).then_some(buffers);
                entries.push(ModelEntry { column, span: place.span, reason, buffers, visit, appointment: Some(*id) });
            };
            if !it.cancelling && !candidate.own.contains(&Holder::Appointment(*id)) {
                add(&it.placement, true);
            }
            if !candidate.own.contains(&Holder::Vacating(*id)) {
                it.vacating.iter().for_each(|place| add(place, false));
            }
        }
        let others = state.holds.iter().filter(|(id, _)| !candidate.own.contains(&Holder::Hold(**id)));
        for hold in others.map(|(_, hold)| hold) {
            let Some(column) = hold.placement.column() else { continue };
            entries.push(ModelEntry {
                column,
                span: hold.placement.span,
                reason: Reason::Held,
                buffers: Some(self.buffers_of(hold.appointment_type)),
                visit: Some((hold.appointment_type, hold.placement.provider)),
                appointment: None,
            });
        }
        for Companion { slot, appointment_type } in candidate.also_taken {
            entries.push(ModelEntry {
                column: slot.operatory.map_or(Column::Provider(slot.provider), Column::Operatory),
                span: slot.span,
                reason: Reason::Taken,
                buffers: Some(self.new_buffers_of(*appointment_type)),
                visit: Some((*appointment_type, Some(slot.provider))),
                appointment: None,
            });
        }
        entries
    }

    fn reason(&self, candidate: &Candidate<'_>) -> Reason {
        let (slot, zone, rules) = (candidate.slot, self.case.zone(), &self.rules);
        let span = slot.span;
        let day = zone.local_date(span.start);
        if !self.works(&slot, 0) {
            return self.reason_without_hours(&slot, day);
        }
        if !self.works(&slot, 1) {
            return Reason::TypeNotOfferedHere;
        }
        if candidate.closed.appointment_type {
            return Reason::TypeNotBookableOnline;
        }
        if slot.operatory.is_some_and(|id| candidate.closed.operatories.contains(&id)) {
            return Reason::OperatoryNotBookableOnline;
        }
        let minutes: Vec<Timestamp> = (0..span.length() / MINUTE).map(|n| span.start.plus(n * MINUTE)).collect();
        let within = |span: Span, at: Timestamp| span.start <= at && at < span.end;
        let entries = self.entries(candidate);
        let column = slot.operatory.map_or(Column::Provider(slot.provider), Column::Operatory);
        let here: Vec<&ModelEntry> =
            entries.iter().filter(|it| it.column == column || it.column == Column::Provider(slot.provider)).collect();
        if here.iter().any(|entry| minutes.iter().any(|at| within(entry.span, *at))) {
            let at_start = here.iter().filter(|entry| within(entry.span, span.start)).map(|entry| entry.reason);
            return at_start.min().unwrap_or(Reason::TooShort);
        }
        let now = self.case.now;
        let (today, second) = zone.local(now);
        let first = today.add_days(rules.minimum_notice_days.into());
        let is_cut = rules.cutoff.is_some_and(|minute| second / 60 >= u32::from(minute));
        if span.start.since(now) < rules.minimum_notice || day < first {
            return Reason::TooSoon;
        }
        if is_cut && day == first {
            return Reason::AfterCutoff;
        }
        if day.days_since(today) > i64::from(rules.horizon_days) {
            return Reason::BeyondHorizon;
        }
        let is_near = |entry: &&ModelEntry| {
            let Some((before, after)) = entry.buffers else { return false };
            let keep_before = Span { start: entry.span.start.minus(before.max(rules.buffer_after)), ..entry.span };
            let keep_after = Span { end: entry.span.end.plus(after.max(rules.buffer_before)), ..entry.span };
            minutes.iter().any(|at| within(keep_before, *at) || within(keep_after, *at))
        };
        if entries.iter().filter(|entry| entry.column == column).any(|entry| is_near(&entry)) {
            return Reason::Buffer;
        }
        if self.is_over_cap(candidate, &entries, day) {
            return Reason::DailyCap;
        }
        let closed: Vec<Span> = rules.closures.iter().filter_map(|closure| closure.span(zone)).collect();
        if minutes.iter().any(|at| closed.iter().any(|span| within(*span, *at))) {
            return Reason::Closed;
        }
        if rules.align.is_some_and(|align| !(zone.local(span.start).1 / 60 % 60).is_multiple_of(u32::from(align))) {
            return Reason::NotAligned;
        }
        if self.refuses_patient(candidate, day) { Reason::PatientNotEligible } else { Reason::Offered }
    }

    fn reason_without_hours(&self, slot: &Slot, day: Date) -> Reason {
        let span = self.case.zone().day(day);
        let all = &self.case.location.state.hours;
        let range = self.index(span.start)..self.index(span.end);
        let on_duty = |((provider, _), duty): (&(ProviderId, Option<OperatoryId>), &[Vec<bool>; 2])| {
            *provider == slot.provider && duty[0][range.clone()].contains(&true)
        };
        let theirs: Vec<&WorkingHour> = all.values().filter(|hour| hour.provider == slot.provider).collect();
        match self.duty.iter().any(on_duty) {
            true => Reason::OutsideHours,
            false if !theirs.is_empty() && theirs.iter().all(|hour| !hour.active) => Reason::ProviderInactive,
            false => Reason::NoWorkingHours,
        }
    }

    fn is_over_cap(&self, candidate: &Candidate<'_>, entries: &[ModelEntry], day: Date) -> bool {
        let zone = self.case.zone();
        let new = candidate.slot.span.length() / MINUTE;
        let of_day = |entry: &&ModelEntry| zone.local_date(entry.span.start) == day;
        let mut counted = BTreeSet::new();
        let visits: Vec<_> = entries
            .iter()
            .filter(of_day)
            .filter(|entry| entry.appointment.is_none_or(|id| counted.insert(id)))
            .filter_map(|entry| entry.visit.map(|(kind, provider)| (kind, provider, entry.span.length() / MINUTE)))
            .collect();
        let over = |cap_visits: Option<u32>, cap_minutes: Option<u32>, by_provider: bool, by_type: bool| {
            let counted = visits.iter().filter(|(kind, provider, _)| {
                (!by_provider || *provider == Some(candidate.slot.provider))
                    && (!by_type || (kind.is_some() && *kind == candidate.appointment_type))
            });
            let (count, length) = counted.fold((0, 0), |(count, sum), (.., length)| (count + 1, sum + length));
            cap_visits.is_some_and(|cap| count + 1 > i64::from(cap))
                || cap_minutes.is_some_and(|cap| length + new > i64::from(cap))
        };
        let (rules, of_type) = (&self.rules, &self.rules.type_caps);
        over(rules.daily_visits, rules.daily_minutes, false, false)
            || over(rules.daily_visits_per_provider, rules.daily_minutes_per_provider, true, false)
            || over(of_type.visits, of_type.minutes, false, true)
            || over(of_type.visits_per_provider, of_type.minutes_per_provider, true, true)
    }

    fn refuses_patient(&self, candidate: &Candidate<'_>, day: Date) -> bool {
        let Some(patient) = candidate.patient else { return false };
        let rules = &self.rules;
        let birthdays = |born: Date| {
            let ((year, month, date), (y, m, d)) = (born.ymd(), day.ymd());
            let full = y - year;
            if (m, d) >= (month, date) { full } else { full - 1 }
        };
        let age = patient.date_of_birth.map(birthdays);
        (patient.is_new && !rules.new_patients)
            || (!patient.is_new && !rules.known_patients)
            || age.is_some_and(|age| rules.age_min.is_some_and(|least| age < i32::from(least)))
            || age.is_some_and(|age| rules.age_max.is_some_and(|most| age > i32::from(most)))
    }

    /// Returns the starts of the grid of a place, from the windows of hours that accept the type.
    fn grid(&self, duty: &[bool], query: &SlotQuery) -> BTreeSet<Timestamp> {
        let zone = self.case.zone();
        let edge = |index: &usize| duty[*index] != (*index > 0 && duty[*index - 1]);
        let edges: Vec<usize> = (0..duty.len()).filter(edge).collect();
        let at = |index: usize| self.base.plus(index as i64 * MINUTE);
        let length = (query.length / MINUTE) as usize;
        let step = query.interval.unwrap_or(query.length) / MINUTE;
        let align = self.rules.align.filter(|_| !self.is_neutral()).map_or(1, i64::from);
        let step = (step as u64).next_multiple_of(align as u64) as usize;
        let mut starts = BTreeSet::new();
        for window in edges.chunks(2) {
            let (from, to) = (window[0], window[1]);
            // The grid begins again where the offset from UTC changes, if starts are aligned.
            let is_change = |index: &usize| align > 1 && zone.offset_at(at(*index)) != zone.offset_at(at(*index - 1));
            let mut begins = vec![from];
            begins.extend((from + 1..to).filter(is_change));
            for (number, begin) in begins.iter().enumerate() {
                let end = begins.get(number + 1).copied().unwrap_or(to);
                let aligned = |index: &usize| i64::from(zone.local(at(*index)).1 / 60) % align == 0;
                let Some(first) = (*begin..end).find(aligned) else { continue };
                starts.extend((first..end).step_by(step).filter(|index| index + length <= to).map(at));
            }
        }
        let first = zone.day(query.from).start;
        let last = zone.day(query.from.add_days(query.days.into())).start;
        starts.into_iter().filter(|start| first <= *start && *start < last && *start >= self.case.now).collect()
    }

    fn is_neutral(&self) -> bool {
        let set = &self.case.location.settings.rules;
        let all = set.types.values().chain(set.channels.values());
        let buffers = all.flat_map(|it| [it.buffer_before, it.buffer_after]).flatten();
        let plain = [set.plain.buffer_before, set.plain.buffer_after];
        self.rules.is_neutral() && buffers.chain(plain).all(|buffer| buffer == 0)
    }

    fn offered(&self, query: &SlotQuery) -> Vec<Slot> {
        let mut offered = BTreeSet::new();
        for ((provider, operatory), duty) in &self.duty {
            for start in self.grid(&duty[1], query) {
                let span = Span { start, end: start.plus(query.length) };
                let slot = Slot { span, provider: *provider, operatory: *operatory };
                let candidate = self.case.candidate(slot, true);
                let reason = self.reason(&candidate);
                assert_eq!(self.case.location.judge(self.case.now, &candidate), reason, "{slot:?}");
                if reason == Reason::Offered {
                    offered.insert((start, *provider, *operatory));
                }
            }
        }
        let slot = |(start, provider, operatory): (Timestamp, ProviderId, Option<OperatoryId>)| Slot {
            span: Span { start, end: start.plus(query.length) },
            provider,
            operatory,
        };
        offered.into_iter().map(slot).collect()
    }
}

fn query(random: &mut Random, case: &Case) -> SlotQuery {
    SlotQuery {
        from: case.from,
        days: 1 + random.below(2) as u16,
        length: minutes(random, &[10, 20, 30, 45, 60]),
        interval: random.maybe(50, |random| minutes(random, &[10, 15, 20, 25])),
        appointment_type: case.appointment_type,
        providers: Vec::new(),
        operatories: Vec::new(),
        source: None,
        hours: None,
        join_blocks: false,
        overlapping_operatory_slots: true,
        appointments_per_timeslot: 1,
        not_before: case.now,
        limit: usize::MAX,
    }
}

#[test]
fn judge_and_offered_slots_agree_with_a_model_minute_by_minute() {
    let zones = zones();
    let mut seen: BTreeMap<Reason, u64> = BTreeMap::new();
    for seed in 0..CASES {
        let case = case(seed, &zones);
        let model = Model::new(&case);
        let random = &mut Random(!seed);
        let noon = case.zone().day(case.from).start.plus(DAY / 2);
        for _ in 0..8 {
            let Placement { operatory, span, .. } = placement(random, noon);
            let slot = Slot { span, provider: provider(random), operatory };
            let candidate = case.candidate(slot, false);
            let (got, expected) = (case.location.judge(case.now, &candidate), model.reason(&candidate));
            assert_eq!(got, expected, "seed {seed}: {slot:?}");
            *seen.entry(got).or_default() += 1;
        }
        let query = query(random, &case);
        let offered = case.location.offered_slots(case.now, &query, &case.closed, case.channel);
        assert_eq!(offered, model.offered(&query), "seed {seed}");
        let next = case.location.next_offered(case.now, &query, &case.closed, case.channel, 2);
        assert!(next.is_none_or(|date| date.days_since(query.from) >= i64::from(query.days)), "seed {seed}");
    }
    let unseen: Vec<_> = Reason::ALL.iter().filter(|reason| !seen.contains_key(reason)).collect();
    assert_eq!(unseen, [&Reason::ScheduleNotRead], "the cases reach every other reason: {seen:?}");
}
