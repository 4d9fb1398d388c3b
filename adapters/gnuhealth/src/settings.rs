//! What the operator can set for this adapter.

use adapter_sdk::{Fault, config};
use serde::Deserialize;

pub struct Settings {
    /// The institution whose appointments are the location's; none: those of all institutions.
    pub institution: Option<i64>,
    pub types: Vec<AppointmentType>,
    /// Length of an appointment without an end, and of an appointment type without a length of its own.
    pub default_minutes: u32,
    /// The country of addresses that name none, by its two letters.
    pub country: Option<String>,
    /// Days ahead whose free appointments become working hours.
    pub slot_days: i64,
    /// Minutes after which a pass shows everything again, so that deletions come to light.
    pub whole_minutes: i64,
}

/// An appointment type of the setting `appointment_types`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppointmentType {
    pub id: String,
    pub name: String,
    pub minutes: u32,
    #[serde(default = "online")]
    pub bookable_online: bool,
    /// What the EHR's own field `appointment_type` says of such appointments.
    #[serde(default = "outpatient")]
    pub kind: String,
}

fn online() -> bool {
    true
}

fn outpatient() -> String {
    "outpatient".into()
}

/// The EHR's own vocabulary: what there is where the operator names no types.
const OWN_TYPES: [(&str, &str); 4] = [
    ("outpatient", "Outpatient"),
    ("telemedicine", "Telemedicine"),
    ("homecare", "Home care"),
    ("inpatient", "Inpatient"),
];

impl Settings {
    pub fn read() -> Result<Settings, Fault> {
        let institution = match config::get("institution").as_deref() {
            None | Some("own") => Some(
                number_of(&config::require("location")?)
                    .ok_or_else(|| wrong("location", "the number of the institution, its database id"))?,
            ),
            Some("all") => None,
            Some(_) => return Err(wrong("institution", "`own` or `all`")),
        };
        let default_minutes = u32::try_from(number("default_minutes", 30, 1..=1_440)?).unwrap_or(30);
        let types = match config::get("appointment_types") {
            Some(json) => serde_json::from_str(&json)
                .map_err(|e| wrong("appointment_types", &format!("a JSON list of types: {e}")))?,
            None => OWN_TYPES.map(|(id, name)| own_type(id, name, default_minutes)).to_vec(),
        };
        let whole_minutes = number("whole_pass_minutes", 360, 0..=100_000)?;
        let (country, slot_days) = (config::get("country"), number("slot_days", 60, 1..=400)?);
        Ok(Settings { institution, types, default_minutes, country, slot_days, whole_minutes })
    }
}

fn own_type(id: &str, name: &str, minutes: u32) -> AppointmentType {
    AppointmentType { id: id.into(), name: name.into(), minutes, bookable_online: id != "inpatient", kind: id.into() }
}

fn number_of(text: &str) -> Option<i64> {
    text.parse().ok().filter(|n| *n > 0)
}

fn number(name: &str, absent: i64, range: std::ops::RangeInclusive<i64>) -> Result<i64, Fault> {
    let Some(text) = config::get(name) else { return Ok(absent) };
    let number = text.parse().ok().filter(|n| range.contains(n));
    number.ok_or_else(|| wrong(name, &format!("a number from {} to {}", range.start(), range.end())))
}

fn wrong(name: &str, expected: &str) -> Fault {
    Fault::unsupported(format!("the setting `{name}` must be {expected}"))
}
