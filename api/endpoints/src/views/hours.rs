//! Working hours and their labels.

use chrono_tz::Tz;
use location::{Recurrence, Weekday, hours::RecurrenceUnit};
use sha2::{Digest, Sha256};

use crate::{prelude::*, views::catalogue::AppointmentTypeView};

/// Working hours of a provider.
#[view]
pub struct WorkingHourView<'a> {
    /// Id of the working hours.
    id: u32,
    /// Id of the provider who sees patients in these hours.
    provider_id: Option<u32>,
    location_id: Option<u32>,
    /// Id of the operatory; null if the health record system schedules by provider only.
    operatory_id: Option<u64>,
    /// Begin time at the location, `HH:MM`.
    begin_time: String,
    /// End time at the location, `HH:MM`. A time that is not after the begin time is on the next day; `24:00` is the
    /// end of the day.
    end_time: String,
    /// Days of the week; empty for a single date and for a custom recurrence.
    #[schemars(with = "Vec<String>")]
    days: &'a [Weekday],
    /// The single date to which the hours apply, `YYYY-MM-DD`; null if they recur.
    specific_date: Option<String>,
    /// The recurrence, if it is not weekly; otherwise null.
    custom_recurrence: Option<CustomRecurrence>,
    /// The location's current offset from UTC: `-05:00`.
    tz_offset: String,
    /// `true` if these hours offer slots; `false` once they have been deleted in the health record system, or if it
    /// refused them.
    active: bool,
    /// Source of the working hours. `manual`: created through the API. `synced`: read from the health record system.
    source: Word<HourSource>,
    /// The label of the hours; null if they have none.
    label: Option<WorkingHourLabelView<'a>>,
    /// Hours the health record system would not have at all are not active.
    write: WriteState<'a>,
    /// The only appointment types that can be booked in these hours; an empty list allows all types. Only with
    /// `include[]=appointment_types`, in the availabilities of a provider, which can list all types, and in the
    /// response to a change.
    pub appointment_types: IncludedList<AppointmentTypeView>,
}

/// Every `num` units, counted from `ref`.
#[view]
pub(crate) struct CustomRecurrence {
    /// Number of units between two occurrences.
    num: u32,
    /// The unit of the recurrence.
    unit: Word<RecurrenceUnit>,
    /// A date on which the hours apply, `YYYY-MM-DD`. The recurrence is counted from this date.
    #[serde(rename = "ref")]
    reference: String,
}

/// A label of working hours, such as `Hygiene`.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkingHourLabelView<'a> {
    /// Id of the label. The same name at a location has the same id.
    id: u64,
    /// Id of the location.
    location_id: Option<u32>,
    /// Name of the label.
    name: &'a str,
}

impl<'a> WorkingHourView<'a> {
    pub(crate) fn from_record(record: &'a Record<WorkingHour>, zone: Tz, now: Timestamp) -> WorkingHourView<'a> {
        let (days, specific_date, custom_recurrence) = match &record.recurrence {
            Recurrence::Weekly(days) => (days.as_slice(), None, None),
            Recurrence::On(date) => (&[][..], Some(date.to_string()), None),
            Recurrence::Every { number, unit, reference } => {
                let custom = CustomRecurrence { num: *number, unit: Word(*unit), reference: reference.to_string() };
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
            source: Word(record.source),
            label: record.label.as_deref().map(|name| WorkingHourLabelView::new(record.location(), name)),
            write: WriteState::from_write(record.write.as_ref()),
            appointment_types: None,
        }
    }
}

impl<'a> WorkingHourLabelView<'a> {
    pub fn new(location: u32, name: &'a str) -> WorkingHourLabelView<'a> {
        WorkingHourLabelView { id: label_id(location, name), location_id: Some(location), name }
    }
}

/// Returns the id of a label. A label is only a name at a location, so its id is a digest of both.
pub fn label_id(location: u32, name: &str) -> u64 {
    let mut hash = Sha256::new();
    hash.update(location.to_be_bytes());
    hash.update(name.as_bytes());
    let digest = hash.finalize();
    // The 53 bits that a JSON number represents exactly.
    digest[..8].iter().fold(0, |id, byte| id << 8 | u64::from(*byte)) >> 11
}

fn time_of_day(minutes: u16) -> String {
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}
