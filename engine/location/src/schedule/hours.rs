//! Working hours: when a provider sees patients, and where.

use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::schedule::zone::Weekday;
use crate::{
    ids::{AppointmentTypeId, OperatoryId, ProviderId, WorkingHourId},
    schedule::zone::{Date, Zone},
    time::Span,
};

/// The kind of working hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HourKind {
    /// Ordinary working hours.
    WorkingHour,
    /// A block of the schedule set aside for certain appointment types. Joins synced hours from v3.0.0 on.
    SchedulableBlock,
}

/// Where the hours come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HourSource {
    /// Entered through the API.
    Manual,
    /// Pulled from the EHR.
    Synced,
}

/// The unit in which a recurrence counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecurrenceUnit {
    /// Days.
    Day,
    /// Weeks.
    Week,
    /// Months; one without the day of the reference is skipped.
    Month,
}

/// On which local dates the hours apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recurrence {
    /// Every week on these weekdays.
    Weekly(Vec<Weekday>),
    /// On one date.
    On(Date),
    /// Every `number` units counted from `reference`, which is itself a day on which they apply; never before it.
    Every {
        /// How many units lie between two dates.
        number: u32,
        /// The unit.
        unit: RecurrenceUnit,
        /// The date from which the units are counted.
        reference: Date,
    },
}

/// One record of working hours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkingHour {
    /// The id of the working hours.
    pub id: WorkingHourId,
    /// The provider.
    pub provider: ProviderId,
    /// None where the EHR schedules by provider only.
    pub operatory: Option<OperatoryId>,
    /// Minutes after local midnight, 0 to 1439.
    pub begin: u16,
    /// Minutes after local midnight, 0 to 1440; an end not after `begin` lies on the next day.
    pub end: u16,
    /// The local dates on which they apply.
    pub recurrence: Recurrence,
    /// Working hours, or a schedulable block.
    pub kind: HourKind,
    /// Where they come from.
    pub source: HourSource,
    /// Appointment types it accepts; empty means all.
    pub appointment_types: Vec<AppointmentTypeId>,
    /// Whether they are in use.
    pub active: bool,
}

/// What is wrong with a record of working hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HourError {
    /// Not within 0 to 1439 minutes.
    Begin(u16),
    /// Not within 0 to 1440 minutes.
    End(u16),
    /// Weekly on no weekday.
    NoWeekdays,
    /// A weekday is named more than once.
    RepeatedWeekday(Weekday),
    /// Every 0 units, or more than `WorkingHour::MAX_INTERVAL`.
    Interval(u32),
    /// Outside the years 1 to 9999, as is `Reference`.
    SpecificDate(Date),
    /// The reference lies outside the years 1 to 9999.
    Reference(Date),
    /// More than `WorkingHour::MAX_APPOINTMENT_TYPES`.
    TooManyAppointmentTypes(usize),
}

impl HourError {
    /// The field at fault, by its name in the API.
    pub fn field(&self) -> &'static str {
        match self {
            HourError::Begin(_) => "begin_time",
            HourError::End(_) => "end_time",
            HourError::NoWeekdays | HourError::RepeatedWeekday(_) => "days",
            HourError::Interval(_) => "custom_recurrence.num",
            HourError::SpecificDate(_) => "specific_date",
            HourError::Reference(_) => "custom_recurrence.ref",
            HourError::TooManyAppointmentTypes(_) => "appointment_type_ids",
        }
    }
}

impl fmt::Display for HourError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.field())?;
        match self {
            HourError::Begin(minutes) => write!(f, "must be from 0 to 1439 minutes after midnight, not {minutes}"),
            HourError::End(minutes) => write!(f, "must be from 0 to 1440 minutes after midnight, not {minutes}"),
            HourError::NoWeekdays => f.write_str("must name at least one weekday"),
            HourError::RepeatedWeekday(day) => write!(f, "names {day:?} more than once"),
            HourError::Interval(number) => {
                write!(f, "must be from 1 to {}, not {number}", WorkingHour::MAX_INTERVAL)
            }
            HourError::SpecificDate(date) | HourError::Reference(date) => {
                write!(f, "must be from {} to {}, not {date}", Date::MIN, Date::MAX)
            }
            HourError::TooManyAppointmentTypes(count) => {
                write!(f, "has {count} entries; at most {}", WorkingHour::MAX_APPOINTMENT_TYPES)
            }
        }
    }
}

