//! Null and empty values. R4 forbids both, but servers send both; both count as absent.

use serde_json::Value;

/// Removes null and empty values on every level.
pub fn strip(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(strip);
            items.retain(is_given);
        }
        Value::Object(fields) => {
            fields.values_mut().for_each(strip);
            fields.retain(|_, value| is_given(value));
        }
        _ => (),
    }
}

/// Returns the value without null and empty values.
pub fn stripped(mut value: Value) -> Value {
    strip(&mut value);
    value
}

/// Returns `true` if a value is neither null nor empty.
pub fn is_given(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}
