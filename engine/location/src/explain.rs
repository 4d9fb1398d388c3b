//! Explains why times can or cannot be booked. `Location::judge` decides each candidate; this module only collects the
//! candidates and counts the reasons.
//!
//! A search has as candidates all starts that it would consider if nothing were taken and no rule applied. Days on
//! which a provider has no candidate count once, with the reason of a start that the search would have wanted.

use std::{cmp::Reverse, collections::BTreeSet};

use crate::{
    AppointmentTypeId, Calendar, Date, Holder, Location, MINUTE, Millis, OperatoryId, ProviderId, Reason, Slot,
    SlotQuery, Span, Timestamp, VisitRules, WorkingHour,
    command::Closed,
    rules::{Candidate, PatientFacts},
    schedule::{
        calendar::Entry,
        slots::{Fit, RequestedSlot, Restrictions, StartFilter, fits, restricted_slots},
    },
};

/// A question about the times of a location.
#[derive(Clone, Debug)]
pub struct ExplainQuery {
    pub question: Question,
    /// Channel of the client, for the rules of that channel.
    pub channel: Option<String>,
    /// The patient, if the client described one.
    pub patient: Option<PatientFacts>,
}

/// The search or time in question.
#[derive(Clone, Debug)]
pub enum Question {
    /// All times of a search.
    Search {
        /// The search. Its `limit` is the maximum number of candidates.
        query: SlotQuery,
        starts: StartFilter,
    },
    /// One time.
    Time(TimeQuestion),
}

/// A question about one time.
#[derive(Clone, Debug)]
pub struct TimeQuestion {
    pub span: Span,
    /// The place, or all places that match.
    pub place: Place,
    pub appointment_type: Option<AppointmentTypeId>,
    /// `true` if schedulable blocks join synced hours.
    pub join_blocks: bool,
    /// Holders that do not count as busy: the hold of the client.
    pub own: Vec<Holder>,
}

/// The place of a time in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One provider in one operatory, or without an operatory.
    Exact { provider: ProviderId, operatory: Option<OperatoryId> },
    /// All places in which the provider has hours. `None` matches all providers or all operatories.
    Matching { provider: Option<ProviderId>, operatory: Option<OperatoryId> },
}

/// The answer to a question about times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    pub considered: u32,
    /// Number of candidates by reason. `Offered` is first, the others are in order of frequency.
    pub reasons: Vec<ReasonCount>,
    /// For one time: the place with the least obstacle, and its reason.
    pub slot: Option<ExplainedSlot>,
    /// `true` if the question has more candidates than its limit. The later ones are not counted.
    pub truncated: bool,
    /// The booking rules that apply to the type and the channel.
    pub rules: VisitRules,
}

/// The number of candidates with the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasonCount {
    pub reason: Reason,
    pub count: u32,
    /// Start of the earliest of them.
    pub example: Timestamp,
}

/// The reason for one time in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplainedSlot {
    pub reason: Reason,
    pub span: Span,
    /// The provider; `None` if no provider has hours in the place.
    pub provider: Option<ProviderId>,
    pub operatory: Option<OperatoryId>,
}

impl ExplainQuery {
    pub fn appointment_type(&self) -> Option<AppointmentTypeId> {
        match &self.question {
            Question::Search { query, .. } => query.appointment_type,
            Question::Time(time) => time.appointment_type,
        }
    }

    /// Returns `true` if the question may have many candidates.
    pub fn is_search(&self) -> bool {
        matches!(self.question, Question::Search { .. })
    }
}

impl Explanation {
    /// Counts a candidate. Candidates are added in order of start.
    fn add(&mut self, reason: Reason, start: Timestamp) {
        self.count(ReasonCount { reason, count: 1, example: start });
    }

    fn count(&mut self, more: ReasonCount) {
        self.considered += more.count;
        match self.reasons.iter_mut().find(|known| known.reason == more.reason) {
            Some(known) => {
                known.count += more.count;
                known.example = known.example.min(more.example);
            }
            None => self.reasons.push(more),
        }
    }

    fn sorted(mut self) -> Explanation {
        self.reasons.sort_by_key(|it| (it.reason != Reason::Offered, Reverse(it.count), it.reason));
        self
    }

    /// Adds the explanation of other days of the same search.
    #[must_use]
    pub fn merged(mut self, other: Explanation) -> Explanation {
        other.reasons.into_iter().for_each(|it| self.count(it));
        self.truncated |= other.truncated;
        Explanation { rules: other.rules, ..self.sorted() }
    }

    /// Returns the number of candidates that can be booked.
    pub fn offered(&self) -> u32 {
        self.reasons.iter().find(|it| it.reason == Reason::Offered).map_or(0, |it| it.count)
    }
}

