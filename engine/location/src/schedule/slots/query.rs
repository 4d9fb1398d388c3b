//! The slot query and the slot.

use serde::{Deserialize, Serialize};

use crate::{
    AppointmentTypeId, DAY, Date, HourSource, MINUTE, Millis, OperatoryId, Placement, ProviderId, Span, Timestamp,
    WorkingHour, WorkingHourId, Zone, schedule::calendar::Column,
};

/// A query for slots that start on one of `days` local dates from `from` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotQuery {
    pub from: Date,
    pub days: u16,
    /// The length of a slot in milliseconds.
    pub length: Millis,
    /// Distance between slot starts in a free window. Defaults to `length`.
    pub interval: Option<Millis>,
    /// Restricts the query to hours that accept this type.
    pub appointment_type: Option<AppointmentTypeId>,
    /// Restricts the query to these providers, if not empty.
    pub providers: Vec<ProviderId>,
    /// Restricts the query to these operatories, if not empty. Hours without an operatory are then excluded.
    pub operatories: Vec<OperatoryId>,
    /// Restricts the query to hours of this source.
    pub source: Option<HourSource>,
    /// Restricts the query to these hours.
    pub hours: Option<Vec<WorkingHourId>>,
    /// `true` if schedulable blocks join synced hours; otherwise a slot must be within one or the other.
    pub join_blocks: bool,
    /// `true` to offer slots of the same provider and start in each operatory, `false` for the first operatory only.
    pub overlapping_operatory_slots: bool,
    /// Minimum number of operatories that must have a provider's start for it to be offered.
    pub appointments_per_timeslot: u8,
    /// Earliest start of a slot.
    pub not_before: Timestamp,
    pub limit: usize,
}

/// A place and time for one appointment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Slot {
    pub span: Span,
    pub provider: ProviderId,
    pub operatory: Option<OperatoryId>,
}

impl Slot {
    /// Returns the slot of a placement, or `None` if it names no provider.
    pub fn from_placement(placement: &Placement) -> Option<Slot> {
        let Placement { operatory, provider, span } = *placement;
        provider.map(|provider| Slot { span, provider, operatory })
    }

    /// Returns the calendar column that an appointment in the slot occupies.
    pub fn column(&self) -> Column {
        self.operatory.map_or(Column::Provider(self.provider), Column::Operatory)
    }

    /// Returns `true` if an appointment in this slot prevents one in the other, as [`Calendar::busy`] decides. A
    /// provider may have appointments in several operatories at the same time.
    ///
    /// [`Calendar::busy`]: crate::calendar::Calendar::busy
    pub fn prevents(&self, other: &Slot) -> bool {
        self.span.overlaps(other.span) && [other.column(), Column::Provider(other.provider)].contains(&self.column())
    }

    /// Returns `true` if one of the slots prevents the other.
    pub fn conflicts_with(&self, other: &Slot) -> bool {
        self.prevents(other) || other.prevents(self)
    }
}

impl SlotQuery {
    pub const MAX_DAYS: u16 = 366;
    /// Allowed lengths of a slot and of an interval.
    pub const LENGTHS: std::ops::RangeInclusive<Millis> = MINUTE..=DAY;
    pub const MAX_APPOINTMENTS_PER_TIMESLOT: u8 = 5;

    /// Returns the names of the fields with invalid values. `free_slots` returns no slots for such a query.
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

    /// Returns `true` if the hours match the filters of the query.
    pub fn matches(&self, hour: &WorkingHour) -> bool {
        let requested_operatory = |operatory| self.operatories.contains(operatory);
        hour.active
            && self.source.is_none_or(|source| hour.source == source)
            && self.hours.as_ref().is_none_or(|ids| ids.contains(&hour.id))
            && (self.providers.is_empty() || self.providers.contains(&hour.provider))
            && (self.operatories.is_empty() || hour.operatory.as_ref().is_some_and(requested_operatory))
            && hour.accepts(self.appointment_type)
    }

    /// Returns the interval of allowed slot starts, or `None` if it is empty.
    pub(super) fn starts(&self, zone: &Zone) -> Option<Span> {
        let from = zone.day(self.from).start.max(self.not_before);
        Span::new(from, zone.day(self.from.add_days(i32::from(self.days))).start)
    }
}
