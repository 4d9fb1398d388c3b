//! Alerts (Flag) and the communication log (Communication).

use adapter_sdk::{
    Record,
    records::{self, CommunicationDirection, CommunicationMode},
    vocabulary::Vocabulary,
};
use serde_json::Value;

use super::{Unmapped, patient_of, read};
use crate::{
    responses::{
        CodeableConcept,
        filed::{Communication, Flag},
    },
    settings::Settings,
    time::instant_or_date,
};

/// Codes of v3-ParticipationMode, which has none for text messages.
pub const MODES: Vocabulary<CommunicationMode> = Vocabulary(&[
    ("EMAILWRIT", CommunicationMode::Email),
    ("MAILWRIT", CommunicationMode::Mail),
    ("PHONE", CommunicationMode::Phone),
    ("FACE", CommunicationMode::InPerson),
]);

pub fn alert(resource: Value, _: &Settings) -> Result<Record, Unmapped> {
    let f: Flag = read(resource)?;
    if f.status == "entered-in-error" {
        return Err(Unmapped::by_status(&f.status));
    }
    let when = |text: &Option<String>| text.as_deref().and_then(instant_or_date);
    // An inactive alert ended at the latest when it was last changed.
    let disabled_at = when(&f.period.end).or_else(|| when(&f.meta.last_updated)).or(Some(0));
    Ok(Record::PatientAlert(records::PatientAlert {
        patient: patient_of(&f.subject)?,
        id: f.id,
        note: name(&f.code).ok_or("it has no text")?,
        disabled_at: disabled_at.filter(|_| f.status != "active"),
        extra: Vec::new(),
    }))
}

pub fn communication(resource: Value, _: &Settings) -> Result<Record, Unmapped> {
    let c: Communication = read(resource)?;
    if matches!(c.status.as_str(), "entered-in-error" | "not-done" | "preparation") {
        return Err(Unmapped::by_status(&c.status));
    }
    let by_patient = c.sender.id_of("Patient");
    let to_patient = c.recipient.iter().find_map(|recipient| recipient.id_of("Patient"));
    let received = by_patient.is_some();
    let time = [&c.sent, &c.received, &c.meta.last_updated].into_iter().flatten().next();
    let occurred_at = time.and_then(|text| instant_or_date(text));
    let contents: Vec<String> = c.payload.into_iter().filter_map(|part| part.content_string).collect();
    Ok(Record::CommunicationLog(records::CommunicationLog {
        patient: match c.subject.id_of("Patient").or(by_patient).or(to_patient) {
            Some(id) => id,
            None => return Err(Unmapped::NoRecord("it is of no patient".into())),
        },
        id: c.id,
        note: contents.join("\n"),
        mode: c.medium.iter().find_map(mode).unwrap_or(CommunicationMode::None),
        direction: if received { CommunicationDirection::Received } else { CommunicationDirection::Sent },
        occurred_at: occurred_at.ok_or("it has no time that can be read")?,
        extra: Vec::new(),
    }))
}

fn mode(medium: &CodeableConcept) -> Option<CommunicationMode> {
    let by_text =
        medium.text.as_deref().and_then(CommunicationMode::from_word).filter(|mode| *mode != CommunicationMode::None);
    let code = || medium.coding.iter().find_map(|coding| coding.code.as_deref());
    by_text.or_else(|| MODES.meaning(code()?))
}

fn name(concept: &CodeableConcept) -> Option<String> {
    let display = || concept.coding.iter().find_map(|coding| coding.display.clone().or(coding.code.clone()));
    concept.text.clone().filter(|text| !text.trim().is_empty()).or_else(display)
}
