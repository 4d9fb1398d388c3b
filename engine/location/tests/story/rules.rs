//! Booking rules in stories: `rules minimum_notice=4h t5:daily_visits=2 voice:cutoff=16:00`.

use location::{
    ids::AppointmentTypeId,
    rules::{Closure, RuleOverrides, RuleSet, VisitRules},
};
use serde_json::{Map, Value, json};

use super::text::{id, length};

/// Sets one rule of the location, of an appointment type (`t5:`) or of a channel (`voice:`).
pub fn set_rule(rules: &mut RuleSet, word: &str) -> Result<(), String> {
    let (name, value) = word.split_once('=').ok_or(format!("`{word}` is no rule"))?;
    match name.split_once(':') {
        None => {
            let mut all = serde_json::to_value(&rules.plain).unwrap();
            let (field, value) = field(name, value)?;
            all[field] = value;
            rules.plain = serde_json::from_value::<VisitRules>(all).map_err(|error| error.to_string())?;
        }
        Some((owner, name)) => {
            let (field, value) = field(name, value)?;
            let overrides = match id("t", owner) {
                Ok(kind) => rules.types.entry(AppointmentTypeId(kind)).or_default(),
                Err(_) => rules.channels.entry(owner.to_owned()).or_default(),
            };
            let Value::Object(mut all) = serde_json::to_value(&*overrides).unwrap() else { unreachable!() };
            all.insert(field.to_owned(), value);
            *overrides = overridden(all)?;
        }
    }
    Ok(())
}

fn overridden(fields: Map<String, Value>) -> Result<RuleOverrides, String> {
    serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
}

/// Returns the field of a rule and its value as JSON.
fn field<'a>(name: &'a str, value: &str) -> Result<(&'a str, Value), String> {
    let number = || value.parse::<u32>().map_err(|_| format!("`{value}` is no number"));
    let minute = || {
        let (hours, minutes) = value.split_once(':').ok_or("a time is `16:00`")?;
        let part = |text: &str| text.parse::<u16>().map_err(|_| format!("`{value}` is no time"));
        Ok::<u16, String>(part(hours)? * 60 + part(minutes)?)
    };
    Ok(match name {
        "minimum_notice" | "buffer_before" | "buffer_after" | "cancel_notice" | "reschedule_notice" => {
            (name, json!(length(value)?))
        }
        "cutoff" => (name, json!(minute()?)),
        "horizon" => ("horizon_days", json!(number()?)),
        "closures" => {
            let closures: Result<Vec<Closure>, String> = value.split(',').map(str::parse).collect();
            (name, json!(closures?))
        }
        "new_patients" | "known_patients" => (name, json!(value == "allowed")),
        "instead" => (name, json!(value)),
        _ => (name, json!(number()?)),
    })
}
