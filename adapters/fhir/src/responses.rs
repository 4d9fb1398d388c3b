//! The parts of R4 resources that this adapter reads. Other parts are unchanged by updates, which modify the JSON as
//! read.

/// Defines structs of JSON. Fields in brackets are required; all others are optional.
macro_rules! elements {
    ($(
        $(#[$doc:meta])*
        $name:ident $([$($(#[$rule:meta])* $required:ident: $kind:ty),*])? { $($(#[$attribute:meta])* $field:ident: $type:ty,)* }
    )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $($($(#[$rule])* pub $required: $kind,)*)?
            $(#[serde(default)] $(#[$attribute])* pub $field: $type,)*
        }
    )* };
}

mod elements;
pub mod filed;

use adapter_sdk::spans::Span;
use serde::Deserialize;
use serde_json::Value;

use crate::{settings::Settings, time::instant};

use elements::listed;
pub use elements::{Address, CodeableConcept, Coding, Extension, Identifier, Meta, Money, Period, Reference};

/// Any other type is not a search result.
#[derive(Clone, Debug, Default, Deserialize)]
pub enum BundleType {
    #[default]
    Bundle,
}

elements! {
    Bundle [resource_type: BundleType] {
        total: Option<u64>,
        #[serde(deserialize_with = "listed")]
        link: Vec<Link>,
        #[serde(deserialize_with = "listed")]
        entry: Vec<Entry>,
    }
    Link {
        relation: Option<String>,
        url: Option<String>,
    }
    Entry {
        full_url: Option<String>,
        resource: Option<Value>,
    }
    CapabilityStatement {
        rest: Vec<Rest>,
    }
    Rest {
        mode: Option<String>,
        resource: Vec<StatedType>,
    }
    StatedType [#[serde(rename = "type")] kind: String] {
        interaction: Vec<Interaction>,
    }
    Interaction [code: String] {}
    OperationOutcome {
        issue: Vec<Issue>,
    }
    Issue {
        code: String,
        details: CodeableConcept,
        diagnostics: Option<String>,
        expression: Vec<String>,
    }
    HumanName {
        #[serde(rename = "use")]
        usage: Option<String>,
        text: Option<String>,
        family: Option<String>,
        given: Vec<String>,
        prefix: Vec<String>,
        suffix: Vec<String>,
        period: Period,
    }
    ContactPoint {
        system: Option<String>,
        #[serde(rename = "use")]
        usage: Option<String>,
        value: Option<String>,
        /// The order of preference, from 1; a text in its place is ignored.
        rank: Value,
        period: Period,
        extension: Vec<Extension>,
    }
    Communication {
        language: CodeableConcept,
        preferred: bool,
    }
    Patient [id: String] {
        active: Option<bool>,
        name: Vec<HumanName>,
        telecom: Vec<ContactPoint>,
        gender: Option<String>,
        birth_date: Option<String>,
        address: Vec<Address>,
        identifier: Vec<Identifier>,
        communication: Vec<Communication>,
        general_practitioner: Vec<Reference>,
        deceased_boolean: Option<bool>,
        deceased_date_time: Option<String>,
        link: Vec<PatientLink>,
        extension: Vec<Extension>,
    }
    PatientLink {
        #[serde(rename = "type")]
        kind: String,
    }
    Practitioner [id: String] {
        active: Option<bool>,
        name: Vec<HumanName>,
        telecom: Vec<ContactPoint>,
        identifier: Vec<Identifier>,
        /// The specialty of a role, added by `enrich`.
        #[serde(rename = "_specialty")]
        specialty: Option<String>,
    }
    Location [id: String] {
        name: Option<String>,
        status: Option<String>,
        description: Option<String>,
    }
    HealthcareService [id: String] {
        active: Option<bool>,
        name: Option<String>,
        #[serde(rename = "type")]
        kind: Vec<CodeableConcept>,
    }
    Schedule [id: String] {
        active: Option<bool>,
        actor: Vec<Reference>,
        comment: Option<String>,
    }
    Slot [id: String] {
        schedule: Reference,
        status: String,
        start: Option<String>,
        end: Option<String>,
        identifier: Vec<Identifier>,
        service_type: Vec<CodeableConcept>,
        appointment_type: CodeableConcept,
    }
    Appointment [id: String] {
        status: String,
        meta: Meta,
        start: Option<String>,
        end: Option<String>,
        minutes_duration: Option<i64>,
        comment: Option<String>,
        description: Option<String>,
        identifier: Vec<Identifier>,
        appointment_type: CodeableConcept,
        service_type: Vec<CodeableConcept>,
        slot: Vec<Reference>,
        participant: Vec<Participant>,
    }
    Participant {
        actor: Reference,
        status: String,
        #[serde(rename = "type")]
        kind: Vec<CodeableConcept>,
        required: Option<String>,
        period: Period,
    }
}

impl Slot {
    pub fn span(&self) -> Option<Span> {
        Some((instant(self.start.as_deref()?)?, instant(self.end.as_deref()?)?))
    }

    pub fn is_of(&self, schedules: &[String]) -> bool {
        self.schedule.id_of("Schedule").is_some_and(|id| schedules.contains(&id))
    }

    /// Returns `true` if one of our writes took the slot.
    pub fn is_marked(&self, settings: &Settings) -> bool {
        self.identifier.iter().any(|i| i.system.as_deref() == Some(&settings.key_system))
    }
}

impl Appointment {
    /// Returns the participants of a type who have not declined.
    pub fn actors(&self, resource_type: &str) -> impl Iterator<Item = String> {
        self.present(resource_type).map(|(_, id)| id)
    }

    /// Returns the most important participant of a type: primary performers first, those only informed last.
    pub fn actor(&self, resource_type: &str) -> Option<String> {
        let rank = |p: &Participant| {
            let performs = p.kind.iter().flat_map(|kind| &kind.coding).any(|kind| kind.code.as_deref() == Some("PPRF"));
            (p.required.as_deref() == Some("information-only"), !performs)
        };
        self.present(resource_type).min_by_key(|(p, _)| rank(p)).map(|(_, id)| id)
    }

    fn present(&self, resource_type: &str) -> impl Iterator<Item = (&Participant, String)> {
        let there = self.participant.iter().filter(|p| p.status != "declined");
        there.filter_map(move |p| Some((p, p.actor.id_of(resource_type)?)))
    }

    /// Returns `true` if the appointment occupies time, even if only proposed.
    pub fn takes_time(&self) -> bool {
        !self.is_cancelled() && !matches!(self.status.as_str(), "noshow" | "waitlist")
    }

    pub fn slots(&self) -> Vec<String> {
        self.slot.iter().filter_map(|slot| slot.id_of("Slot")).collect()
    }

    /// Returns `true` if cancelled or entered in error.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.status.as_str(), "cancelled" | "entered-in-error")
    }
}
