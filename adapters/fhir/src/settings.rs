//! What the operator can set for this adapter.

use std::collections::BTreeSet;

use adapter_sdk::{Fault, config, records::HistoryCategory};
use serde::Deserialize;

pub struct Settings {
    /// The Location of the practice; its rooms are the Locations that are part of it. None: every Location is a room.
    pub site: Option<String>,
    /// System of the identifiers that hold write keys.
    pub key_system: String,
    /// The FHIR base URL as the server writes it in links, where it cannot be told from them.
    pub base_url: Option<String>,
    /// Sort order of searches, for servers without stable order of their own.
    pub sort: Option<String>,
    /// Whether the server keeps Schedules and Slots.
    pub slots: bool,
    /// Days ahead whose slots become working hours.
    pub slot_days: i64,
    /// Minutes after which a pass shows everything again, so that deletions come to light.
    pub whole_minutes: i64,
    pub types: Vec<AppointmentType>,
    /// Length of an appointment type that the server names without a length.
    pub default_minutes: u32,
    /// The resource types to use; none: all the server offers.
    pub resources: Option<BTreeSet<String>>,
    /// Transactions are carried out as a whole or not at all.
    pub transactions: bool,
    pub plans: Plans,
    /// Code of the type of organisations that pay.
    pub plan_type: String,
    /// System of the identifiers of payers; none: those of type `NIIP`.
    pub payer_system: Option<String>,
    /// The Organization payments go to.
    pub payee: Option<String>,
    /// Of amounts that name none.
    pub currency: String,
    /// System of the chart numbers written.
    pub chart_system: Option<String>,
    pub history: Vec<HistoryItem>,
}

/// What an insurance plan is in this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plans {
    Organizations,
    InsurancePlans,
}

impl Plans {
    pub fn resource_type(self) -> &'static str {
        match self {
            Plans::Organizations => "Organization",
            Plans::InsurancePlans => "InsurancePlan",
        }
    }
}

/// An entry of the setting `history_items`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryItem {
    pub category: HistoryCategory,
    pub system: Option<String>,
    pub code: Option<String>,
    pub name: String,
}

/// An appointment type of the setting `appointment_types`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppointmentType {
    /// The code written into `Appointment.appointmentType`.
    pub id: String,
    /// Its code system.
    pub system: Option<String>,
    pub name: String,
    pub minutes: u32,
    #[serde(default = "yes")]
    pub bookable_online: bool,
}

fn yes() -> bool {
    true
}

impl Settings {
    pub fn read() -> Result<Settings, Fault> {
        let list = |text: String| -> BTreeSet<String> {
            text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
        };
        let plans = match config::get("plans").as_deref() {
            None | Some("organizations") => Plans::Organizations,
            Some("insurance-plans") => Plans::InsurancePlans,
            Some(_) => return Err(wrong("plans", "`organizations` or `insurance-plans`")),
        };
        let transactions = match config::get("transactions").as_deref() {
            None | Some("off") => false,
            Some("atomic") => true,
            Some(_) => return Err(wrong("transactions", "`atomic` or `off`")),
        };
        let site = match config::get("operatories").as_deref() {
            None | Some("parts") => Some(config::require("location")?),
            Some("all") => None,
            Some(_) => return Err(wrong("operatories", "`parts` or `all`")),
        };
        let slots = match config::get("slots").as_deref() {
            None | Some("on") => true,
            Some("off") => false,
            Some(_) => return Err(wrong("slots", "`on` or `off`")),
        };
        let types = listed("appointment_types", "a JSON list of types")?;
        let history = listed("history_items", "a JSON list of items")?;
        Ok(Settings {
            site,
            key_system: config::get("write_key_system").unwrap_or_else(|| "urn:practice-sync:write-key".into()),
            base_url: config::get("base_url").map(|url| url.trim_end_matches('/').to_owned()),
            sort: config::get("sort"),
            slots,
            slot_days: number("slot_days", 60, 1..=400)?,
            whole_minutes: number("whole_pass_minutes", 360, 0..=100_000)?,
            types,
            default_minutes: u32::try_from(number("default_minutes", 30, 1..=1_440)?).unwrap_or(30),
            resources: config::get("resources").filter(|names| names.trim() != "all").map(list),
            transactions,
            plans,
            plan_type: config::get("plan_type").unwrap_or_else(|| "ins".into()),
            payer_system: config::get("payer_system"),
            payee: config::get("payee"),
            currency: config::get("currency").unwrap_or_else(|| "USD".into()),
            chart_system: config::get("chart_system"),
            history,
        })
    }

    /// `<system>|<write key>`, for a search by identifier.
    pub fn token(&self, write_key: &str) -> String {
        format!("{}|{write_key}", self.key_system)
    }
}

fn listed<T: serde::de::DeserializeOwned>(name: &str, expected: &str) -> Result<Vec<T>, Fault> {
    config::get(name).map_or(Ok(Vec::new()), |json| {
        serde_json::from_str(&json).map_err(|e| wrong(name, &format!("{expected}: {e}")))
    })
}

fn number(name: &str, absent: i64, range: std::ops::RangeInclusive<i64>) -> Result<i64, Fault> {
    let Some(text) = config::get(name) else { return Ok(absent) };
    let number = text.parse().ok().filter(|n| range.contains(n));
    number.ok_or_else(|| wrong(name, &format!("a number from {} to {}", range.start(), range.end())))
}

fn wrong(name: &str, expected: &str) -> Fault {
    Fault::unsupported(format!("the setting `{name}` must be {expected}"))
}
