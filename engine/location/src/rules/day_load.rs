//! The visits of a local day, counted for the daily caps.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    candidate::Companion,
    visit_rules::{DailyCaps, VisitRules},
};
use crate::{AppointmentTypeId, Date, Holder, MINUTE, Millis, Placement, ProviderId, Slot, Span, State, Zone};

/// Number and length of visits.
#[derive(Clone, Copy, Default)]
struct Load {
    visits: u32,
    length: Millis,
}

impl Load {
    fn add(&mut self, span: Span) {
        self.visits = self.visits.saturating_add(1);
        self.length = self.length.saturating_add(span.length());
    }

    /// Returns `true` if one more visit would exceed a cap.
    fn exceeds(self, visits: Option<u32>, minutes: Option<u32>, span: Span) -> bool {
        visits.is_some_and(|cap| self.visits >= cap)
            || minutes.is_some_and(|cap| self.length.saturating_add(span.length()) > i64::from(cap) * MINUTE)
    }
}

/// The load of a location or a provider, and the part of one appointment type.
#[derive(Clone, Copy, Default)]
struct TypedLoad {
    all: Load,
    of_type: Load,
}

/// The visits that start on a local day: live appointments, wherever they were made, and holds. Blocks of unavailable
/// time do not count. An appointment that is being moved or cancelled counts once on each day on which the EHR may have
/// it, because the EHR may refuse the change.
pub(super) struct DayLoad {
    pub(super) date: Date,
    day: Span,
    location: TypedLoad,
    /// Filled only if there are caps per provider.
    providers: BTreeMap<ProviderId, TypedLoad>,
}

impl DayLoad {
    /// Counts the visits of a local date, without those of `own`.
    pub(super) fn count(
        state: &State,
        zone: &Zone,
        date: Date,
        rules: &VisitRules,
        appointment_type: Option<AppointmentTypeId>,
        own: &[Holder],
    ) -> DayLoad {
        let by_provider = rules.caps().any_per_provider() || rules.type_caps.any_per_provider();
        let day = zone.day(date);
        let mut load = DayLoad { date, day, location: TypedLoad::default(), providers: BTreeMap::new() };
        let entries = state.calendar.during(day).filter(move |entry| day.start <= entry.span.start);
        let (mut counted, mut vacating) = (BTreeSet::new(), BTreeSet::new());
        for entry in entries.filter(|entry| !own.contains(&entry.holder)) {
            let (kind, provider) = match entry.holder {
                Holder::Vacating(id) => {
                    vacating.insert(id);
                    continue;
                }
                Holder::Appointment(id) => match state.appointments.get(&id) {
                    Some(it) if !it.unavailable => {
                        counted.insert(id);
                        (it.appointment_type, it.placement.provider)
                    }
                    _ => continue,
                },
                Holder::Hold(id) => match state.holds.get(&id) {
                    Some(hold) => (hold.appointment_type, hold.placement.provider),
                    None => continue,
                },
            };
            let same_type = kind.is_some() && kind == appointment_type;
            load.add(entry.span, same_type, provider.filter(|_| by_provider));
        }
        for id in vacating.difference(&counted) {
            let Some(it) = state.appointments.get(id).filter(|it| !it.unavailable) else { continue };
            let starts_here = |place: &&Placement| day.start <= place.span.start && place.span.start < day.end;
            let Some(place) = it.vacating.iter().find(starts_here) else { continue };
            let same_type = it.appointment_type.is_some() && it.appointment_type == appointment_type;
            load.add(place.span, same_type, place.provider.filter(|_| by_provider));
        }
        load
    }

    /// Adds other visits of the request. `appointment_type` is that of the candidate.
    pub(super) fn add_visits(&mut self, others: &[Companion], appointment_type: Option<AppointmentTypeId>) {
        for Companion { slot, appointment_type: kind } in others {
            if self.day.start <= slot.span.start && slot.span.start < self.day.end {
                let same_type = kind.is_some() && *kind == appointment_type;
                self.add(slot.span, same_type, Some(slot.provider));
            }
        }
    }

    fn add(&mut self, span: Span, same_type: bool, provider: Option<ProviderId>) {
        let of_provider = provider.map(|provider| self.providers.entry(provider).or_default());
        for load in [Some(&mut self.location), of_provider].into_iter().flatten() {
            load.all.add(span);
            if same_type {
                load.of_type.add(span);
            }
        }
    }

    /// Returns `true` if a visit in the slot would exceed a cap.
    pub(super) fn exceeds(&self, rules: &VisitRules, slot: &Slot) -> bool {
        let of_provider = self.providers.get(&slot.provider).copied().unwrap_or_default();
        let is_over = |caps: DailyCaps, location: Load, provider: Load| {
            location.exceeds(caps.visits, caps.minutes, slot.span)
                || provider.exceeds(caps.visits_per_provider, caps.minutes_per_provider, slot.span)
        };
        is_over(rules.caps(), self.location.all, of_provider.all)
            || is_over(rules.type_caps, self.location.of_type, of_provider.of_type)
    }
}
