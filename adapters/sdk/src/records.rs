//! The records an EHR and the engine exchange.

pub use crate::bindings::practice_sync::ehr::types::*;

impl ExtraValue {
    /// What an EHR has beyond a record's fields.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> ExtraValue {
        ExtraValue { name: name.into(), value: value.into() }
    }
}

/// As JSON: `["name", "value"]`.
impl From<(String, String)> for ExtraValue {
    fn from((name, value): (String, String)) -> ExtraValue {
        ExtraValue { name, value }
    }
}

impl From<ExtraValue> for (String, String) {
    fn from(ExtraValue { name, value }: ExtraValue) -> (String, String) {
        (name, value)
    }
}

/// What most hours are.
impl Default for HourKind {
    fn default() -> HourKind {
        HourKind::WorkingHour
    }
}

/// Nothing says which.
impl Default for AdjustmentAction {
    fn default() -> AdjustmentAction {
        AdjustmentAction::Unknown
    }
}
