//! Working hours: when a provider sees patients, and where.

use serde::{Deserialize, Serialize};

use crate::{
    ids::{AppointmentTypeId, OperatoryId, ProviderId, WorkingHourId},
    zone::Date,
};

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HourKind {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecurrenceUnit {
    Day,
    Week,
    Month,
}

/// On which local dates the hours apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recurrence {
    Weekly(Vec<Weekday>),
    On(Date),
    /// Every `number` units counted from `reference`, which is itself a day on which they apply; never before it.
    Every { number: u32, unit: RecurrenceUnit, reference: Date },
}

/// One record of working hours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkingHour {
    pub id: WorkingHourId,
    pub provider: ProviderId,
    /// None where the EHR schedules by provider only.
    pub operatory: Option<OperatoryId>,
    /// Minutes after local midnight, 0 to 1439.
    pub begin: u16,
    /// Minutes after local midnight, 0 to 1440; an end not after `begin` lies on the next day.
    pub end: u16,
    pub recurrence: Recurrence,
    pub kind: HourKind,
    pub source: HourSource,
    /// Appointment types it accepts; empty means all.
    pub appointment_types: Vec<AppointmentTypeId>,
    pub active: bool,
}