/// Orders reasons by how far a time is from being offered, so that the best of several places can be selected. The
/// later a reason is checked, the more conditions the time meets.
fn obstacle(reason: Reason) -> (bool, Reverse<Reason>) {
    (reason != Reason::Offered, Reverse(reason))
}

/// The properties that all candidates of a question share.
struct Judge<'a> {
    location: &'a Location,
    now: Timestamp,
    asked: &'a ExplainQuery,
    closed: &'a Closed,
    join_blocks: bool,
    own: &'a [Holder],
}

impl Judge<'_> {
    fn reason(&self, slot: Slot) -> Reason {
        let candidate = Candidate {
            slot,
            appointment_type: self.asked.appointment_type(),
            join_blocks: self.join_blocks,
            own: self.own.to_vec(),
            closed: self.closed,
            channel: self.asked.channel.as_deref(),
            patient: self.asked.patient,
            also_taken: &[],
        };
        self.location.judge(self.now, &candidate)
    }
}

impl Location {
    /// Explains why the times of a question can or cannot be booked. Days without candidates count once per provider.
    pub fn explain(&self, now: Timestamp, asked: &ExplainQuery, closed: &Closed) -> Explanation {
        let judge = Judge { location: self, now, asked, closed, join_blocks: true, own: &[] };
        let rules = self.settings.rules.effective(asked.appointment_type(), asked.channel.as_deref());
        let mut found = Explanation { rules, ..Explanation::default() };
        match &asked.question {
            Question::Search { query, starts } => {
                let judge = Judge { join_blocks: query.join_blocks, ..judge };
                self.explain_search(&judge, query, starts, &mut found);
            }
            Question::Time(time) => {
                let judge = Judge { join_blocks: time.join_blocks, own: &time.own, ..judge };
                self.explain_time(&judge, time, &mut found);
            }
        }
        found.sorted()
    }

    fn explain_search(&self, judge: &Judge<'_>, query: &SlotQuery, starts: &StartFilter, found: &mut Explanation) {
        let zone = &self.settings.zone;
        if !query.problems().is_empty() {
            return;
        }
        let days = (0..query.days).map(|days| query.from.add_days(i32::from(days)));
        let days: Vec<Date> = days.filter(|date| starts.admits_day(*date)).collect();
        if !self.has_read_schedule() {
            for date in days {
                found.add(Reason::ScheduleNotRead, zone.day(date).start.max(query.not_before));
            }
            return;
        }
        let mut candidates = self.candidates(query, judge.closed, found.rules.align);
        found.truncated = candidates.len() > query.limit;
        candidates.truncate(query.limit);
        let mut worked = BTreeSet::new();
        for slot in candidates {
            let (date, seconds) = zone.local(slot.span.start);
            if starts.admits(date, i64::from(seconds / 60)) {
                worked.insert((date, slot.provider));
                found.add(judge.reason(slot), slot.span.start);
            }
        }
        if found.truncated {
            return;
        }
        let providers = self.providers_of(query);
        for date in days {
            let first = self.first_considered(query, starts, date);
            if providers.is_empty() {
                found.add(Reason::NoWorkingHours, first.start);
            }
            for provider in providers.iter().filter(|id| !worked.contains(&(date, **id))) {
                let operatory = self.usual_operatory(query, *provider, date);
                let reason = judge.reason(Slot { span: first, provider: *provider, operatory });
                // Another reason belongs to a start that is not on the grid of the search.
                if matches!(reason, Reason::NoWorkingHours | Reason::OutsideHours | Reason::ProviderInactive) {
                    found.add(reason, first.start);
                }
            }
        }
    }

