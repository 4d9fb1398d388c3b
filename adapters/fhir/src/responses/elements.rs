//! What resources of several types are made of.

use adapter_sdk::limits;
use serde::{Deserialize, Deserializer};

/// A list of primitive values has nulls where a value has only extensions, in the list beside it.
pub(super) fn texts<'de, D: Deserializer<'de>>(list: D) -> Result<Vec<String>, D::Error> {
    let list: Option<Vec<Option<String>>> = Option::deserialize(list)?;
    Ok(list.into_iter().flatten().flatten().collect())
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CodeableConcept {
    pub coding: Vec<Coding>,
    pub text: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Coding {
    pub system: Option<String>,
    pub code: Option<String>,
    pub display: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Reference {
    pub reference: Option<String>,
}

impl Reference {
    /// The id, where it refers to a resource of this type: `Patient/5`, `https://host/fhir/Patient/5/_history/2`.
    pub fn id_of(&self, resource_type: &str) -> Option<String> {
        let text = self.reference.as_deref()?.split("/_history/").next()?;
        let (before, id) = text.rsplit_once('/')?;
        let typed = before == resource_type || before.ends_with(&format!("/{resource_type}"));
        (typed && limits::is_id(id)).then(|| id.to_owned())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Meta {
    pub version_id: Option<String>,
    pub last_updated: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Identifier {
    #[serde(rename = "use")]
    pub usage: Option<String>,
    #[serde(rename = "type")]
    pub kind: CodeableConcept,
    pub system: Option<String>,
    pub value: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Address {
    #[serde(rename = "use")]
    pub usage: Option<String>,
    #[serde(deserialize_with = "texts")]
    pub line: Vec<String>,
    pub city: Option<String>,
    pub state: Option<String>,
    pub postal_code: Option<String>,
    pub country: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Extension {
    pub url: String,
    pub value_string: Option<String>,
    pub value_boolean: Option<bool>,
    pub value_integer: Option<i64>,
    pub value_money: Option<Money>,
    pub value_reference: Option<Reference>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Period {
    pub start: Option<String>,
    pub end: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Money {
    /// As the server writes it: binary floating point would change it.
    pub value: Option<serde_json::Number>,
    pub currency: Option<String>,
}
