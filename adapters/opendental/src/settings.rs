//! What the operator can set for this adapter.

use std::ops::RangeInclusive;

use adapter_sdk::{Fault, config};

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
    /// None where the API does not throttle.
    pub requests_per_minute: Option<u32>,
    /// Length of an appointment type without pattern.
    pub default_minutes: u32,
}

impl Settings {
    pub fn read() -> Result<Settings, Fault> {
        let per_minute = number("requests_per_minute", 60, 0..=6_000)?;
        Ok(Settings {
            clinic: config::get("location").and_then(|id| id.trim().parse().ok()).filter(|clinic| *clinic > 0),
            page: small(number("page", 100, 1..=1_000)?),
            schedule_days: number("schedule_days", 60, 1..=400)?,
            past_days: number("past_days", 30, 0..=3_650)?,
            ahead_days: number("ahead_days", 365, 1..=3_650)?,
            commlog_days: number("commlog_days", 365, 1..=36_500)?,
            whole_minutes: number("whole_pass_minutes", 360, 0..=100_000)?,
            by_patient_minutes: number("by_patient_minutes", 1_440, 0..=100_000)?,
            confirmed: list("confirmed").unwrap_or_else(|| vec!["appointment confirmed".into(), "confirmed".into()]),
            bookable_blockouts: list("bookable_blockouts").unwrap_or_default(),
            day_notes_close: choice("day_notes", ["close", "ignore"])?,
            unscheduled_list: choice("unscheduled_list", ["on", "off"])?,
            web_sched_only: !choice("online_operatories", ["all", "web_sched"])?,
            paysplits: choice("paysplits", ["on", "off"])?,
            commlog_type: config::get("commlog_type"),
            currency: config::get("currency").unwrap_or_else(|| "USD".into()),
            requests_per_minute: (per_minute > 0).then(|| small(per_minute)),
            default_minutes: small(number("default_minutes", 30, 5..=540)?),
        })
    }
}

fn small(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn list(name: &str) -> Option<Vec<String>> {
    let names = config::get(name)?;
    Some(names.split(',').map(|name| name.trim().to_lowercase()).filter(|name| !name.is_empty()).collect())
}

/// True for the first word, which is also the default.
fn choice(name: &str, words: [&str; 2]) -> Result<bool, Fault> {
    match config::get(name).as_deref() {
        None => Ok(true),
        Some(word) if word == words[0] => Ok(true),
        Some(word) if word == words[1] => Ok(false),
        Some(_) => Err(wrong(name, &format!("`{}` or `{}`", words[0], words[1]))),
    }
}

fn number(name: &str, absent: i64, range: RangeInclusive<i64>) -> Result<i64, Fault> {
    let Some(text) = config::get(name) else { return Ok(absent) };
    let number = text.parse().ok().filter(|n| range.contains(n));
    number.ok_or_else(|| wrong(name, &format!("a number from {} to {}", range.start(), range.end())))
}

fn wrong(name: &str, expected: &str) -> Fault {
    Fault::unsupported(format!("the setting `{name}` must be {expected}"))
}
