//! Working hours: recurring times at which a provider sees patients in a place.

use std::fmt;

use serde::{Deserialize, Serialize};

pub use super::zone::Weekday;
use crate::{AppointmentTypeId, Date, OperatoryId, ProviderId, Span, WorkingHourId, Zone};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HourKind {
    /// Ordinary working hours.
    WorkingHour,
    /// A block of the schedule reserved for certain appointment types. Joins synced hours in v3.0.0 and later.
    SchedulableBlock,
}

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
    Day,
    Week,
    /// Months. A month that lacks the reference's day is skipped.
    Month,
}

/// The local dates on which working hours apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recurrence {
    /// Every week on these weekdays.
    Weekly(Vec<Weekday>),
    /// On one date.
    On(Date),
    /// Every `number` units from `reference` on, which is itself a day on which the hours apply.
    Every {
        /// Number of units between two dates.
        number: u32,
        unit: RecurrenceUnit,
        /// The date from which the units are counted.
        reference: Date,
    },
}

/// One record of working hours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkingHour {
    pub id: WorkingHourId,
    pub provider: ProviderId,
    /// `None` if the EHR schedules by provider only.
    pub operatory: Option<OperatoryId>,
    /// Minutes after local midnight, 0 to 1439.
    pub begin: u16,
    /// Minutes after local midnight, 0 to 1440. An end not after `begin` is on the next day.
    pub end: u16,
    pub recurrence: Recurrence,
    pub kind: HourKind,
    pub source: HourSource,
    /// Accepted appointment types. Empty for all.
    pub appointment_types: Vec<AppointmentTypeId>,
    /// `true` if the hours are in use.
    pub active: bool,
}

/// The reason why working hours are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HourError {
    /// Not within 0 to 1439 minutes.
    Begin(u16),
    /// Not within 0 to 1440 minutes.
    End(u16),
    /// A weekly recurrence without weekdays.
    NoWeekdays,
    /// A repeated weekday.
    RepeatedWeekday(Weekday),
    /// An interval of 0 units, or of more than `WorkingHour::MAX_INTERVAL`.
    Interval(u32),
    /// A date outside the years 1 to 9999.
    SpecificDate(Date),
    /// A reference date outside the years 1 to 9999.
    Reference(Date),
    /// More appointment types than `WorkingHour::MAX_APPOINTMENT_TYPES`.
    TooManyAppointmentTypes(usize),
}

impl HourError {
    /// Returns the API name of the invalid field.
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
    /// Returns `true` if the hours apply on the local date.
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
                    // A month that lacks the reference's day is skipped.
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
    /// Maximum number of units in `Recurrence::Every`.
    pub const MAX_INTERVAL: u32 = 10_000;
    /// Maximum number of appointment types of one record.
    pub const MAX_APPOINTMENT_TYPES: usize = 1_000;

    /// Returns `true` if the recurrence contains the local date, regardless of `active`.
    pub fn applies_on(&self, date: Date) -> bool {
        self.recurrence.applies_on(date)
    }

    /// Returns `true` if an appointment of this type may be booked in these hours. An appointment without a type may be
    /// booked in all of them.
    pub fn accepts(&self, appointment_type: Option<AppointmentTypeId>) -> bool {
        self.appointment_types.is_empty()
            || appointment_type.is_none_or(|wanted| self.appointment_types.contains(&wanted))
    }

    /// Returns all validation errors.
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

    /// Returns the window that these hours would have on `date`, regardless of the recurrence. A begin or end in a gap
    /// moves to the end of the gap. If a local time occurs twice, the first counts for the begin and the second for the
    /// end. Returns `None` if the window is empty.
    pub fn span_on(&self, zone: &Zone, date: Date) -> Option<Span> {
        Span::new(zone.resolve(date, self.begin).first(), zone.resolve(date, self.closing()).last())
    }

    /// Returns the end in minutes after the midnight before `begin`.
    pub(crate) fn closing(&self) -> u16 {
        if self.end > self.begin { self.end } else { self.end.saturating_add(1440) }
    }
}
