//! The adapter's settings.

use adapter_sdk::{Fault, settings};
use serde::Deserialize;

/// The settings declared in `adapter.toml`.
#[derive(Deserialize)]
pub struct Settings {
    location: String,
    institution: Institution,
    appointment_types: Option<Vec<AppointmentType>>,
    /// Length of an appointment without an end, and of an appointment type without a length.
    pub default_minutes: u32,
    /// The two-letter country of addresses without one.
    pub country: Option<String>,
    /// Days ahead for which free appointments become working hours.
    pub slot_days: i64,
    /// Minutes between whole passes, which detect deletions.
    #[serde(rename = "whole_pass_minutes")]
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
    /// Value of the EHR's field `appointment_type` for these appointments.
    #[serde(default = "outpatient")]
    pub kind: String,
}

fn online() -> bool {
    true
}

fn outpatient() -> String {
    "outpatient".into()
}

/// The EHR's own values, used if no types are configured.
const OWN_TYPES: [(&str, &str); 4] = [
    ("outpatient", "Outpatient"),
    ("telemedicine", "Telemedicine"),
    ("homecare", "Home care"),
    ("inpatient", "Inpatient"),
];

#[derive(PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Institution {
    Own,
    All,
}

impl Settings {
    pub fn read() -> Result<Settings, Fault> {
        let mut set: Settings = settings::read()?;
        if set.institution == Institution::Own && set.institution().is_none() {
            return Err(Fault::unsupported("`location` must be the number of the institution, its database id"));
        }
        let minutes = set.default_minutes;
        set.appointment_types.get_or_insert_with(|| OWN_TYPES.map(|(id, name)| own_type(id, name, minutes)).into());
        Ok(set)
    }

    /// Returns the institution of the location's appointments; `None` for all institutions.
    pub fn institution(&self) -> Option<i64> {
        let own = self.institution == Institution::Own;
        self.location.parse().ok().filter(|id| own && *id > 0)
    }

    pub fn types(&self) -> &[AppointmentType] {
        self.appointment_types.as_deref().unwrap_or_default()
    }
}

fn own_type(id: &str, name: &str, minutes: u32) -> AppointmentType {
    AppointmentType { id: id.into(), name: name.into(), minutes, bookable_online: id != "inpatient", kind: id.into() }
}