impl std::error::Error for HourError {}

impl Recurrence {
    /// Whether the local date is one of them.
    pub fn applies_on(&self, date: Date) -> bool {
        match self {
            Recurrence::Weekly(days) => days.contains(&date.weekday()),
            Recurrence::On(only) => *only == date,
            Recurrence::Every { reference, .. } if date < *reference => false,
            Recurrence::Every { number, unit, reference } => {
                let number = i64::from(*number);
                let due = |passed: i64, every: i64| passed.checked_rem(every) == Some(0);
                match unit {
                    RecurrenceUnit::Day => due(date.days_since(*reference), number),
                    RecurrenceUnit::Week => due(date.days_since(*reference), number * 7),
                    // A month without the reference's day is skipped.
                    RecurrenceUnit::Month => {
                        date.ymd().2 == reference.ymd().2 && due(date.months_since(*reference), number)
                    }
                }
            }
        }
    }

    fn problems(&self, problems: &mut Vec<HourError>) {
        let outside = |date: &Date| !(Date::MIN..=Date::MAX).contains(date);
        match self {
            Recurrence::Weekly(days) => {
                if days.is_empty() {
                    problems.push(HourError::NoWeekdays);
                }
                let times = |day: &Weekday| days.iter().filter(|other| *other == day).count();
                let repeated = Weekday::ALL.into_iter().filter(|day| times(day) > 1);
                problems.extend(repeated.map(HourError::RepeatedWeekday));
            }
            Recurrence::On(date) => {
                if outside(date) {
                    problems.push(HourError::SpecificDate(*date));
                }
            }
            Recurrence::Every { number, reference, .. } => {
                if !(1..=WorkingHour::MAX_INTERVAL).contains(number) {
                    problems.push(HourError::Interval(*number));
                }
                if outside(reference) {
                    problems.push(HourError::Reference(*reference));
                }
            }
        }
    }
}

impl WorkingHour {
    /// Of `Recurrence::Every`; more than ten thousand days is no rhythm of a practice.
    pub const MAX_INTERVAL: u32 = 10_000;
    /// Appointment types that one record may name.
    pub const MAX_APPOINTMENT_TYPES: usize = 1_000;

    /// Whether the recurrence names this local date; says nothing about `active`.
    pub fn applies_on(&self, date: Date) -> bool {
        self.recurrence.applies_on(date)
    }

    /// Whether an appointment of this type may be booked in these hours. One without a type goes into any.
    pub fn accepts(&self, appointment_type: Option<AppointmentTypeId>) -> bool {
        self.appointment_types.is_empty()
            || appointment_type.is_none_or(|wanted| self.appointment_types.contains(&wanted))
    }

    /// All that is wrong with it, not the first only.
    pub fn validate(&self) -> Result<(), Vec<HourError>> {
        let mut problems = Vec::new();
        if self.begin > 1439 {
            problems.push(HourError::Begin(self.begin));
        }
        if self.end > 1440 {
            problems.push(HourError::End(self.end));
        }
        self.recurrence.problems(&mut problems);
        if self.appointment_types.len() > Self::MAX_APPOINTMENT_TYPES {
            problems.push(HourError::TooManyAppointmentTypes(self.appointment_types.len()));
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// The window these hours would open on `date`, whether they apply on it or not. A begin or end in a gap moves to the
    /// gap's end; of a begin shown twice the first counts, of an end the second. None when nothing is left of it.
    pub fn span_on(&self, zone: &Zone, date: Date) -> Option<Span> {
        Span::new(zone.resolve(date, self.begin).first(), zone.resolve(date, self.closing()).last())
    }

    /// The end in minutes after the midnight before `begin`.
    pub(crate) fn closing(&self) -> u16 {
        if self.end > self.begin { self.end } else { self.end.saturating_add(1440) }
    }
}
