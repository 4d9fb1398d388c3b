//! The adapter's settings.

use serde::{Deserialize, Deserializer};

/// The settings declared in `adapter.toml`.
#[derive(Deserialize)]
pub struct OpenDentalSettings {
    /// The ClinicNum of the location; `None` if the office has no clinics, or is one location.
    #[serde(rename = "location", default, deserialize_with = "clinic")]
    pub clinic: Option<u64>,
    /// Rows per page: at most 100 through the Remote API, 1,000 through the Local API and the API Service.
    pub page: u32,
    /// Days ahead for which schedules become working hours and blocked time.
    pub schedule_days: i64,
    /// Days back and ahead that a whole pass over the appointments covers.
    pub past_days: i64,
    pub ahead_days: i64,
    /// Days back that the first pass over the communication logs covers.
    pub commlog_days: i64,
    /// Minutes between whole passes, which detect deletions.
    pub whole_pass_minutes: i64,
    /// The same for lists that can only be read patient by patient.
    pub by_patient_minutes: i64,
    /// Names of confirmation statuses that mean confirmed, in lower case.
    #[serde(deserialize_with = "lower")]
    pub confirmed: Vec<String>,
    /// Names of blockout types that permit bookings, in lower case.
    #[serde(default, deserialize_with = "lower")]
    pub bookable_blockouts: Vec<String>,
    /// `close`: practice entries of a schedule without hours close the day.
    pub day_notes: String,
    /// Cancelled appointments go to the Unscheduled List.
    pub unscheduled_list: bool,
    /// Operatories for online booking: those marked for Web Sched, `web_sched`, or all.
    pub online_operatories: String,
    /// The splits of payments are read, with one request for each payment.
    pub paysplits: bool,
    /// Name of the type of communication logs.
    pub commlog_type: Option<String>,
    pub currency: String,
    /// 0 if the API does not throttle.
    pub requests_per_minute: u32,
    /// Length of an appointment type without a pattern.
    pub default_minutes: u32,
}

fn clinic<'de, D: Deserializer<'de>>(location: D) -> Result<Option<u64>, D::Error> {
    Ok(String::deserialize(location)?.trim().parse().ok().filter(|clinic| *clinic > 0))
}

fn lower<'de, D: Deserializer<'de>>(names: D) -> Result<Vec<String>, D::Error> {
    Ok(Vec::<String>::deserialize(names)?.iter().map(|name| name.to_lowercase()).collect())
}
