//! What the operator can set for this adapter.

use std::collections::BTreeSet;

use adapter_sdk::{Fault, records::HistoryCategory, settings};
use serde::Deserialize;

/// The EHR for one call.
pub struct Fhir {
    pub settings: Settings,
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

/// As `adapter.toml` declares them.
#[derive(Deserialize)]
struct Declared {
    location: Option<String>,
    resources: Option<BTreeSet<String>>,
    operatories: Operatories,
    #[serde(default)]
    appointment_types: Vec<AppointmentType>,
    default_minutes: u32,
    slots: bool,
    slot_days: i64,
    transactions: Transactions,
    plans: Plans,
    plan_type: String,
    payer_system: Option<String>,
    payee: Option<String>,
    #[serde(default)]
    history_items: Vec<HistoryItem>,
    chart_system: Option<String>,
    currency: String,
    whole_pass_minutes: i64,
    write_key_system: String,
    base_url: Option<String>,
    sort: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Operatories {
    Parts,
    All,
}

#[derive(PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Transactions {
    Off,
    Atomic,
}

impl Settings {
    pub fn read() -> Result<Settings, Fault> {
        let set: Declared = settings::read()?;
        let site = || set.location.ok_or_else(|| Fault::unsupported("the setting `location` is missing"));
        Ok(Settings {
            site: match set.operatories {
                Operatories::Parts => Some(site()?),
                Operatories::All => None,
            },
            key_system: set.write_key_system,
            base_url: set.base_url.map(|url| url.trim_end_matches('/').to_owned()),
            sort: set.sort,
            slots: set.slots,
            slot_days: set.slot_days,
            whole_minutes: set.whole_pass_minutes,
            types: set.appointment_types,
            default_minutes: set.default_minutes,
            resources: set.resources.filter(|names| !(names.len() == 1 && names.contains("all"))),
            transactions: set.transactions == Transactions::Atomic,
            plans: set.plans,
            plan_type: set.plan_type,
            payer_system: set.payer_system,
            payee: set.payee,
            currency: set.currency,
            chart_system: set.chart_system,
            history: set.history_items,
        })
    }

    /// `<system>|<write key>`, for a search by identifier.
    pub fn token(&self, write_key: &str) -> String {
        format!("{}|{write_key}", self.key_system)
    }
}
