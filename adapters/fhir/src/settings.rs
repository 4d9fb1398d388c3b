//! What the operator can set for this adapter.

use std::{cell::Cell, collections::BTreeSet};

use adapter_sdk::{Fault, records::HistoryCategory, settings};
use serde::Deserialize;

/// What the operator can set, as `adapter.toml` declares it.
#[derive(Deserialize)]
pub struct Settings {
    operatories: Operatories,
    /// The Location of the practice; its rooms are the Locations that are part of it. None: every Location is a room.
    #[serde(rename = "location")]
    pub site: Option<String>,
    /// System of the identifiers that hold write keys.
    #[serde(rename = "write_key_system")]
    pub key_system: String,
    /// The FHIR base URL as the server writes it in links, where it cannot be told from them.
    pub base_url: Option<String>,
    /// The most records the server gives at once, as it is set, or as a refusal showed.
    count_limit: Cell<u32>,
    /// Days of a window in searches for appointments; 0: where the server refuses a search without dates.
    #[serde(rename = "appointment_window_days")]
    pub window_days: i64,
    /// Sort order of searches, for servers without stable order of their own.
    pub sort: Option<String>,
    /// Whether the server keeps Schedules and Slots.
    pub slots: bool,
    /// Days ahead whose slots become working hours.
    pub slot_days: i64,
    /// Minutes after which a pass shows everything again, so that deletions come to light.
    #[serde(rename = "whole_pass_minutes")]
    pub whole_minutes: i64,
    #[serde(default, rename = "appointment_types")]
    pub types: Vec<AppointmentType>,
    /// Length of an appointment type that the server names without a length.
    pub default_minutes: u32,
    /// The resource types to use; none: all the server offers.
    pub resources: Option<BTreeSet<String>>,
    transactions: Transactions,
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
    #[serde(default, rename = "history_items")]
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

    /// Transactions are carried out as a whole or not at all.
    pub fn atomic(&self) -> bool {
        self.transactions == Transactions::Atomic
    }

    /// The most records to ask for at once, if that is fewer than any search asks for.
    pub fn allowed(&self) -> Option<u32> {
        Some(self.count_limit.get()).filter(|limit| *limit < 1_000)
    }

    /// Learns how many records the server gives at once.
    pub fn allow(&self, records: u32) {
        self.count_limit.set(self.count_limit.get().min(records));
    }

    /// `<system>|<write key>`, for a search by identifier.
    pub fn token(&self, write_key: &str) -> String {
        format!("{}|{write_key}", self.key_system)
    }
}
