//! Fields of a sent form, by the names of this crate.

use serde_json::{Map, Value};

use crate::FormRefusal;

pub type Form = Map<String, Value>;

/// Sets a text field. A field missing in the form remains unchanged; an empty one becomes `None`.
pub fn text(form: &Form, field: &str, held: &mut Option<String>) -> Result<(), FormRefusal> {
    match form.get(field) {
        None => (),
        Some(Value::Null) => *held = None,
        Some(Value::String(text)) if text.trim().is_empty() => *held = None,
        Some(Value::String(text)) => *held = Some(text.clone()),
        Some(_) => return Err(FormRefusal::wrong(field)),
    }
    Ok(())
}

pub fn needed(form: &Form, field: &str, held: &mut String) -> Result<(), FormRefusal> {
    let mut now = Some(held.clone());
    text(form, field, &mut now)?;
    *held = now.unwrap_or_default();
    Ok(())
}

pub fn flag(form: &Form, field: &str, held: &mut bool) -> Result<(), FormRefusal> {
    match form.get(field) {
        None | Some(Value::Null) => (),
        Some(Value::Bool(now)) => *held = *now,
        Some(_) => return Err(FormRefusal::wrong(field)),
    }
    Ok(())
}

/// Parses a time with offset, such as `2026-12-01T09:00:00-05:00`.
pub fn instant(form: &Form, field: &str) -> Result<Option<i64>, FormRefusal> {
    match form.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            let at = chrono::DateTime::parse_from_rfc3339(text).map_err(|_| FormRefusal::wrong(field))?;
            Ok(Some(at.timestamp()))
        }
        Some(_) => Err(FormRefusal::wrong(field)),
    }
}
