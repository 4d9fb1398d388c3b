//! The records an EHR and the engine exchange.

pub use crate::bindings::practice_sync::ehr::types::*;

impl ExtraValue {
    /// A value of the EHR that has no field in the record.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> ExtraValue {
        ExtraValue { name: name.into(), value: value.into() }
    }
}

/// Returns the values that the EHR has in addition to a record's fields.
///
/// ```
/// use adapter_sdk::records::{ExtraValue, extra};
///
/// assert_eq!(extra([("status", Some("open".to_owned())), ("reason", None)]), [ExtraValue::new("status", "open")]);
/// ```
pub fn extra<const N: usize>(pairs: [(&str, Option<String>); N]) -> Extra {
    pairs.into_iter().filter_map(|(name, value)| Some(ExtraValue::new(name, value?))).collect()
}

/// Serializes as JSON: `["name", "value"]`.
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

/// The most frequent kind.
impl Default for HourKind {
    fn default() -> HourKind {
        HourKind::WorkingHour
    }
}

/// The default if the EHR does not report the action.
impl Default for AdjustmentAction {
    fn default() -> AdjustmentAction {
        AdjustmentAction::Unknown
    }
}

impl Patient {
    /// Returns the number for text messages: the cell phone, or else the primary phone.
    pub fn mobile(&self) -> Option<&String> {
        self.cell_phone.as_ref().or(self.primary_phone.as_ref())
    }
}

impl Address {
    /// Returns `None` if all fields are empty.
    pub fn known(self) -> Option<Address> {
        (self != Address::default()).then_some(self)
    }

    /// Joins the address lines, for an EHR with one field for them.
    ///
    /// ```
    /// use adapter_sdk::records::Address;
    ///
    /// let address = Address { line1: Some("1 Elm St".into()), ..Address::default() };
    /// assert_eq!(address.street(", "), "1 Elm St");
    /// assert_eq!(Address { line2: Some("Apt 4".into()), ..address }.street(", "), "1 Elm St, Apt 4");
    /// ```
    pub fn street(&self, between: &str) -> String {
        let lines = [self.line1.as_deref(), self.line2.as_deref()];
        lines.into_iter().flatten().collect::<Vec<_>>().join(between)
    }
}