    /// Returns the starts that a search would consider if nothing were taken and no rule refused a time, in order of
    /// start, provider and operatory. If there are more than the limit of the query, returns one more.
    fn candidates(&self, query: &SlotQuery, closed: &Closed, align: Option<u16>) -> Vec<Slot> {
        let (zone, free) = (&self.settings.zone, Calendar::new());
        let most = query.limit.saturating_add(1);
        let of_type =
            SlotQuery { overlapping_operatory_slots: true, appointments_per_timeslot: 1, limit: most, ..query.clone() };
        let of_any_type = SlotQuery { appointment_type: None, ..of_type.clone() };
        let unrestricted = Restrictions {
            align: align.filter(|minutes| *minutes > 0).map(|minutes| i64::from(minutes) * MINUTE),
            reach: 0,
            occupied: &|entry: &Entry| entry.span,
            closed: Vec::new(),
            allows: &|_: &Slot| true,
        };
        let open = |hour: &&WorkingHour| !hour.operatory.is_some_and(|id| closed.operatories.contains(&id));
        let hours = self.hours().filter(|hour| of_any_type.matches(hour));
        let (searched, others): (Vec<&WorkingHour>, Vec<&WorkingHour>) =
            hours.partition(|hour| query.matches(hour) && open(hour));
        let mut candidates = restricted_slots(searched, &free, zone, &of_type, Some(&unrestricted));
        // Hours that the search leaves out have the grid of their own windows. Times that bookable hours also cover
        // are candidates on the grid of the search, unless it is restricted to other hours.
        let left_out = restricted_slots(others, &free, zone, &of_any_type, Some(&unrestricted));
        let usable: Vec<&WorkingHour> = self.hours().filter(open).collect();
        candidates.extend(left_out.into_iter().filter(|slot| {
            let requested = RequestedSlot {
                slot: *slot,
                appointment_type: query.appointment_type,
                join_blocks: query.join_blocks,
                own: Vec::new(),
            };
            fits(usable.iter().copied(), &free, zone, &requested) != Fit::Free
        }));
        candidates.sort_by_key(|slot| (slot.span.start, slot.provider, slot.operatory));
        candidates.truncate(most);
        candidates
    }

    /// Returns the providers of a search: those that it names, otherwise all with hours in its operatories.
    fn providers_of(&self, query: &SlotQuery) -> BTreeSet<ProviderId> {
        if !query.providers.is_empty() {
            return query.providers.iter().copied().collect();
        }
        self.hours().filter(|hour| is_in(query, hour)).map(|hour| hour.provider).collect()
    }

    /// Returns the first time of a day that a search would consider if providers always worked.
    fn first_considered(&self, query: &SlotQuery, starts: &StartFilter, date: Date) -> Span {
        let zone = &self.settings.zone;
        let minutes = starts.earliest.and_then(|minutes| u16::try_from(minutes).ok()).unwrap_or(0);
        let start = zone.resolve(date, minutes).first().max(query.not_before);
        span_of(start, query.length)
    }

    /// Returns an operatory of the search in which the provider works, preferably on this day.
    fn usual_operatory(&self, query: &SlotQuery, provider: ProviderId, date: Date) -> Option<OperatoryId> {
        let of_provider = self.state.hours.values().filter(|hour| hour.provider == provider && is_in(query, hour));
        let usual = of_provider.min_by_key(|hour| !(hour.active && hour.applies_on(date)));
        usual.map_or(query.operatories.first().copied(), |hour| hour.operatory)
    }

    fn explain_time(&self, judge: &Judge<'_>, time: &TimeQuestion, found: &mut Explanation) {
        let mut slots = Vec::new();
        for (provider, operatory) in self.places(time.place) {
            let reason = judge.reason(Slot { span: time.span, provider, operatory });
            slots.push(ExplainedSlot { reason, span: time.span, provider: Some(provider), operatory });
        }
        if let (Place::Matching { operatory, .. }, true) = (time.place, slots.is_empty()) {
            let read = self.has_read_schedule();
            let reason = if read { Reason::NoWorkingHours } else { Reason::ScheduleNotRead };
            slots.push(ExplainedSlot { reason, span: time.span, provider: None, operatory });
        }
        slots.iter().for_each(|slot| found.add(slot.reason, time.span.start));
        found.slot = slots.into_iter().min_by_key(|slot| obstacle(slot.reason));
    }

    /// Returns the places of a question in order: those with active hours, or without any, those with other hours.
    fn places(&self, place: Place) -> BTreeSet<(ProviderId, Option<OperatoryId>)> {
        let (provider, operatory) = match place {
            Place::Exact { provider, operatory } => return BTreeSet::from([(provider, operatory)]),
            Place::Matching { provider, operatory } => (provider, operatory),
        };
        let matches = |hour: &&WorkingHour| {
            provider.is_none_or(|id| hour.provider == id) && operatory.is_none_or(|id| hour.operatory == Some(id))
        };
        let pair = |hour: &WorkingHour| (hour.provider, hour.operatory);
        let mut places: BTreeSet<_> = self.hours().filter(matches).map(pair).collect();
        if places.is_empty() {
            places = self.state.hours.values().filter(matches).map(pair).collect();
        }
        if places.is_empty() {
            places.extend(provider.map(|provider| (provider, operatory)));
        }
        places
    }
}

fn is_in(query: &SlotQuery, hour: &WorkingHour) -> bool {
    query.operatories.is_empty() || hour.operatory.is_some_and(|id| query.operatories.contains(&id))
}

fn span_of(start: Timestamp, length: Millis) -> Span {
    Span { start, end: start.plus(length) }
}
