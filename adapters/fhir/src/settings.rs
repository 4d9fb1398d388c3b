//! The adapter's settings.

use std::{cell::Cell, collections::BTreeSet};

use adapter_sdk::{Fault, records::HistoryCategory, settings};
use serde::Deserialize;

/// The settings declared in `adapter.toml`.
#[derive(Deserialize)]
pub struct Settings {
    operatories: Operatories,
    /// The Location of the practice; its rooms are the Locations that are part of it. `None` if every Location is a
    /// room.
    #[serde(rename = "location")]
    pub site: Option<String>,
    /// System of the identifiers with write keys.
    #[serde(rename = "write_key_system")]
    pub key_system: String,
    /// The FHIR base URL as spelled in the server's links, if the links do not reveal it.
    pub base_url: Option<String>,
    /// Page size limit of the server, as configured or learnt from a refusal.
    count_limit: Cell<u32>,
    /// Days per window in searches for appointments; 0 for windows only if the server requires dates.
    #[serde(rename = "appointment_window_days")]
    pub window_days: i64,
    /// Sort order of searches, for servers without a stable default order.
    pub sort: Option<String>,
    /// `true` if the server has Schedules and Slots.
    pub slots: bool,
    /// Days ahead for which slots become working hours.
    pub slot_days: i64,
    /// Minutes between whole passes, which detect deletions.
    #[serde(rename = "whole_pass_minutes")]
    pub whole_minutes: i64,
    #[serde(default, rename = "appointment_types")]
    pub types: Vec<AppointmentType>,
    /// Length of an appointment type without a length on the server.
    pub default_minutes: u32,
    /// The resource types to use; `None` for all that the server offers.
    pub resources: Option<BTreeSet<String>>,
    transactions: Transactions,
    pub plans: Plans,
    /// Code of the type of payer organisations.
    pub plan_type: String,
    /// System of the identifiers of payers; `None` for those of type `NIIP`.
    pub payer_system: Option<String>,
    /// The Organization that receives payments.
    pub payee: Option<String>,
    /// Currency of amounts without one.
    pub currency: String,
    /// System of the chart numbers in writes.
    pub chart_system: Option<String>,
    #[serde(default, rename = "history_items")]
    pub history: Vec<HistoryItem>,
}

/// The resource type of insurance plans on this server.
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
    /// The code for `Appointment.appointmentType`.
    pub id: String,
    /// The code's system.
    pub system: Option<String>,
    pub name: String,
    pub minutes: u32,
    #[serde(default = "yes")]
    pub bookable_online: bool,
}

fn yes() -> bool {
    true
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
        let mut set: Settings = settings::read()?;
        match set.operatories {
            Operatories::Parts if set.site.is_none() => {
                return Err(Fault::unsupported("the setting `location` is missing"));
            }
            Operatories::Parts => (),
            Operatories::All => set.site = None,
        }
        set.base_url = set.base_url.map(|url| url.trim_end_matches('/').to_owned());
        set.resources = set.resources.filter(|names| !(names.len() == 1 && names.contains("all")));
        Ok(set)
    }

    pub fn atomic(&self) -> bool {
        self.transactions == Transactions::Atomic
    }

    /// Returns the page size limit if it is smaller than any search's page size.
    pub fn allowed(&self) -> Option<u32> {
        Some(self.count_limit.get()).filter(|limit| *limit < 1_000)
    }

    /// Lowers the page size limit.
    pub fn allow(&self, records: u32) {
        self.count_limit.set(self.count_limit.get().min(records));
    }

    /// Returns `<system>|<write key>`, for a search by identifier.
    pub fn token(&self, write_key: &str) -> String {
        format!("{}|{write_key}", self.key_system)
    }
}
