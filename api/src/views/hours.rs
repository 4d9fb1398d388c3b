//! Working hours and their labels.

use chrono_tz::Tz;
use engine::records::{WorkingHour, record::Record};
use location::{
    hours::{HourSource, Recurrence, RecurrenceUnit, Weekday},
    time::Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::{
    values::times,
    views::{catalogue::AppointmentTypeView, parts::WriteState},
};

/// Working hours of a provider.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WorkingHourView<'a> {
    id: u32,
    provider_id: Option<u32>,
    location_id: Option<u32>,
    /// Null if the health record system schedules by provider only.
    operatory_id: Option<u64>,
    /// Local time, `HH:MM`.
    begin_time: String,
    /// Local time, `HH:MM`; not after the begin means the next day, and `24:00` the end of the day.
    end_time: String,
    /// Days of the week; empty for a single date and for a custom recurrence.
    #[schemars(with = "Vec<String>")]
    days: &'a [Weekday],
    #[schemars(extend("format" = "date"))]
    specific_date: Option<String>,
    custom_recurrence: Option<CustomRecurrence>,
    /// The location's offset from UTC now.
    tz_offset: String,
    active: bool,
    #[schemars(with = "String", extend("enum" = ["manual", "synced"]))]
    source: HourSource,
    label: Option<WorkingHourLabelView<'a>>,
    /// Hours the health record system would not have at all are not active.
    #[serde(flatten)]
    write: WriteState<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub appointment_types: Option<Vec<AppointmentTypeView>>,
}

/// Every `num` units, counted from `ref`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CustomRecurrence {
    num: u32,
    #[schemars(with = "String", extend("enum" = ["day", "week", "month"]))]
    unit: RecurrenceUnit,
    #[serde(rename = "ref")]
    #[schemars(extend("format" = "date"))]
    reference: String,
}

/// A label of working hours, such as `Hygiene`.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct WorkingHourLabelView<'a> {
    id: u64,
    location_id: Option<u32>,
    name: &'a str,
}

impl<'a> WorkingHourView<'a> {
    pub(crate) fn of(record: &'a Record<WorkingHour>, zone: Tz, now: Timestamp) -> WorkingHourView<'a> {
        let (days, specific_date, custom_recurrence) = match &record.recurrence {
            Recurrence::Weekly(days) => (days.as_slice(), None, None),
            Recurrence::On(date) => (&[][..], Some(date.to_string()), None),
            Recurrence::Every { number, unit, reference } => {
                let custom = CustomRecurrence { num: *number, unit: *unit, reference: reference.to_string() };
                (&[][..], None, Some(custom))
            }
        };
        WorkingHourView {
            id: record.id,
            provider_id: Some(record.provider_id),
            location_id: Some(record.location()),
            operatory_id: record.operatory_id,
            begin_time: time_of_day(record.begin),
            end_time: time_of_day(record.end),
            days,
            specific_date,
            custom_recurrence,
            tz_offset: times::offset(now, zone),
            active: record.in_force(),
            source: record.source,
            label: record.label.as_deref().map(|name| WorkingHourLabelView::of(record.location(), name)),
            write: WriteState::of(record.write.as_ref()),
            appointment_types: None,
        }
    }
}

impl<'a> WorkingHourLabelView<'a> {
    pub(crate) fn of(location: u32, name: &'a str) -> WorkingHourLabelView<'a> {
        WorkingHourLabelView { id: label_id(location, name), location_id: Some(location), name }
    }
}

/// A label is nothing but its name at a location: its id is a digest of both, so that the same label has the same id wherever it is met.
pub(crate) fn label_id(location: u32, name: &str) -> u64 {
    let mut hash = Sha256::new();
    hash.update(location.to_be_bytes());
    hash.update(name.as_bytes());
    let digest = hash.finalize();
    // 53 bits: what a JSON number holds exactly.
    digest[..8].iter().fold(0, |id, byte| id << 8 | u64::from(*byte)) >> 11
}

fn time_of_day(minutes: u16) -> String {
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}
