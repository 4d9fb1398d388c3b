//! The resource types and interactions that a server offers, from its CapabilityStatement and the setting `resources`.

use std::collections::{BTreeMap, BTreeSet};

use adapter_sdk::{Fault, http};
use serde_json::Value;

use crate::{
    faults, map,
    requests::MEDIA_TYPE,
    responses::{CapabilityStatement, StatedType},
    settings::Settings,
};

/// The assumed types of a server without a CapabilityStatement if the setting `resources` is empty.
pub const CORE: [&str; 7] =
    ["Patient", "Practitioner", "Location", "HealthcareService", "Schedule", "Slot", "Appointment"];

/// Resource types with their interactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    stated: Stated,
    /// The types of the setting `resources`; `None` for all.
    wanted: Option<BTreeSet<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stated {
    /// The interactions of each type.
    Types(BTreeMap<String, BTreeSet<String>>),
    /// The server has no CapabilityStatement.
    Nothing,
    /// The server was not asked.
    Everything,
}

impl Offer {
    /// Reads the server's CapabilityStatement.
    pub fn read(settings: &Settings) -> Result<Offer, Fault> {
        let answer = http::get("/metadata").header("accept", MEDIA_TYPE).send_any()?;
        let statement = match answer.status {
            200..=299 => Some(answer.json::<Value>()?),
            404 | 405 | 410 | 501 => None,
            _ => return Err(faults::from_response(&answer, true, None)),
        };
        Offer::from_statement(statement, settings)
    }

    /// Uses the setting if possible, else asks the server. `core`: a type that every usable server offers.
    pub fn known(settings: &Settings, core: bool) -> Result<Offer, Fault> {
        match core || settings.resources.is_some() {
            true => Ok(Offer::all(settings)),
            false => Offer::read(settings),
        }
    }

    /// Assumes that the server offers everything in the setting.
    pub fn all(settings: &Settings) -> Offer {
        Offer { stated: Stated::Everything, wanted: settings.resources.clone() }
    }

    pub fn from_statement(statement: Option<Value>, settings: &Settings) -> Result<Offer, Fault> {
        let wanted = settings.resources.clone();
        let Some(statement) = statement else { return Ok(Offer { stated: Stated::Nothing, wanted }) };
        let misread = || Fault::retry_later("the server's CapabilityStatement cannot be read", None);
        match statement["resourceType"].as_str() {
            Some("CapabilityStatement") => (),
            // Servers without a CapabilityStatement may treat `metadata` as a resource type and find none.
            Some("Bundle" | "OperationOutcome") => return Ok(Offer { stated: Stated::Nothing, wanted }),
            _ => return Err(misread()),
        }
        let statement: CapabilityStatement = map::read(statement).map_err(|_| misread())?;
        let rests = statement.rest.into_iter().filter(|rest| rest.mode.as_deref().is_none_or(|mode| mode == "server"));
        let codes = |stated: StatedType| {
            let codes: BTreeSet<String> = stated.interaction.into_iter().map(|interaction| interaction.code).collect();
            (stated.kind, codes)
        };
        let types = rests.flat_map(|rest| rest.resource).map(codes).collect();
        Ok(Offer { stated: Stated::Types(types), wanted })
    }

    pub fn reads(&self, resource_type: &str) -> bool {
        self.offers(resource_type, "search-type")
    }

    pub fn creates(&self, resource_type: &str) -> bool {
        self.offers(resource_type, "create")
    }

    pub fn updates(&self, resource_type: &str) -> bool {
        self.offers(resource_type, "update")
    }

    pub fn deletes(&self, resource_type: &str) -> bool {
        self.offers(resource_type, "delete")
    }

    fn offers(&self, resource_type: &str, interaction: &str) -> bool {
        let wanted = self.wanted.as_ref().map(|wanted| wanted.contains(resource_type));
        match &self.stated {
            Stated::Types(stated) => {
                let codes = stated.get(resource_type);
                // A type without interactions may support all.
                wanted != Some(false) && codes.is_some_and(|codes| codes.is_empty() || codes.contains(interaction))
            }
            Stated::Nothing => wanted.unwrap_or_else(|| CORE.contains(&resource_type)),
            Stated::Everything => wanted.unwrap_or(true),
        }
    }
}
