//! What the operator can set for this adapter.

use adapter_sdk::{Fault, settings};
use serde::Deserialize;

/// The EHR for one call.
pub struct GnuHealth {
    pub settings: Settings,
}

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

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Institution {
    Own,
    All,
}

/// As `adapter.toml` declares them.
#[derive(Deserialize)]
struct Declared {
    location: String,
    institution: Institution,
    appointment_types: Option<Vec<AppointmentType>>,
    default_minutes: u32,
    country: Option<String>,
    slot_days: i64,
    whole_pass_minutes: i64,
}

impl Settings {
    pub fn read() -> Result<Settings, Fault> {
        let set: Declared = settings::read()?;
        let institution = match set.institution {
            Institution::All => None,
            Institution::Own => Some(set.location.parse().ok().filter(|id| *id > 0).ok_or_else(|| {
                Fault::unsupported("`location` must be the number of the institution, its database id")
            })?),
        };
        let own = || OWN_TYPES.map(|(id, name)| own_type(id, name, set.default_minutes)).to_vec();
        Ok(Settings {
            institution,
            types: set.appointment_types.unwrap_or_else(own),
            default_minutes: set.default_minutes,
            country: set.country,
            slot_days: set.slot_days,
            whole_minutes: set.whole_pass_minutes,
        })
    }
}

fn own_type(id: &str, name: &str, minutes: u32) -> AppointmentType {
    AppointmentType { id: id.into(), name: name.into(), minutes, bookable_online: id != "inpatient", kind: id.into() }
}
