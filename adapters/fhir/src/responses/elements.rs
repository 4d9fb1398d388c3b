//! Elements shared by several resource types.

use std::cmp::Ordering;

use adapter_sdk::limits;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::time::compare_now;

/// Deserializes a list that may be null or contain nulls.
pub(super) fn listed<'de, T: Deserialize<'de>, D: Deserializer<'de>>(list: D) -> Result<Vec<T>, D::Error> {
    let list: Option<Vec<Option<T>>> = Option::deserialize(list)?;
    Ok(list.into_iter().flatten().flatten().collect())
}

elements! {
    CodeableConcept {
        coding: Vec<Coding>,
        text: Option<String>,
    }
    Coding {
        system: Option<String>,
        code: Option<String>,
        display: Option<String>,
        user_selected: bool,
    }
    Reference {
        reference: Option<String>,
    }
}

impl CodeableConcept {
    /// Returns the coding that a user selected, else the first with a code.
    pub fn main_coding(&self) -> Option<&Coding> {
        let coded = self.coding.iter().filter(|coding| coding.code.as_deref().is_some_and(|code| !code.is_empty()));
        coded.min_by_key(|coding| !coding.user_selected)
    }

    pub fn main_code(&self) -> Option<&str> {
        self.main_coding()?.code.as_deref()
    }
}

impl Period {
    /// Returns `true` if the period includes the current time. A date, month or year as bound is included in full. A
    /// bound that cannot be parsed is ignored.
    pub fn is_current(&self) -> bool {
        let compared = |bound: &Option<String>| bound.as_deref().and_then(compare_now);
        compared(&self.start).is_none_or(Ordering::is_ge) && compared(&self.end).is_none_or(Ordering::is_le)
    }
}

impl Reference {
    /// Returns the reference in a resource, or an empty one.
    pub fn from_value(value: &Value) -> Reference {
        serde_json::from_value(value.clone()).unwrap_or_default()
    }

    /// Returns the id if the reference is to a resource of this type: `Patient/5`,
    /// `https://host/fhir/Patient/5/_history/2`.
    pub fn id_of(&self, resource_type: &str) -> Option<String> {
        let text = self.reference.as_deref()?.split("/_history/").next()?;
        let (before, id) = text.rsplit_once('/')?;
        let typed = before == resource_type || before.ends_with(&format!("/{resource_type}"));
        (typed && limits::is_id(id)).then(|| id.to_owned())
    }
}

elements! {
    Meta {
        version_id: Option<String>,
        last_updated: Option<String>,
    }
    Identifier {
        #[serde(rename = "use")]
        usage: Option<String>,
        #[serde(rename = "type")]
        kind: CodeableConcept,
        system: Option<String>,
        value: Option<String>,
        period: Period,
    }
    Address {
        #[serde(rename = "use")]
        usage: Option<String>,
        period: Period,
        line: Vec<String>,
        city: Option<String>,
        state: Option<String>,
        postal_code: Option<String>,
        country: Option<String>,
    }
    Extension {
        url: String,
        value_string: Option<String>,
        value_boolean: Option<bool>,
        value_integer: Option<i64>,
        value_money: Option<Money>,
        value_reference: Option<Reference>,
    }
    Period {
        start: Option<String>,
        end: Option<String>,
    }
    Money {
        /// Kept as written, because binary floating point would change it.
        value: Option<serde_json::Number>,
        currency: Option<String>,
    }
}
