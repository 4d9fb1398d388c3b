//! What slots are asked for, and what a slot is.

use serde::{Deserialize, Serialize};

use crate::{
    ids::{AppointmentTypeId, OperatoryId, ProviderId, WorkingHourId},
    schedule::{
        hours::{HourSource, WorkingHour},
        zone::{Date, Zone},
    },
    time::{DAY, MINUTE, Millis, Span, Timestamp},
};

/// Slots begin on the local dates from `from` on, for `days` of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotQuery {
    /// The first local date.
    pub from: Date,
    /// How many local dates.
    pub days: u16,
    /// The length of a slot in milliseconds.
    pub length: Millis,
    /// From the start of one slot to the next in a window that is free; None means `length`.
    pub interval: Option<Millis>,
    /// None accepts hours of any type.
    pub appointment_type: Option<AppointmentTypeId>,
    /// Empty means all.
    pub providers: Vec<ProviderId>,
    /// Empty means all, and hours without an operatory too.
    pub operatories: Vec<OperatoryId>,
    /// None accepts hours of any source.
    pub source: Option<HourSource>,
    /// None accepts all hours.
    pub hours: Option<Vec<WorkingHourId>>,
    /// Whether schedulable blocks join synced hours, or a slot must be within either alone.
    pub join_blocks: bool,
    /// Whether to offer a provider's slots of the same start in each operatory, or in the first only.
    pub overlapping_operatory_slots: bool,
    /// A provider's start is offered when at least so many operatories have it.
    pub appointments_per_timeslot: u8,
    /// Slots that begin before are not offered.
    pub not_before: Timestamp,
    /// Slots at most.
    pub limit: usize,
}

/// A place and time for one appointment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Slot {
    /// Start and end.
    pub span: Span,
    /// The provider.
    pub provider: ProviderId,
    /// The operatory.
    pub operatory: Option<OperatoryId>,
}

impl SlotQuery {
    /// Days that one query may cover.
    pub const MAX_DAYS: u16 = 366;
    /// Of a slot and of an interval.
    pub const LENGTHS: std::ops::RangeInclusive<Millis> = MINUTE..=DAY;
    /// The highest `appointments_per_timeslot`.
    pub const MAX_APPOINTMENTS_PER_TIMESLOT: u8 = 5;

    /// The fields, by their names here, that lie outside what can be asked for. `free_slots` answers such a query with none.
    pub fn problems(&self) -> Vec<&'static str> {
        let checks = [
            ("from", (Date::MIN..=Date::MAX).contains(&self.from)),
            ("days", (1..=Self::MAX_DAYS).contains(&self.days)),
            ("length", Self::LENGTHS.contains(&self.length)),
            ("interval", self.interval.is_none_or(|interval| Self::LENGTHS.contains(&interval))),
            (
                "appointments_per_timeslot",
                (1..=Self::MAX_APPOINTMENTS_PER_TIMESLOT).contains(&self.appointments_per_timeslot),
            ),
        ];
        checks.into_iter().filter(|(_, fine)| !fine).map(|(field, _)| field).collect()
    }

    /// Whether the query concerns these hours at all.
    pub fn asks_for(&self, hour: &WorkingHour) -> bool {
        let operatory_asked_for = |operatory| self.operatories.contains(operatory);
        hour.active
            && self.source.is_none_or(|source| hour.source == source)
            && self.hours.as_ref().is_none_or(|ids| ids.contains(&hour.id))
            && (self.providers.is_empty() || self.providers.contains(&hour.provider))
            && (self.operatories.is_empty() || hour.operatory.as_ref().is_some_and(operatory_asked_for))
            && hour.accepts(self.appointment_type)
    }

    /// Where slots may start.
    pub(super) fn starts(&self, zone: &Zone) -> Option<Span> {
        let from = zone.day(self.from).start.max(self.not_before);
        Span::new(from, zone.day(self.from.add_days(i32::from(self.days))).start)
    }
}
