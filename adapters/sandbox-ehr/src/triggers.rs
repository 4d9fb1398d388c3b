//! Last names that trigger faults of the simulated EHR, like the test cards of payment providers. A client with only a
//! sandbox key can simulate the behaviour of real EHRs. The names have an effect in this EHR only, so no data of a real
//! practice can match them.

use serde_json::{Map, Value};

use super::{
    records::{Appointment, Patient, Record, Resource},
    refusals::invalid,
    wire::SandboxReply,
    write_kinds::WriteKind,
};

/// The fault that a patient's last name triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    Reject,
    Timeout,
    SlotTaken,
    MoreFields,
    NotAccepted,
    Unconverted,
}

/// Each name, in any case, and its effect on writes for patients with that name. `GET /docs/sandbox` documents the
/// names for clients.
pub const NAMES: [(&str, Trigger); 6] = [
    // Accepts the patient, and refuses all other writes for the patient.
    ("Sandbox-Reject", Trigger::Reject),
    // Unavailable for every write for the patient, including creation; each is retried until it expires.
    ("Sandbox-Timeout", Trigger::Timeout),
    // Accepts the patient; before each of the patient's appointments arrives, staff block the operatory.
    ("Sandbox-Slot-Taken", Trigger::SlotTaken),
    // Accepts the patient only with a gender.
    ("Sandbox-More-Fields", Trigger::MoreFields),
    // Refuses a new patient with this name.
    ("Sandbox-Not-Accepted", Trigger::NotAccepted),
    // Lists the patient only with their first appointment, as systems do whose ids of new patients end in `_np`.
    ("Sandbox-Unconverted", Trigger::Unconverted),
];

/// Suffix of the id of an unconverted patient.
pub(super) const UNCONVERTED: &str = "_np";

impl Trigger {
    fn named(last_name: &str) -> Option<Trigger> {
        let known = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(last_name.trim()));
        known.map(|(_, rehearsal)| *rehearsal)
    }

    /// Returns the fault of a write: for a patient by the new name, for other records by the patient's name. `before`
    /// is the record to change or delete.
    pub(super) fn for_write<'p>(
        patient: impl FnOnce(&str) -> Option<&'p Record>,
        resource: Resource,
        before: Option<&Record>,
        fields: &Map<String, Value>,
    ) -> Option<Trigger> {
        let before = before.map(Record::to_json).unwrap_or_default();
        let text = |name: &str| fields.get(name).unwrap_or(&before[name]).as_str();
        if resource == Resource::Patients {
            return Trigger::named(text("last_name")?);
        }
        match patient(text("patient")?)? {
            Record::Patient(patient) => Trigger::named(&patient.last_name),
            _ => None,
        }
    }

    /// Returns the refusal of a write without further checks.
    pub(super) fn refusal(self, kind: WriteKind) -> Option<SandboxReply> {
        let of_patient = matches!(kind, WriteKind::CreatePatient | WriteKind::UpdatePatient);
        match self {
            Trigger::Reject if !of_patient => Some(invalid("rehearsal", "The patient's name asks for this refusal")),
            Trigger::Timeout => Some(SandboxReply::error(503, "unavailable", "Never free for this patient")),
            Trigger::NotAccepted if kind == WriteKind::CreatePatient => {
                Some(invalid("new_patients_refused", "The patient's name asks for this refusal"))
            }
            _ => None,
        }
    }

    /// Returns a required field of a new patient in addition to the practice's.
    pub(super) fn required_field(patient: &Patient) -> Option<&'static str> {
        let asks = Trigger::named(&patient.last_name) == Some(Trigger::MoreFields);
        asks.then_some("gender")
    }

    /// Returns the suffix of a new record's id.
    pub(super) fn ending_of_id(record: &Record) -> &'static str {
        match record {
            Record::Patient(patient) if Trigger::named(&patient.last_name) == Some(Trigger::Unconverted) => UNCONVERTED,
            _ => "",
        }
    }
}

/// Returns the block that staff book instead of an appointment.
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
