//! The parts of R4 resources this adapter reads. Whatever else a resource has is left alone: updates change the JSON as it was read.

mod elements;
pub mod filed;

use adapter_sdk::spans::Span;
use serde::Deserialize;
use serde_json::Value;

use crate::time::instant_of;
use elements::texts;
pub use elements::{Address, CodeableConcept, Coding, Extension, Identifier, Meta, Money, Period, Reference};

/// Anything else is no answer to a search.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub enum BundleType {
    #[default]
    Bundle,
}

#[derive(Debug, Default, Deserialize)]
pub struct Bundle {
    #[serde(rename = "resourceType")]
    pub resource_type: BundleType,
    pub total: Option<u64>,
    #[serde(default)]
    pub link: Vec<Link>,
    #[serde(default)]
    pub entry: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
pub struct Link {
    pub relation: String,
    pub url: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub full_url: Option<String>,
    pub resource: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub struct OperationOutcome {
    #[serde(default)]
    pub issue: Vec<Issue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Issue {
    pub code: String,
    pub details: CodeableConcept,
    pub diagnostics: Option<String>,
    #[serde(deserialize_with = "texts")]
    pub expression: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct HumanName {
    #[serde(rename = "use")]
    pub usage: Option<String>,
    pub text: Option<String>,
    pub family: Option<String>,
    #[serde(deserialize_with = "texts")]
    pub given: Vec<String>,
    #[serde(deserialize_with = "texts")]
    pub prefix: Vec<String>,
    #[serde(deserialize_with = "texts")]
    pub suffix: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ContactPoint {
    pub system: Option<String>,
    #[serde(rename = "use")]
    pub usage: Option<String>,
    pub value: Option<String>,
    pub extension: Vec<Extension>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Communication {
    pub language: CodeableConcept,
    pub preferred: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Patient {
    pub id: String,
    pub active: Option<bool>,
    #[serde(default)]
    pub name: Vec<HumanName>,
    #[serde(default)]
    pub telecom: Vec<ContactPoint>,
    pub gender: Option<String>,
    pub birth_date: Option<String>,
    #[serde(default)]
    pub address: Vec<Address>,
    #[serde(default)]
    pub identifier: Vec<Identifier>,
    #[serde(default)]
    pub communication: Vec<Communication>,
    #[serde(default)]
    pub general_practitioner: Vec<Reference>,
    pub deceased_boolean: Option<bool>,
    pub deceased_date_time: Option<String>,
    #[serde(default)]
    pub extension: Vec<Extension>,
}

#[derive(Debug, Deserialize)]
pub struct Practitioner {
    pub id: String,
    pub active: Option<bool>,
    #[serde(default)]
    pub name: Vec<HumanName>,
    #[serde(default)]
    pub telecom: Vec<ContactPoint>,
    #[serde(default)]
    pub identifier: Vec<Identifier>,
    /// Of their roles: `enrich` puts it here.
    #[serde(rename = "_specialty")]
    pub specialty: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Location {
    pub id: String,
    pub name: Option<String>,
    pub status: Option<String>,
    pub description: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct HealthcareService {
    pub id: String,
    pub active: Option<bool>,
    pub name: Option<String>,
    #[serde(default, rename = "type")]
    pub kind: Vec<CodeableConcept>,
}

#[derive(Debug, Deserialize)]
pub struct Schedule {
    pub id: String,
    pub active: Option<bool>,
    #[serde(default)]
    pub actor: Vec<Reference>,
    pub comment: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Slot {
    pub id: String,
    pub status: String,
    pub start: String,
    pub end: String,
    #[serde(default)]
    pub identifier: Vec<Identifier>,
    #[serde(default)]
    pub service_type: Vec<CodeableConcept>,
    #[serde(default)]
    pub appointment_type: CodeableConcept,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Appointment {
    pub id: String,
    #[serde(default)]
    pub meta: Meta,
    pub status: String,
    pub start: Option<String>,
    pub end: Option<String>,
    pub minutes_duration: Option<i64>,
    pub comment: Option<String>,
    pub description: Option<String>,
    #[serde(default)]
    pub identifier: Vec<Identifier>,
    #[serde(default)]
    pub appointment_type: CodeableConcept,
    #[serde(default)]
    pub service_type: Vec<CodeableConcept>,
    #[serde(default)]
    pub slot: Vec<Reference>,
    #[serde(default)]
    pub participant: Vec<Participant>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Participant {
    pub actor: Reference,
    pub status: String,
    pub period: Period,
}

impl Slot {
    pub fn span(&self) -> Option<Span> {
        Some((instant_of(&self.start)?, instant_of(&self.end)?))
    }
}

impl Appointment {
    pub fn span(&self) -> Option<Span> {
        Some((instant_of(self.start.as_deref()?)?, instant_of(self.end.as_deref()?)?))
    }

    /// The first participant of a type.
    pub fn actor(&self, resource_type: &str) -> Option<String> {
        self.participant.iter().find_map(|p| p.actor.id_of(resource_type))
    }

    /// The ids of its slots.
    pub fn slots(&self) -> Vec<String> {
        self.slot.iter().filter_map(|slot| slot.id_of("Slot")).collect()
    }

    /// Cancelled, or never meant.
    pub fn is_off(&self) -> bool {
        matches!(self.status.as_str(), "cancelled" | "entered-in-error")
    }
}
