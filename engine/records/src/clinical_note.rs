//! Clinical notes.

use record_macro::record;

use crate::Seconds;

/// A clinical note.
#[record(
    resource = ClinicalNotes, tag = 36, id = u64, scope = Source, contract = "clinical-note", name = "Clinical Note"
)]
pub struct ClinicalNote {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: Option<u32>,
    /// The procedure it is about.
    #[record(refers(procedure = Procedures), find = Procedure)]
    pub procedure_id: Option<u64>,
    /// Time of entry.
    pub entered_at: Option<Seconds>,
    /// Text of the note.
    #[record(limit = Long)]
    pub content: String,
    /// Signed by the provider.
    pub signed: Option<bool>,
    pub completed: Option<bool>,
}
