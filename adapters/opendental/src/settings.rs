//! What the operator can set for this adapter.

use adapter_sdk::{Fault, settings};
use serde::Deserialize;

pub struct Settings {
    /// The clinic the location is, by its ClinicNum; none: the office has no clinics, or is one location.
    pub clinic: Option<u64>,
    /// Rows of a page: 100 at most through the Remote API, 1,000 through the Local API and the API Service.
    pub page: u32,
    /// Days ahead whose schedules become working hours and blocked time.
    pub schedule_days: i64,
    /// Days back and ahead a whole pass over the appointments shows.
    pub past_days: i64,
    pub ahead_days: i64,
    /// Days back the first pass over the communication logs goes.
    pub commlog_days: i64,
    /// Minutes after which a pass shows everything again, so that deletions come to light.
    pub whole_minutes: i64,
    /// The same for what can only be read patient by patient.
    pub by_patient_minutes: i64,
    /// Names of confirmation statuses that mean confirmed, in lower case.
    pub confirmed: Vec<String>,
    /// Names of blockout types in which may be booked, in lower case.
    pub bookable_blockouts: Vec<String>,
    /// Practice entries of a schedule without hours close the day.
    pub day_notes_close: bool,
    /// What is cancelled goes to the Unscheduled List.
    pub unscheduled_list: bool,
    /// Operatories to be booked online: those marked for Web Sched, or all.
    pub web_sched_only: bool,
    /// The parts of a payment are read, one request for each payment.
    pub paysplits: bool,
    /// Name of the type of communication logs.
    pub commlog_type: Option<String>,
    pub currency: String,
    /// 0 where the API does not throttle.
    pub requests_per_minute: u32,
    /// Length of an appointment type without pattern.
    pub default_minutes: u32,
}

/// As `adapter.toml` declares them.
#[derive(Deserialize)]
struct Declared {
    location: Option<String>,
    page: u32,
    schedule_days: i64,
    past_days: i64,
    ahead_days: i64,
    commlog_days: i64,
    whole_pass_minutes: i64,
    by_patient_minutes: i64,
    confirmed: Vec<String>,
    #[serde(default)]
    bookable_blockouts: Vec<String>,
    day_notes: String,
    unscheduled_list: bool,
    online_operatories: String,
    paysplits: bool,
    commlog_type: Option<String>,
    currency: String,
    requests_per_minute: u32,
    default_minutes: u32,
}

impl Settings {
    pub fn read() -> Result<Settings, Fault> {
        let set: Declared = settings::read()?;
        let lower = |names: Vec<String>| names.into_iter().map(|name| name.to_lowercase()).collect();
        Ok(Settings {
            clinic: set.location.and_then(|id| id.trim().parse().ok()).filter(|clinic| *clinic > 0),
            page: set.page,
            schedule_days: set.schedule_days,
            past_days: set.past_days,
            ahead_days: set.ahead_days,
            commlog_days: set.commlog_days,
            whole_minutes: set.whole_pass_minutes,
            by_patient_minutes: set.by_patient_minutes,
            confirmed: lower(set.confirmed),
            bookable_blockouts: lower(set.bookable_blockouts),
            day_notes_close: set.day_notes == "close",
            unscheduled_list: set.unscheduled_list,
            web_sched_only: set.online_operatories == "web_sched",
            paysplits: set.paysplits,
            commlog_type: set.commlog_type,
            currency: set.currency,
            requests_per_minute: set.requests_per_minute,
            default_minutes: set.default_minutes,
        })
    }
}
