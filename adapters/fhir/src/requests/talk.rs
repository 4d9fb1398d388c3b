//! Alerts and entries of the communication log.

use adapter_sdk::records;
use serde_json::{Value, json};

use super::{key_identifier, list, object, updated};
use crate::{map::talk::MODES, settings::Settings, time::instant_text};

pub fn alert(settings: &Settings, write_key: &str, alert: &records::PatientAlert) -> Value {
    let disabled = alert.disabled_at.map(|at| json!({"end": instant_text(at)}));
    object([
        ("resourceType", "Flag".into()),
        ("identifier", json!([key_identifier(settings, write_key, false)])),
        ("status", if disabled.is_none() { "active" } else { "inactive" }.into()),
        ("code", json!({"text": alert.note})),
        ("subject", json!({"reference": format!("Patient/{}", alert.patient)})),
        ("period", disabled.unwrap_or(Value::Null)),
    ])
}

/// The alert as it was read, off since an instant.
pub fn disabled(settings: &Settings, write_key: &str, read: &Value, at: i64) -> Value {
    let mut flag = updated(settings, write_key, read);
    flag["status"] = "inactive".into();
    flag["period"]["end"] = instant_text(at).into();
    flag
}

pub fn communication(settings: &Settings, write_key: &str, log: &records::CommunicationLog) -> Value {
    let patient = json!({"reference": format!("Patient/{}", log.patient)});
    let mode = MODES.into_iter().find(|(mode, _)| *mode == log.mode);
    let medium = mode.map(|(mode, code)| {
        let system = "http://terminology.hl7.org/CodeSystem/v3-ParticipationMode";
        let coding = code.map(|code| json!({"system": system, "code": code}));
        object([("coding", list([coding])), ("text", mode.word().into())])
    });
    let at = Value::from(instant_text(log.occurred_at));
    let received = log.direction == records::CommunicationDirection::Received;
    object([
        ("resourceType", "Communication".into()),
        ("identifier", json!([key_identifier(settings, write_key, false)])),
        ("status", "completed".into()),
        ("medium", list([medium])),
        ("subject", patient.clone()),
        ("sender", if received { patient.clone() } else { Value::Null }),
        ("recipient", list([(!received).then_some(patient)])),
        ("sent", if received { Value::Null } else { at.clone() }),
        ("received", if received { at } else { Value::Null }),
        ("payload", json!([{"contentString": log.note}])),
    ])
}
