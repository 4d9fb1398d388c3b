//! Alerts and entries of the communication log.

use adapter_sdk::{
    records::{self, CommunicationMode},
    time::instant_text,
};
use serde_json::{Value, json};

use super::{given, key_identifier, reference};
use crate::{map::communications::MODES, settings::Settings};

const PARTICIPATION_MODES: &str = "http://terminology.hl7.org/CodeSystem/v3-ParticipationMode";

pub fn alert(settings: &Settings, write_key: &str, alert: &records::PatientAlert) -> Value {
    given(json!({
        "resourceType": "Flag",
        "identifier": [key_identifier(settings, write_key)],
        "status": if alert.disabled_at.is_none() { "active" } else { "inactive" },
        "code": {"text": alert.note},
        "subject": reference("Patient", &alert.patient),
        "period": {"end": alert.disabled_at.map(instant_text)},
    }))
}

/// Ends the alert at an instant.
pub fn disable(flag: &mut Value, at: i64) {
    flag["status"] = "inactive".into();
    flag["period"]["end"] = instant_text(at).into();
}

pub fn communication(settings: &Settings, write_key: &str, log: &records::CommunicationLog) -> Value {
    let patient = reference("Patient", &log.patient);
    let coding = MODES.word(log.mode).map(|code| json!({"system": PARTICIPATION_MODES, "code": code}));
    let medium = (log.mode != CommunicationMode::None).then(|| json!({"coding": [coding], "text": log.mode.word()}));
    let received = log.direction == records::CommunicationDirection::Received;
    let (theirs, ours) = if received { ("sender", "received") } else { ("recipient", "sent") };
    let mut resource = given(json!({
        "resourceType": "Communication",
        "identifier": [key_identifier(settings, write_key)],
        "status": "completed",
        "medium": [medium],
        "subject": patient,
        "payload": [{"contentString": log.note}],
    }));
    // A communication has one sender and a list of recipients.
    resource[theirs] = if received { patient } else { json!([patient]) };
    resource[ours] = instant_text(log.occurred_at).into();
    resource
}
