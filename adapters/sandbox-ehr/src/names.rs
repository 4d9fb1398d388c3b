//! Last names that make the simulated EHR misbehave, as test cards make a payment fail: a client with nothing but a sandbox key can bring
//! about what real EHRs do. They mean something in this EHR alone, so that nothing a real practice holds can match them.

use serde_json::{Map, Value};

use super::{
    records::{Appointment, Patient, Record, Resource},
    refusals::invalid,
    wire::SandboxReply,
    write_kinds::WriteKind,
};

/// What the patient's last name asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rehearsal {
    Reject,
    Timeout,
    SlotTaken,
    MoreFields,
    NotAccepted,
    Unconverted,
}

/// Every name, in any case, and what the EHR does to the writes of whoever has it. `GET /docs/sandbox` tells clients what they see then.
pub const NAMES: [(&str, Rehearsal); 6] = [
    // It takes the patient, and refuses everything else that is written for them.
    ("Sandbox-Reject", Rehearsal::Reject),
    // It is never free for a write of the patient, themselves included: each is tried again until it is too late.
    ("Sandbox-Timeout", Rehearsal::Timeout),
    // It takes the patient; before each of their appointments comes in, staff block the chair.
    ("Sandbox-Slot-Taken", Rehearsal::SlotTaken),
    // It takes the patient only with a gender.
    ("Sandbox-More-Fields", Rehearsal::MoreFields),
    // It takes no new patient of this name.
    ("Sandbox-Not-Accepted", Rehearsal::NotAccepted),
    // It shows the patient on their first appointment only, as systems do whose ids of new patients end in `_np`.
    ("Sandbox-Unconverted", Rehearsal::Unconverted),
];

/// Ends the id of a patient who is not converted yet.
pub(super) const UNCONVERTED: &str = "_np";

impl Rehearsal {
    fn named(last_name: &str) -> Option<Rehearsal> {
        let known = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(last_name.trim()));
        known.map(|(_, rehearsal)| *rehearsal)
    }

    /// What a write asks for: of a patient by the name they are to have, of anything else by its patient's name. `before` is the record it
    /// changes or deletes, `patient` finds a patient by id.
    pub(super) fn of<'p>(
        patient: impl FnOnce(&str) -> Option<&'p Record>,
        resource: Resource,
        before: Option<&Record>,
        fields: &Map<String, Value>,
    ) -> Option<Rehearsal> {
        let before = before.map(Record::to_json).unwrap_or_default();
        let text = |name: &str| fields.get(name).unwrap_or(&before[name]).as_str();
        if resource == Resource::Patients {
            return Rehearsal::named(text("last_name")?);
        }
        match patient(text("patient")?)? {
            Record::Patient(patient) => Rehearsal::named(&patient.last_name),
            _ => None,
        }
    }

    /// The refusal of a write that is not looked at any further.
    pub(super) fn refusal(self, kind: WriteKind) -> Option<SandboxReply> {
        let of_patient = matches!(kind, WriteKind::CreatePatient | WriteKind::UpdatePatient);
        match self {
            Rehearsal::Reject if !of_patient => Some(invalid("rehearsal", "The patient's name asks for this refusal")),
            Rehearsal::Timeout => Some(SandboxReply::error(503, "unavailable", "Never free for this patient")),
            Rehearsal::NotAccepted if kind == WriteKind::CreatePatient => {
                Some(invalid("new_patients_refused", "The patient's name asks for this refusal"))
            }
            _ => None,
        }
    }

    /// A field a new patient must have besides those the practice asks of everybody.
    pub(super) fn required_field(patient: &Patient) -> Option<&'static str> {
        let asks = Rehearsal::named(&patient.last_name) == Some(Rehearsal::MoreFields);
        asks.then_some("gender")
    }

    /// What ends the id of a new record.
    pub(super) fn ending_of_id(record: &Record) -> &'static str {
        match record {
            Record::Patient(patient) if Rehearsal::named(&patient.last_name) == Some(Rehearsal::Unconverted) => {
                UNCONVERTED
            }
            _ => "",
        }
    }
}

/// What staff put where an appointment was to be.
pub(super) fn block_instead(wanted: &Appointment) -> Appointment {
    Appointment {
        blocked: true,
        patient: None,
        kind: None,
        note: Some("Staff were faster".into()),
        write_key: None,
        ..wanted.clone()
    }
}
