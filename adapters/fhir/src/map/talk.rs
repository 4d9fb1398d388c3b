//! Alerts (Flag) and the communication log (Communication).

use adapter_sdk::{
    Record,
    records::{self, CommunicationDirection, CommunicationMode},
};
use serde_json::Value;

use super::{Unmapped, read};
use crate::{
    responses::{
        CodeableConcept,
        filed::{Communication, Flag},
    },
    settings::Settings,
    time::instant_or_date,
};

/// Modes of the contract with what FHIR calls them: codes of v3-ParticipationMode.
pub const MODES: [(CommunicationMode, Option<&str>); 5] = [
    (CommunicationMode::Email, Some("EMAILWRIT")),
    (CommunicationMode::Mail, Some("MAILWRIT")),
    (CommunicationMode::Phone, Some("PHONE")),
    (CommunicationMode::InPerson, Some("FACE")),
    (CommunicationMode::Text, None),
];

pub fn alert(resource: Value, _: &Settings) -> Result<Record, Unmapped> {
    let f: Flag = read(resource)?;
    if f.status == "entered-in-error" {
        return Err("it was entered in error".into());
    }
    let when = |text: &Option<String>| text.as_deref().and_then(instant_or_date);
    // One that is off has been off at the latest since it was last changed.
    let disabled_at = when(&f.period.end).or_else(|| when(&f.meta.last_updated)).or(Some(0));
    Ok(Record::PatientAlert(records::PatientAlert {
        patient: f.subject.id_of("Patient").ok_or("it is of no patient")?,
        id: f.id,
        note: name(&f.code).ok_or("it says nothing")?,
        disabled_at: disabled_at.filter(|_| f.status != "active"),
        extra: Vec::new(),
    }))
}

pub fn communication(resource: Value, _: &Settings) -> Result<Record, Unmapped> {
    let c: Communication = read(resource)?;
    if matches!(c.status.as_str(), "entered-in-error" | "not-done" | "preparation") {
        return Err(Unmapped::NoRecord(format!("it is {}", c.status)));
    }
    let by_patient = c.sender.id_of("Patient");
    let to_patient = c.recipient.iter().find_map(|recipient| recipient.id_of("Patient"));
    let received = by_patient.is_some();
    let times = [&c.sent, &c.received, &c.meta.last_updated];
    let occurred_at = times.into_iter().flatten().find_map(|text| instant_or_date(text));
    let said: Vec<String> = c.payload.into_iter().filter_map(|part| part.content_string).collect();
    Ok(Record::CommunicationLog(records::CommunicationLog {
        patient: c.subject.id_of("Patient").or(by_patient).or(to_patient).ok_or("it is of no patient")?,
        id: c.id,
        note: said.join("\n"),
        mode: c.medium.iter().find_map(mode).unwrap_or(CommunicationMode::None),
        direction: if received { CommunicationDirection::Received } else { CommunicationDirection::Sent },
        occurred_at: occurred_at.ok_or("it has no time")?,
        extra: Vec::new(),
    }))
}

fn mode(medium: &CodeableConcept) -> Option<CommunicationMode> {
    let by_text = MODES.into_iter().find(|(mode, _)| medium.text.as_deref() == Some(mode.word()));
    let code = medium.coding.iter().find_map(|coding| coding.code.as_deref());
    let by_code = || MODES.into_iter().find(|(_, known)| code.is_some() && *known == code);
    by_text.or_else(by_code).map(|(mode, _)| mode)
}

fn name(concept: &CodeableConcept) -> Option<String> {
    let display = || concept.coding.iter().find_map(|coding| coding.display.clone().or(coding.code.clone()));
    concept.text.clone().filter(|text| !text.trim().is_empty()).or_else(display)
}
